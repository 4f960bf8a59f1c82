/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where a DVM may be, and the sockets of those places.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-client"

#include <errno.h>
#include <gio/gunixconnection.h>
#include <glib-unix.h>
#include <glib/gi18n-lib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "dvm-client-private.h"

/* A listener whose queue is full must not hold us for ever. */
#define CONNECT_TIMEOUT_S 10

static void
place_free (gpointer data)
{
  DvmPlace *place = data;

  g_free (place->address);
  g_free (place->path);
  g_free (place);
}

static DvmPlace *
add_place (GPtrArray *places, DvmPlaceKind kind, const char *title)
{
  DvmPlace *place = g_new0 (DvmPlace, 1);

  place->kind = kind;
  place->title = title;
  g_ptr_array_add (places, place);
  return place;
}

static void
add_socket (GPtrArray *places, const char *path, const char *title)
{
  DvmPlace *place = add_place (places, DVM_PLACE_SOCKET, title);
  g_autofree char *escaped = g_dbus_address_escape_value (path);

  place->path = g_strdup (path);
  place->address = g_strconcat ("unix:path=", escaped, NULL);
}

static void
add_bus (GPtrArray *places, GBusType type)
{
  g_autofree char *address = g_dbus_address_get_for_bus_sync (type, NULL, NULL);
  DvmPlace *place;

  if (address == NULL)
    return;
  place = add_place (places, DVM_PLACE_BUS, type == G_BUS_TYPE_SESSION ? _ ("the session bus") : _ ("the system bus"));
  place->address = g_steal_pointer (&address);
}

/* Without one, looking it up would start one. */
static gboolean
has_session_bus (void)
{
  const char *address = g_getenv ("DBUS_SESSION_BUS_ADDRESS");
  const char *runtime_dir = g_getenv ("XDG_RUNTIME_DIR");
  g_autofree char *path = NULL;

  if (address != NULL && address[0] != '\0')
    return TRUE;
  if (runtime_dir == NULL)
    return FALSE;
  path = g_build_filename (runtime_dir, "bus", NULL);
  return g_file_test (path, G_FILE_TEST_EXISTS);
}

/* "session", "system", the path of a DVM's socket, or its D-Bus address. */
static gboolean
add_address (GPtrArray *places, const char *address, GError **error)
{
  DvmPlace *place;

  if (strcmp (address, "session") == 0 || strcmp (address, "system") == 0)
    {
      add_bus (places, strcmp (address, "session") == 0 ? G_BUS_TYPE_SESSION : G_BUS_TYPE_SYSTEM);
      return TRUE;
    }
  if (address[0] == '/')
    {
      add_socket (places, address, _ ("the socket"));
      return TRUE;
    }
  if (!g_dbus_is_supported_address (address, NULL))
    {
      g_autofree char *shown = g_utf8_make_valid (address, -1);

      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("“%s” is not an address; it can be “session”, “system”, the absolute path of a socket or a D-Bus "
                      "address such as unix:path=/run/dvm/bus"),
                   shown);
      return FALSE;
    }
  place = add_place (places, DVM_PLACE_SOCKET, _ ("the address"));
  place->address = g_strdup (address);
  return TRUE;
}

static gboolean
is_name (const char *name)
{
  if (!g_ascii_isalpha (name[0]) && name[0] != '_')
    return FALSE;
  for (const char *c = name; *c != '\0'; c++)
    if (!g_ascii_isalnum (*c) && *c != '_' && *c != '-')
      return FALSE;
  return TRUE;
}

static const char *
get_name (DvmClient *self)
{
  const char *name = self->name != NULL ? self->name : g_getenv ("DVM_NAME");

  return name != NULL && name[0] != '\0' ? name : NULL;
}

char *
_dvm_client_get_bus_name (DvmClient *self)
{
  const char *name = get_name (self);

  return name != NULL ? g_strconcat (DVM_MANAGER_INTERFACE ".", name, NULL) : g_strdup (DVM_MANAGER_INTERFACE);
}

static void
add_default_places (DvmClient *self, GPtrArray *places)
{
  g_autofree char *dir = _dvm_runtime_dir (get_name (self));
  g_autofree char *path = g_build_filename (dir, "bus", NULL);

  add_socket (places, path, _ ("the socket"));
  ((DvmPlace *)g_ptr_array_index (places, 0))->check_directory = TRUE;
  if (has_session_bus ())
    add_bus (places, G_BUS_TYPE_SESSION);
  add_bus (places, G_BUS_TYPE_SYSTEM);
}

GPtrArray *
_dvm_client_find_places (DvmClient *self, GError **error)
{
  g_autoptr (GPtrArray) places = g_ptr_array_new_with_free_func (place_free);
  const char *name = get_name (self);
  const char *given = self->given_address != NULL ? self->given_address : g_getenv ("DVM_SOCKET");

  if (name != NULL && !is_name (name))
    {
      g_autofree char *shown = g_utf8_make_valid (name, -1);

      g_set_error (
          error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
          _ ("“%s” cannot be the name of a DVM: names have letters, digits, “_” and “-” and begin with a letter "
             "or “_”"),
          shown);
      return NULL;
    }
  if (self->fd >= 0)
    add_place (places, DVM_PLACE_FD, _ ("the descriptor"));
  else if (given != NULL && given[0] != '\0')
    {
      if (!add_address (places, given, error))
        return NULL;
    }
  else
    add_default_places (self, places);
  return g_steal_pointer (&places);
}

/* /tmp is everybody's: whoever made the directory first could listen there. */
static gboolean
check_directory (const char *path, GError **error)
{
  g_autofree char *dir = g_path_get_dirname (path);
  struct stat st;

  if (lstat (dir, &st) != 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, _ ("there is no %s"), path);
      return FALSE;
    }
  if (!S_ISDIR (st.st_mode) || st.st_uid != geteuid () || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NO_PERMISSIONS,
                   _ ("the directory %s is not ours alone, so nothing in it can be trusted"), dir);
      return FALSE;
    }
  return TRUE;
}

/* The process that listens gets our whole environment. */
static gboolean
check_peer (GSocket *socket, GError **error)
{
  g_autoptr (GCredentials) credentials = g_socket_get_credentials (socket, error);
  uid_t uid;

  if (credentials == NULL)
    return FALSE;
  uid = g_credentials_get_unix_user (credentials, error);
  if (uid == (uid_t)-1)
    return FALSE;
  if (uid == geteuid () || uid == 0 || geteuid () == 0)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_NO_PERMISSIONS, _ ("it belongs to the user with the id %u, not to us"),
               (guint)uid);
  return FALSE;
}

static GIOStream *
make_stream (GSocket *socket, GError **error)
{
  if (!check_peer (socket, error))
    return NULL;
  return G_IO_STREAM (g_socket_connection_factory_create_connection (socket));
}

static GIOStream *
open_fd (DvmClient *self, GError **error)
{
  g_autoptr (GSocket) socket = g_socket_new_from_fd (self->fd, error);

  if (socket == NULL)
    return NULL;
  /* The socket closes it from now on. */
  self->fd = -1;
  return make_stream (socket, error);
}

/*
 * By hand: a descriptor that does not block is told EAGAIN when too many wait already that the DVM has not looked at;
 * one that blocks waits for its turn.
 */
static gboolean
connect_socket (int fd, const char *path, GError **error)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  const struct timeval limit = { .tv_sec = CONNECT_TIMEOUT_S };
  const struct timeval none = { 0 };
  int code = 0;

  g_strlcpy (address.sun_path, path, sizeof address.sun_path);
  g_unix_set_fd_nonblocking (fd, FALSE, NULL);
  setsockopt (fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  while (connect (fd, (const struct sockaddr *)&address, sizeof address) != 0 && (code = errno) == EINTR)
    code = 0;
  setsockopt (fd, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof none);
  g_unix_set_fd_nonblocking (fd, TRUE, NULL);
  if (code == 0)
    return TRUE;
  if (code == EAGAIN)
    g_set_error (error, DVM_ERROR, DVM_ERROR_TIMEOUT,
                 _ ("%s: the DVM takes no more connections: those that wait there have not been looked at for %d s"),
                 path, CONNECT_TIMEOUT_S);
  else
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, _ ("%s: %s"), path, g_strerror (code));
  return FALSE;
}

/* No GSocketClient: it looks for proxies, which loads modules and costs milliseconds. */
static GIOStream *
open_path (const DvmPlace *place, GError **error)
{
  g_autoptr (GSocket) socket = NULL;

  if (strlen (place->path) >= sizeof (((struct sockaddr_un *)NULL)->sun_path))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("the path %s has %u bytes; the system takes %u for a socket, so choose a shorter one"),
                   place->path, (guint)strlen (place->path),
                   (guint)sizeof (((struct sockaddr_un *)NULL)->sun_path) - 1);
      return NULL;
    }
  if (place->check_directory && !check_directory (place->path, error))
    return NULL;
  socket = g_socket_new (G_SOCKET_FAMILY_UNIX, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_DEFAULT, error);
  if (socket == NULL)
    return NULL;
  return connect_socket (g_socket_get_fd (socket), place->path, error) ? make_stream (socket, error) : NULL;
}

static GIOStream *
open_address (const DvmPlace *place, GError **error)
{
  g_autoptr (GIOStream) stream = g_dbus_address_get_stream_sync (place->address, NULL, NULL, error);

  if (G_IS_UNIX_CONNECTION (stream)
      && !check_peer (g_socket_connection_get_socket (G_SOCKET_CONNECTION (stream)), error))
    return NULL;
  return g_steal_pointer (&stream);
}

GIOStream *
_dvm_client_open_place (DvmClient *self, const DvmPlace *place, GError **error)
{
  if (place->kind == DVM_PLACE_FD)
    return open_fd (self, error);
  if (place->path != NULL)
    return open_path (place, error);
  return open_address (place, error);
}
