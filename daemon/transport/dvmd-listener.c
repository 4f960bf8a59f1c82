/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The listener accepts daemons that join and members that connect, and turns others away.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-listener"

#include <dvm.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <glib-unix.h>
#include <glib/gstdio.h>

#include "dvmd-listener.h"
#include "dvmd-transport-error.h"

#define DEFAULT_DEADLINE            (5 * G_TIME_SPAN_SECOND)
#define DEFAULT_MAX_UNAUTHENTICATED 64
#define ACCEPTS_PER_TURN            64
/* Those that have begun to speak are let finish, up to this many times max_unauthenticated in all. */
#define SPEAKING_FACTOR 4
#define PORT_ATTEMPTS   32
#define ACCEPT_PAUSE    (100 * G_TIME_SPAN_MILLISECOND)
#define LOG_PAUSE       G_TIME_SPAN_SECOND

typedef struct
{
  DvmdListener *listener;
  int fd;
  gboolean local;
  char *path; /* of a unix socket */
  GSource *source;
} Door;

struct _DvmdListener
{
  GObject parent_instance;

  DvmdGate gate;
  DvmdWireOptions wire;
  guint max_unauthenticated;
  GPtrArray *doors;       /* Door */
  GPtrArray *addresses;   /* char *, NULL at its end */
  GQueue unauthenticated; /* DvmdUnauthenticated, the oldest first */
  int reserve;            /* a descriptor to give up when there are none left */
  guint pause;            /* timer: nobody is let in */

  guint64 n_refused;
  char *last_refusal; /* (nullable) */
  guint64 n_unlogged;
  guint log_timer;
};

G_DEFINE_FINAL_TYPE (DvmdListener, dvmd_listener, G_TYPE_OBJECT)

enum
{
  SIGNAL_JOINED,
  N_SIGNALS
};

static guint signals[N_SIGNALS];

static void open_door (Door *door);

static void
door_free (gpointer data)
{
  Door *door = data;

  if (door->source != NULL)
    g_source_destroy (door->source);
  g_clear_pointer (&door->source, g_source_unref);
  g_close (door->fd, NULL);
  if (door->path != NULL)
    g_unlink (door->path);
  g_free (door->path);
  g_free (door);
}

/* ---- refusals ---- */

static void
on_log_timer (gpointer user_data)
{
  DvmdListener *self = user_data;

  self->log_timer = 0;
  if (self->n_unlogged == 0)
    return;
  g_message ("%" G_GUINT64_FORMAT " more were refused in the last second", self->n_unlogged);
  self->n_unlogged = 0;
  self->log_timer = dvmd_clock_add_timer (self->gate.clock, LOG_PAUSE, on_log_timer, self);
}

static void
log_refusal (DvmdListener *self, const char *peer, const char *reason)
{
  self->n_refused++;
  g_free (self->last_refusal);
  self->last_refusal = g_strdup_printf ("%s: %s", peer, reason);
  if (self->log_timer != 0)
    {
      self->n_unlogged++;
      return;
    }
  g_message ("Refused %s: %s", peer, reason);
  self->log_timer = dvmd_clock_add_timer (self->gate.clock, LOG_PAUSE, on_log_timer, self);
}

/* ---- unauthenticated peers ---- */

static void
on_joined (gpointer user_data, DvmdUnauthenticated *unauthenticated, DvmdSocket *stream, guint32 rank, const char *name,
           DvmdPeerKind kind)
{
  g_autoptr (DvmdListener) self = g_object_ref (user_data);
  g_autoptr (DvmdWire) wire = dvmd_wire_new (stream, rank, &self->wire);

  g_queue_remove (&self->unauthenticated, unauthenticated);
  g_signal_emit (self, signals[SIGNAL_JOINED], 0, wire, rank, name, kind);
}

static void
on_failed (gpointer user_data, DvmdUnauthenticated *unauthenticated, const GError *error)
{
  DvmdListener *self = user_data;

  g_queue_remove (&self->unauthenticated, unauthenticated);
  /* An agent that waits comes again and again: who knows its node says so, once. */
  if (g_error_matches (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_NOT_WANTED))
    g_debug ("%s waits: %s", dvmd_unauthenticated_get_peer (unauthenticated), error->message);
  else if (dvmd_unauthenticated_is_silent (unauthenticated)
           && g_error_matches (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_LOST))
    {
      /* As one does who has tried several addresses, and uses another. */
      self->n_refused++;
      g_debug ("%s came and went", dvmd_unauthenticated_get_peer (unauthenticated));
    }
  else
    log_refusal (self, dvmd_unauthenticated_get_peer (unauthenticated), error->message);
}

static const DvmdUnauthenticatedFuncs unauthenticated_funcs = { on_joined, on_failed };

/* The address without the port. (transfer full) */
static char *
dup_host (DvmdUnauthenticated *unauthenticated)
{
  const char *peer = dvmd_unauthenticated_get_peer (unauthenticated);
  const char *end = strrchr (peer, ':');

  return end != NULL ? g_strndup (peer, (gsize)(end - peer)) : g_strdup (peer);
}

static guint
count_silent (GHashTable *counts, DvmdUnauthenticated *unauthenticated)
{
  g_autofree char *host = dup_host (unauthenticated);

  return GPOINTER_TO_UINT (g_hash_table_lookup (counts, host));
}

/* Of the host that has most of them the one that has been silent longest. */
static DvmdUnauthenticated *
find_silent (DvmdListener *self)
{
  g_autoptr (GHashTable) counts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  DvmdUnauthenticated *chosen = NULL;
  guint most = 0;

  for (GList *link = self->unauthenticated.head; link != NULL; link = link->next)
    if (dvmd_unauthenticated_is_silent (link->data))
      g_hash_table_insert (counts, dup_host (link->data), GUINT_TO_POINTER (count_silent (counts, link->data) + 1));
  for (GList *link = self->unauthenticated.head; link != NULL; link = link->next)
    if (dvmd_unauthenticated_is_silent (link->data) && count_silent (counts, link->data) > most)
      {
        most = count_silent (counts, link->data);
        chosen = link->data;
      }
  return chosen;
}

static DvmdUnauthenticated *
find_unproven (DvmdListener *self)
{
  for (GList *link = self->unauthenticated.head; link != NULL; link = link->next)
    if (!dvmd_unauthenticated_is_proven (link->data))
      return link->data;
  return NULL;
}

static gboolean
drop_peer (DvmdListener *self, DvmdUnauthenticated *unauthenticated)
{
  if (unauthenticated == NULL)
    return FALSE;
  g_queue_remove (&self->unauthenticated, unauthenticated);
  log_refusal (self, dvmd_unauthenticated_get_peer (unauthenticated), "too many strangers at once");
  dvmd_unauthenticated_free (unauthenticated);
  return TRUE;
}

/* Those who have been sent for may all come at once. */
static void
make_room (DvmdListener *self)
{
  guint expected = self->gate.tokens != NULL ? dvmd_tokens_count_expected (self->gate.tokens) : 0;
  guint limit = self->max_unauthenticated + expected;

  while (self->unauthenticated.length >= limit && drop_peer (self, find_silent (self)))
    ;
  while (self->unauthenticated.length >= SPEAKING_FACTOR * limit && drop_peer (self, find_unproven (self)))
    ;
}

static void
admit (DvmdListener *self, int fd, gboolean local)
{
  g_autofree char *peer = dvmd_address_dup_peer (fd);
  struct ucred credentials = { 0, (uid_t)-1, (gid_t)-1 };
  socklen_t size = sizeof credentials;
  DvmdSocket *stream = dvmd_socket_new (fd, peer);

  if (local && (getsockopt (fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0 || credentials.uid != geteuid ()))
    {
      g_autofree char *reason = g_strdup_printf ("it is a process of user %u", (guint)credentials.uid);

      log_refusal (self, peer, reason);
      dvmd_socket_free (stream);
      return;
    }
  dvmd_socket_tune (stream, (guint)(self->gate.deadline / 1000));
  make_room (self);
  g_queue_push_tail (&self->unauthenticated,
                     dvmd_unauthenticated_new (stream, local, &self->gate, &unauthenticated_funcs, self));
}

/* ---- doors ---- */

static void
on_pause_over (gpointer user_data)
{
  DvmdListener *self = user_data;

  self->pause = 0;
  for (guint i = 0; i < self->doors->len; i++)
    open_door (g_ptr_array_index (self->doors, i));
}

static void
pause_doors (DvmdListener *self)
{
  for (guint i = 0; i < self->doors->len; i++)
    {
      Door *door = g_ptr_array_index (self->doors, i);

      if (door->source != NULL)
        g_source_destroy (door->source);
      g_clear_pointer (&door->source, g_source_unref);
    }
  if (self->pause == 0)
    self->pause = dvmd_clock_add_timer (self->gate.clock, ACCEPT_PAUSE, on_pause_over, self);
}

/* No descriptors left: that of a silent peer is taken, else the new one is refused instead of left hanging. */
static void
turn_away (DvmdListener *self, Door *door)
{
  int fd;

  if (drop_peer (self, find_silent (self)))
    return;
  if (self->reserve >= 0)
    {
      close (self->reserve);
      fd = accept4 (door->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd >= 0)
        {
          log_refusal (self, "a stranger", "there are no descriptors left");
          close (fd);
        }
      self->reserve = open ("/dev/null", O_RDONLY | O_CLOEXEC);
    }
  pause_doors (self);
}

static gboolean
on_door (int fd, GIOCondition condition, gpointer user_data)
{
  Door *door = user_data;
  g_autoptr (DvmdListener) self = g_object_ref (door->listener);

  for (guint i = 0; i < ACCEPTS_PER_TURN; i++)
    {
      int one = accept4 (fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

      if (one >= 0)
        admit (self, one, door->local);
      else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
        {
          turn_away (self, door);
          break;
        }
      else if (errno != EINTR && errno != ECONNABORTED)
        break;
    }
  return G_SOURCE_CONTINUE;
}

static void
open_door (Door *door)
{
  if (door->source != NULL)
    return;
  door->source = g_unix_fd_source_new (door->fd, G_IO_IN);
  g_source_set_callback (door->source, G_SOURCE_FUNC (on_door), door, NULL);
  g_source_set_static_name (door->source, "dvmd listener");
  g_source_attach (door->source, g_main_context_get_thread_default ());
}

static void
add_door (DvmdListener *self, int fd, const char *path)
{
  Door *door = g_new0 (Door, 1);

  door->listener = self;
  door->fd = fd;
  door->local = path != NULL;
  door->path = g_strdup (path);
  g_ptr_array_add (self->doors, door);
  open_door (door);
}

static void
add_address (DvmdListener *self, char *text)
{
  g_info ("Listening at %s", text);
  g_ptr_array_insert (self->addresses, (int)self->addresses->len - 1, text);
}

/* -1 with errno. */
static int
bind_one (GInetAddress *address, guint16 port)
{
  g_autoptr (GSocketAddress) socket_address = g_inet_socket_address_new (address, port);
  struct sockaddr_storage native;
  gssize size = g_socket_address_get_native_size (socket_address);
  int yes = 1;
  int fd;
  int saved;

  if (!g_socket_address_to_native (socket_address, &native, sizeof native, NULL))
    {
      errno = EAFNOSUPPORT;
      return -1;
    }
  fd = socket (native.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    return -1;
  setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (native.ss_family == AF_INET6)
    setsockopt (fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
  if (bind (fd, (struct sockaddr *)&native, (socklen_t)size) == 0 && listen (fd, SOMAXCONN) == 0)
    return fd;
  saved = errno;
  close (fd);
  errno = saved;
  return -1;
}

static guint16
port_of (int fd)
{
  struct sockaddr_storage native;
  socklen_t size = sizeof native;

  if (getsockname (fd, (struct sockaddr *)&native, &size) < 0)
    return 0;
  return g_ntohs (native.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&native)->sin6_port
                                               : ((struct sockaddr_in *)&native)->sin_port);
}

/* All addresses with one port; port 0: any that is free at all of them. */
static gboolean
bind_all (GPtrArray *addresses, guint16 *port, GArray *fds)
{
  g_array_set_size (fds, 0);
  for (guint i = 0; i < addresses->len; i++)
    {
      int fd = bind_one (g_ptr_array_index (addresses, i), *port);

      if (fd < 0)
        {
          int saved = errno;

          for (guint j = 0; j < fds->len; j++)
            close (g_array_index (fds, int, j));
          errno = saved;
          return FALSE;
        }
      g_array_append_val (fds, fd);
      if (*port == 0)
        *port = port_of (fd);
    }
  return TRUE;
}

static gboolean
find_port (GPtrArray *addresses, const DvmdTcpOptions *options, guint16 *port, GArray *fds, GError **error)
{
  guint n = options->first_port == 0 ? PORT_ATTEMPTS : (guint)options->last_port - options->first_port + 1;

  for (guint i = 0; i < n; i++)
    {
      *port = options->first_port == 0 ? 0 : (guint16)(options->first_port + i);
      if (bind_all (addresses, port, fds))
        return TRUE;
      if (errno != EADDRINUSE && errno != EACCES)
        break;
    }
  g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "No port of port-range=%u-%u can be listened at: %s",
               options->first_port, options->last_port, g_strerror (errno));
  return FALSE;
}

gboolean
dvmd_listener_add_tcp (DvmdListener *self, const DvmdTcpOptions *options, GError **error)
{
  g_autoptr (GPtrArray) addresses = dvmd_address_find_local (options, error);
  g_autoptr (GArray) fds = g_array_new (FALSE, FALSE, sizeof (int));
  guint16 port;

  if (addresses == NULL || !find_port (addresses, options, &port, fds, error))
    return FALSE;
  if (self->gate.without_tls)
    g_message ("security=none: links are not encrypted, and whoever is on the network can read and change what goes "
               "over them. This is for debugging alone");
  for (guint i = 0; i < addresses->len; i++)
    {
      add_door (self, g_array_index (fds, int, i), NULL);
      add_address (self, dvmd_address_to_text (g_ptr_array_index (addresses, i), port));
    }
  return TRUE;
}

gboolean
dvmd_listener_add_unix (DvmdListener *self, const char *path, GError **error)
{
  struct sockaddr_un native = { .sun_family = AF_UNIX };
  int fd;

  if (strlen (path) >= sizeof native.sun_path)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "The path of a unix socket has up to %u bytes: %s",
                   (guint)sizeof native.sun_path - 1, path);
      return FALSE;
    }
  strcpy (native.sun_path, path);
  fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0 || bind (fd, (struct sockaddr *)&native, sizeof native) < 0 || listen (fd, SOMAXCONN) < 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "A socket at %s cannot be made: %s", path, g_strerror (errno));
      if (fd >= 0)
        close (fd);
      return FALSE;
    }
  add_door (self, fd, path);
  add_address (self, g_strdup_printf ("unix:%s", path));
  return TRUE;
}

const char *const *
dvmd_listener_get_addresses (DvmdListener *self)
{
  return (const char *const *)self->addresses->pdata;
}

guint
dvmd_listener_get_n_unauthenticated (DvmdListener *self)
{
  return self->unauthenticated.length;
}

guint64
dvmd_listener_get_n_refused (DvmdListener *self)
{
  return self->n_refused;
}

const char *
dvmd_listener_get_last_refusal (DvmdListener *self)
{
  return self->last_refusal;
}

void
dvmd_listener_close (DvmdListener *self)
{
  g_ptr_array_set_size (self->doors, 0);
  g_queue_clear_full (&self->unauthenticated, (GDestroyNotify)dvmd_unauthenticated_free);
  dvmd_clock_remove_timer (self->gate.clock, self->pause);
  dvmd_clock_remove_timer (self->gate.clock, self->log_timer);
  self->pause = self->log_timer = 0;
}

DvmdListener *
dvmd_listener_new (const DvmdListenerOptions *options)
{
  DvmdListener *self = g_object_new (DVMD_TYPE_LISTENER, NULL);

  self->wire = options->wire;
  self->gate.clock = self->wire.clock = dvmd_clock_ref (options->wire.clock);
  self->gate.identity = dvmd_identity_ref (options->identity);
  self->gate.authority = options->authority != NULL ? dvmd_authority_ref (options->authority) : NULL;
  self->gate.tokens = options->tokens;
  self->gate.without_tls = options->without_tls;
  self->gate.deadline = options->deadline > 0 ? options->deadline : DEFAULT_DEADLINE;
  self->gate.version = options->version != NULL ? options->version : DVM_VERSION_STRING;
  self->gate.knows = options->knows;
  self->gate.knows_data = options->knows_data;
  self->max_unauthenticated = options->max_unauthenticated > 0 ? options->max_unauthenticated
                                                               : DEFAULT_MAX_UNAUTHENTICATED;
  return self;
}

void
dvmd_listener_set_authority (DvmdListener *self, DvmdAuthority *authority)
{
  g_return_if_fail (self->gate.authority == NULL);

  self->gate.authority = dvmd_authority_ref (authority);
}

static void
dvmd_listener_finalize (GObject *object)
{
  DvmdListener *self = DVMD_LISTENER (object);

  if (self->gate.clock != NULL)
    dvmd_listener_close (self);
  g_clear_pointer (&self->gate.clock, dvmd_clock_unref);
  g_clear_pointer (&self->gate.identity, dvmd_identity_unref);
  g_clear_pointer (&self->gate.authority, dvmd_authority_unref);
  g_ptr_array_unref (self->doors);
  g_ptr_array_unref (self->addresses);
  if (self->reserve >= 0)
    close (self->reserve);
  g_free (self->last_refusal);
  G_OBJECT_CLASS (dvmd_listener_parent_class)->finalize (object);
}

static void
dvmd_listener_class_init (DvmdListenerClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = dvmd_listener_finalize;

  signals[SIGNAL_JOINED] = g_signal_new ("joined", DVMD_TYPE_LISTENER, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                         G_TYPE_NONE, 4, DVMD_TYPE_WIRE, G_TYPE_UINT, G_TYPE_STRING, G_TYPE_UINT);
}

static void
dvmd_listener_init (DvmdListener *self)
{
  self->doors = g_ptr_array_new_with_free_func (door_free);
  self->addresses = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (self->addresses, NULL);
  self->reserve = open ("/dev/null", O_RDONLY | O_CLOEXEC);
}
