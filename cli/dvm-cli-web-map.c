/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Three questions one after the other: the job, its map, and the hardware of the nodes that are in it.
 */

#include "config.h"

#include "dvm-cli-web-map.h"

#include <string.h>

#include "dvm-cli-json.h"
#include "dvm-cli-map.h"

#define PREFIX "/api/map/"

typedef struct
{
  DvmClient *client;
  SoupServerMessage *message;
  GCancellable *cancellable; /* when the message is over */
  DvmJob *job;
  GVariant *map;
} Question;

static void
question_free (Question *self)
{
  g_clear_object (&self->client);
  g_clear_object (&self->message);
  g_clear_object (&self->cancellable);
  g_clear_object (&self->job);
  g_clear_pointer (&self->map, g_variant_unref);
  g_free (self);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Question, question_free)

const char *
dvm_cli_web_map_find (const char *path)
{
  const char *job = g_str_has_prefix (path, PREFIX) ? path + strlen (PREFIX) : NULL;

  return job != NULL && g_ascii_string_to_unsigned (job, 10, 0, G_MAXUINT32, NULL, NULL) ? job : NULL;
}

/* ---- the answer ---- */

static void
answer_text (SoupServerMessage *message, guint status, const char *type, const char *text)
{
  soup_server_message_set_status (message, status, NULL);
  soup_server_message_set_response (message, type, SOUP_MEMORY_COPY, text, strlen (text));
  soup_server_message_unpause (message);
}

/* A browser that has gone hears nothing. */
static void
refuse_map (Question *self, const GError *error)
{
  g_autofree char *text = NULL;
  gboolean unknown = g_error_matches (error, DVM_ERROR, DVM_ERROR_NOT_FOUND);
  gboolean early = g_error_matches (error, DVM_ERROR, DVM_ERROR_NOT_READY);

  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return;
  text = g_strconcat (error->message, "\n", NULL);
  answer_text (self->message, unknown || early ? SOUP_STATUS_NOT_FOUND : SOUP_STATUS_SERVICE_UNAVAILABLE,
               "text/plain; charset=utf-8", text);
}

/* ---- JSON ---- */

static void
append_list (GString *json, const char *key, GVariant *objects)
{
  g_autoptr (GVariant) list = g_variant_lookup_value (objects, key, G_VARIANT_TYPE_STRING_ARRAY);

  g_string_append_printf (json, ",\"%s\":", key);
  if (list != NULL)
    dvm_cli_json_append_value (json, list);
  else
    g_string_append (json, "[]");
}

static void
append_node (GString *json, const char *name, GVariant *topologies)
{
  g_autoptr (GVariant) objects = NULL;

  for (gsize i = 0; topologies != NULL && objects == NULL && i < g_variant_n_children (topologies); i++)
    {
      g_autoptr (GVariant) all = NULL;
      g_autofree const char **names = NULL;

      g_variant_get_child (topologies, i, "(&s^a&s@a{sas})", NULL, &names, &all);
      if (g_strv_contains (names, name))
        objects = g_steal_pointer (&all);
    }
  g_string_append (json, "{\"name\":");
  dvm_cli_json_append_string (json, name);
  if (objects != NULL)
    {
      append_list (json, "package", objects);
      append_list (json, "core", objects);
    }
  g_string_append_c (json, '}');
}

/* "ranks":[[rank, node, cpus],...]; (transfer container): numbers of nodes by their names */
static GHashTable *
append_ranks (GString *json, GVariant *map, GPtrArray *names)
{
  GHashTable *numbers = g_hash_table_new (g_str_hash, g_str_equal);
  const char *node, *cpus;
  GVariantIter iter;
  guint32 rank;
  gboolean first = TRUE;

  g_variant_iter_init (&iter, map);
  while (g_variant_iter_next (&iter, "(uuu&s&s&s&s)", &rank, NULL, NULL, &node, &cpus, NULL, NULL))
    {
      gpointer number;

      if (!g_hash_table_lookup_extended (numbers, node, NULL, &number))
        {
          number = GUINT_TO_POINTER (names->len);
          g_hash_table_insert (numbers, (gpointer)node, number);
          g_ptr_array_add (names, (gpointer)node);
        }
      if (GPOINTER_TO_UINT (number) >= DVM_CLI_WEB_MAP_NODES)
        continue;
      g_string_append_printf (json, "%s[%u,%u,", first ? "" : ",", rank, GPOINTER_TO_UINT (number));
      dvm_cli_json_append_string (json, cpus);
      g_string_append_c (json, ']');
      first = FALSE;
    }
  return numbers;
}

char *
dvm_cli_web_map_format (DvmJob *job, GVariant *map, GVariant *topologies)
{
  GString *json = g_string_new (NULL);
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autoptr (GHashTable) numbers = NULL;

  g_string_append_printf (json, "{\"job\":%u,\"procs\":%u,\"ranks\":[", dvm_job_get_id (job),
                          dvm_job_get_num_procs (job));
  numbers = append_ranks (json, map, names);
  g_string_append (json, "],\"nodes\":[");
  for (guint i = 0; i < MIN (names->len, DVM_CLI_WEB_MAP_NODES); i++)
    {
      g_string_append (json, i > 0 ? "," : "");
      append_node (json, names->pdata[i], topologies);
    }
  g_string_append_printf (json, "],\"hidden-nodes\":%u}", names->len - MIN (names->len, (guint)DVM_CLI_WEB_MAP_NODES));
  return g_string_free (json, FALSE);
}

/* ---- the questions ---- */

static void
on_topologies (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (Question) self = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) answer = dvm_client_query_finish (DVM_CLIENT (source), result, &error);
  g_autoptr (GVariant) topologies = NULL;
  g_autofree char *text = NULL;

  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return;
  /* Nodes that have left tell nothing any more: their ranks are on no cores then. */
  if (answer != NULL)
    topologies = g_variant_lookup_value (answer, "topologies", G_VARIANT_TYPE ("a(sasa{sas})"));
  text = dvm_cli_web_map_format (self->job, self->map, topologies);
  answer_text (self->message, SOUP_STATUS_OK, "application/json", text);
}

static void
on_map (GObject *source, GAsyncResult *result, gpointer user_data)
{
  static const char *const keys[] = { "topologies", NULL };
  g_autoptr (Question) self = user_data;
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) names = NULL;
  GVariantDict dict;

  self->map = dvm_client_map_job_finish (DVM_CLIENT (source), result, &error);
  if (self->map == NULL)
    {
      refuse_map (self, error);
      return;
    }
  names = dvm_cli_list_map_nodes (self->map, DVM_CLI_WEB_MAP_NODES);
  g_variant_dict_init (&dict, NULL);
  g_variant_dict_insert (&dict, "names", "^as", names);
  dvm_client_query_async (self->client, keys, g_variant_dict_end (&dict), self->cancellable, on_topologies, self);
  g_steal_pointer (&self);
}

static void
on_job (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (Question) self = user_data;
  g_autoptr (GError) error = NULL;
  g_autofree char *ranks = g_strdup_printf ("0-%u", DVM_CLI_WEB_MAP_RANKS - 1);

  self->job = dvm_client_find_job_finish (DVM_CLIENT (source), result, &error);
  if (self->job == NULL)
    {
      refuse_map (self, error);
      return;
    }
  dvm_client_map_job_async (self->client, self->job, ranks, self->cancellable, on_map, self);
  g_steal_pointer (&self);
}

void
dvm_cli_web_map_answer (DvmClient *client, const char *job, SoupServerMessage *message)
{
  Question *self = g_new0 (Question, 1);

  self->client = g_object_ref (client);
  self->message = g_object_ref (message);
  self->cancellable = g_cancellable_new ();
  g_signal_connect_object (message, "finished", G_CALLBACK (g_cancellable_cancel), self->cancellable,
                           G_CONNECT_SWAPPED);
  soup_server_message_pause (message);
  dvm_client_find_job_async (client, job, self->cancellable, on_job, self);
}
