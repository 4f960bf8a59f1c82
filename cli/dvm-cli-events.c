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

  GHashTable *jobs;      /* path -> Known, those that have not ended */
  GHashTable *others;    /* path -> Known: sessions and campaigns */
  GHashTable *nodes;     /* rank -> Known */
  char *dvm_state;       /* (nullable) */
  gboolean is_following; /* what came before is in the answer that tells how things are */
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

/* ---- signals ---- */

static void
on_job_signal (GDBusConnection *connection, const char *sender, const char *path, const char *interface,
               const char *name, GVariant *parameters, gpointer user_data)
{
  DvmCliEvents *self = user_data;
  DvmCliEvent event = { .path = path, .name = lookup_name (self->jobs, path), .id = path_id (path), .reason = "" };
  g_autoptr (GVariantIter) changes = NULL;
  guint old_state, new_state;

  if (!self->is_following)
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

  if (!self->is_following || !g_variant_is_of_type (parameters, G_VARIANT_TYPE ("(sss)")))
    return;
  g_variant_get (parameters, "(&s&s&s)", &event.old_state, &event.new_state, &event.reason);
  event.kind = strcmp (interface, SESSION) == 0 ? DVM_CLI_EVENT_SESSION : DVM_CLI_EVENT_CAMPAIGN;
  tell_event (self, &event);
}

static void
tell_other (DvmCliEvents *self, const char *path, const char *interface, GVariant *properties, gboolean is_current)
{
  gboolean is_session = strcmp (interface, SESSION) == 0;
  const char *name = is_session ? dvm_cli_lookup_text (properties, "AllocId") : "";
  DvmCliEvent event = { .path = path, .id = path_id (path), .old_state = "", .is_current = is_current };

  /* One allocation may have many campaigns. */
  if (name[0] == '\0')
    name = strrchr (path, '/') + 1;
  g_hash_table_insert (self->others, g_strdup (path), known_new (name, NULL));
  event.kind = is_session ? DVM_CLI_EVENT_SESSION : DVM_CLI_EVENT_CAMPAIGN;
  event.name = name;
  event.new_state = dvm_cli_lookup_text (properties, "State");
  event.reason = dvm_cli_lookup_text (properties, "Reason");
  tell_event (self, &event);
}

static void
add_job (DvmCliEvents *self, const char *path, GVariant *properties, gboolean is_current)
{
  const char *name = dvm_cli_lookup_text (properties, "Namespace");
  DvmCliEvent event = { .kind = DVM_CLI_EVENT_JOB, .path = path, .id = path_id (path), .old_state = "" };

  g_hash_table_insert (self->jobs, g_strdup (path), known_new (name, NULL));
  /* All states of a new one will be told of. */
  if (!is_current)
    return;
  event.name = name;
  event.new_state = dvm_cli_lookup_text (properties, "StateName");
  event.reason = dvm_cli_lookup_text (properties, "Reason");
  event.is_current = TRUE;
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

static void
add_object (DvmCliEvents *self, const char *path, GVariant *interfaces, gboolean is_current)
{
  g_autoptr (GVariantIter) iter = g_variant_iter_new (interfaces);
  const char *interface;
  GVariant *properties;

  while (g_variant_iter_loop (iter, "{&s@a{sv}}", &interface, &properties))
    {
      if (strcmp (interface, JOB) == 0)
        add_job (self, path, properties, is_current);
      else if (strcmp (interface, SESSION) == 0 || strcmp (interface, CAMPAIGN) == 0)
        tell_other (self, path, interface, properties, is_current);
      else if (strcmp (interface, MANAGER) == 0)
        tell_dvm (self, dvm_cli_lookup_text (properties, "StateName"), is_current);
    }
}

static void
on_object_signal (GDBusConnection *connection, const char *sender, const char *path, const char *interface,
                  const char *name, GVariant *parameters, gpointer user_data)
{
  DvmCliEvents *self = user_data;
  g_autoptr (GVariant) interfaces = NULL;
  const char *object;

  if (!self->is_following)
    return;
  if (g_variant_is_of_type (parameters, G_VARIANT_TYPE ("(oa{sa{sv}})")))
    {
      g_variant_get (parameters, "(&o@a{sa{sv}})", &object, &interfaces);
      add_object (self, object, interfaces, FALSE);
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

  if (!self->is_following || !g_variant_is_of_type (parameters, G_VARIANT_TYPE ("(sa{sv}as)")))
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

  if (!self->is_following || !g_variant_is_of_type (parameters, G_VARIANT_TYPE ("(a(uu))")))
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

/* In our main context, so that the answer keeps its place among the signals. */
static GVariant *
call (DvmCliEvents *self, const char *path, const char *interface, const char *method, const char *type, GError **error)
{
  g_autoptr (GAsyncResult) result = NULL;
  GVariant *reply;

  g_dbus_connection_call (self->connection, dvm_client_get_dbus_name_owner (self->client), path, interface, method,
                          NULL, G_VARIANT_TYPE (type), G_DBUS_CALL_FLAGS_NO_AUTO_START, -1, NULL, dvm_cli_ready,
                          &result);
  reply = g_dbus_connection_call_finish (self->connection, dvm_cli_await (&result), error);
  if (reply == NULL && error != NULL)
    g_dbus_error_strip_remote_error (*error);
  return reply;
}

typedef struct
{
  DvmCliEvents *self;
  gboolean done;
  GError *error;
} Listing;

/* At its place among the signals: those before it are in the answer, and one iteration may bring some behind it. */
static void
on_objects (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Listing *listing = user_data;
  g_autoptr (GVariant) reply = g_dbus_connection_call_finish (G_DBUS_CONNECTION (source), result, &listing->error);
  g_autoptr (GVariantIter) objects = NULL;
  const char *path;
  GVariant *interfaces;

  listing->done = TRUE;
  if (reply == NULL)
    return;
  listing->self->is_following = TRUE;
  g_variant_get (reply, "(a{oa{sa{sv}}})", &objects);
  while (g_variant_iter_loop (objects, "{&o@a{sa{sv}}}", &path, &interfaces))
    add_object (listing->self, path, interfaces, TRUE);
}

gboolean
dvm_cli_events_start (DvmCliEvents *self, GError **error)
{
  g_autoptr (GVariant) subscribed = NULL;
  Listing listing = { .self = self };

  connect_signals (self);
  subscribed = call (self, MANAGER_PATH, MANAGER, "Subscribe", "()", error);
  if (subscribed == NULL)
    return FALSE;
  g_dbus_connection_call (self->connection, dvm_client_get_dbus_name_owner (self->client), "/org/dvm", OBJECT_MANAGER,
                          "GetManagedObjects", NULL, G_VARIANT_TYPE ("(a{oa{sa{sv}}})"),
                          G_DBUS_CALL_FLAGS_NO_AUTO_START, -1, NULL, on_objects, &listing);
  while (!listing.done)
    g_main_context_iteration (NULL, TRUE);
  if (listing.error != NULL)
    {
      g_dbus_error_strip_remote_error (listing.error);
      g_propagate_error (error, listing.error);
      return FALSE;
    }
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
