/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "dvmd-controller-cpus.h"
#include "dvmd-controller-stacks.h"
#include "dvmd-controller-topologies.h"
#include "dvmd-controller-usage.h"
#include "dvmd-query-keys.h"
#include "dvmd-device-claims.h"
#include "dvmd-controller-map.h"

#include "fake-elastic.h"
#include "dvmd-heal.h"

#include <fcntl.h>
#include <glib-unix.h>
#include <string.h>
#include <signal.h>
#include <unistd.h>

#define FAKE_INSTANCE "5f5c4e5a-0000-4000-8000-000000000001"

struct _DvmdController
{
  GObject parent_instance;

  DvmdClock *clock;
  DvmdEventQueue *queue;
  DvmdCore *core;
  gint64 started_at;
  gboolean hold_output;
  gboolean measures_all;
  GPtrArray *usages; /* GVariant, by rank */
  GPtrArray *held;   /* DvmdJob */
  int last_signal;
  char *last_ranks;
  guint shutdown;
  gboolean had_fd[3];
  FakeElastic *elastic;
};

G_DEFINE_FINAL_TYPE (DvmdController, dvmd_controller, G_TYPE_OBJECT)

/* Something of the world that happens after the core has returned. */
typedef struct
{
  DvmdController *self;
  DvmdJob *job; /* (nullable) */
  guint64 number;
} Later;

static void
later_free (gpointer data)
{
  Later *later = data;

  g_object_unref (later->self);
  g_clear_object (&later->job);
  g_free (later);
}

static void
do_later (DvmdController *self, GSourceFunc func, DvmdJob *job, guint64 number)
{
  Later *later = g_new0 (Later, 1);

  later->self = g_object_ref (self);
  g_set_object (&later->job, job);
  later->number = number;
  g_idle_add_full (G_PRIORITY_DEFAULT, func, later, later_free);
}

static gboolean
agent_reports (gpointer data)
{
  Later *later = data;
  const char *host = dvmd_node_pool_get_name (dvmd_core_get_nodes (later->self->core), later->number);
  const DvmdAgentReport report = { .host = host, .address = "", .pid = 1, .hwthreads = 4, .topology = "" };

  dvmd_core_agent_reported (later->self->core, later->number, &report);
  return G_SOURCE_REMOVE;
}

static void
launch_agents (gpointer world, DvmdNode *const *nodes, guint n_nodes)
{
  DvmdController *self = world;

  for (guint i = 0; i < n_nodes; i++)
    if (!fake_elastic_hold_agent (self->elastic, nodes[i]->rank))
      do_later (world, agent_reports, NULL, nodes[i]->rank);
}

static void
dvm_ready (gpointer world)
{
  g_signal_emit_by_name (world, "ready");
}

static DvmdMap *
map_job (gpointer world, DvmdJob *job, const DvmdPlaces *places, GError **error)
{
  DvmdMap *map = dvmd_map_new ();
  DvmJobSpec *spec = dvmd_job_get_spec (job);
  guint rank = 0;

  for (guint i = 0; i < dvm_job_spec_get_n_apps (spec); i++)
    {
      guint np = MAX (dvm_app_spec_get_np (dvm_job_spec_get_app (spec, i)), 1);

      dvmd_map_add_run (
          map, &(DvmdMapRow){ .node = places->nodes[0]->rank, .app = i, .first_rank = rank, .count = np, .stride = 1 });
      rank += np;
    }
  map->num_procs = rank;
  return map;
}

static void
end_procs (DvmdController *self, DvmdJob *job, int exit_code, int exit_signal)
{
  DvmdProcTable *procs = dvmd_job_get_procs (job);
  DvmProcState state = DVM_PROC_STATE_TERMINATED;

  if (exit_signal != 0)
    state = DVM_PROC_STATE_ABORTED_BY_SIG;
  else if (exit_code != 0)
    state = DVM_PROC_STATE_TERM_NON_ZERO;
  for (guint rank = 0; rank < procs->n_rows; rank++)
    {
      dvmd_core_proc_state (self->core, job, rank, DVM_PROC_STATE_IOF_COMPLETE, 0, 0);
      dvmd_core_proc_state (self->core, job, rank, state, exit_code, exit_signal);
    }
}

static gboolean
is_launched (gpointer data)
{
  Later *later = data;
  DvmdProcTable *procs = dvmd_job_get_procs (later->job);
  const char *program = dvm_app_spec_get_argv (dvm_job_spec_get_app (dvmd_job_get_spec (later->job), 0))[0];

  for (guint rank = 0; rank < procs->n_rows; rank++)
    dvmd_core_proc_launched (later->self->core, later->job, rank, 1000 + rank, 0, NULL);
  dvmd_core_local_launch_complete (later->self->core, later->job, 1);
  if (strcmp (program, "true") == 0 || strcmp (program, "false") == 0)
    end_procs (later->self, later->job, strcmp (program, "false") == 0, 0);
  return G_SOURCE_REMOVE;
}

static void
send_launch (gpointer world, DvmdJob *job)
{
  do_later (world, is_launched, job, 0);
}

static gboolean
is_gone (gpointer data)
{
  Later *later = data;

  dvmd_core_job_gone (later->self->core, later->job, 1);
  return G_SOURCE_REMOVE;
}

static gboolean
is_killed (gpointer data)
{
  Later *later = data;

  end_procs (later->self, later->job, 0, 15);
  return is_gone (data);
}

static void
kill_job (gpointer world, DvmdJob *job)
{
  do_later (world, dvmd_job_get_procs (job) != NULL ? is_killed : is_gone, job, 0);
}

static void
tell_started (gpointer world, DvmdJob *job)
{
}

static void
tell_ended (gpointer world, DvmdJob *job)
{
  do_later (world, is_gone, job, 0);
}

static gboolean
agent_is_gone (gpointer data)
{
  Later *later = data;

  dvmd_core_agent_ended (later->self->core, 1, DVMD_AGENT_GONE, DVMD_CAUSE_LOST, NULL);
  return G_SOURCE_REMOVE;
}

static void
see_off (gpointer world, DvmdSendOff *order)
{
  if (order->nodes != NULL)
    fake_elastic_order_away (world, order);
  else
    do_later (world, agent_is_gone, NULL, 0);
}

static void
dvm_ended (gpointer world, DvmJobState state, const char *reason)
{
  g_signal_emit_by_name (world, "ended", (guint)state, reason);
}

static const DvmdEffects fake_effects = {
  .launch_agents = launch_agents,
  .dvm_ready = dvm_ready,
  .placement.map = map_job,
  .send_launch = send_launch,
  .kill = kill_job,
  .tell_started = tell_started,
  .tell_ended = tell_ended,
  .see_off = see_off,
  .wire_agents = fake_elastic_wire_agents,
  .warn_job = fake_elastic_warn_job,
  .offer_nodes = fake_elastic_offer_nodes,
  .campaign_ended = fake_elastic_campaign_ended,
  .dvm_ended = dvm_ended,
};

static void
on_job_ended (DvmdCore *core, DvmdJob *job, gpointer user_data)
{
  DvmdController *self = user_data;

  if (self->hold_output)
    g_ptr_array_add (self->held, g_object_ref (job));
  else
    g_signal_emit_by_name (self, "job-finished", job);
}

static void
dvmd_controller_finalize (GObject *object)
{
  DvmdController *self = DVMD_CONTROLLER (object);

  fake_elastic_free (self->elastic);
  g_object_unref (self->core);
  dvmd_event_queue_free (self->queue);
  dvmd_clock_unref (self->clock);
  g_ptr_array_unref (self->held);
  g_ptr_array_unref (self->usages);
  g_free (self->last_ranks);

  G_OBJECT_CLASS (dvmd_controller_parent_class)->finalize (object);
}

static void
dvmd_controller_class_init (DvmdControllerClass *klass)
{
  GType type = G_TYPE_FROM_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = dvmd_controller_finalize;
  g_signal_new ("ready", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  g_signal_new ("ended", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 2, G_TYPE_UINT, G_TYPE_STRING);
  g_signal_new ("job-finished", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1, DVMD_TYPE_JOB);
}

static void
dvmd_controller_init (DvmdController *self)
{
  self->held = g_ptr_array_new_with_free_func (g_object_unref);
  self->usages = g_ptr_array_new_with_free_func ((GDestroyNotify)g_variant_unref);
}

static DvmdController *
controller_new (guint slots, guint history_limit, gboolean elastic)
{
  DvmdController *self = g_object_new (DVMD_TYPE_CONTROLLER, NULL);
  const DvmdCoreSettings settings = {
    .nspace = "dvm-fake",
    .host = "here",
    .history_limit = history_limit,
    .elastic = elastic,
    .park_limit = 60,
    .grow_timeout = 60,
    .uid = geteuid (),
  };

  self->clock = dvmd_clock_new_real (NULL);
  self->queue = dvmd_event_queue_new_for_context (NULL);
  self->started_at = dvmd_clock_now (self->clock);
  self->core = dvmd_core_new (&settings, self->clock, self->queue, &fake_effects, self);
  g_signal_connect (self->core, "job-ended", G_CALLBACK (on_job_ended), self);
  dvmd_core_add_node (self->core, "here", slots, 0);
  self->elastic = fake_elastic_new (self->core);
  return self;
}

DvmdController *
fake_controller_new (guint slots, guint history_limit)
{
  return controller_new (slots, history_limit, FALSE);
}

DvmdController *
fake_controller_new_elastic (guint slots, guint history_limit)
{
  return controller_new (slots, history_limit, TRUE);
}

FakeElastic *
fake_controller_get_elastic (DvmdController *self)
{
  return self->elastic;
}

void
dvmd_controller_start (DvmdController *self)
{
  dvmd_core_start (self->core);
}

DvmdControllerCpus *
dvmd_controller_cpus_new (DvmdController *controller, DvmdMap *map)
{
  return (DvmdControllerCpus *)g_new0 (int, 1);
}

DvmdControllerCpus *
dvmd_controller_cpus_new_for_plan (DvmdPlan *plan, DvmdMap *map)
{
  return dvmd_controller_cpus_new (NULL, map);
}

/* Without mappers. */
DvmdPlan *
dvmd_controller_new_plan (DvmdController *self, const DvmdPlanShape *shape, GError **error)
{
  g_autoptr (GPtrArray) mappers = g_ptr_array_new ();

  return dvmd_plan_new (shape, mappers, error);
}

void
dvmd_controller_cpus_free (DvmdControllerCpus *self)
{
  g_free (self);
}

const char *
dvmd_controller_cpus_get (DvmdControllerCpus *self, guint node, guint local_rank)
{
  return "";
}

char *
dvmd_controller_cpus_dup_devices (DvmdControllerCpus *self, guint node, guint local_rank)
{
  return NULL;
}

char *
dvmd_controller_cpus_dup_object (DvmdControllerCpus *self, guint rank, guint node, guint local_rank)
{
  return g_strdup ("");
}

GVariant *
dvmd_controller_describe_policies (DvmdMap *map, guint n_apps)
{
  return g_variant_new_array (G_VARIANT_TYPE_VARDICT, NULL, 0);
}

/* Without hardware. */
GStrv
dvmd_controller_list_devices (DvmdController *self, guint node)
{
  return g_new0 (char *, 1);
}

GVariant *
dvmd_controller_list_topologies (DvmdController *self, DvmdPlan *plan, const char *const *names)
{
  return g_variant_new_array (G_VARIANT_TYPE ("(sasa{sas})"), NULL, 0);
}

void
dvmd_controller_get_topology_async (DvmdController *self, guint rank, GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (self, NULL, callback, user_data);

  g_task_return_pointer (task, g_strdup_printf ("<topology rank='%u'/>", rank), g_free);
}

char *
dvmd_controller_get_topology_finish (DvmdController *self, GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

/* Rank 0 alone, with what was asked for as its stack. */
void
dvmd_controller_collect_stacks_async (DvmdController *self, DvmdJob *job, const char *ranks, guint seconds,
                                      GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (self, NULL, callback, user_data);
  g_autofree char *text = g_strdup_printf ("%s in %u s", ranks, seconds);

  if (dvmd_job_get_ended (job))
    g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_NOT_FOUND, "Job %u has ended", dvmd_job_get_id (job));
  else
    g_task_return_pointer (task, g_variant_ref_sink (g_variant_new_parsed ("[(uint32 0, 'here', %s, '')]", text)),
                           (GDestroyNotify)g_variant_unref);
}

GVariant *
dvmd_controller_collect_stacks_finish (DvmdController *self, GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

void
fake_controller_measure_all (DvmdController *self)
{
  self->measures_all = TRUE;
}

/* (transfer full) */
static GVariant *
make_usage (guint rank)
{
  GVariantDict usage;
  GVariant *row;

  g_variant_dict_init (&usage, NULL);
  g_variant_dict_insert (&usage, "load-1", "d", rank * 0.25);
  g_variant_dict_insert (&usage, "mem-total", "t", G_GUINT64_CONSTANT (1) << 34);
  g_variant_dict_insert (&usage, "mem-free", "t", (guint64)rank << 20);
  row = g_variant_dict_end (&usage);
  return g_variant_ref_sink (g_variant_new_array (G_VARIANT_TYPE_VARDICT, &row, 1));
}

/* (transfer full): as of an answer that has arrived */
static GVariant *
get_usage (DvmdController *self, guint rank)
{
  while (self->usages->len <= rank)
    g_ptr_array_add (self->usages, make_usage (self->usages->len));
  return g_variant_ref (self->usages->pdata[rank]);
}

void
dvmd_controller_measure (DvmdController *self, const GArray *nodes, const char *nspace, guint32 rank,
                         DvmdMeasured measured, gpointer user_data, GDestroyNotify free_data)
{
  guint node = g_array_index (nodes, guint, 0);
  g_autoptr (GVariant) rows = NULL;

  if (self->measures_all)
    rows = get_usage (self, node);
  else if (node == 1)
    rows = g_variant_ref_sink (g_variant_new_parsed ("[{'load-1': <0.5>, 'mem-total': <uint64 1024>}]"));
  measured (user_data, 0, rows);
  free_data (user_data);
}

GVariant *
dvmd_controller_answer_fact (DvmdController *self, const char *word, GVariant *dict, GError **error)
{
  static const struct
  {
    const char *word;
    const char *text;
  } facts[] = {
    { "alloc-properties", "{'shared': <true>}" },
    { "alloc-status", "'active'" },
    { "free-slots", "uint32 7" },
    { "group-members", "[('dvm-fake@1', uint32 1)]" },
    { "groups", "['fjord']" },
    { "num-groups", "uint64 1" },
    { "num-psets", "uint64 1" },
    { "pset-members", "[('dvm-fake@1', uint32 0)]" },
    { "psets", "['ice']" },
    { "slots", "uint32 8" },
    { "time-remaining", "uint32 60" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (facts); i++)
    if (strcmp (facts[i].word, word) == 0)
      return g_variant_new_parsed (facts[i].text);
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "%s is no fact", word);
  return NULL;
}

GVariant *
dvmd_controller_list_plugins (DvmdController *self)
{
  return g_variant_new_parsed ("[{'kind': <'mapper'>, 'name': <'fake'>, 'description': <'places nothing'>, "
                               "'active': <true>, 'path': <''>}]");
}

DvmdCore *
dvmd_controller_get_core (DvmdController *self)
{
  return self->core;
}

const char *
dvmd_controller_get_instance_id (DvmdController *self)
{
  return FAKE_INSTANCE;
}

gint64
dvmd_controller_get_started_at (DvmdController *self)
{
  return self->started_at;
}

struct _DvmdSubmission
{
  guint id;
  DvmJobSpec *spec;
  DvmdCore *core;
};

/* Nothing is written here. */
void
dvmd_submission_begin (DvmdSubmission *submission)
{
}

void
dvmd_submission_free (DvmdSubmission *submission)
{
  if (submission->core != NULL)
    {
      dvmd_core_unreserve (submission->core, submission->id);
      dvmd_core_lose_job (submission->core, submission->spec);
    }
  g_object_unref (submission->spec);
  g_free (submission);
}

void
dvmd_controller_apply_defaults (DvmdController *self, DvmJobSpec *spec, gboolean is_child)
{
}

GVariant *
dvmd_controller_get_defaults (DvmdController *self)
{
  return g_variant_new_array (G_VARIANT_TYPE ("{sv}"), NULL, 0);
}

DvmdSubmission *
dvmd_controller_prepare_job (DvmdController *self, DvmJobSpec *spec, const DvmdRequester *requester, const int fds[3],
                             GError **error)
{
  guint id;
  DvmdSubmission *submission;

  for (guint i = 0; i < 3; i++)
    {
      self->had_fd[i] = fds[i] >= 0 && (fcntl (fds[i], F_GETFD) & FD_CLOEXEC) != 0;
      if (fds[i] >= 0)
        close (fds[i]);
    }
  id = dvmd_core_reserve (self->core, spec, requester, error);
  if (id == 0)
    return NULL;
  submission = g_new0 (DvmdSubmission, 1);
  submission->id = id;
  submission->core = self->core;
  submission->spec = g_object_ref (spec);
  return submission;
}

DvmdJob *
dvmd_controller_accept_job (DvmdController *self, DvmdSubmission *submission, const DvmdRequester *requester,
                            GError **error)
{
  DvmdJob *job = dvmd_core_submit_reserved (self->core, submission->id, submission->spec, requester, error);

  if (job != NULL)
    submission->core = NULL;
  dvmd_submission_free (submission);
  return job;
}

gboolean
dvmd_controller_signal_job (DvmdController *self, DvmdJob *job, int signum, const char *ranks, GError **error)
{
  if (signum < 1 || signum > 64)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%d is not the number of a signal", signum);
      return FALSE;
    }
  self->last_signal = signum;
  g_free (self->last_ranks);
  self->last_ranks = g_strdup (ranks);
  return TRUE;
}

gboolean
dvmd_controller_restart_node (DvmdController *self, DvmdNode *node, gboolean force, GError **error)
{
  return dvmd_core_restart_node (self->core, node, error);
}

gboolean
dvmd_controller_continue_job (DvmdController *self, DvmdJob *job, GError **error)
{
  if (dvmd_job_get_ended (job))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "Job %u has ended", dvmd_job_get_id (job));
      return FALSE;
    }
  self->last_signal = SIGCONT;
  return TRUE;
}

/* No job has a terminal here. */
gboolean
dvmd_controller_resize_job (DvmdController *self, DvmdJob *job, guint rows, guint columns, GError **error)
{
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "Job %u has no terminal of %u rows and %u columns",
               dvmd_job_get_id (job), rows, columns);
  return FALSE;
}

gboolean
dvmd_controller_cancel_job (DvmdController *self, DvmdJob *job, const char *reason, GError **error)
{
  return dvmd_core_fail_job (self->core, job, DVM_JOB_STATE_KILLED_BY_CMD, reason);
}

gboolean
dvmd_controller_cancel_job_for (DvmdController *self, DvmdJob *job, const DvmReason *reason, GError **error)
{
  return dvmd_core_fail_job_for (self->core, job, DVM_JOB_STATE_KILLED_BY_CMD, reason);
}

gboolean
dvmd_controller_attach (DvmdController *self, DvmdJob *job, DvmStreams streams, int fds[3], GError **error)
{
  static const char text[] = "hello\n";

  if (streams & DVM_STREAMS_PTY)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, "The job has no pseudo terminal");
      return FALSE;
    }
  for (guint i = 0; i < 3; i++)
    {
      int pipe[2];

      fds[i] = -1;
      if ((streams & (1 << i)) == 0 || !g_unix_open_pipe (pipe, FD_CLOEXEC, error))
        continue;
      if (i > 0 && write (pipe[1], text, strlen (text)) < 0)
        g_assert_not_reached ();
      fds[i] = pipe[i == 0 ? 1 : 0];
      close (pipe[i == 0 ? 0 : 1]);
    }
  return TRUE;
}

gboolean
dvmd_controller_job_is_finished (DvmdController *self, DvmdJob *job)
{
  return dvmd_job_get_ended (job) && !g_ptr_array_find (self->held, job, NULL);
}

void
dvmd_controller_shutdown (DvmdController *self, gboolean force, const char *reason)
{
  self->shutdown = force ? 2 : 1;
  dvmd_core_shutdown (self->core, force, reason);
}

GVariant *
dvmd_controller_get_statistics (DvmdController *self)
{
  const DvmdCoreStatistics *statistics = dvmd_core_get_statistics (self->core);
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "jobs-submitted", g_variant_new_uint64 (statistics->jobs_submitted));
  g_variant_builder_add (&builder, "{sv}", "jobs-ended", g_variant_new_uint64 (statistics->jobs_ended));
  g_variant_builder_add (&builder, "{sv}", "procs-launched", g_variant_new_uint64 (statistics->procs_launched));
  return g_variant_builder_end (&builder);
}

void
fake_controller_end_job (DvmdController *self, DvmdJob *job, int exit_code)
{
  end_procs (self, job, exit_code, 0);
}

void
fake_controller_hold_output (DvmdController *self, gboolean hold)
{
  self->hold_output = hold;
  while (!hold && self->held->len > 0)
    {
      g_autoptr (DvmdJob) job = g_ptr_array_steal_index (self->held, 0);

      g_signal_emit_by_name (self, "job-finished", job);
    }
}

int
fake_controller_get_last_signal (DvmdController *self, const char **ranks)
{
  *ranks = self->last_ranks;
  return self->last_signal;
}

guint
fake_controller_get_shutdown (DvmdController *self)
{
  return self->shutdown;
}

gboolean
fake_controller_had_fd (DvmdController *self, guint index)
{
  return self->had_fd[index];
}
