/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The ranks of a job on this node speak PMI-1: their connections, their commands, and the barrier.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmi"

#include "dvmd-pmi-server.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <dvm.h>
#include <glib-unix.h>
#include <glib/gstdio.h>

#include "dvmd-log.h"
#include "dvmd-pmi-line.h"

/* MPICH's library writes lines of 1 KiB at most. */
#define LINE_LIMIT (8 * 1024)
#define READ_SIZE  (4 * 1024)
/* MPICH 4.0 has room for so many bytes of a value, and does not run with a list that is cut off. */
#define MAPPING_LIMIT 674

/*
 * A connection that breaks is nearly always the end of its process. The others are not told before that is known: they
 * would end as well, and pass for the cause.
 */
#define BROKEN_LIMIT G_USEC_PER_SEC

typedef enum
{
  CLIENT_AWAITED, /* it may come */
  CLIENT_INITIALIZED,
  CLIENT_IN_BARRIER,
  CLIENT_FINALIZED,
  CLIENT_BROKEN, /* without that, and its process may still be there */
  CLIENT_GONE,   /* likewise, and it comes to no barrier any more */
} ClientState;

typedef struct
{
  DvmdPmiServer *server; /* unowned */
  ClientState state;
  guint32 rank;
  guint32 app;
  int fd;     /* -1: none */
  int theirs; /* the end of the rank, until it has spoken: the end of one that does not speak PMI wakes nobody here; -1
               */
  GSource *source;  /* (nullable) */
  GString *input;   /* (nullable): what is not a whole line yet */
  guint timer;      /* of one that is broken; 0: none */
  guint program;    /* it is in, or was last: the first one of the rank is 1, and 0 none */
  gboolean held;    /* it has no answer to its init yet */
  gboolean spawns;  /* the lines of a spawn are being read */
  int n_spawns;     /* such commands that are one request */
  int n_spawned;    /* of these, up to this one */
  gboolean aborted; /* nothing that it says after that counts */
  gboolean untold;  /* it has spoken and is gone, and nobody knows of the end of its process */
} Client;

struct _DvmdPmiServer
{
  DvmdClock *clock;      /* unowned */
  GMainContext *context; /* (nullable) */
  char *nspace;
  guint32 universe_size;
  const DvmdPmiFuncs *funcs;
  gpointer user_data;
  DvmdPmiTable *table;
  char *mapping; /* (nullable): nobody has asked */
  guint n_clients;
  guint n_elsewhere; /* ranks of other nodes */
  Client *clients;
  guint program; /* that the ranks are in, or come to: programs may run in them one after the other */
  gboolean exchanging;
  guint exchanged; /* the program whose barrier that is, or was last */
};

static void set_state (Client *client, ClientState state);
static void check_barrier (DvmdPmiServer *self);

static void
close_end (int *fd)
{
  if (*fd >= 0)
    g_close (*fd, NULL);
  *fd = -1;
}

static void
client_close (Client *self)
{
  if (self->source != NULL)
    g_source_destroy (self->source);
  g_clear_pointer (&self->source, g_source_unref);
  close_end (&self->fd);
  close_end (&self->theirs);
  dvmd_clock_remove_timer (self->server->clock, self->timer);
  self->timer = 0;
  if (self->input != NULL)
    g_string_free (g_steal_pointer (&self->input), TRUE);
}

static void
on_broken_limit (gpointer user_data)
{
  Client *self = user_data;

  self->timer = 0;
  self->untold = self->program > 0;
  set_state (self, CLIENT_GONE);
}

/* Nothing is changed by a second call: the limit of one that is broken goes on. */
static void
client_leave (Client *self)
{
  gboolean lost = self->state == CLIENT_INITIALIZED || self->state == CLIENT_IN_BARRIER;

  if (self->state == CLIENT_BROKEN)
    return;
  client_close (self);
  if (!lost && self->state != CLIENT_AWAITED)
    {
      check_barrier (self->server);
      return;
    }
  set_state (self, CLIENT_BROKEN);
  self->timer = dvmd_clock_add_timer (self->server->clock, BROKEN_LIMIT, on_broken_limit, self);
  if (lost)
    self->server->funcs->lost (self->rank, self->server->user_data);
}

static void client_refuse (Client *self, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* The client makes no sense: it is not spoken with any more. */
static void
client_refuse (Client *self, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE, self->server->nspace, self->rank, "its PMI connection is ended: %s",
                 text);
  client_leave (self);
}

static void client_answer (Client *self, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* A client waits for each answer before it goes on: there is room for one, unless it does not read them. */
static void
client_answer (Client *self, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  if (self->fd < 0)
    return;
  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  if (send (self->fd, text, strlen (text), MSG_DONTWAIT | MSG_NOSIGNAL) != (gssize)strlen (text))
    client_refuse (self, "it does not read the answers");
}

/* ---- the barrier ---- */

/* One that has finalized an earlier program may come with the next one, as long as it has its connection. */
static gboolean
is_gone (const Client *client)
{
  return client->state == CLIENT_GONE
         || (client->state == CLIENT_FINALIZED && client->program < client->server->program && client->fd < 0);
}

static gboolean
has_left (const Client *client)
{
  return is_gone (client) || (client->state == CLIENT_FINALIZED && client->program == client->server->program);
}

/* One that cannot be answered has left the next barrier, and not this one. */
static void
end_barrier (DvmdPmiServer *self, gboolean success)
{
  g_autoptr (GPtrArray) waiting = g_ptr_array_new ();

  for (guint i = 0; i < self->n_clients; i++)
    if (self->clients[i].state == CLIENT_IN_BARRIER)
      {
        self->clients[i].state = CLIENT_INITIALIZED;
        g_ptr_array_add (waiting, &self->clients[i]);
      }
  for (guint i = 0; i < waiting->len; i++)
    if (success)
      client_answer (g_ptr_array_index (waiting, i), "cmd=barrier_out rc=0\n");
    else
      client_answer (g_ptr_array_index (waiting, i), "cmd=barrier_failed rc=-1 msg=other_ranks_do_not_come\n");
}

static gboolean
is_any_gone (DvmdPmiServer *self)
{
  for (guint i = 0; i < self->n_clients; i++)
    if (is_gone (&self->clients[i]))
      return TRUE;
  return FALSE;
}

/* Ranks of other nodes wait for it, if nobody here is left to fail with them. */
static gboolean
is_any_untold (DvmdPmiServer *self)
{
  for (guint i = 0; i < self->n_clients && self->n_elsewhere > 0; i++)
    if (self->clients[i].untold)
      return TRUE;
  return FALSE;
}

/* Ranks that have left are not waited for. */
static gboolean
have_all_come (DvmdPmiServer *self)
{
  guint n_waiting = 0;

  for (guint i = 0; i < self->n_clients; i++)
    if (self->clients[i].state == CLIENT_IN_BARRIER)
      n_waiting++;
    else if (!has_left (&self->clients[i]))
      return FALSE;
  return n_waiting > 0 || is_any_untold (self);
}

/*
 * MPICH's own server closes the connection in the finalize of the first program, or else counts what comes from any of
 * them: ranks in different programs would pass for those that have met.
 */
static void
say_mixed (DvmdPmiServer *self)
{
  dvmd_log_about (G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE, &(DvmdLogSubject){ .job = self->nspace },
                  "a PMI barrier of it fails: each rank is to run as many MPI programs, one after the other, and some "
                  "have come to it in one and some in another");
}

/* Of the ranks that wait; 0: they are in different ones, or there is none */
static guint
find_program (DvmdPmiServer *self)
{
  guint program = 0;

  for (guint i = 0; i < self->n_clients; i++)
    {
      if (self->clients[i].state != CLIENT_IN_BARRIER)
        continue;
      if (program != 0 && self->clients[i].program != program)
        {
          say_mixed (self);
          return 0;
        }
      program = self->clients[i].program;
    }
  return program;
}

static void
check_barrier (DvmdPmiServer *self)
{
  g_autoptr (GBytes) news = NULL;

  if (self->exchanging || !have_all_come (self))
    return;
  self->exchanged = find_program (self);
  news = dvmd_pmi_table_take_news (self->table, self->exchanged);
  self->exchanging = TRUE;
  self->funcs->exchange (news, self->exchanged == 0 || is_any_gone (self), self->user_data);
}

static gboolean
merge_news (DvmdPmiServer *self, GBytes *news)
{
  switch (dvmd_pmi_table_merge (self->table, news, self->exchanged))
    {
    case DVMD_PMI_MERGED:
      return TRUE;
    case DVMD_PMI_OTHER_PROGRAM:
      say_mixed (self);
      return FALSE;
    default:
      dvmd_log_about (G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE, &(DvmdLogSubject){ .job = self->nspace },
                      "what its ranks have put by PMI is more than %d MiB, or makes no sense",
                      DVMD_PMI_TABLE_LIMIT / 1024 / 1024);
      return FALSE;
    }
}

void
dvmd_pmi_server_exchanged (DvmdPmiServer *self, gboolean success, GBytes *news)
{
  if (!self->exchanging)
    return;
  self->exchanging = FALSE;
  end_barrier (self, success && (news == NULL || merge_news (self, news)));
}

void
dvmd_pmi_server_await_barrier (DvmdPmiServer *self)
{
  check_barrier (self);
}

static void
set_state (Client *client, ClientState state)
{
  client->state = state;
  check_barrier (client->server);
}

/* ---- commands ---- */

/* The first rank that comes with a program makes it the one that all of them are to come with. */
static void
begin_program (Client *client)
{
  DvmdPmiServer *self = client->server;

  client->program++;
  self->program = MAX (self->program, client->program);
}

static void
accept_init (Client *client)
{
  client->held = FALSE;
  client_answer (client, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
}

static void
handle_init (Client *client, const DvmdPmiLine *line)
{
  int version;

  if (!dvmd_pmi_line_get_int (line, "pmi_version", &version) || version != 1)
    {
      client_answer (client, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n");
      return;
    }
  begin_program (client);
  set_state (client, CLIENT_INITIALIZED);
  client->held = TRUE;
  if (client->server->funcs->initialized (client->rank, client->server->user_data))
    accept_init (client);
}

static void
handle_get_maxes (Client *client, const DvmdPmiLine *line)
{
  client_answer (client, "cmd=maxes rc=0 kvsname_max=%d keylen_max=%d vallen_max=%d\n", DVMD_PMI_NAME_MAX,
                 DVMD_PMI_KEY_MAX, DVMD_PMI_VALUE_MAX);
}

static void
handle_get_universe_size (Client *client, const DvmdPmiLine *line)
{
  client_answer (client, "cmd=universe_size rc=0 size=%u\n", client->server->universe_size);
}

static void
handle_get_appnum (Client *client, const DvmdPmiLine *line)
{
  client_answer (client, "cmd=appnum rc=0 appnum=%u\n", client->app);
}

static void
handle_get_my_kvsname (Client *client, const DvmdPmiLine *line)
{
  client_answer (client, "cmd=my_kvsname rc=0 kvsname=%s\n", client->server->nspace);
}

static gboolean
names_our_space (const Client *client, const DvmdPmiLine *line)
{
  return g_strcmp0 (dvmd_pmi_line_get (line, "kvsname"), client->server->nspace) == 0;
}

static void
handle_put (Client *client, const DvmdPmiLine *line)
{
  static const char *const refusals[] = {
    [DVMD_PMI_BAD_KEY] = "invalid_key",
    [DVMD_PMI_BAD_VALUE] = "value_too_long",
    [DVMD_PMI_NO_ROOM] = "no_room",
  };
  const char *key = dvmd_pmi_line_get (line, "key");
  const char *value = dvmd_pmi_line_get (line, "value");
  DvmdPmiPut result;

  if (!names_our_space (client, line))
    {
      client_answer (client, "cmd=put_result rc=-1 msg=unknown_kvsname\n");
      return;
    }
  result = dvmd_pmi_table_put (client->server->table, key != NULL ? key : "", value != NULL ? value : "");
  if (result == DVMD_PMI_PUT)
    client_answer (client, "cmd=put_result rc=0 msg=success\n");
  else
    client_answer (client, "cmd=put_result rc=-1 msg=%s\n", refusals[result]);
}

/* (nullable): libraries ask each other for the nodes of their ranks, where the list is too long */
static const char *
get_mapping (DvmdPmiServer *self)
{
  if (self->mapping == NULL)
    self->mapping = self->funcs->build_mapping (self->user_data);
  return strlen (self->mapping) < MAPPING_LIMIT ? self->mapping : NULL;
}

static void
handle_get (Client *client, const DvmdPmiLine *line)
{
  const char *key = dvmd_pmi_line_get (line, "key");
  const char *value = NULL;

  if (!names_our_space (client, line))
    {
      client_answer (client, "cmd=get_result rc=-1 msg=unknown_kvsname value=unknown\n");
      return;
    }
  if (key != NULL)
    value = dvmd_pmi_table_get (client->server->table, key);
  if (value == NULL && g_strcmp0 (key, "PMI_process_mapping") == 0)
    value = get_mapping (client->server);
  if (value != NULL)
    client_answer (client, "cmd=get_result rc=0 msg=success value=%s\n", value);
  else
    client_answer (client, "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
}

/* It is answered when the barrier ends. */
static void
handle_barrier_in (Client *client, const DvmdPmiLine *line)
{
  set_state (client, CLIENT_IN_BARRIER);
}

static void
handle_finalize (Client *client, const DvmdPmiLine *line)
{
  client->server->funcs->finalized (client->rank, client->server->user_data);
  set_state (client, CLIENT_FINALIZED);
  client_answer (client, "cmd=finalize_ack rc=0\n");
}

/* The library waits for its end, not for an answer. */
static void
handle_abort (Client *client, const DvmdPmiLine *line)
{
  int status = 1;

  client->aborted = TRUE;
  dvmd_pmi_line_get_int (line, "exitcode", &status);
  client->server->funcs->aborted (client->rank, status, dvmd_pmi_line_get (line, "message"), client->server->user_data);
}

static void
handle_publish_name (Client *client, const DvmdPmiLine *line)
{
  client_answer (client, "cmd=publish_result rc=-1 msg=not_supported\n");
}

static void
handle_unpublish_name (Client *client, const DvmdPmiLine *line)
{
  client_answer (client, "cmd=unpublish_result rc=-1 msg=not_supported\n");
}

static void
handle_lookup_name (Client *client, const DvmdPmiLine *line)
{
  client_answer (client, "cmd=lookup_result rc=-1 msg=not_supported\n");
}

/* These commands are for those who have sent init, but for init itself, and abort. */
static const struct
{
  const char *name;
  void (*handle) (Client *client, const DvmdPmiLine *line);
} commands[] = {
  { "init", handle_init },
  { "get_maxes", handle_get_maxes },
  { "get_universe_size", handle_get_universe_size },
  { "get_appnum", handle_get_appnum },
  { "get_my_kvsname", handle_get_my_kvsname },
  { "put", handle_put },
  { "get", handle_get },
  { "barrier_in", handle_barrier_in },
  { "finalize", handle_finalize },
  { "abort", handle_abort },
  { "publish_name", handle_publish_name },
  { "unpublish_name", handle_unpublish_name },
  { "lookup_name", handle_lookup_name },
};

static gboolean
is_in_order (const Client *client, const char *command)
{
  if (g_str_equal (command, "init"))
    return client->state == CLIENT_AWAITED || client->state == CLIENT_FINALIZED;
  return (client->state == CLIENT_INITIALIZED && !client->held) || g_str_equal (command, "abort");
}

static void
handle_command (Client *client, const DvmdPmiLine *line)
{
  const char *name = dvmd_pmi_line_get (line, "cmd");
  g_autofree char *shown = NULL;

  for (gsize i = 0; name != NULL && i < G_N_ELEMENTS (commands); i++)
    if (g_str_equal (commands[i].name, name))
      {
        if (is_in_order (client, name))
          commands[i].handle (client, line);
        else if (client->state == CLIENT_INITIALIZED && commands[i].handle == handle_init)
          client_refuse (client, "a program of it came with init before the one before had finalized");
        else
          client_refuse (client, "the command %s came where it has no sense", name);
        return;
      }
  shown = name != NULL ? g_strescape (name, NULL) : g_strdup ("");
  client_refuse (client, "there is no command '%.64s'", shown);
}

/* ---- spawn: lines from "mcmd=spawn" to "endcmd", once or more for one answer ---- */

static void
end_spawn (Client *client)
{
  client->spawns = FALSE;
  if (client->n_spawned >= client->n_spawns)
    client_answer (client, "cmd=spawn_result rc=-1 msg=not_supported\n");
}

static void
read_spawn (Client *client, const char *text)
{
  int *number = NULL;
  gint64 value;

  if (g_str_equal (text, "endcmd"))
    end_spawn (client);
  /* The program that spawned has ended there, and the next one of the rank begins. */
  else if (g_str_has_prefix (text, "cmd="))
    client_refuse (client, "a command came in the middle of a spawn");
  else if (g_str_has_prefix (text, "totspawns="))
    number = &client->n_spawns;
  else if (g_str_has_prefix (text, "spawnssofar="))
    number = &client->n_spawned;
  if (number == NULL)
    return;
  if (g_ascii_string_to_signed (strchr (text, '=') + 1, 10, 1, G_MAXINT, &value, NULL))
    *number = (int)value;
  else
    client_refuse (client, "a spawn counts something that is no number");
}

/* ---- lines ---- */

static void
handle_line (Client *client, const char *text, gsize length)
{
  g_autofree char *copy = g_strndup (text, length);
  g_autoptr (DvmdPmiLine) line = NULL;

  /* Libraries write the message of an abort as it is, and it may have several lines. */
  if (client->aborted)
    return;
  if (client->spawns)
    {
      read_spawn (client, copy);
      return;
    }
  if (g_str_equal (copy, "mcmd=spawn") && client->state == CLIENT_INITIALIZED && !client->held)
    {
      client->spawns = TRUE;
      client->n_spawns = client->n_spawned = 1;
      return;
    }
  line = dvmd_pmi_line_parse (text, length);
  if (line == NULL)
    client_refuse (client, "a line of %zu bytes makes no sense", length);
  else
    handle_command (client, line);
}

/* It may be gone after any line. */
static void
handle_lines (Client *client)
{
  char *end;

  while (client->input != NULL && (end = memchr (client->input->str, '\n', client->input->len)) != NULL)
    {
      gsize length = (gsize)(end - client->input->str);
      g_autofree char *line = g_strndup (client->input->str, length);

      g_string_erase (client->input, 0, (gssize)length + 1);
      handle_line (client, line, length);
    }
  if (client->input != NULL && client->input->len > LINE_LIMIT)
    client_refuse (client, "a line is longer than %d bytes", LINE_LIMIT);
}

/* FALSE: there is nothing more at present. */
static gboolean
client_read (Client *self)
{
  char buffer[READ_SIZE];
  gssize n;

  do
    n = recv (self->fd, buffer, sizeof buffer, MSG_DONTWAIT);
  while (n < 0 && errno == EINTR);
  if (n < 0 && errno == EAGAIN)
    return FALSE;
  if (n <= 0)
    {
      client_leave (self);
      return FALSE;
    }
  close_end (&self->theirs);
  g_string_append_len (self->input, buffer, n);
  handle_lines (self);
  return self->fd >= 0;
}

static gboolean
on_readable (int fd, GIOCondition condition, gpointer user_data)
{
  Client *self = user_data;

  client_read (self);
  return self->fd >= 0 ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

/* ---- the server ---- */

DvmdPmiServer *
dvmd_pmi_server_new (const DvmdPmiSettings *settings, const DvmdPmiFuncs *funcs, gpointer user_data)
{
  DvmdPmiServer *self = g_new0 (DvmdPmiServer, 1);

  self->clock = settings->clock;
  self->context = settings->context != NULL ? g_main_context_ref (settings->context) : NULL;
  self->nspace = g_strdup (settings->nspace);
  self->universe_size = settings->universe_size;
  self->funcs = funcs;
  self->user_data = user_data;
  self->table = dvmd_pmi_table_new ();
  self->n_clients = settings->n_local;
  self->n_elsewhere = settings->n_elsewhere;
  self->clients = g_new0 (Client, self->n_clients);
  for (guint i = 0; i < self->n_clients; i++)
    {
      self->clients[i].server = self;
      self->clients[i].fd = self->clients[i].theirs = -1;
    }
  return self;
}

void
dvmd_pmi_server_free (DvmdPmiServer *self)
{
  for (guint i = 0; i < self->n_clients; i++)
    client_close (&self->clients[i]);
  g_free (self->clients);
  dvmd_pmi_table_free (self->table);
  g_clear_pointer (&self->context, g_main_context_unref);
  g_free (self->mapping);
  g_free (self->nspace);
  g_free (self);
}

int
dvmd_pmi_server_open (DvmdPmiServer *self, guint index, guint32 rank, guint32 app, GError **error)
{
  Client *client = &self->clients[index];
  int fds[2];

  client_close (client);
  if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE, "The PMI connection of rank %u cannot be made: %s",
                   rank, g_strerror (errno));
      return -1;
    }
  client->rank = rank;
  client->app = app;
  client->program = 0;
  client->held = client->aborted = client->spawns = client->untold = FALSE;
  client->fd = fds[0];
  client->theirs = fds[1];
  client->input = g_string_new (NULL);
  client->source = g_unix_fd_source_new (client->fd, G_IO_IN | G_IO_HUP | G_IO_ERR);
  g_source_set_callback (client->source, G_SOURCE_FUNC (on_readable), client, NULL);
  g_source_attach (client->source, self->context);
  set_state (client, CLIENT_AWAITED);
  return fds[1];
}

gboolean
dvmd_pmi_server_rank_reaped (DvmdPmiServer *self, guint index)
{
  Client *client = &self->clients[index];

  /* A child of its may go on to write for ever. */
  for (guint i = 0; i < 64 && client->fd >= 0 && client_read (client); i++)
    ;
  client_leave (client);
  return client->state == CLIENT_FINALIZED;
}

void
dvmd_pmi_server_rank_comes_back (DvmdPmiServer *self, guint index)
{
  client_close (&self->clients[index]);
  set_state (&self->clients[index], CLIENT_AWAITED);
}

void
dvmd_pmi_server_rank_ended (DvmdPmiServer *self, guint index)
{
  Client *client = &self->clients[index];

  client_close (client);
  client->untold = FALSE;
  set_state (client, client->state == CLIENT_FINALIZED ? CLIENT_FINALIZED : CLIENT_GONE);
}

void
dvmd_pmi_server_go_on (DvmdPmiServer *self, guint index)
{
  if (self->clients[index].held)
    accept_init (&self->clients[index]);
}
