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
#include "dvmd-pmi-two.h"

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

/* A rank waits for one of DvmdPmiNames, or for this. */
#define ASKS_SPAWN (DVMD_PMI_LOOK_UP + 1)

typedef struct
{
  DvmdPmiServer *server; /* unowned */
  ClientState state;
  guint32 rank;
  guint32 app;
  int fd;     /* -1: none */
  int theirs; /* the end of the rank, until it has spoken: the end of one that does not speak PMI wakes nobody here; -1
               */
  GSource *source;           /* (nullable) */
  GString *input;            /* (nullable): what is not a whole line yet */
  guint timer;               /* of one that is broken; 0: none */
  guint program;             /* it is in, or was last: the first one of the rank is 1, and 0 none */
  gboolean held;             /* it has no answer to its init yet */
  DvmdPmiSpawnReader *spawn; /* (nullable): a job that it wants is being read */
  gboolean aborted;          /* nothing that it says after that counts */
  guint question;            /* it waits for what others answer to that number; 0: it does not */
  guint asks;                /* that */
  guint n_spawned;           /* processes that it wants by that */
  DvmdPmiTwo *two;           /* (nullable): it speaks PMI-2 */
  char *awaits;              /* (nullable): an attribute of its node */
  gboolean untold;           /* it has spoken and is gone, and nobody knows of the end of its process */
} Client;

struct _DvmdPmiServer
{
  DvmdClock *clock;      /* unowned */
  GMainContext *context; /* (nullable) */
  char *nspace;
  guint32 universe_size;
  const DvmdPmiFuncs *funcs;
  gpointer user_data;
  guint32 size;
  DvmdPmiTable *table;
  DvmdPmiTable *node; /* attributes that ranks of this node have put by PMI-2 */
  char *mapping;      /* (nullable): nobody has asked */
  guint n_clients;
  guint n_elsewhere; /* ranks of other nodes */
  Client *clients;
  guint program; /* that the ranks are in, or come to: programs may run in them one after the other */
  gboolean exchanging;
  guint exchanged; /* the program whose barrier that is, or was last */
  guint last_question;
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
  self->question = 0;
  g_clear_pointer (&self->spawn, dvmd_pmi_spawn_reader_free);
  g_clear_pointer (&self->two, dvmd_pmi_two_free);
  g_clear_pointer (&self->awaits, g_free);
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

/* The client makes no sense: it is not spoken with any more. */
G_GNUC_PRINTF (2, 3) static void client_refuse (Client *self, const char *format, ...)
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

/* A client waits for each answer before it goes on: there is room for one, unless it does not read them. */
G_GNUC_PRINTF (2, 3) static void client_answer (Client *self, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  if (self->fd < 0)
    return;
  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  if (self->two != NULL)
    {
      g_autofree char *line = g_steal_pointer (&text);

      text = dvmd_pmi_two_write (self->two, line);
    }
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

/* Behind the line of PMI-1 it speaks PMI-2, and says by that who it is. */
static void
accept_init (Client *client)
{
  DvmdPmiServer *self = client->server;
  const char *spawner = dvmd_pmi_table_get (self->table, DVMD_PMI_SPAWNED);

  client->held = FALSE;
  if (client->two == NULL)
    client_answer (client, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
  else
    client_answer (client,
                   "cmd=init rc=0 pmi-version=2 pmi-subversion=0 rank=%u size=%u appnum=%u%s%s debugged=FALSE "
                   "pmiverbose=FALSE\n",
                   client->rank, self->size, client->app, spawner != NULL ? " spawner-jobid=" : "",
                   spawner != NULL ? spawner : "");
}

static void
initialize (Client *client, const DvmdPmiLine *line)
{
  begin_program (client);
  set_state (client, CLIENT_INITIALIZED);
  client->held = TRUE;
  if (client->server->funcs->initialized (client->rank, client->server->user_data))
    accept_init (client);
}

static void
handle_init (Client *client, const DvmdPmiLine *line)
{
  int version = 0;

  dvmd_pmi_line_get_int (line, "pmi_version", &version);
  if (version == 2)
    {
      client_answer (client, "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n");
      if (client->fd >= 0)
        client->two = dvmd_pmi_two_new (client->server->nspace);
    }
  else if (version == 1)
    initialize (client, line);
  else
    client_answer (client, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n");
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
  const char *message = dvmd_pmi_line_get (line, "message");
  g_autofree char *first = message != NULL ? g_strndup (message, strcspn (message, "\n")) : NULL;
  int status = 1;

  client->aborted = TRUE;
  dvmd_pmi_line_get_int (line, "exitcode", &status);
  client->server->funcs->aborted (client->rank, status, first, client->server->user_data);
}

/* ---- questions to others ---- */

/* More do not fit into a line of 1 KiB; without them each process is well for the library. */
#define MAX_ERRCODES 400

static guint
begin_question (Client *client, guint asks)
{
  DvmdPmiServer *self = client->server;

  self->last_question = self->last_question % DVMD_PMI_QUESTION_MAX + 1;
  client->question = self->last_question;
  client->asks = asks;
  client->n_spawned = 0;
  return client->question;
}

/* (transfer full): the rest of an answer that begins with a space */
static char *
describe_success (const Client *client, const char *text)
{
  g_autoptr (GString) rest = g_string_new (NULL);

  if (client->asks == DVMD_PMI_LOOK_UP)
    g_string_append_printf (rest, " port=%s", text);
  if (client->asks == ASKS_SPAWN && client->two != NULL)
    {
      g_string_append_printf (rest, " jobid=%s", text);
      return g_string_free (g_steal_pointer (&rest), FALSE);
    }
  for (guint i = 0; i < client->n_spawned && client->n_spawned <= MAX_ERRCODES; i++)
    g_string_append (rest, i == 0 ? " errcodes=0" : ",0");
  return g_string_free (g_steal_pointer (&rest), FALSE);
}

static void
end_question (Client *client, const char *failure, const char *text)
{
  static const char *const answers[] = {
    [DVMD_PMI_PUBLISH] = "publish_result",
    [DVMD_PMI_UNPUBLISH] = "unpublish_result",
    [DVMD_PMI_LOOK_UP] = "lookup_result",
    [ASKS_SPAWN] = "spawn_result",
  };
  g_autofree char *rest = failure == NULL ? describe_success (client, text) : NULL;

  client->question = 0;
  if (failure != NULL)
    client_answer (client, "cmd=%s rc=-1 msg=%s\n", answers[client->asks], failure);
  else
    client_answer (client, "cmd=%s rc=0 msg=success%s\n", answers[client->asks], rest);
}

/* PMI-1 has no other way to write a port. */
static gboolean
is_port (const char *port)
{
  return port != NULL && port[0] != '\0' && strlen (port) <= DVMD_PMI_VALUE_MAX && strpbrk (port, " \n") == NULL;
}

void
dvmd_pmi_server_answered (DvmdPmiServer *self, guint number, const char *failure, const char *text)
{
  for (guint i = 0; i < self->n_clients; i++)
    if (number != 0 && self->clients[i].question == number)
      {
        if (failure == NULL && self->clients[i].asks == DVMD_PMI_LOOK_UP && !is_port (text))
          failure = "no_port_of_pmi";
        end_question (&self->clients[i], failure, text);
        return;
      }
}

static void
ask_names (Client *client, const DvmdPmiLine *line, DvmdPmiNames what)
{
  DvmdPmiServer *self = client->server;
  const char *service = dvmd_pmi_line_get (line, "service");
  const char *port = what == DVMD_PMI_PUBLISH ? dvmd_pmi_line_get (line, "port") : NULL;
  guint number = begin_question (client, what);

  if (service == NULL || service[0] == '\0' || !g_utf8_validate (service, -1, NULL))
    end_question (client, "no_service_is_named", NULL);
  else if (what == DVMD_PMI_PUBLISH && !is_port (port))
    end_question (client, "no_port_is_named", NULL);
  else
    self->funcs->ask_names (client->rank, number, what, service, port, self->user_data);
}

static void
handle_names (Client *client, const DvmdPmiLine *line)
{
  const char *command = dvmd_pmi_line_get (line, "cmd");

  ask_names (client, line,
             g_str_has_prefix (command, "publish")     ? DVMD_PMI_PUBLISH
             : g_str_has_prefix (command, "unpublish") ? DVMD_PMI_UNPUBLISH
                                                       : DVMD_PMI_LOOK_UP);
}

/* Its reader belongs to this function: the client may be gone when it is asked for. */
static void
ask_spawn (Client *client, DvmdPmiSpawnReader *reader)
{
  DvmdPmiServer *self = client->server;
  g_autoptr (DvmdPmiSpawnReader) own = reader;
  const DvmdPmiSpawn *spawn = dvmd_pmi_spawn_reader_get (own);
  const char *failure = dvmd_pmi_spawn_reader_get_failure (own);
  guint number = begin_question (client, ASKS_SPAWN);

  client->n_spawned = spawn->n_procs;
  if (failure != NULL)
    {
      dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE, self->nspace, client->rank,
                     "what it wants to spawn makes no sense: %s", failure);
      end_question (client, failure, NULL);
    }
  else
    self->funcs->spawn (client->rank, number, spawn, self->user_data);
}

/* ---- attributes of the node, of PMI-2 ---- */

/* FALSE: it is not there. */
static gboolean
tell_attribute (Client *client, const char *key)
{
  const char *value = dvmd_pmi_table_get (client->server->node, key);

  if (value != NULL)
    client_answer (client, "cmd=get_result rc=0 msg=success value=%s\n", value);
  return value != NULL;
}

static void
handle_put_node (Client *client, const DvmdPmiLine *line)
{
  DvmdPmiServer *self = client->server;
  const char *key = dvmd_pmi_line_get (line, "key");
  const char *value = dvmd_pmi_line_get (line, "value");

  if (key == NULL || value == NULL || dvmd_pmi_table_put (self->node, key, value) != DVMD_PMI_PUT)
    {
      client_answer (client, "cmd=put_result rc=-1 msg=invalid_key_or_value\n");
      return;
    }
  client_answer (client, "cmd=put_result rc=0 msg=success\n");
  for (guint i = 0; i < self->n_clients; i++)
    if (g_strcmp0 (self->clients[i].awaits, key) == 0)
      {
        g_clear_pointer (&self->clients[i].awaits, g_free);
        tell_attribute (&self->clients[i], key);
      }
}

static void
handle_get_node (Client *client, const DvmdPmiLine *line)
{
  const char *key = dvmd_pmi_line_get (line, "key");

  if (key != NULL && tell_attribute (client, key))
    return;
  if (key != NULL && g_strcmp0 (dvmd_pmi_line_get (line, "wait"), "TRUE") == 0)
    client->awaits = g_strdup (key);
  else
    client_answer (client, "cmd=get_result rc=-1 msg=key_not_found\n");
}

static void
handle_unsupported (Client *client, const DvmdPmiLine *line)
{
  client_answer (client, "cmd=unsupported rc=-1 msg=not_supported\n");
}

/* These commands are for those who have sent init, but for init itself, and abort. */
static const struct
{
  const char *name;
  void (*handle) (Client *client, const DvmdPmiLine *line);
  gboolean two; /* of PMI-2 alone */
} commands[] = {
  { "init", handle_init },
  { "fullinit", initialize, TRUE },
  { "put_node", handle_put_node, TRUE },
  { "get_node", handle_get_node, TRUE },
  { "unsupported", handle_unsupported, TRUE },
  { "get_maxes", handle_get_maxes },
  { "get_universe_size", handle_get_universe_size },
  { "get_appnum", handle_get_appnum },
  { "get_my_kvsname", handle_get_my_kvsname },
  { "put", handle_put },
  { "get", handle_get },
  { "barrier_in", handle_barrier_in },
  { "finalize", handle_finalize },
  { "abort", handle_abort },
  { "publish_name", handle_names },
  { "unpublish_name", handle_names },
  { "lookup_name", handle_names },
};

static gboolean
is_in_order (const Client *client, const char *command)
{
  if (g_str_equal (command, client->two != NULL ? "fullinit" : "init"))
    return client->state == CLIENT_AWAITED || client->state == CLIENT_FINALIZED;
  return (client->state == CLIENT_INITIALIZED && !client->held && client->question == 0 && client->awaits == NULL)
         || g_str_equal (command, "abort");
}

static void
handle_command (Client *client, const DvmdPmiLine *line)
{
  const char *name = dvmd_pmi_line_get (line, "cmd");
  g_autofree char *shown = NULL;

  for (gsize i = 0; name != NULL && i < G_N_ELEMENTS (commands); i++)
    if (g_str_equal (commands[i].name, name) && (client->two != NULL || !commands[i].two))
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

static void
read_spawn (Client *client, const char *text)
{
  switch (dvmd_pmi_spawn_reader_take_line (client->spawn, text))
    {
    case DVMD_PMI_SPAWN_MORE:
      break;
    case DVMD_PMI_SPAWN_READ:
    case DVMD_PMI_SPAWN_REFUSED:
      ask_spawn (client, g_steal_pointer (&client->spawn));
      break;
    case DVMD_PMI_SPAWN_NO_SENSE:
      /* The program that spawned has ended there, and the next one of the rank begins. */
      client_refuse (client, "a command came in the middle of a spawn");
      break;
    }
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
  if (client->spawn == NULL && g_str_equal (copy, "mcmd=spawn") && is_in_order (client, copy))
    client->spawn = dvmd_pmi_spawn_reader_new ();
  if (client->spawn != NULL)
    {
      read_spawn (client, copy);
      return;
    }
  line = dvmd_pmi_line_parse (text, length);
  if (line == NULL)
    client_refuse (client, "a line of %zu bytes makes no sense", length);
  else
    handle_command (client, line);
}

/* FALSE: there is none, or it is not whole yet. */
static gboolean
take_line (Client *client)
{
  const char *end = memchr (client->input->str, '\n', client->input->len);
  gsize length = end != NULL ? (gsize)(end - client->input->str) : 0;
  g_autofree char *line = g_strndup (client->input->str, length);

  if (end == NULL && client->input->len > LINE_LIMIT)
    client_refuse (client, "a line is longer than %d bytes", LINE_LIMIT);
  if (end == NULL)
    return FALSE;
  g_string_erase (client->input, 0, (gssize)length + 1);
  handle_line (client, line, length);
  return TRUE;
}

/* Lines of its request may be too few. */
static void
spawn_two (Client *client, GPtrArray *lines)
{
  client->spawn = dvmd_pmi_spawn_reader_new ();
  for (guint i = 0; i < lines->len && client->spawn != NULL; i++)
    read_spawn (client, lines->pdata[i]);
  if (client->spawn == NULL)
    return;
  g_clear_pointer (&client->spawn, dvmd_pmi_spawn_reader_free);
  client_answer (client, "cmd=spawn_result rc=-1 msg=ncmds_is_out_of_range\n");
}

/* The next program of the rank begins with a line of PMI-1. */
static void
handle_message (Client *client, const char *message, gsize length)
{
  g_autoptr (GPtrArray) spawn = NULL;
  g_autoptr (DvmdPmiLine) line = dvmd_pmi_two_read (client->two, message, length, &spawn);

  if (line == NULL)
    client_refuse (client, "a message of %zu bytes makes no sense", length);
  else if (spawn != NULL && is_in_order (client, "spawn"))
    spawn_two (client, spawn);
  else
    handle_command (client, line);
  if (client->state == CLIENT_FINALIZED)
    g_clear_pointer (&client->two, dvmd_pmi_two_free);
}

/* As take_line(). */
static gboolean
take_message (Client *client)
{
  gssize length = dvmd_pmi_two_measure (client->input->str, client->input->len);
  g_autofree char *message = g_strndup (client->input->str, (gsize)MAX (length, 0));

  if (length < 0)
    client_refuse (client, "a message does not begin with its length, %d bytes at most", DVMD_PMI_TWO_LIMIT);
  if (length <= 0)
    return FALSE;
  g_string_erase (client->input, 0, length);
  if (!client->aborted)
    handle_message (client, message, (gsize)length);
  return TRUE;
}

/* It may be gone after any line. */
static void
handle_lines (Client *client)
{
  while (client->input != NULL && (client->two != NULL ? take_message (client) : take_line (client)))
    ;
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
  self->size = settings->size;
  self->funcs = funcs;
  self->user_data = user_data;
  self->table = dvmd_pmi_table_new ();
  self->node = dvmd_pmi_table_new ();
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
  dvmd_pmi_table_free (self->node);
  g_clear_pointer (&self->context, g_main_context_unref);
  g_free (self->mapping);
  g_free (self->nspace);
  g_free (self);
}

void
dvmd_pmi_server_seed (DvmdPmiServer *self, const char *key, const char *value)
{
  dvmd_pmi_table_seed (self->table, key, value);
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
  client->held = client->aborted = client->untold = FALSE;
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
