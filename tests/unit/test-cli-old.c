/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Spellings of other launchers become words of today, alone and together.
 */

#include "config.h"

#include <string.h>

#include "dvm-cli-display.h"
#include "dvm-cli-old.h"

static const DvmCliOption own[] = {
  { "np", 'n', NULL, DVM_CLI_ARG_COUNT, "N", NULL, "" },
  { "map-by", 0, "--mapby -map-by", DVM_CLI_ARG_STRING, "P", NULL, "" },
  { "bind-to", 0, NULL, DVM_CLI_ARG_STRING, "P", NULL, "" },
  { "colocate", 0, NULL, DVM_CLI_ARG_STRING, "J", NULL, "" },
  { "nperproc", 0, NULL, DVM_CLI_ARG_COUNT, "N", NULL, "" },
  { "display", 0, NULL, DVM_CLI_ARG_STRING, "P", NULL, "" },
  { "runtime-options", 0, NULL, DVM_CLI_ARG_STRING, "P", NULL, "" },
  { "quiet", 'q', NULL, DVM_CLI_ARG_NONE, NULL, NULL, "" },
  { NULL },
};

static const DvmCliOption *const lists[] = { own, dvm_cli_old_app_options, dvm_cli_old_options,
                                             dvm_cli_old_display_options, NULL };

/* words: of line, which the result borrows from */
static DvmCliArgs *
parse (char ***words, const char *line)
{
  DvmCliArgs *args = dvm_cli_args_new ();
  g_autoptr (GError) error = NULL;

  *words = g_strsplit (line, " ", -1);
  dvm_cli_args_parse (args, lists, (const char *const *)*words, DVM_CLI_PARSE_DEFAULT, &error);
  g_assert_no_error (error);
  return args;
}

/* "map-by=node bind-to=core", in the order of the options */
static char *
translate (const char *line, const char *base, GError **error)
{
  static const char *const names[] = { "map-by", "bind-to", "display", "runtime-options" };
  g_auto (GStrv) words = NULL;
  g_autoptr (DvmCliArgs) args = parse (&words, line);
  g_autoptr (GString) text = g_string_new (NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *value = NULL;

      if (!dvm_cli_old_compose (args, names[i], i == 0 ? base : NULL, &value, error))
        return NULL;
      if (value != NULL)
        g_string_append_printf (text, "%s%s=%s", text->len > 0 ? " " : "", names[i], value);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static void
test_alone (void)
{
  static const char *const cases[][2] = {
    { "-n 4", "" },
    { "--map-by numa --bind-to core", "map-by=numa bind-to=core" },
    { "--mapby numa", "map-by=numa" },
    { "--bynode", "map-by=node" },
    { "-bynode", "map-by=node" },
    { "--byslot", "map-by=slot" },
    { "--bycore", "map-by=core" },
    { "--pernode", "map-by=ppr:1:node" },
    { "-N 2", "map-by=ppr:2:node" },
    { "-N2", "map-by=ppr:2:node" },
    { "-qN 2", "map-by=ppr:2:node" },
    { "--npernode 2", "map-by=ppr:2:node" },
    { "-npernode 2", "map-by=ppr:2:node" },
    { "--npernode=2", "map-by=ppr:2:node" },
    { "--ntasks-per-node 3", "map-by=ppr:3:node" },
    { "--npersocket 2", "map-by=ppr:2:package" },
    { "--ppr 2:numa", "map-by=ppr:2:numa" },
    { "--rankfile rf", "map-by=rankfile:FILE=rf" },
    { "-rf rf", "map-by=rankfile:FILE=rf" },
    { "--cpu-set 0,2", "map-by=pe-list=0,2" },
    { "--cpu-list 1-3", "map-by=pe-list=1-3" },
    { "--cpus-per-rank 2", "map-by=:PE=2" },
    { "--cpus-per-proc 2", "map-by=:PE=2" },
    { "--cpus-per-task=2", "map-by=:PE=2" },
    { "--use-hwthread-cpus", "map-by=:HWTCPUS" },
    { "--nolocal", "map-by=:NOLOCAL" },
    { "--oversubscribe", "map-by=:OVERSUBSCRIBE" },
    { "--nooversubscribe", "map-by=:NOOVERSUBSCRIBE" },
    { "--bind-to-none", "bind-to=none" },
    { "--bind-to-core", "bind-to=core" },
    { "--bind-to-socket", "bind-to=package" },
    { "--display-map", "display=map" },
    { "--display-devel-map", "display=map-devel" },
    { "--display-allocation", "display=allocation" },
    { "--display-topo", "display=topo" },
    { "--report-bindings", "display=bindings" },
    { "--donotlaunch", "runtime-options=donotlaunch" },
    { "--do-not-launch", "runtime-options=donotlaunch" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *text = translate (cases[i][0], NULL, &error);

      g_assert_no_error (error);
      g_assert_cmpstr (text, ==, cases[i][1]);
    }
}

static void
test_together (void)
{
  static const char *const cases[][3] = {
    { "--bynode --cpus-per-rank 2", NULL, "map-by=node:PE=2" },
    { "--cpus-per-rank 2 --bynode", NULL, "map-by=node:PE=2" },
    { "--npernode 2 --ntasks-per-node 2", NULL, "map-by=ppr:2:node" },
    { "--npernode 2 --npernode 2", NULL, "map-by=ppr:2:node" },
    { "--cpus-per-rank 2 --cpus-per-task 2 --nolocal", NULL, "map-by=:PE=2:NOLOCAL" },
    { "--map-by numa --cpus-per-rank 2 --oversubscribe", NULL, "map-by=numa:PE=2:OVERSUBSCRIBE" },
    { "--map-by numa:pe=2 --cpus-per-rank 2", NULL, "map-by=numa:pe=2" },
    { "--map-by :SPAN --bynode", NULL, "map-by=node:SPAN" },
    { "--map-by NODE:SPAN --bynode --nolocal", NULL, "map-by=NODE:SPAN:NOLOCAL" },
    { "--map-by ppr:2:node:PE=2 -N 2", NULL, "map-by=ppr:2:node:PE=2" },
    { "--bind-to :overload-allowed --bind-to-core", NULL, "bind-to=core:overload-allowed" },
    { "--bind-to core --bind-to-core", NULL, "bind-to=core" },
    { "--display map --report-bindings", NULL, "display=map,bindings" },
    { "--runtime-options recoverable --donotlaunch", NULL, "runtime-options=recoverable,donotlaunch" },
    { "--colocate 7:0-3", NULL, "map-by=colocate=7:0-3" },
    { "--colocate 7 --nperproc 2", NULL, "map-by=colocate=7:nperproc=2" },
    { "--colocate 7 --npernode 2 --map-by colocate", NULL, "map-by=colocate=7:npernode=2" },
    { "--colocate 7:0 --map-by :HWTCPUS --cpus-per-rank 2", NULL, "map-by=colocate=7:0:HWTCPUS:PE=2" },
    { "--colocate 7 --map-by :pe=2 --cpus-per-rank 2", NULL, "map-by=colocate=7:pe=2" },
    { "--colocate 7 --cpus-per-rank 2 --cpus-per-task 2", NULL, "map-by=colocate=7:PE=2" },
    { "--colocate 7 --map-by colocate:HWTCPUS --nperproc 2", NULL, "map-by=colocate=7:HWTCPUS:nperproc=2" },
    { "--colocate 7 --map-by :NPERNODE=2 --npernode 2", NULL, "map-by=colocate=7:NPERNODE=2" },
    /* a job file has a policy of its own */
    { "--colocate 7", "numa", "map-by=colocate=7" },
    { "--cpus-per-rank 2", "numa", "map-by=numa:PE=2" },
    { "--bynode", "numa:SPAN", "map-by=node" },
    { "--map-by core", "numa", "map-by=core" },
    { "-n 2", "numa", "" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *text = translate (cases[i][0], cases[i][1], &error);

      g_assert_no_error (error);
      g_assert_cmpstr (text, ==, cases[i][2]);
    }
}

static void
test_contradictions (void)
{
  static const char *const cases[][2] = {
    { "--bynode --byslot", "'--byslot' and '--bynode' contradict each other" },
    { "-bynode -N2", "'-bynode' and '-N2' contradict each other" },
    { "--npernode=2 --npersocket 2", "'--npernode=2' and '--npersocket 2' contradict" },
    { "--cpus-per-rank 2 --cpus-per-task 4", "'--cpus-per-rank 2' and '--cpus-per-task 4' contradict" },
    { "--oversubscribe --nooversubscribe", "'--oversubscribe' and '--nooversubscribe' contradict" },
    { "--map-by core --bynode", "'--map-by core' and '--bynode' contradict" },
    { "--mapby=core --bynode", "'--mapby=core' and '--bynode' contradict" },
    { "-map-by nodes --bynode", "'-map-by nodes' and '--bynode' contradict" },
    { "--map-by :PE=4 --cpus-per-rank 2", "'--map-by :PE=4' and '--cpus-per-rank 2' contradict" },
    { "--map-by slot:nooversubscribe --oversubscribe", "'--map-by slot:nooversubscribe' and '--oversubscribe'" },
    { "--bind-to-core --bind-to none", "'--bind-to none' and '--bind-to-core' contradict" },
    { "--bind-to-core --bind-to-none", "'--bind-to-none' and '--bind-to-core' contradict" },
    { "--colocate 7 --bynode", "'--colocate 7' and '--bynode' contradict" },
    { "--colocate 7 --map-by colocated", "'--colocate 7' and '--map-by colocated' contradict" },
    { "--colocate 7 --map-by colocate=7", "'--colocate 7' and '--map-by colocate=7' contradict" },
    { "--colocate 7 --cpus-per-rank 2 --cpus-per-task 4", "'--cpus-per-rank 2' and '--cpus-per-task 4' contradict" },
    { "--colocate 7 --map-by :PE=4 --cpus-per-rank 2", "'--map-by :PE=4' and '--cpus-per-rank 2' contradict" },
    { "--colocate 7 --npernode 2 --nperproc 2", "'--nperproc 2' and '--npernode 2' contradict" },
    { "--colocate 7 --map-by colocate:npernode=1 --nperproc 1", "'--map-by colocate:npernode=1' and '--nperproc 1'" },
    { "--colocate 7 --ntasks-per-node 2", "'--colocate 7' and '--ntasks-per-node 2' contradict" },
    { "--nperproc 2", "--nperproc needs --colocate" },
    { "--rankfile a --cpu-set 1", "'--rankfile a' and '--cpu-set 1' contradict" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *text = translate (cases[i][0], NULL, &error);

      g_assert_null (text);
      g_assert_error (error, DVM_CLI_USAGE_ERROR, 0);
      if (strstr (error->message, cases[i][1]) == NULL)
        g_error ("%s: %s", cases[i][0], error->message);
    }
}

static void
test_explained (void)
{
  const DvmCliOption *option = dvm_cli_option_find (lists, "npersocket");
  g_autofree char *text = dvm_cli_option_explain (option);

  g_assert_cmpstr (text, ==, "--map-by ppr:N:package");
}

/* ---- --display ---- */

static void
test_display (void)
{
  static const struct
  {
    const char *line;
    guint what;
    const char *mention;
  } cases[] = {
    { "-n 1", 0, NULL },
    { "--display map", DVM_CLI_DISPLAY_MAP, NULL },
    { "--display MAP,map", DVM_CLI_DISPLAY_MAP, NULL },
    { "--display-map", DVM_CLI_DISPLAY_MAP, NULL },
    { "--display map-devel", DVM_CLI_DISPLAY_MAP_DEVEL, NULL },
    { "--display map-", DVM_CLI_DISPLAY_MAP_DEVEL, NULL },
    { "--display map,bind", DVM_CLI_DISPLAY_MAP | DVM_CLI_DISPLAY_BINDINGS, NULL },
    { "--report-bindings", DVM_CLI_DISPLAY_BINDINGS, NULL },
    { "--bind-to core:overload:REP", DVM_CLI_DISPLAY_BINDINGS, NULL },
    { "--bind-to :report=y --display map", DVM_CLI_DISPLAY_MAP | DVM_CLI_DISPLAY_BINDINGS, NULL },
    { "--bind-to core:report=no", 0, NULL },
    { "--bind-to core:limit=1", 0, NULL },
    { "--display BINDINGS:physical", DVM_CLI_DISPLAY_BINDINGS, NULL },
    { "--display a", DVM_CLI_DISPLAY_ALLOCATION, NULL },
    { "--display-allocation", DVM_CLI_DISPLAY_ALLOCATION, NULL },
    { "--display topo=node1;node2", DVM_CLI_DISPLAY_TOPO, NULL },
    { "--display c=node1", DVM_CLI_DISPLAY_CPUS, NULL },
    { "--display map:parseable", DVM_CLI_DISPLAY_MAP, NULL },
    { "--display map:pars", DVM_CLI_DISPLAY_MAP, NULL },
    { "--display map,:parsable", DVM_CLI_DISPLAY_MAP, NULL },
    { "--display map:physical", DVM_CLI_DISPLAY_MAP, NULL },
    { "--display allocation:physical", 0, "'physical' is for numbers of cpus" },
    { "--display :parseable", 0, "'parseable' needs a word" },
    { "--display ma", 0, "'ma' is the beginning of 'map' and of 'map-devel'" },
    { "--display map:p", 0, "'p' is the beginning of 'parsable' and of 'physical'" },
    { "--display mpa", 0, "unknown word 'mpa'; did you mean 'map'?" },
    { "--display map,,bind", 0, "unknown word ''" },
    { "--display map:", 0, "unknown word ''" },
    { "--display map:fast", 0, "unknown word 'fast'" },
    { "--display map=node1", 0, "'map=node1': nodes may be named behind topo and cpus" },
    { "--display topo=", 0, "'topo='" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_auto (GStrv) words = NULL;
      g_autoptr (DvmCliArgs) args = parse (&words, cases[i].line);
      g_autoptr (GError) error = NULL;
      g_auto (DvmCliDisplay) display = { 0 };
      DvmCli cli = { .args = args };
      gboolean ok = dvm_cli_display_parse (&cli, &display, &error);

      g_assert_true (ok == (cases[i].mention == NULL));
      if (ok)
        g_assert_cmpuint (display.what, ==, cases[i].what);
      if (!ok && strstr (error->message, cases[i].mention) == NULL)
        g_error ("%s: %s", cases[i].line, error->message);
      cli.json = TRUE;
      dvm_cli_display_clear (&display);
      g_assert_true (dvm_cli_display_parse (&cli, &display, NULL) == (ok && cases[i].what == 0));
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cli-old/alone", test_alone);
  g_test_add_func ("/cli-old/together", test_together);
  g_test_add_func ("/cli-old/contradictions", test_contradictions);
  g_test_add_func ("/cli-old/explained", test_explained);
  g_test_add_func ("/cli-old/display", test_display);
  return g_test_run ();
}
