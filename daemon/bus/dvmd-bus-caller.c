/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A caller is known by the credentials of its connection, and what it may change follows from them.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-caller.h"
#include "dvmd-bus-parts.h"
#include "dvmd-bus-peer.h"
#include "dvmd-rights.h"

#include <pwd.h>

/* In one place for all methods (spec: who may do what). */
gboolean
dvmd_bus_caller_check (DvmdBusServer *server, DvmdBusCaller *caller, DvmdBusAccess access, gpointer object,
                       GError **error)
{
  switch (access)
    {
    case DVMD_BUS_CHANGES_JOB:
      return dvmd_core_may (server->core, &caller->requester, DVMD_RIGHT_JOB, NULL, object, error);
    case DVMD_BUS_CHANGES_NODE:
      return dvmd_core_may (server->core, &caller->requester, DVMD_RIGHT_NODE, NULL, NULL, error);
    case DVMD_BUS_PLANS:
    case DVMD_BUS_CHANGES:
      return dvmd_core_may (server->core, &caller->requester, DVMD_RIGHT_DVM, NULL, NULL, error);
    case DVMD_BUS_READS:
    case DVMD_BUS_TRACKED:
      break;
    }
  return TRUE;
}

gboolean
dvmd_bus_caller_may_change (DvmdBusCaller *self)
{
  return dvmd_bus_caller_check (self->peer->server, self, DVMD_BUS_CHANGES, NULL, NULL);
}

void
dvmd_bus_pending_call_free (DvmdBusPendingCall *pending)
{
  g_clear_object (&pending->invocation);
  g_free (pending);
}

DvmdBusCaller *
dvmd_bus_caller_new (DvmdBusPeer *peer, const char *name)
{
  DvmdBusCaller *self = g_rc_box_new0 (DvmdBusCaller);

  self->peer = peer;
  self->requester.name = g_strdup (name);
  g_queue_init (&self->pending);
  return self;
}

DvmdBusCaller *
dvmd_bus_caller_new_private (DvmdBusPeer *peer)
{
  DvmdBusCaller *self = dvmd_bus_caller_new (peer, peer->name);
  GCredentials *credentials = g_dbus_connection_get_peer_credentials (peer->connection);

  /* Connections without credentials do not pass authentication. */
  self->requester.uid = credentials != NULL ? g_credentials_get_unix_user (credentials, NULL) : G_MAXUINT;
  self->requester.pid = credentials != NULL ? MAX (g_credentials_get_unix_pid (credentials, NULL), 0) : 0;
  self->known = TRUE;
  return self;
}

DvmdBusCaller *
dvmd_bus_caller_ref (DvmdBusCaller *self)
{
  return g_rc_box_acquire (self);
}

static void
caller_clear (gpointer data)
{
  DvmdBusCaller *self = data;

  g_free (self->requester.name);
  g_queue_clear_full (&self->pending, (GDestroyNotify)dvmd_bus_pending_call_free);
  g_clear_pointer (&self->jobs, g_array_unref);
}

void
dvmd_bus_caller_unref (DvmdBusCaller *self)
{
  g_rc_box_release_full (self, caller_clear);
}

static DvmdJob *
find_live (DvmdBusServer *server, guint id)
{
  DvmdJob *job = dvmd_core_get_job (server->core, id);

  return job != NULL && !dvmd_job_get_ended (job) ? job : NULL;
}

void
dvmd_bus_caller_keep_job (DvmdBusCaller *self, DvmdJob *job)
{
  guint id = dvmd_job_get_id (job);

  if (self->peer == NULL)
    return;
  if (self->jobs == NULL)
    self->jobs = g_array_new (FALSE, FALSE, sizeof (guint));
  /* One who submits for days does not gather what has ended, also behind a job that runs as long. */
  if (self->jobs->len >= self->jobs_limit)
    {
      for (guint i = self->jobs->len; i > 0; i--)
        if (find_live (self->peer->server, g_array_index (self->jobs, guint, i - 1)) == NULL)
          g_array_remove_index_fast (self->jobs, i - 1);
      self->jobs_limit = 2 * self->jobs->len + 32;
    }
  g_array_append_val (self->jobs, id);
}

static char *
find_user (guint uid)
{
  char buffer[4096];
  struct passwd entry;
  struct passwd *found = NULL;

  if (uid == G_MAXUINT)
    return g_strdup ("somebody");
  if (getpwuid_r (uid, &entry, buffer, sizeof buffer, &found) == 0 && found != NULL)
    return g_utf8_make_valid (found->pw_name, -1);
  return g_strdup_printf ("uid %u", uid);
}

/* (nullable): it may have gone */
static char *
find_program (guint pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%u/comm", pid);
  g_autofree char *name = NULL;

  if (pid == 0 || !g_file_get_contents (path, &name, NULL, NULL))
    return NULL;
  return g_utf8_make_valid (g_strchomp (name), -1);
}

char *
dvmd_bus_caller_describe (DvmdBusCaller *self)
{
  g_autofree char *user = find_user (self->requester.uid);
  g_autofree char *program = find_program (self->requester.pid);

  if (program != NULL)
    return g_strdup_printf ("%s (%s, pid %u)", user, program, self->requester.pid);
  return self->requester.pid != 0 ? g_strdup_printf ("%s (pid %u)", user, self->requester.pid)
                                  : g_strdup_printf ("%s (%s)", user, self->requester.name);
}

void
dvmd_bus_caller_end_jobs (DvmdBusCaller *self, DvmdBusServer *server)
{
  g_autoptr (GArray) jobs = g_steal_pointer (&self->jobs);
  g_autofree char *who = NULL;
  g_autoptr (DvmReason) reason = NULL;

  if (jobs == NULL || server->stopped)
    return;
  who = dvmd_bus_caller_describe (self);
  reason = _dvm_reason_new (DVM_REASON_SUBMITTER_LEFT, who);
  for (guint i = 0; i < jobs->len; i++)
    {
      DvmdJob *job = find_live (server, g_array_index (jobs, guint, i));
      g_autoptr (GError) error = NULL;

      if (job != NULL && !dvmd_controller_cancel_job_for (server->controller, job, reason, &error))
        g_message ("A job of %s cannot be ended: %s", self->requester.name, error->message);
    }
}
