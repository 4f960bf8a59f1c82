/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Clients and tools of this server are told of events: each once, those that connect later when they have.
 *
 * libpmix itself would send an event that it has kept to a client when that connects and again when it registers a
 * handler (4.2.2), or before the client can have one (5.0.7). What it keeps for several processes it sends again to one
 * that registers another handler, and loses when the job of another one ends; so each process is a range of its own.
 * The library never frees an event that it has kept for one process and then handed out (4.2.2 to 6.0).
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-events.h"

#include <string.h>
#include <time.h>

#include "dvmd-log.h"
#include "dvmd-pmix-groups.h"
#include "dvmd-pmix-monitor.h"
#include "dvmd-pmix-private.h"
#include "dvmd-pmix-read.h"

/* As many as libpmix itself keeps, and as long, and so many bytes of a job's. */
#define MAX_HELD      512
#define MAX_HELD_TIME (120 * G_TIME_SPAN_SECOND)
#define MAX_HELD_SIZE (4 * 1024 * 1024)
/* Bytes that the library may lose that way; then it gets one range for all, which no process uses up. */
#define MAX_LOST (32 * 1024 * 1024)

typedef struct
{
  int status;
  gboolean has_source;
  pmix_proc_t source;
  guint32 rank;      /* whom it waits for, or DVMD_PMIX_RANK_WILDCARD */
  time_t time;       /* when the server was told of it */
  gint64 since;      /* monotonic, µs */
  guint64 number;    /* of those that were held for the job, from 1 */
  GVariant *details; /* (nullable) */
} Held;

struct _DvmdPmixAudience
{
  GHashTable *connected; /* rank -> how often: a tool may have the environment of one */
  GHashTable *left;      /* rank that was connected, and is not any more -> number of the last event before that */
  GQueue held;           /* Held */
  gsize size;            /* bytes of their details */
  guint64 last;          /* number of the last one */
  guint64 last_dropped;  /* and of the last for which there was no room */
  gboolean said;         /* that one was missed */
};

static gsize
get_size (const Held *held)
{
  return held->details != NULL ? g_variant_get_size (held->details) : 0;
}

static void
held_free (gpointer data)
{
  Held *self = data;

  g_clear_pointer (&self->details, g_variant_unref);
  g_free (self);
}

DvmdPmixAudience *
dvmd_pmix_audience_new (void)
{
  DvmdPmixAudience *self = g_new0 (DvmdPmixAudience, 1);

  self->connected = g_hash_table_new (NULL, NULL);
  self->left = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  g_queue_init (&self->held);
  return self;
}

void
dvmd_pmix_audience_free (DvmdPmixAudience *self)
{
  g_hash_table_unref (self->connected);
  g_hash_table_unref (self->left);
  g_queue_clear_full (&self->held, held_free);
  g_free (self);
}

/* ---- the library is told ---- */

/* The library reads the details until it has called back, and the source too (7.0). */
typedef struct
{
  DvmdPmixInfo info;
  pmix_proc_t source;
} Notification;

static void
on_notified (pmix_status_t status, void *data)
{
  Notification *notification = data;

  dvmd_pmix_info_clear (&notification->info);
  g_free (notification);
}

/*
 * Not for handlers of everything: a program that does not wait for a debugger any more must not take its release for an
 * error, and one that knows nothing of debuggers, or of changes of size, is not bothered with them.
 */
static gboolean
is_for_who_asked (int status)
{
  return status == PMIX_DEBUGGER_RELEASE || status == PMIX_READY_FOR_DEBUG || status == PMIX_EVENT_JOB_START
         || status == PMIX_EVENT_JOB_END || status == (int)DVMD_PMIX_DVM_IS_READY
         || status == (int)DVMD_PMIX_ERR_DVM_MOD || status == (int)DVMD_PMIX_ALLOC_TIMEOUT_WARNING;
}

/* Always with a list of processes: with another range the library would tell all that have registered. */
static void
notify (const Held *event, pmix_proc_t *targets, gsize n_targets)
{
  Notification *notification = g_new0 (Notification, 1);
  pmix_data_array_t array = { .type = PMIX_PROC, .size = n_targets, .array = targets };
  pmix_status_t rc;

  dvmd_pmix_info_add (&notification->info, PMIX_EVENT_CUSTOM_RANGE, &array, PMIX_DATA_ARRAY);
  if (event->details != NULL)
    dvmd_pmix_info_add_dict (&notification->info, event->details);
  if (!event->has_source)
    dvmd_pmix_info_add (&notification->info, PMIX_EVENT_TIMESTAMP, &event->time, PMIX_TIME);
  if (is_for_who_asked (event->status))
    dvmd_pmix_info_add_flag (&notification->info, PMIX_EVENT_NON_DEFAULT, TRUE);
  notification->source = event->source;
  rc = PMIx_Notify_event (event->status, event->has_source ? &notification->source : NULL, PMIX_RANGE_CUSTOM,
                          notification->info.items, notification->info.length, on_notified, notification);
  if (rc == PMIX_SUCCESS)
    return;
  if (rc != PMIX_OPERATION_SUCCEEDED)
    g_message ("Event %d was not delivered: %s", event->status, PMIx_Error_string (rc));
  on_notified (rc, notification);
}

/* ---- now, or when they have connected ---- */

/* Values of an event of a client are packed, those of the DVM are not. */
static gboolean
is_for_now (const Held *event)
{
  g_autoptr (GVariant) packed = NULL;
  pmix_value_t value;
  gboolean now;

  if (event->details == NULL)
    return FALSE;
  if (g_variant_lookup (event->details, PMIX_EVENT_DO_NOT_CACHE, "b", &now))
    return now;
  packed = g_variant_lookup_value (event->details, PMIX_EVENT_DO_NOT_CACHE, G_VARIANT_TYPE_BYTESTRING);
  if (packed == NULL || !dvmd_pmix_unpack_value (packed, &value))
    return FALSE;
  now = value.type == PMIX_BOOL && value.data.flag;
  PMIX_VALUE_DESTRUCT (&value);
  return now;
}

static void
drop_oldest (DvmdPmixAudience *self)
{
  Held *oldest = g_queue_pop_head (&self->held);

  self->size -= get_size (oldest);
  held_free (oldest);
}

static void
drop_old (DvmdPmixAudience *self)
{
  gint64 now = g_get_monotonic_time ();

  while (self->held.length > 0 && now - ((const Held *)self->held.head->data)->since > MAX_HELD_TIME)
    drop_oldest (self);
}

static void
hold (DvmdPmixServerJob *job, const Held *event, guint32 rank)
{
  DvmdPmixAudience *audience = job->audience;
  Held *copy;

  if (is_for_now (event))
    return;
  copy = g_memdup2 (event, sizeof *event);
  copy->rank = rank;
  copy->since = g_get_monotonic_time ();
  if (copy->details != NULL)
    g_variant_ref (copy->details);
  copy->number = ++audience->last;
  drop_old (audience);
  audience->size += get_size (copy);
  g_queue_push_tail (&audience->held, copy);
  while (audience->held.length > MAX_HELD || audience->size > MAX_HELD_SIZE)
    {
      audience->last_dropped = ((const Held *)audience->held.head->data)->number;
      drop_oldest (audience);
    }
}

static void
add_proc (GArray *present, const char *nspace, guint32 rank)
{
  pmix_proc_t proc;

  PMIX_LOAD_PROCID (&proc, nspace, rank);
  g_array_append_val (present, proc);
}

/* The library tells the source nothing, and would keep for good what is for that alone. */
static void
add_rank (GArray *present, const Held *event, const char *nspace, guint32 rank)
{
  if (!event->has_source || event->source.rank != rank || strcmp (event->source.nspace, nspace) != 0)
    add_proc (present, nspace, rank);
}

/* One that has left may come back: its program was only the first of several. */
static gboolean
is_complete (const DvmdPmixServerJob *job)
{
  return g_hash_table_size (job->audience->connected) >= dvmd_pmix_job_count_on_node (job->job, job->job->my_node);
}

/* Adds to present those of the job's ranks that are connected. */
static void
address_job (DvmdPmixServerJob *job, const Held *event, guint32 rank, GArray *present)
{
  DvmdPmixAudience *audience = job->audience;
  GHashTableIter iter;
  gpointer key;

  if (rank != DVMD_PMIX_RANK_WILDCARD)
    {
      if (g_hash_table_contains (audience->connected, GUINT_TO_POINTER (rank)))
        add_rank (present, event, job->job->nspace, rank);
      else if (dvmd_pmix_job_has_local_rank (job->job, rank))
        hold (job, event, rank);
      return;
    }
  if (!is_complete (job))
    hold (job, event, rank);
  g_hash_table_iter_init (&iter, audience->connected);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    add_rank (present, event, job->job->nspace, GPOINTER_TO_UINT (key));
}

/*
 * One range for all loses nothing of an event that is not kept. Of the loss of a node there is an event for each of its
 * processes, and the library may lose all of them.
 */
static gboolean
is_for_all (const Held *event)
{
  return is_for_now (event) || (event->status == PMIX_ERR_LOST_CONNECTION && !event->has_source);
}

static gboolean
may_lose (DvmdPmixServer *self, const Held *event, guint n)
{
  gsize n_details = event->details != NULL ? g_variant_n_children (event->details) : 0;

  self->lost += n * ((n_details + 3) * sizeof (pmix_info_t) + get_size (event));
  return self->lost <= MAX_LOST;
}

static void
notify_all (DvmdPmixServer *self, const Held *event, GArray *present)
{
  if (present->len > 0 && (is_for_all (event) || !may_lose (self, event, present->len)))
    {
      add_proc (present, "-", 0);
      notify (event, (pmix_proc_t *)present->data, present->len);
      return;
    }
  for (guint i = 0; i < present->len; i++)
    notify (event, &g_array_index (present, pmix_proc_t, i), 1);
}

static char *
name_proc (const pmix_proc_t *proc)
{
  return g_strdup_printf ("%s.%u", proc->nspace, proc->rank);
}

void
dvmd_pmix_server_note_told (DvmdPmixServer *self, const pmix_proc_t *source)
{
  if (g_hash_table_size (self->told) == 0)
    g_message ("The PMIx library %s tells its clients of events by itself: those of this server get what others of it "
               "tell also if it is not for them, and nothing of the range of a node reaches those of other servers",
               PMIx_Get_version ());
  g_hash_table_add (self->told, name_proc (source));
}

/* Whether the library has told the clients of this server already. */
static gboolean
was_told (DvmdPmixServer *self, const Held *event)
{
  g_autofree char *name = event->has_source ? name_proc (&event->source) : NULL;

  return name != NULL && g_hash_table_contains (self->told, name);
}

/* The members of this server are noted, also the one that tells of the group. */
static void
note_group (DvmdPmixServer *self, GVariant *details)
{
  g_autoptr (GVariant)
      members = g_variant_lookup_value (details, DVMD_PMIX_KEY_GROUP_MEMBERS, G_VARIANT_TYPE ("a(su)"));
  const char *id;
  GVariantIter iter;
  pmix_proc_t proc;
  const char *nspace;
  guint32 rank;

  if (members == NULL || !g_variant_lookup (details, DVMD_PMIX_KEY_GROUP_ID, "&s", &id))
    return;
  g_variant_iter_init (&iter, members);
  while (g_variant_iter_next (&iter, "(&su)", &nspace, &rank))
    {
      const DvmdPmixServerJob *job = g_hash_table_lookup (self->jobs, nspace);
      guint32 last = rank == DVMD_PMIX_RANK_WILDCARD ? (job != NULL ? job->job->ranks->len : 0) : rank + 1;

      for (guint32 i = rank == DVMD_PMIX_RANK_WILDCARD ? 0 : rank; job != NULL && i < last; i++)
        if (dvmd_pmix_job_has_local_rank (job->job, i))
          {
            PMIX_LOAD_PROCID (&proc, nspace, i);
            dvmd_pmix_groups_note (&proc, id, members);
          }
    }
}

void
dvmd_pmix_server_notify_event (DvmdPmix *pmix, int status, const DvmdPmixProc *source, const DvmdPmixProc *targets,
                               guint n_targets, GVariant *details)
{
  DvmdPmixServer *self = DVMD_PMIX_SERVER (pmix);
  g_autoptr (GVariant) owned = details != NULL ? g_variant_ref_sink (details) : NULL;
  g_autoptr (GArray) present = g_array_new (FALSE, FALSE, sizeof (pmix_proc_t));
  Held event = { .status = status, .has_source = source != NULL, .time = time (NULL), .details = owned };

  if (!self->running)
    return;
  if (source != NULL)
    PMIX_LOAD_PROCID (&event.source, source->nspace, source->rank);
  if (was_told (self, &event))
    return;
  if ((status == PMIX_GROUP_CONSTRUCT_COMPLETE || status == PMIX_GROUP_LEFT) && owned != NULL)
    note_group (self, owned);
  for (guint i = 0; i < n_targets; i++)
    {
      DvmdPmixServerJob *job = g_hash_table_lookup (self->jobs, targets[i].nspace);

      if (job != NULL)
        address_job (job, &event, targets[i].rank, present);
      else
        add_rank (present, &event, targets[i].nspace, targets[i].rank);
    }
  notify_all (self, &event, present);
}

/* The number of the last event that was told before the rank left, 0: it comes for the first time. */
static guint64
take_left (DvmdPmixAudience *self, guint32 rank)
{
  g_autofree guint64 *number = NULL;

  if (!g_hash_table_steal_extended (self->left, GUINT_TO_POINTER (rank), NULL, (gpointer *)&number))
    return 0;
  return *number;
}

static void
say_missed (DvmdPmixServerJob *job, guint32 rank)
{
  if (job->audience->said)
    return;
  job->audience->said = TRUE;
  dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE, job->job->nspace, rank,
                 "misses events that were told before it called PMIx_Init, the oldest of more than can be kept for a "
                 "job; others of the job may, too");
}

/* since: the number of the last event that it has been told */
static void
tell_held (DvmdPmixServer *self, DvmdPmixServerJob *job, const pmix_proc_t *proc, guint64 since)
{
  drop_old (job->audience);
  if (job->audience->last_dropped > since)
    say_missed (job, proc->rank);
  for (GList *l = job->audience->held.head; l != NULL; l = l->next)
    {
      const Held *event = l->data;
      g_autoptr (GArray) present = g_array_new (FALSE, FALSE, sizeof (pmix_proc_t));

      if (event->number <= since || (event->rank != DVMD_PMIX_RANK_WILDCARD && event->rank != proc->rank))
        continue;
      add_proc (present, proc->nspace, proc->rank);
      notify_all (self, event, present);
    }
}

void
dvmd_pmix_server_rank_connected (DvmdPmixServer *self, const pmix_proc_t *proc)
{
  DvmdPmixServerJob *job = g_hash_table_lookup (self->jobs, proc->nspace);
  gpointer rank = GUINT_TO_POINTER (proc->rank);
  guint n_before;

  if (job == NULL)
    return;
  n_before = GPOINTER_TO_UINT (g_hash_table_lookup (job->audience->connected, rank));
  g_hash_table_insert (job->audience->connected, rank, GUINT_TO_POINTER (n_before + 1));
  /* One that is connected is told of each as it comes. */
  if (n_before > 0)
    return;
  tell_held (self, job, proc, take_left (job->audience, proc->rank));
  if (!is_complete (job))
    return;
  g_queue_clear_full (&job->audience->held, held_free);
  job->audience->size = 0;
}

void
dvmd_pmix_server_rank_left (DvmdPmixServer *self, const pmix_proc_t *proc)
{
  DvmdPmixServerJob *job = g_hash_table_lookup (self->jobs, proc->nspace);
  gpointer rank = GUINT_TO_POINTER (proc->rank);
  guint n = job != NULL ? GPOINTER_TO_UINT (g_hash_table_lookup (job->audience->connected, rank)) : 0;

  dvmd_pmix_server_drop_monitors (self, proc);
  if (n > 1)
    g_hash_table_insert (job->audience->connected, rank, GUINT_TO_POINTER (n - 1));
  else if (n == 1)
    {
      g_hash_table_remove (job->audience->connected, rank);
      g_hash_table_insert (job->audience->left, rank, g_memdup2 (&job->audience->last, sizeof job->audience->last));
    }
}
