/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Connects and disconnects of libpmix's server, whose functions it finds here before its own: their time limits, and
 * what they do not heed.
 *
 * The library (4.2.2 to 5.0) sets the timer of a connect anew for each client that comes, over the one that runs, and
 * after it has ended: its thread does not come back from that, and with it all clients of the server. A disconnect has
 * none. So the limit is told to the library under another name, under which the host reads it, and the timer is ours:
 * one, until all clients of this server have come; from then on the host's counts.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include <dlfcn.h>

#include "dvmd-pmix-groups.h"
#include "dvmd-pmix-inner.h"
#include "dvmd-pmix-inside.h"

#define EXPORTED __attribute__ ((visibility ("default")))

typedef pmix_status_t (*Serve) (pmix_server_caddy_t *client, pmix_buffer_t *buffer, pmix_op_cbfunc_t done);

/* Seconds; 0: as long as it takes. The value is one that the unpacking of attributes has let through. */
static int
find_limit (const DvmdPmixMeeting *meeting)
{
  for (gsize i = 0; i < meeting->n_info; i++)
    if (PMIX_CHECK_KEY (&meeting->info[i], PMIX_TIMEOUT))
      return meeting->info[i].value.data.integer;
  return 0;
}

static pmix_status_t
pack_renamed (const DvmdPmixMeeting *meeting, pmix_peer_t *peer, pmix_buffer_t *buffer)
{
  pmix_status_t status;

  for (gsize i = 0; i < meeting->n_info; i++)
    if (PMIX_CHECK_KEY (&meeting->info[i], PMIX_TIMEOUT))
      PMIX_LOAD_KEY (meeting->info[i].key, DVMD_PMIX_MEETING_LIMIT);
  PMIX_BFROPS_PACK (status, peer, buffer, &meeting->n_procs, 1, PMIX_SIZE);
  if (status == PMIX_SUCCESS)
    PMIX_BFROPS_PACK (status, peer, buffer, meeting->procs, (int32_t)meeting->n_procs, PMIX_PROC);
  if (status == PMIX_SUCCESS)
    PMIX_BFROPS_PACK (status, peer, buffer, &meeting->n_info, 1, PMIX_SIZE);
  if (status == PMIX_SUCCESS)
    PMIX_BFROPS_PACK (status, peer, buffer, meeting->info, (int32_t)meeting->n_info, PMIX_INFO);
  return status;
}

/* ---- the timer ---- */

static gboolean
has_client (pmix_server_trkr_t *tracker, const pmix_server_caddy_t *client)
{
  pmix_server_caddy_t *one;

  PMIX_LIST_FOREACH (one, &tracker->local_cbs, pmix_server_caddy_t)
  {
    if (one == client)
      return TRUE;
  }
  return FALSE;
}

/* (nullable): in which the client waits */
static pmix_server_trkr_t *
find_tracker (const pmix_server_caddy_t *client)
{
  pmix_server_trkr_t *tracker;

  PMIX_LIST_FOREACH (tracker, &pmix_server_globals.collectives, pmix_server_trkr_t)
  {
    if (has_client (tracker, client))
      return tracker;
  }
  return NULL;
}

/* Otherwise its end is the host's, or on its way. */
static gboolean
waits_for_clients (pmix_server_trkr_t *tracker)
{
  return !tracker->host_called
         && !(tracker->def_complete && pmix_list_get_size (&tracker->local_cbs) == tracker->nlocal);
}

/* The library takes an active timer down with the tracker. */
static void
on_limit (int fd, short flags, void *data)
{
  pmix_server_trkr_t *tracker = data;

  tracker->event_active = false;
  if (!waits_for_clients (tracker))
    return;
  /* One that comes before that end has been told is in it, and does not make another one. */
  tracker->def_complete = false;
  tracker->op_cbfunc (PMIX_ERR_TIMEOUT, tracker);
}

static void
begin_limit (const pmix_server_caddy_t *client, int seconds)
{
  pmix_server_trkr_t *tracker = find_tracker (client);

  if (tracker == NULL || tracker->event_active || !waits_for_clients (tracker))
    return;
  PMIX_THREADSHIFT_DELAY (tracker, on_limit, seconds);
  tracker->event_active = true;
}

/* ---- requests ---- */

static pmix_status_t
serve_limited (pmix_server_caddy_t *client, const DvmdPmixMeeting *meeting, int seconds, pmix_op_cbfunc_t done,
               Serve next)
{
  pmix_buffer_t buffer;
  pmix_status_t status;

  PMIX_CONSTRUCT (&buffer, pmix_buffer_t);
  status = pack_renamed (meeting, client->peer, &buffer);
  if (status == PMIX_SUCCESS)
    status = next (client, &buffer, done);
  PMIX_DESTRUCT (&buffer);
  if (status == PMIX_SUCCESS)
    begin_limit (client, seconds);
  return status;
}

static pmix_status_t
serve (pmix_server_caddy_t *client, pmix_buffer_t *buffer, pmix_op_cbfunc_t done, Serve next)
{
  char *start = buffer->unpack_ptr;
  g_auto (DvmdPmixMeeting) meeting = { 0 };
  pmix_status_t status = dvmd_pmix_meeting_read (&meeting, client->peer, buffer);
  int seconds;

  if (status == PMIX_SUCCESS)
    status = dvmd_pmix_meeting_check (&meeting, NULL);
  for (gsize i = 0; status == PMIX_SUCCESS && i < meeting.n_procs; i++)
    if (dvmd_pmix_is_singleton (&meeting.procs[i]))
      status = PMIX_ERR_NOT_SUPPORTED;
  if (status != PMIX_SUCCESS)
    return status;
  seconds = find_limit (&meeting);
  if (seconds > 0)
    return serve_limited (client, &meeting, seconds, done, next);
  buffer->unpack_ptr = start;
  return next (client, buffer, done);
}

EXPORTED pmix_status_t
pmix_server_connect (pmix_server_caddy_t *client, pmix_buffer_t *buffer, pmix_op_cbfunc_t done)
{
  Serve next = (Serve)dlsym (RTLD_NEXT, "pmix_server_connect");

  return dvmd_pmix_groups_are_served () ? serve (client, buffer, done, next) : next (client, buffer, done);
}

EXPORTED pmix_status_t
pmix_server_disconnect (pmix_server_caddy_t *client, pmix_buffer_t *buffer, pmix_op_cbfunc_t done)
{
  Serve next = (Serve)dlsym (RTLD_NEXT, "pmix_server_disconnect");

  return dvmd_pmix_groups_are_served () ? serve (client, buffer, done, next) : next (client, buffer, done);
}
