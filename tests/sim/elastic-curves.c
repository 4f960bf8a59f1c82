/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a change of size costs: agents are added to a DVM of as many, leave again, and one of those that stay is lost.
 * Links take 0.1 ms at most, agents answer at once.
 *
 *   elastic-curves [--radix N] [--at-most FACTOR] [--all-at-most FACTOR] [AGENTS...]
 */

#include "config.h"

#include <stdlib.h>

#include "sim-meter.h"
#include "sim-shared-routes.h"
#include "sim-world.h"

#define LINK_DELAY 100

typedef struct
{
  guint64 packets;
  guint64 sent;
  guint64 work;
  guint64 all; /* of all daemons, and of the simulation */
  gint64 time;
} Mark;

/* Work in units of the meter. */
typedef struct
{
  double controller;
  double all;
} Work;

typedef enum
{
  GROW,
  SHRINK,
  LOSS,
  N_CHANGES,
} Change;

static Mark
mark (SimWorld *world)
{
  Mark now = { sim_net_get_n_packets (world->net), world->cost.n_sent, world->cost.work, sim_meter.read (),
               dvmd_clock_monotonic (world->clock) };

  return now;
}

/* Prints and returns the work that has been done since from. */
static Work
print (SimWorld *world, Change change, guint n, const Mark *from)
{
  static const char *const names[N_CHANGES] = { "grow", "shrink", "loss" };
  Mark now = mark (world);
  Work work = { (double)(now.work - from->work) / sim_meter.size, (double)(now.all - from->all) / sim_meter.size };

  g_print ("%6u  %-6s  %9.2f ms  %9" G_GUINT64_FORMAT " packets  %7" G_GUINT64_FORMAT
           " of the controller, %9.2f %s of its work, %9.2f of all\n",
           n, names[change], (double)(now.time - from->time) / 1000, now.packets - from->packets, now.sent - from->sent,
           work.controller, sim_meter.unit, work.all);
  return work;
}

static void
run_until_ended (SimWorld *world, guint campaign)
{
  DvmdCampaign *self = dvmd_core_get_campaign (world->core, campaign);

  while (!dvmd_campaign_get_ended (self))
    sim_world_run (world, G_TIME_SPAN_MILLISECOND / 10);
  if (dvmd_campaign_get_state (self) != DVM_CAMPAIGN_STATE_COMPLETED)
    g_error ("%s", dvm_campaign_get_reason (dvmd_campaign_get_record (self)));
}

static void
be_quiet (SimWorld *world)
{
  do
    sim_world_run (world, G_TIME_SPAN_MILLISECOND);
  while (!sim_world_is_quiet (world));
}

static Work
grow (SimWorld *world, char **names, guint n)
{
  g_autofree DvmdGrowHost *hosts = g_new0 (DvmdGrowHost, n);
  g_auto (DvmdSizeAnswer) answer = { 0 };
  DvmdGrowRequest request = { .hosts = hosts, .n_hosts = n, .share = TRUE };
  Mark before = mark (world);
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < n; i++)
    hosts[i] = (DvmdGrowHost){ .name = names[i], .slots = 1 };
  sim_world_begin_work (world);
  if (!dvmd_core_grow (world->core, &request, &answer, &error))
    g_error ("%s", error->message);
  sim_world_end_work (world);
  run_until_ended (world, answer.campaign);
  return print (world, GROW, n, &before);
}

static Work
shrink (SimWorld *world, char **names, guint n)
{
  g_auto (DvmdSizeAnswer) answer = { 0 };
  DvmdShrinkRequest request = { .hosts = (const char *const *)names };
  Mark before = mark (world);
  g_autoptr (GError) error = NULL;

  sim_world_begin_work (world);
  if (!dvmd_core_shrink (world->core, &request, &answer, &error))
    g_error ("%s", error->message);
  sim_world_end_work (world);
  run_until_ended (world, answer.campaign);
  return print (world, SHRINK, n, &before);
}

/* The first child of the controller is lost: no agent has more others below it. */
static Work
lose (SimWorld *world)
{
  Mark before = mark (world);
  guint rank = dvmd_routes_get_rank (sim_world_get_routes (world), 1);

  sim_world_kill (world, rank);
  be_quiet (world);
  return print (world, LOSS, 1, &before);
}

static void
measure (guint n, guint radix, Work work[N_CHANGES])
{
  SimSetting setting = { .seed = 1, .n_nodes = n, .radix = radix, .elastic = TRUE, .max_delay = LINK_DELAY, .pace = 1 };
  g_autofree SimTally *tally = g_new0 (SimTally, 1);
  g_autoptr (SimWorld) world = NULL;
  g_auto (GStrv) names = g_new0 (char *, n + 1);

  setting.unchecked = TRUE;
  setting.read_meter = sim_meter.read;
  world = sim_world_new (&setting, tally);
  be_quiet (world);
  for (guint i = 0; i < n; i++)
    names[i] = g_strdup_printf ("h%u", n + 1 + i);
  work[GROW] = grow (world, names, n);
  be_quiet (world);
  work[SHRINK] = shrink (world, names, n);
  be_quiet (world);
  work[LOSS] = lose (world);
  sim_shared_routes_clear ();
}

static gboolean
check_factor (const char *whose, double factor, double at_most)
{
  if (at_most > 0 && factor > at_most)
    g_printerr ("The work of %s for each agent rises by the factor %.2f\n", whose, factor);
  return at_most <= 0 || factor <= at_most;
}

/* Checks how much more work there is for each agent when there are n of them, not n_before. */
static gboolean
check (guint n_before, const Work before[N_CHANGES], guint n, const Work work[N_CHANGES], const Work *at_most)
{
  gboolean good = TRUE;

  for (Change change = 0; change < N_CHANGES; change++)
    {
      double each = (double)n_before / n;

      good = check_factor ("the controller", each * work[change].controller / before[change].controller,
                           at_most->controller)
             && good;
      good = check_factor ("all daemons", each * work[change].all / before[change].all, at_most->all) && good;
    }
  return good;
}

int
main (int argc, char **argv)
{
  int radix = DVMD_RADIX_DEFAULT;
  Work at_most = { 0 };
  const GOptionEntry entries[] = {
    { "radix", 0, 0, G_OPTION_ARG_INT, &radix, "Children of a daemon", "N" },
    { "at-most", 0, 0, G_OPTION_ARG_DOUBLE, &at_most.controller,
      "Fail if the controller's work for each agent rises more", "FACTOR" },
    { "all-at-most", 0, 0, G_OPTION_ARG_DOUBLE, &at_most.all, "Fail if that of all daemons rises more", "FACTOR" },
    { NULL },
  };
  Work works[2][N_CHANGES];
  gboolean good = TRUE;
  g_autoptr (GOptionContext) context = g_option_context_new ("[AGENTS...]");
  g_autoptr (GError) error = NULL;

  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error))
    {
      g_printerr ("%s\n", error->message);
      return 2;
    }
  g_print ("radix %d\n", radix);
  for (int i = 1; i < argc; i++)
    {
      guint n = (guint)MAX (atoi (argv[i]), 1);

      measure (n, (guint)radix, works[i % 2]);
      if (i > 1)
        good = check ((guint)MAX (atoi (argv[i - 1]), 1), works[(i - 1) % 2], n, works[i % 2], &at_most) && good;
    }
  return good ? 0 : 1;
}
