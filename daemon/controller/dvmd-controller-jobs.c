/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * People ask something of a job that exists: a signal, an end, the size of its terminals, its streams.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include <signal.h>

#include "dvmd-services.h"
#include "dvmd-controller-streams.h"
#include "dvmd-id-set.h"
#include "dvmd-controller-jobs.h"

typedef struct
{
  GHashTable *launched; /* set of job ids: the launch was sent, and the job is in the history at most */
  GHashTable *early;    /* job id -> GArray of int: signals that came before that */
} Signals;

static gboolean
check_live (DvmdJob *job, GError **error)
{
  if (!dvmd_job_get_ended (job))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "Job %s has ended: nothing of it runs",
               dvm_job_get_nspace (dvmd_job_get_record (job)));
  return FALSE;
}

static void
set_no_processes (DvmdJob *job, GError **error)
{
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_READY, "Job %s has no processes yet (%s)",
               dvm_job_get_nspace (dvmd_job_get_record (job)), dvm_job_state_to_string (dvmd_job_get_state (job)));
}

static gboolean
check_has_processes (DvmdJob *job, GError **error)
{
  if (dvmd_job_get_procs (job) != NULL)
    return TRUE;
  set_no_processes (job, error);
  return FALSE;
}

/* The DVM's own job, which has no processes, never is on its way. */
static gboolean
is_launched (DvmdController *self, DvmdJob *job)
{
  Signals *signals = dvmd_services_get (self, &dvmd_signals_service);
  guint id = dvmd_job_get_id (job);

  return id == 0 || g_hash_table_contains (signals->launched, GUINT_TO_POINTER (id));
}

/* The signals (element-type int) that came for the job before its launch. */
static GArray *
get_early (DvmdController *self, DvmdJob *job)
{
  Signals *signals = dvmd_services_get (self, &dvmd_signals_service);
  gpointer id = GUINT_TO_POINTER (dvmd_job_get_id (job));
  GArray *early = g_hash_table_lookup (signals->early, id);

  if (early == NULL)
    {
      early = g_array_new (FALSE, FALSE, sizeof (int));
      g_hash_table_insert (signals->early, id, early);
    }
  return early;
}

/* A caller that sends more, to a job without processes, does so in a loop. */
#define MAX_EARLY_SIGNALS 64

/*
 * A signal for a whole job that is on its way to its launch is kept until its processes are there. It is refused for a
 * job that is held at a gate.
 */
static gboolean
keep_signal (DvmdController *self, DvmdJob *job, int signum, const char *ranks)
{
  const char *held_at = dvm_job_get_held_at (dvmd_job_get_record (job));
  GArray *early;

  if (is_launched (self, job) || dvm_job_get_failed (dvmd_job_get_record (job)) || held_at[0] != '\0'
      || ranks[0] != '\0')
    return FALSE;
  early = get_early (self, job);
  if (early->len >= MAX_EARLY_SIGNALS)
    return FALSE;
  g_array_append_val (early, signum);
  return TRUE;
}

static gboolean
check_launched (DvmdController *self, DvmdJob *job, GError **error)
{
  if (is_launched (self, job))
    return check_has_processes (job, error);
  set_no_processes (job, error);
  return FALSE;
}

DvmdIdSet *
dvmd_controller_parse_ranks (DvmdController *self, DvmdJob *job, const char *ranks, GError **error)
{
  g_autoptr (DvmdIdSet) set = NULL;
  DvmdProcTable *procs = dvmd_job_get_procs (job);
  guint rank;

  if (!check_live (job, error) || !check_launched (self, job, error))
    return NULL;
  set = dvmd_id_set_parse (ranks, "ranks", error);
  if (set == NULL || ranks[0] == '\0' || !dvmd_id_set_next (set, procs->n_rows, &rank))
    return g_steal_pointer (&set);
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "“ranks”: job %s has the ranks 0 to %u, %u is none of them",
               dvm_job_get_nspace (dvmd_job_get_record (job)), procs->n_rows - 1, rank);
  return NULL;
}

gboolean
dvmd_controller_signal_job (DvmdController *self, DvmdJob *job, int signum, const char *ranks, GError **error)
{
  g_autoptr (DvmdIdSet) set = NULL;

  if (signum < 1 || signum >= NSIG)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%d is not the number of a signal: use 1 to %d", signum,
                   NSIG - 1);
      return FALSE;
    }
  if (ranks == NULL)
    ranks = "";
  if (!check_live (job, error))
    return FALSE;
  if (keep_signal (self, job, signum, ranks))
    return TRUE;
  set = dvmd_controller_parse_ranks (self, job, ranks, error);
  if (set == NULL)
    return FALSE;
  dvmd_controller_send_to_job (self, job, DVMD_MSG_SIGNAL,
                               g_variant_new ("(uis)", dvmd_job_get_id (job), signum, ranks));
  return TRUE;
}

void
dvmd_controller_signal (gpointer user_data, DvmdJob *job, int signal)
{
  DvmdController *self = user_data;
  int signum = signal == DVMD_SIGNAL_STOP ? SIGSTOP : signal == DVMD_SIGNAL_CONTINUE ? SIGCONT : signal;

  dvmd_controller_send_to_job (self, job, DVMD_MSG_SIGNAL, g_variant_new ("(uis)", dvmd_job_get_id (job), signum, ""));
}

/* On the heels of the launch: agents keep them until their processes are there. */
void
dvmd_controller_send_early_signals (DvmdController *self, DvmdJob *job)
{
  Signals *signals = dvmd_services_get (self, &dvmd_signals_service);
  gpointer id = GUINT_TO_POINTER (dvmd_job_get_id (job));
  GArray *early = g_hash_table_lookup (signals->early, id);

  g_hash_table_add (signals->launched, id);
  for (guint i = 0; early != NULL && i < early->len; i++)
    dvmd_controller_signal (self, job, g_array_index (early, int, i));
  g_hash_table_remove (signals->early, id);
}

void
dvmd_controller_warn_job (gpointer user_data, DvmdJob *job, DvmdNode *node, gint64 when)
{
  DvmdController *self = user_data;

  dvmd_controller_send (self, node->rank, DVMD_MSG_WARN,
                        g_variant_new ("(ux)", dvmd_job_get_id (job),
                                       when - dvmd_clock_monotonic (dvmd_controller_get_parts (self)->clock)));
}

gboolean
dvmd_controller_continue_job (DvmdController *self, DvmdJob *job, GError **error)
{
  if (!check_live (job, error) || !check_has_processes (job, error))
    return FALSE;
  dvmd_core_continue_job (dvmd_controller_get_core (self), job);
  dvmd_controller_send_to_job (self, job, DVMD_MSG_CONTINUE, g_variant_new ("(u)", dvmd_job_get_id (job)));
  return TRUE;
}

gboolean
dvmd_controller_resize_job (DvmdController *self, DvmdJob *job, guint rows, guint columns, GError **error)
{
  const char *nspace = dvm_job_get_nspace (dvmd_job_get_record (job));

  if (MIN (rows, columns) < 1 || MAX (rows, columns) > G_MAXUINT16)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   "%u rows and %u columns are not the size of a terminal: both can be 1 to %u", rows, columns,
                   (guint)G_MAXUINT16);
      return FALSE;
    }
  if (!dvm_job_spec_get_pty (dvmd_job_get_spec (job)))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "Job %s has no terminal: it was not submitted with “pty”",
                   nspace);
      return FALSE;
    }
  if (!check_live (job, error))
    return FALSE;
  /* Agents that do not know the job yet are told its size by the launch. */
  dvm_job_spec_set_pty_rows (dvmd_job_get_spec (job), rows);
  dvm_job_spec_set_pty_columns (dvmd_job_get_spec (job), columns);
  dvmd_controller_send_to_job (self, job, DVMD_MSG_RESIZE,
                               g_variant_new ("(uuu)", dvmd_job_get_id (job), rows, columns));
  return TRUE;
}

gboolean
dvmd_controller_cancel_job (DvmdController *self, DvmdJob *job, const char *reason, GError **error)
{
  if (!check_live (job, error))
    return FALSE;
  dvmd_core_fail_job (dvmd_controller_get_core (self), job, DVM_JOB_STATE_KILLED_BY_CMD, reason);
  return TRUE;
}

gboolean
dvmd_controller_cancel_job_for (DvmdController *self, DvmdJob *job, const DvmReason *reason, GError **error)
{
  if (!check_live (job, error))
    return FALSE;
  dvmd_core_fail_job_for (dvmd_controller_get_core (self), job, DVM_JOB_STATE_KILLED_BY_CMD, reason);
  return TRUE;
}

gboolean
dvmd_controller_attach (DvmdController *self, DvmdJob *job, DvmStreams streams, int fds[3], GError **error)
{
  DvmdJobStreams *job_streams = dvmd_controller_get_streams (self, dvmd_job_get_id (job));

  g_return_val_if_fail (job_streams != NULL, FALSE);
  return dvmd_job_streams_attach (job_streams, streams, fds, error);
}

gboolean
dvmd_controller_job_is_finished (DvmdController *self, DvmdJob *job)
{
  DvmdJobStreams *streams = dvmd_controller_get_streams (self, dvmd_job_get_id (job));

  return dvmd_job_get_ended (job) && (streams == NULL || dvmd_job_streams_is_finished (streams));
}

/* ---- it goes on without a node ---- */

/* (element-type guint32) */
static GArray *
find_lost_ranks (DvmdJob *job, DvmdNode *node)
{
  g_autoptr (GArray) there = dvmd_map_expand_node (dvmd_job_get_map (job), node->rank);
  GArray *ranks = g_array_new (FALSE, FALSE, sizeof (guint32));

  for (guint i = 0; i < there->len; i++)
    {
      guint32 rank = g_array_index (there, DvmdMapRank, i).rank;

      if (dvmd_job_is_rank_lost (job, rank))
        g_array_append_val (ranks, rank);
    }
  return ranks;
}

void
dvmd_controller_node_lost (gpointer user_data, DvmdJob *job, DvmdNode *node)
{
  DvmdController *self = user_data;
  DvmdJobStreams *streams = dvmd_controller_get_streams (self, dvmd_job_get_id (job));
  g_autoptr (GArray) ranks = find_lost_ranks (job, node);

  if (dvmd_job_notifies_errors (job))
    dvmd_controller_send_to_job (
        self, job, DVMD_MSG_NODE_LOST,
        g_variant_new ("(uus@au)", dvmd_job_get_id (job), node->rank, dvm_node_get_name (node->record),
                       g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, ranks->data, ranks->len, sizeof (guint32))));
  /* The lost ranks read no more input, and no more output comes from them. */
  if (streams != NULL)
    dvmd_job_streams_lose (streams, node->rank, ranks);
}

/* ---- the service ---- */

static void
job_forgotten (gpointer service, DvmdJob *job)
{
  Signals *self = service;

  g_hash_table_remove (self->launched, GUINT_TO_POINTER (dvmd_job_get_id (job)));
  g_hash_table_remove (self->early, GUINT_TO_POINTER (dvmd_job_get_id (job)));
}

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  Signals *self = g_new0 (Signals, 1);

  self->launched = g_hash_table_new (NULL, NULL);
  self->early = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_array_unref);
  return self;
}

static void
signals_free (gpointer service)
{
  Signals *self = service;

  g_hash_table_unref (self->launched);
  g_hash_table_unref (self->early);
  g_free (self);
}

const DvmdService dvmd_signals_service = {
  .name = "signals",
  .create = create,
  .free = signals_free,
  .job_forgotten = job_forgotten,
};
