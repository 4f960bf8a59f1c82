/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The launch fence has two gates, which campaigns close while they change the nodes.
 */

#include "config.h"

#include "dvmd-launch-fence.h"

#include "dvmd-job-parts.h"

struct _DvmdLaunchFence
{
  GPtrArray *tickets[DVMD_N_GATES]; /* DvmdCampaign, unowned */
  char **paths[DVMD_N_GATES];       /* (nullable): of the same, while nothing has changed */
  GQueue jobs;                      /* DvmdJob, in the order in which they were parked first */
  guint n_parked;                   /* of them those that are not on their way */
  guint64 last_number;
};

/* In the fence, parked or on its way through, as long as the link has data. */
typedef struct
{
  GList link; /* DvmdJob */
  DvmdGate gate;
  gint64 since; /* µs, monotonic */
  guint64 number;
} Parking;

static Parking *
parking_of (DvmdJob *job)
{
  return dvmd_job_get_part (job, DVMD_JOB_PART_PARKING, sizeof (Parking), NULL);
}

DvmdLaunchFence *
dvmd_launch_fence_new (void)
{
  DvmdLaunchFence *self = g_new0 (DvmdLaunchFence, 1);

  for (guint i = 0; i < DVMD_N_GATES; i++)
    self->tickets[i] = g_ptr_array_new ();
  g_queue_init (&self->jobs);
  return self;
}

void
dvmd_launch_fence_free (DvmdLaunchFence *self)
{
  for (guint i = 0; i < DVMD_N_GATES; i++)
    {
      g_ptr_array_unref (self->tickets[i]);
      g_strfreev (self->paths[i]);
    }
  g_free (self);
}

/* ---- tickets ---- */

void
dvmd_launch_fence_close (DvmdLaunchFence *self, DvmdGate gate, DvmdCampaign *campaign)
{
  g_ptr_array_add (self->tickets[gate], campaign);
  g_clear_pointer (&self->paths[gate], g_strfreev);
}

void
dvmd_launch_fence_open (DvmdLaunchFence *self, DvmdGate gate, DvmdCampaign *campaign)
{
  if (!g_ptr_array_remove (self->tickets[gate], campaign))
    g_critical ("Campaign %u has no ticket to give back", dvmd_campaign_get_id (campaign));
  g_clear_pointer (&self->paths[gate], g_strfreev);
}

gboolean
dvmd_launch_fence_is_closed (DvmdLaunchFence *self, DvmdGate gate)
{
  return self->tickets[gate]->len > 0;
}

guint64
dvmd_launch_fence_next_number (DvmdLaunchFence *self)
{
  return ++self->last_number;
}

static int
compare_campaigns (gconstpointer a, gconstpointer b)
{
  guint left = dvmd_campaign_get_id (*(DvmdCampaign *const *)a);
  guint right = dvmd_campaign_get_id (*(DvmdCampaign *const *)b);

  return left < right ? -1 : left > right;
}

const char *const *
dvmd_launch_fence_get_paths (DvmdLaunchFence *self, DvmdGate gate)
{
  g_autoptr (GPtrArray) paths = NULL;

  if (self->paths[gate] != NULL)
    return (const char *const *)self->paths[gate];
  g_ptr_array_sort (self->tickets[gate], compare_campaigns);
  paths = g_ptr_array_new ();
  for (guint i = 0; i < self->tickets[gate]->len; i++)
    {
      DvmdCampaign *campaign = g_ptr_array_index (self->tickets[gate], i);

      g_ptr_array_add (paths, g_strdup (dvm_campaign_get_object_path (dvmd_campaign_get_record (campaign))));
    }
  g_ptr_array_add (paths, NULL);
  self->paths[gate] = (char **)g_ptr_array_free (g_steal_pointer (&paths), FALSE);
  return (const char *const *)self->paths[gate];
}

/* ---- jobs ---- */

void
dvmd_launch_fence_park (DvmdLaunchFence *self, DvmdJob *job, DvmdGate gate, gint64 now)
{
  Parking *parking = parking_of (job);

  g_return_if_fail (gate != DVMD_GATE_NONE && parking->gate == DVMD_GATE_NONE);

  parking->gate = gate;
  self->n_parked++;
  if (parking->link.data != NULL)
    return;
  parking->link.data = job;
  parking->since = now;
  parking->number = ++self->last_number;
  g_queue_push_tail_link (&self->jobs, &parking->link);
}

static void
let_go (DvmdLaunchFence *self, Parking *parking)
{
  if (parking->gate != DVMD_GATE_NONE)
    self->n_parked--;
  parking->gate = DVMD_GATE_NONE;
}

gboolean
dvmd_launch_fence_pass (DvmdLaunchFence *self, DvmdJob *job, DvmdGate *gate)
{
  Parking *parking = parking_of (job);

  *gate = parking->gate;
  if (parking->link.data == NULL)
    return FALSE;
  let_go (self, parking);
  g_queue_unlink (&self->jobs, &parking->link);
  parking->link.data = NULL;
  return TRUE;
}

guint64
dvmd_launch_fence_get_number (DvmdJob *job)
{
  return parking_of (job)->number;
}

GPtrArray *
dvmd_launch_fence_list (DvmdLaunchFence *self, DvmdGate gate)
{
  GPtrArray *jobs = g_ptr_array_new ();

  for (GList *l = self->jobs.head; l != NULL; l = l->next)
    if (parking_of (l->data)->gate == gate)
      g_ptr_array_add (jobs, l->data);
  return jobs;
}

static int
compare_jobs (gconstpointer a, gconstpointer b)
{
  guint left = dvmd_job_get_id (*(DvmdJob *const *)a);
  guint right = dvmd_job_get_id (*(DvmdJob *const *)b);

  return left < right ? -1 : left > right;
}

GPtrArray *
dvmd_launch_fence_release (DvmdLaunchFence *self, DvmdGate gate)
{
  GPtrArray *jobs = dvmd_launch_fence_list (self, gate);

  for (guint i = 0; i < jobs->len; i++)
    let_go (self, parking_of (g_ptr_array_index (jobs, i)));
  g_ptr_array_sort (jobs, compare_jobs);
  return jobs;
}

guint
dvmd_launch_fence_count (DvmdLaunchFence *self)
{
  return self->n_parked;
}

gboolean
dvmd_launch_fence_has_since (DvmdLaunchFence *self, gint64 time)
{
  DvmdJob *first = self->jobs.head != NULL ? self->jobs.head->data : NULL;

  return first != NULL && parking_of (first)->since <= time;
}
