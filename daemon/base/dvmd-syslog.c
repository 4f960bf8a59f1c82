/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Messages for the syslog of this machine. syslog(3) waits for a syslog that reads nothing, and does not say whether
 * there is one, so the same datagram is sent without it.
 */

#include "config.h"

#include "dvmd-syslog.h"

#include <errno.h>
#include <gio/gio.h>
#include <gio/gunixsocketaddress.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "dvm.h"

/* (transfer full) (nullable) */
static GSocket *
open_socket (GSocketType type, GError **error)
{
  g_autoptr (GSocket) socket = g_socket_new (G_SOCKET_FAMILY_UNIX, type, G_SOCKET_PROTOCOL_DEFAULT, error);
  g_autoptr (GSocketAddress) address = g_unix_socket_address_new (_PATH_LOG);

  if (socket == NULL)
    return NULL;
  g_socket_set_blocking (socket, FALSE);
  return g_socket_connect (socket, address, NULL, error) ? g_steal_pointer (&socket) : NULL;
}

/* Some listen for connections, as syslog(3) knows. (transfer full) (nullable) */
static GSocket *
open_syslog (GError **error)
{
  g_autoptr (GError) of_datagrams = NULL;
  GSocket *socket = open_socket (G_SOCKET_TYPE_DATAGRAM, &of_datagrams);

  if (socket == NULL)
    socket = open_socket (G_SOCKET_TYPE_STREAM, NULL);
  if (socket == NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, "there is no syslog on %s (%s): %s", g_get_host_name (),
                 _PATH_LOG, of_datagrams->message);
  return socket;
}

gboolean
dvmd_syslog_is_there (GError **error)
{
  g_autoptr (GSocket) socket = open_syslog (error);

  return socket != NULL;
}

/* (transfer full): as syslog(3) writes it, with the English names of months */
static char *
format_message (guint priority, const DvmdLogSubject *subject, const char *text)
{
  static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
  g_autofree char *about = dvmd_log_describe (subject);
  g_autofree char *escaped = dvmd_log_escape (text);
  time_t now = time (NULL);
  struct tm local;

  localtime_r (&now, &local);
  return g_strdup_printf ("<%u>%s %2d %02d:%02d:%02d %s[%d]: %s: says: %s", LOG_USER | MIN (priority, LOG_DEBUG),
                          months[local.tm_mon], local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec,
                          program_invocation_short_name, (int)getpid (), about, escaped);
}

gboolean
dvmd_syslog_write (guint priority, const DvmdLogSubject *subject, const char *text, GError **error)
{
  g_autoptr (GSocket) socket = open_syslog (error);
  g_autofree char *message = socket != NULL ? format_message (priority, subject, text) : NULL;
  g_autoptr (GError) sending = NULL;
  gsize size;

  if (socket == NULL)
    return FALSE;
  /* In a stream the NUL is the end of a message. */
  size = strlen (message) + (g_socket_get_socket_type (socket) == G_SOCKET_TYPE_STREAM ? 1 : 0);
  if (g_socket_send (socket, message, size, NULL, &sending) == (gssize)size)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_READY, "the syslog on %s takes no message: %s", g_get_host_name (),
               sending != NULL ? sending->message : "it has taken a part of one");
  return FALSE;
}
