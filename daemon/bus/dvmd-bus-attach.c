/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The method Attach hands out descriptors of a job's standard streams.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-call.h"
#include "dvmd-bus-methods.h"
#include "dvmd-bus-options.h"
#include "dvmd-bus-peer.h"

#include <gio/gunixfdlist.h>

static DvmStreams
get_streams (gboolean in, gboolean out, gboolean err, gboolean pty, gboolean given)
{
  DvmStreams streams = DVM_STREAMS_NONE;

  if (!given)
    return DVM_STREAMS_STDOUT | DVM_STREAMS_STDERR;
  if (in)
    streams |= DVM_STREAMS_STDIN;
  if (out)
    streams |= DVM_STREAMS_STDOUT;
  if (err)
    streams |= DVM_STREAMS_STDERR;
  if (pty)
    streams |= DVM_STREAMS_PTY;
  return streams;
}

static gboolean
parse_streams (DvmdBusCall *call, DvmStreams *streams, GError **error)
{
  g_autoptr (GVariant) dict = g_variant_get_child_value (call->parameters, 0);
  gboolean in = FALSE;
  gboolean out = FALSE;
  gboolean err = FALSE;
  gboolean pty = FALSE;
  const DvmdBusOption options[] = {
    { "stdin", "b", &in },
    { "stdout", "b", &out },
    { "stderr", "b", &err },
    { "pty", "b", &pty },
  };

  if (!dvmd_bus_options_parse (dict, options, G_N_ELEMENTS (options), error))
    return FALSE;
  *streams = get_streams (in, out, err, pty, g_variant_n_children (dict) > 0);
  if (*streams == DVM_STREAMS_NONE)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "No stream is asked for: name stdin, stdout, stderr or pty, or none of them for stdout and stderr");
  else if (pty && *streams != DVM_STREAMS_PTY)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "pty is all streams in one: ask for it alone");
  else
    return TRUE;
  return FALSE;
}

static void
return_fds (DvmdBusCall *call, DvmStreams streams, int fds[3])
{
  static const char *const names[3] = { "stdin", "stdout", "stderr" };
  g_autoptr (GUnixFDList) list = NULL;
  GVariantBuilder builder;
  int handles[3];
  int n = 0;

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a{sh}"));
  for (int i = 0; i < 3; i++)
    if (fds[i] >= 0)
      {
        g_variant_builder_add (&builder, "{sh}", (streams & DVM_STREAMS_PTY) != 0 ? "pty" : names[i], n);
        handles[n++] = fds[i];
      }
  /* Takes the descriptors: they are closed when the message has gone, or cannot go. */
  list = g_unix_fd_list_new_from_array (handles, n);
  g_dbus_method_invocation_return_value_with_unix_fd_list (call->invocation, g_variant_new ("(a{sh})", &builder), list);
}

void
dvmd_bus_attach (DvmdBusCall *call)
{
  DvmStreams streams = DVM_STREAMS_NONE;
  int fds[3] = { -1, -1, -1 };
  GError *error = NULL;

  if ((g_dbus_connection_get_capabilities (call->peer->connection) & G_DBUS_CAPABILITY_FLAGS_UNIX_FD_PASSING) == 0)
    error = g_error_new (DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, "This connection cannot carry descriptors");
  else if (parse_streams (call, &streams, &error)
           && dvmd_controller_attach (call->controller, call->object, streams, fds, &error))
    {
      return_fds (call, streams, fds);
      return;
    }
  dvmd_bus_return_error (call->invocation, error);
}
