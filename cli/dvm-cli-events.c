/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The signals of D-Bus are followed themselves, not the lists of the library: those show what is there to people and
 * leave out what comes and goes between two looks.
 */

#include "config.h"

#include "dvm-cli-events.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-await.h"
#include "dvm-cli-cells.h"
#include "dvm-cli-options.h"
#include "dvm-cli-records.h"

#define OBJECT_MANAGER "org.freedesktop.DBus.ObjectManager"
#define PROPERTIES     "org.freedesktop.DBus.Properties"
#define MANAGER        "org.dvm.Manager"
#define MANAGER_PATH   "/org/dvm/Manager"
#define JOB            "org.dvm.Job"
#define SESSION        "org.dvm.Session"
#define CAMPAIGN       "org.dvm.Campaign"

typedef struct
{
  char *name;
  char *state; /* (nullable): of nodes alone, whose signals do not tell the old one */
} Known;

struct _DvmCliEvents
{
  DvmClient *client;
  GDBusConnection *connection;
  guint kinds;
  DvmCliEventFunc func;
  gpointer user_data;

  GHashTable *jobs;   /* path -> Known, those that have not ended */
  GHashTable *others; /* path -> Known: sessions and campaigns */
  GHashTable *nodes;  /* rank -> Known */
  char *dvm_state;    /* (nullable) */
  /* Of each kind that has been listed: what came before is in the answer that tells how things are. */
  guint following;
  guint begun; /* kinds of which the first ones have been listed: a new one is not among the others */
  guint subscriptions[7];
};

static const struct
{
  const char *name;
  DvmCliEventKind kind;
} kind_names[] = {
  { "dvm", DVM_CLI_EVENT_DVM },   { "job", DVM_CLI_EVENT_JOB },         { "proc", DVM_CLI_EVENT_PROC },
  { "node", DVM_CLI_EVENT_NODE }, { "session", DVM_CLI_EVENT_SESSION }, { "campaign", DVM_CLI_EVENT_CAMPAIGN },
};

const char *
dvm_cli_event_kind_to_string (DvmCliEventKind kind)
{
  for (gsize i = 0; i < G_N_ELEMENTS (kind_names); i++)
    if (kind_names[i].kind == kind)
      return kind_names[i].name;
  return "";
}

gboolean
dvm_cli_event_kinds_parse (const char *list, guint *kinds, GError **error)
{
  g_auto (GStrv) words = g_strsplit (list, ",", -1);

  *kinds = 0;
  for (gsize i = 0; words[i] != NULL; i++)
    {
      gsize known = 0;

      while (known < G_N_ELEMENTS (kind_names) && strcmp (kind_names[known].name, words[i]) != 0)
        known++;
      if (known == G_N_ELEMENTS (kind_names))
        {
          g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                       _ ("'%s' is no kind of event: there are dvm, job, proc, node, session and campaign"), words[i]);
          return FALSE;
        }
      *kinds |= kind_names[known].kind;
    }
  return TRUE;
}

static void
known_free (gpointer data)
{
  Known *known = data;

  g_free (known->name);
  g_free (known->state);
  g_free (known);
}

static Known *
known_new (const char *name, const char *state)
{
  Known *known = g_new0 (Known, 1);

  known->name = g_strdup (name);
  known->state = g_strdup (state);
  return known;
}

/* The number at the end of /org/dvm/jobs/7 */
static guint
path_id (const char *path)
{
  const char *slash = strrchr (path, '/');

  return slash != NULL ? (guint)g_ascii_strtoull (slash + 1, NULL, 10) : 0;
}

static void
tell_event (DvmCliEvents *self, const DvmCliEvent *event)
{
  if ((self->kinds & event->kind) != 0)
    self->func (event, self->user_data);
}

static const char *
lookup_name (GHashTable *table, const char *path)
{
  Known *known = g_hash_table_lookup (table, path);

  return known != NULL ? known->name : strrchr (path, '/') + 1;
}

/* An object that is still to be listed will be as the signal says. */
static gboolean
follows (DvmCliEvents *self, DvmCliEventKind kind, const char *path)
{
  return (self->following & kind) != 0
         || g_hash_table_contains (kind == DVM_CLI_EVENT_JOB ? self->jobs : self->others, path);
}

/* ---- signals ---- */

static void
on_job_signal (GDBusConnection *connection, const char *sender, const char *path, const char *interface,
               const char *name, GVariant *parameters, gpointer user_data)
{
  DvmCliEvents *self = user_data;
  DvmCliEvent event = { .path = path, .name = lookup_name (self->jobs, path), .id = path_id (path), .reason = "" };
  g_autoptr (GVariantIter) changes = NULL;
  guint old_state, new_state;

  if (!follows (self, DVM_CLI_EVENT_JOB, path))
    return;
  if (g_variant_is_of_type (parameters, G_VARIANT_TYPE ("(uus)")))
    {
      g_variant_get (parameters, "(uu&s)", &old_state, &new_state, &event.reason);
      event.kind = DVM_CLI_EVENT_JOB;
      event.old_state = dvm_job_state_to_string (old_state);
      event.new_state = dvm_job_state_to_string (new_state);
      tell_event (self, &event);
    }
  else if ((self->kinds & DVM_CLI_EVENT_PROC) != 0 && g_variant_is_of_type (parameters, G_VARIANT_TYPE ("(a(uuu))")))
    {
      g_variant_get (parameters, "(a(uuu))", &changes);
      event.kind = DVM_CLI_EVENT_PROC;
      while (g_variant_iter_next (changes, "(uuu)", &event.rank, &old_state, &new_state))
        {
          event.old_state = dvm_proc_state_to_string (old_state);
          event.new_state = dvm_proc_state_to_string (new_state);
          tell_event (self, &event);
        }
    }
}

/* StateChanged of sessions and campaigns */
static void
on_state_signal (GDBusConnection *connection, const char *sender, const char *path, const char *interface,
                 const char *name, GVariant *parameters, gpointer user_data)
{
  DvmCliEvents *self = user_data;
  DvmCliEvent event = { .path = path, .name = lookup_name (self->others, path), .id = path_id (path) };

  event.kind = strcmp (interface, SESSION) == 0 ? DVM_CLI_EVENT_SESSION : DVM_CLI_EVENT_CAMPAIGN;
  if (!follows (self, event.kind, path) || !g_variant_is_of_type (parameters, G_VARIANT_TYPE ("(sss)")))
    return;
  g_variant_get (parameters, "(&s&s&s)", &event.old_state, &event.new_state, &event.reason);
  tell_event (self, &event);
}

static void
tell_other (DvmCliEvents *self, DvmCliEventKind kind, const char *path, const DvmCliCells *cells, gboolean is_current)
{
  const char *name = kind == DVM_CLI_EVENT_SESSION ? dvm_cli_cells_get_text (cells, "AllocId") : "";
  const DvmCliEvent event = { .kind = kind,
                              .path = path,
                              /* One allocation may have many campaigns. */
                              .name = name[0] != '\0' ? name : strrchr (path, '/') + 1,
                              .id = path_id (path),
                              .old_state = "",
                              .new_state = dvm_cli_cells_get_text (cells, "State"),
                              .reason = dvm_cli_cells_get_text (cells, "Reason"),
                              .is_current = is_current };

  g_hash_table_insert (self->others, g_strdup (path), known_new (event.name, NULL));
  tell_event (self, &event);
}

static void
add_job (DvmCliEvents *self, const char *path, const DvmCliCells *cells, gboolean is_current)
{
  const DvmCliEvent event = { .kind = DVM_CLI_EVENT_JOB,
                              .path = path,
                              .name = dvm_cli_cells_get_text (cells, "Namespace"),
                              .id = path_id (path),
                              .old_state = "",
                              .new_state = dvm_cli_cells_get_text (cells, "StateName"),
                              .reason = dvm_cli_cells_get_text (cells, "Reason"),
                              .is_current = TRUE };

  g_hash_table_insert (self->jobs, g_strdup (path), known_new (event.name, NULL));
  /* All states of a new one will be told of. */
  if (is_current)
    tell_event (self, &event);
}

static void
tell_dvm (DvmCliEvents *self, const char *state, gboolean is_current)
{
  const DvmCliEvent event = { .kind = DVM_CLI_EVENT_DVM,
                              .path = MANAGER_PATH,
                              .name = "",
                              .old_state = self->dvm_state != NULL ? self->dvm_state : "",
                              .new_state = state,
                              .reason = "",
                              .is_current = is_current };

  if (g_strcmp0 (self->dvm_state, state) == 0)
    return;
  tell_event (self, &event);
  g_free (self->dvm_state);
  self->dvm_state = g_strdup (state);
}

/* It is there now, and was not when those of its kind were listed. */
static void
add_object (DvmCliEvents *self, const char *path, GVariant *interfaces)
{
  g_autoptr (GVariantIter) iter = g_variant_iter_new (interfaces);
  const char *interface;
  GVariant *properties;
  DvmCliCells cells;

  while (g_variant_iter_loop (iter, "{&s@a{sv}}", &interface, &properties))
    {
      dvm_cli_cells_init (&cells, properties);
      if (strcmp (interface, JOB) == 0 && (self->begun & DVM_CLI_EVENT_JOB) != 0)
        add_job (self, path, &cells, FALSE);
      else if (strcmp (interface, SESSION) == 0 && (self->begun & DVM_CLI_EVENT_SESSION) != 0)
        tell_other (self, DVM_CLI_EVENT_SESSION, path, &cells, FALSE);
      else if (strcmp (interface, CAMPAIGN) == 0 && (self->begun & DVM_CLI_EVENT_CAMPAIGN) != 0)
        tell_other (self, DVM_CLI_EVENT_CAMPAIGN, path, &cells, FALSE);
    }
}

static void
on_object_signal (GDBusConnection *connection, const char *sender, const char *path, const char *interface,
                  const char *name, GVariant *parameters, gpointer user_data)
{
  DvmCliEvents *self = user_data;
  g_autoptr (GVariant) interfaces = NULL;
  const char *object;

  if (g_variant_is_of_type (parameters, G_VARIANT_TYPE ("(oa{sa{sv}})")))
    {
      g_variant_get (parameters, "(&o@a{sa{sv}})", &object, &interfaces);
      add_object (self, object, interfaces);
    }
  else if (g_variant_is_of_type (parameters, G_VARIANT_TYPE ("(oas)")))
    {
      g_variant_get (parameters, "(&oas)", &object, NULL);
      g_hash_table_remove (self->jobs, object);
      g_hash_table_remove (self->others, object);
    }
}

static void
on_manager_changed (GDBusConnection *connection, const char *sender, const char *path, const char *interface,
                    const char *name, GVariant *parameters, gpointer user_data)
{
  DvmCliEvents *self = user_data;
  g_autoptr (GVariant) changed = NULL;
  const char *state;

  if ((self->following & DVM_CLI_EVENT_DVM) == 0 || !g_variant_is_of_type (parameters, G_VARIANT_TYPE ("(sa{sv}as)")))
    return;
  g_variant_get (parameters, "(&s@a{sv}@as)", NULL, &changed, NULL);
  state = dvm_cli_lookup_text (changed, "StateName");
  if (state[0] != '\0')
    tell_dvm (self, state, FALSE);
}

/* ---- nodes ---- */

static gboolean
list_nodes (DvmCliEvents *self, gboolean is_current, GError **error)
{
  g_autoptr (GPtrArray) nodes = dvm_client_list_nodes (self->client, NULL, error);

  for (guint i = 0; nodes != NULL && i < nodes->len; i++)
    {
      DvmNode *node = g_ptr_array_index (nodes, i);
      const DvmCliEvent event = { .kind = DVM_CLI_EVENT_NODE,
                                  .path = dvm_node_get_object_path (node),
                                  .name = dvm_node_get_name (node),
                                  .id = dvm_node_get_rank (node),
                                  .old_state = "",
                                  .new_state = dvm_node_state_to_string (dvm_node_get_state (node)),
                                  .reason = dvm_node_get_reason (node),
                                  .is_current = TRUE };

      if (is_current)
        tell_event (self, &event);
      if (is_current || !g_hash_table_contains (self->nodes, GUINT_TO_POINTER (event.id)))
        g_hash_table_insert (self->nodes, GUINT_TO_POINTER (event.id),
                             known_new (event.name, is_current ? event.new_state : ""));
    }
  return nodes != NULL;
}

static void
on_nodes_changed (GDBusConnection *connection, const char *sender, const char *path, const char *interface,
                  const char *name, GVariant *parameters, gpointer user_data)
{
  DvmCliEvents *self = user_data;
  g_autoptr (GVariantIter) changes = NULL;
  DvmCliEvent event = { .kind = DVM_CLI_EVENT_NODE, .reason = "" };
  guint state;

  if ((self->following & DVM_CLI_EVENT_NODE) == 0 || !g_variant_is_of_type (parameters, G_VARIANT_TYPE ("(a(uu))")))
    return;
  g_variant_get (parameters, "(a(uu))", &changes);
  while (g_variant_iter_next (changes, "(uu)", &event.id, &state))
    {
      g_autofree char *object = g_strdup_printf ("/org/dvm/nodes/%u", event.id);
      Known *known = g_hash_table_lookup (self->nodes, GUINT_TO_POINTER (event.id));

      if (known == NULL && list_nodes (self, FALSE, NULL))
        known = g_hash_table_lookup (self->nodes, GUINT_TO_POINTER (event.id));
      event.path = object;
      event.name = known != NULL ? known->name : strrchr (object, '/') + 1;
      event.old_state = known != NULL ? known->state : "";
      event.new_state = dvm_node_state_to_string (state);
      tell_event (self, &event);
      g_hash_table_insert (self->nodes, GUINT_TO_POINTER (event.id), known_new (event.name, event.new_state));
    }
}

/* ---- the start ---- */

DvmCliEvents *
dvm_cli_events_new (DvmClient *client, guint kinds, DvmCliEventFunc func, gpointer user_data)
{
  DvmCliEvents *self = g_new0 (DvmCliEvents, 1);

  self->client = g_object_ref (client);
  self->connection = g_object_ref (dvm_client_get_dbus_connection (client));
  self->kinds = kinds;
  self->func = func;
  self->user_data = user_data;
  self->jobs = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, known_free);
  self->others = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, known_free);
  self->nodes = g_hash_table_new_full (NULL, NULL, NULL, known_free);
  return self;
}

void
dvm_cli_events_free (DvmCliEvents *self)
{
  for (gsize i = 0; i < G_N_ELEMENTS (self->subscriptions); i++)
    if (self->subscriptions[i] != 0)
      g_dbus_connection_signal_unsubscribe (self->connection, self->subscriptions[i]);
  g_hash_table_unref (self->jobs);
  g_hash_table_unref (self->others);
  g_hash_table_unref (self->nodes);
  g_free (self->dvm_state);
  g_object_unref (self->connection);
  g_object_unref (self->client);
  g_free (self);
}

static void
connect_signals (DvmCliEvents *self)
{
  static const struct
  {
    const char *interface;
    const char *member; /* NULL: every signal of the interface */
    const char *path;
    GDBusSignalCallback callback;
  } wanted[] = {
    { OBJECT_MANAGER, NULL, "/org/dvm", on_object_signal },
    { JOB, NULL, NULL, on_job_signal },
    { SESSION, "StateChanged", NULL, on_state_signal },
    { CAMPAIGN, "StateChanged", NULL, on_state_signal },
    { MANAGER, "NodesChanged", MANAGER_PATH, on_nodes_changed },
    { PROPERTIES, "PropertiesChanged", MANAGER_PATH, on_manager_changed },
  };

  G_STATIC_ASSERT (G_N_ELEMENTS (wanted) <= G_N_ELEMENTS (((DvmCliEvents *)NULL)->subscriptions));
  for (gsize i = 0; i < G_N_ELEMENTS (wanted); i++)
    self->subscriptions[i] = g_dbus_connection_signal_subscribe (
        self->connection, dvm_client_get_dbus_name_owner (self->client), wanted[i].interface, wanted[i].member,
        wanted[i].path, NULL, G_DBUS_SIGNAL_FLAGS_NONE, wanted[i].callback, self, NULL);
}

/* ---- how things are ---- */

/* A question of the start, and what it is about */
typedef struct
{
  DvmCliEvents *self;
  DvmCliEventKind kind;
  char *ids;         /* (nullable): those that are to be listed; NULL: all */
  gboolean is_plain; /* of jobs: by rows, as DVMs of all versions tell them */
  guint *n_open;     /* of the questions */
  GError **error;
} Question;

static void
question_free (Question *question)
{
  (*question->n_open)--;
  g_free (question->ids);
  g_free (question);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Question, question_free)

/* In our main context, so that the answers keep their places among the signals: what is behind one is not in it. */
static void
call (DvmCliEvents *self, const char *interface, const char *method, GVariant *parameters, const char *type,
      GAsyncReadyCallback callback, Question *question)
{
  g_dbus_connection_call (self->connection, dvm_client_get_dbus_name_owner (self->client), MANAGER_PATH, interface,
                          method, parameters, G_VARIANT_TYPE (type), G_DBUS_CALL_FLAGS_NO_AUTO_START, G_MAXINT, NULL,
                          callback, question);
}

/* Takes error over; the first one counts. */
static void
keep_error (Question *question, GError *error)
{
  g_dbus_error_strip_remote_error (error);
  if (*question->error == NULL)
    *question->error = error;
  else
    g_error_free (error);
}

/* (nullable): NULL: the question is answered by an error */
static GVariant *
take_answer (Question *question, GObject *source, GAsyncResult *result)
{
  g_autoptr (GError) error = NULL;
  GVariant *reply = g_dbus_connection_call_finish (G_DBUS_CONNECTION (source), result, &error);

  if (error != NULL)
    keep_error (question, g_steal_pointer (&error));
  return reply;
}

static void
on_subscribed (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (Question) question = user_data;
  g_autoptr (GVariant) reply = take_answer (question, source, result);
}

static void
on_dvm (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (Question) question = user_data;
  g_autoptr (GVariant) reply = take_answer (question, source, result);
  g_autoptr (GVariant) state = NULL;

  if (reply == NULL)
    return;
  g_variant_get (reply, "(v)", &state);
  question->self->following |= DVM_CLI_EVENT_DVM;
  if (g_variant_is_of_type (state, G_VARIANT_TYPE_STRING))
    tell_dvm (question->self, g_variant_get_string (state, NULL), TRUE);
}

/* TRUE: there is another page, which question is about now. A DVM that does not get on would be asked for ever. */
static gboolean
turn_page (Question *question, const char *rest)
{
  question->self->begun |= question->kind;
  if (rest[0] == '\0' || g_strcmp0 (rest, question->ids) == 0)
    return FALSE;
  g_free (question->ids);
  question->ids = g_strdup (rest);
  return TRUE;
}

static void ask_others (Question *question);

/* One that is named and has ended meanwhile is listed all the same. */
static void
add_others (DvmCliEvents *self, DvmCliEventKind kind, GVariantIter *rows)
{
  const char *folder = kind == DVM_CLI_EVENT_SESSION ? "sessions" : "campaigns";
  GVariant *row;

  while (g_variant_iter_loop (rows, "@a{sv}", &row))
    {
      DvmCliCells cells;
      g_autofree char *path = NULL;

      dvm_cli_cells_init (&cells, row);
      path = g_strdup_printf ("/org/dvm/%s/%u", folder, dvm_cli_cells_get_uint (&cells, "Id"));
      if (dvm_cli_cells_get_time (&cells, "EndedAt") == 0)
        tell_other (self, kind, path, &cells, TRUE);
    }
}

static void
on_others (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (Question) question = user_data;
  DvmCliEvents *self = question->self;
  DvmCliEventKind kind = question->kind;
  g_autoptr (GVariant) reply = take_answer (question, source, result);
  g_autoptr (GVariantIter) rows = NULL;
  const char *rest;

  if (reply == NULL)
    return;
  g_variant_get (reply, "(aa{sv}&s)", &rows, &rest);
  if (turn_page (question, rest))
    ask_others (g_steal_pointer (&question));
  else
    self->following |= kind;
  add_others (self, kind, rows);
}

static void
ask_list (Question *question, const char *method, const char *const *columns, gboolean by_column,
          GAsyncReadyCallback callback)
{
  GVariantDict filter;

  g_variant_dict_init (&filter, NULL);
  g_variant_dict_insert_value (&filter, "columns", g_variant_new_strv (columns, -1));
  if (question->ids != NULL)
    g_variant_dict_insert (&filter, "ids", "s", question->ids);
  if (by_column)
    {
      g_variant_dict_insert (&filter, "by-column", "b", TRUE);
      g_variant_dict_insert (&filter, "once", "b", TRUE);
    }
  call (question->self, MANAGER, method, g_variant_new ("(@a{sv})", g_variant_dict_end (&filter)), "(aa{sv}s)",
        callback, question);
}

/* Takes it over. */
static void
ask_others (Question *question)
{
  static const char *const session_columns[] = { "Id", "AllocId", "State", "Reason", NULL };
  static const char *const campaign_columns[] = { "Id", "State", "Reason", "EndedAt", NULL };

  if (question->kind == DVM_CLI_EVENT_SESSION)
    ask_list (question, "ListSessions", session_columns, FALSE, on_others);
  else
    ask_list (question, "ListCampaigns", campaign_columns, FALSE, on_others);
}

/* dict: a{sv}, one job, or columns of many; one that is named and has ended meanwhile is listed all the same. */
static void
add_jobs (DvmCliEvents *self, GVariant *dict, gboolean by_column)
{
  DvmCliCells cells;
  gsize n = 1;

  if (by_column)
    n = dvm_cli_cells_init_columns (&cells, dict);
  else
    dvm_cli_cells_init (&cells, dict);
  for (cells.row = 0; cells.row < n; cells.row++)
    {
      g_autofree char *path = g_strdup_printf ("/org/dvm/jobs/%u", dvm_cli_cells_get_uint (&cells, "Id"));

      if (!dvm_cli_cells_get_boolean (&cells, "Ended"))
        add_job (self, path, &cells, TRUE);
    }
  dvm_cli_cells_clear (&cells);
}

static void ask_jobs (Question *question);

/* The next page is on its way while this one is read. */
static void
on_jobs (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (Question) question = user_data;
  DvmCliEvents *self = question->self;
  gboolean by_column = !question->is_plain;
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) reply = g_dbus_connection_call_finish (G_DBUS_CONNECTION (source), result, &error);
  g_autoptr (GVariant) rows = NULL;
  const char *rest;
  GVariantIter iter;
  GVariant *dict;

  /* A DVM that is older refuses words of the filter that it does not know. */
  if (by_column && g_error_matches (error, DVM_ERROR, DVM_ERROR_BAD_PARAM))
    {
      question->is_plain = TRUE;
      ask_jobs (g_steal_pointer (&question));
      return;
    }
  if (reply == NULL)
    {
      keep_error (question, g_steal_pointer (&error));
      return;
    }
  g_variant_get (reply, "(@aa{sv}&s)", &rows, &rest);
  if (turn_page (question, rest))
    ask_jobs (g_steal_pointer (&question));
  else
    self->following |= DVM_CLI_EVENT_JOB | DVM_CLI_EVENT_NODE;
  g_variant_iter_init (&iter, rows);
  while (g_variant_iter_loop (&iter, "@a{sv}", &dict))
    add_jobs (self, dict, by_column);
}

/* Takes it over. */
static void
ask_jobs (Question *question)
{
  static const char *const columns[] = { "Id", "Namespace", "StateName", "Reason", "Ended", NULL };

  ask_list (question, "ListJobs", columns, !question->is_plain, on_jobs);
}

static Question *
question_new (DvmCliEvents *self, DvmCliEventKind kind, guint *n_open, GError **error)
{
  Question *question = g_new0 (Question, 1);

  *question = (Question){ .self = self, .kind = kind, .n_open = n_open, .error = error };
  (*n_open)++;
  return question;
}

/* All at once: the DVM answers one while another one is read. */
static gboolean
ask_all (DvmCliEvents *self, GError **error)
{
  g_autoptr (GError) own_error = NULL;
  guint n_open = 0;

  call (self, MANAGER, "Subscribe", NULL, "()", on_subscribed, question_new (self, 0, &n_open, &own_error));
  call (self, PROPERTIES, "Get", g_variant_new ("(ss)", MANAGER, "StateName"), "(v)", on_dvm,
        question_new (self, DVM_CLI_EVENT_DVM, &n_open, &own_error));
  ask_others (question_new (self, DVM_CLI_EVENT_SESSION, &n_open, &own_error));
  ask_others (question_new (self, DVM_CLI_EVENT_CAMPAIGN, &n_open, &own_error));
  ask_jobs (question_new (self, DVM_CLI_EVENT_JOB, &n_open, &own_error));
  while (n_open > 0)
    g_main_context_iteration (NULL, TRUE);
  if (own_error != NULL)
    g_propagate_error (error, g_steal_pointer (&own_error));
  return *error == NULL;
}

gboolean
dvm_cli_events_start (DvmCliEvents *self, GError **error)
{
  connect_signals (self);
  if (!ask_all (self, error))
    return FALSE;
  return (self->kinds & DVM_CLI_EVENT_NODE) == 0 || list_nodes (self, TRUE, error);
}

gboolean
dvm_cli_events_knows (DvmCliEvents *self, const char *path)
{
  return g_hash_table_contains (self->others, path);
}

guint
dvm_cli_events_get_n_jobs (DvmCliEvents *self, GHashTable *ids)
{
  GHashTableIter iter;
  gpointer path;
  guint n = 0;

  if (ids == NULL)
    return g_hash_table_size (self->jobs);
  g_hash_table_iter_init (&iter, self->jobs);
  while (g_hash_table_iter_next (&iter, &path, NULL))
    if (g_hash_table_contains (ids, GUINT_TO_POINTER (path_id (path))))
      n++;
  return n;
}
