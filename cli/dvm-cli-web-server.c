/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A request is judged when its head is there: nobody who may not ask sends a body, or learns which paths there are.
 */

#include "config.h"

#include "dvm-cli-web-server.h"

#include <glib/gi18n-lib.h>
#include <libsoup/soup.h>

#include "dvm-cli-web-guard.h"
#include "dvm-cli-web-map.h"
#include "dvm-cli-web-metrics.h"
#include "dvm-cli-web-readers.h"
#include "dvm-cli-web-resources.h"
#include "dvm-cli-web-source.h"

#define RESOURCES "/org/dvm/web"

struct _DvmCliWebServer
{
  const DvmCliWebSetup *setup;
  SoupServer *soup;
  DvmCliWatchModel *model;
  DvmCliWebSource *source;
  DvmCliWebState *state;
  DvmCliWebReaders *readers;
  GPtrArray *waiting; /* messages whose answers are to be new */
  char *cookie_name;
  char *cookie; /* (nullable) */
};

/* ---- answers ---- */

static void
answer_text (SoupServerMessage *message, guint status, const char *text)
{
  /* libsoup 3.2 has no words for this one. */
  soup_server_message_set_status (message, status,
                                  status == SOUP_STATUS_MISDIRECTED_REQUEST ? "Misdirected Request" : NULL);
  soup_server_message_set_response (message, "text/plain; charset=utf-8", SOUP_MEMORY_COPY, text, strlen (text));
}

static void
answer_bytes (SoupServerMessage *message, const char *type, GBytes *bytes)
{
  soup_server_message_set_status (message, SOUP_STATUS_OK, NULL);
  soup_message_headers_set_content_type (soup_server_message_get_response_headers (message), type, NULL);
  soup_message_body_append_bytes (soup_server_message_get_response_body (message), bytes);
}

/* Nothing of it is kept, framed, or read by other pages, and the page loads nothing from elsewhere. */
static void
set_headers (SoupServerMessage *message)
{
  static const char *const headers[][2] = {
    { "Cache-Control", "no-store" },
    { "Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
                                 "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" },
    { "Cross-Origin-Opener-Policy", "same-origin" },
    { "Cross-Origin-Resource-Policy", "same-origin" },
    { "Referrer-Policy", "no-referrer" },
    { "X-Content-Type-Options", "nosniff" },
    { "X-Frame-Options", "DENY" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (headers); i++)
    soup_message_headers_replace (soup_server_message_get_response_headers (message), headers[i][0], headers[i][1]);
}

/* ---- who may ---- */

static gboolean
has_token (DvmCliWebServer *self, SoupServerMessage *message)
{
  SoupMessageHeaders *headers = soup_server_message_get_request_headers (message);
  const char *bearer = dvm_cli_web_find_bearer (soup_message_headers_get_one (headers, "Authorization"));
  g_autofree char *cookie = dvm_cli_web_find_cookie (soup_message_headers_get_list (headers, "Cookie"),
                                                     self->cookie_name);

  if (self->setup->token == NULL)
    return TRUE;
  return (bearer != NULL && dvm_cli_web_is_same (bearer, self->setup->token))
         || (cookie != NULL && dvm_cli_web_is_same (cookie, self->cookie));
}

/* (transfer full) (nullable): "token" of the address */
static char *
find_query_token (SoupServerMessage *message)
{
  const char *query = g_uri_get_query (soup_server_message_get_uri (message));
  g_autoptr (GHashTable) values = query != NULL ? soup_form_decode (query) : NULL;

  return values != NULL ? g_strdup (g_hash_table_lookup (values, "token")) : NULL;
}

/* The token leaves the address, which browsers remember and show, and becomes a cookie. */
static gboolean
log_in (DvmCliWebServer *self, SoupServerMessage *message)
{
  g_autofree char *given = find_query_token (message);
  g_autofree char *cookie = NULL;

  if (given == NULL || self->setup->token == NULL || !dvm_cli_web_is_same (given, self->setup->token))
    return FALSE;
  cookie = g_strdup_printf ("%s=%s; Path=/; HttpOnly; SameSite=Strict", self->cookie_name, self->cookie);
  soup_message_headers_replace (soup_server_message_get_response_headers (message), "Set-Cookie", cookie);
  soup_server_message_set_redirect (message, SOUP_STATUS_SEE_OTHER,
                                    g_uri_get_path (soup_server_message_get_uri (message)));
  return TRUE;
}

/* With a status the request is answered, and goes no further. */
static void
on_head (SoupServer *soup, SoupServerMessage *message, const char *path, GHashTable *query, gpointer user_data)
{
  DvmCliWebServer *self = user_data;
  SoupMessageHeaders *headers = soup_server_message_get_response_headers (message);
  const char *host = soup_message_headers_get_one (soup_server_message_get_request_headers (message), "Host");
  const char *method = soup_server_message_get_method (message);

  set_headers (message);
  /* A body is read over, and not kept. */
  soup_message_body_set_accumulate (soup_server_message_get_request_body (message), FALSE);
  if (!dvm_cli_web_knows_host (host, self->setup->names))
    answer_text (message, SOUP_STATUS_MISDIRECTED_REQUEST,
                 "This server is not called so: use its address, or start it with --server-name NAME.\n");
  else if (method != SOUP_METHOD_GET && method != SOUP_METHOD_HEAD)
    {
      soup_message_headers_replace (headers, "Allow", "GET, HEAD");
      answer_text (message, SOUP_STATUS_METHOD_NOT_ALLOWED, "This server is read alone: by GET and HEAD.\n");
    }
  else if (!log_in (self, message) && !has_token (self, message))
    {
      soup_message_headers_replace (headers, "WWW-Authenticate", "Bearer realm=\"dvm-cli web\"");
      answer_text (message, SOUP_STATUS_UNAUTHORIZED,
                   "This page needs a token: open the address that dvm-cli web has printed, "
                   "or send \"Authorization: Bearer TOKEN\".\n");
    }
}

/* ---- the state ---- */

static DvmCliWebFacts
get_facts (DvmCliWebServer *self)
{
  return (DvmCliWebFacts){
    .name = self->setup->name,
    .connected = dvm_client_get_connected (self->setup->client),
    .problem = dvm_cli_web_source_get_problem (self->source),
    .n_readers = dvm_cli_web_readers_count (self->readers),
  };
}

static void
publish (DvmCliWebServer *self)
{
  const DvmCliWebFacts facts = get_facts (self);
  g_autoptr (GBytes) change = dvm_cli_web_state_update (self->state, &facts, g_get_real_time ());

  if (change != NULL)
    dvm_cli_web_readers_tell (self->readers, change);
}

/* The next change follows on it as it does on the last one. */
static GBytes *
get_whole (gpointer user_data)
{
  DvmCliWebServer *self = user_data;
  const DvmCliWebFacts facts = get_facts (self);

  return dvm_cli_web_state_get (self->state, &facts, g_get_real_time ());
}

static void
answer_state (DvmCliWebServer *self, SoupServerMessage *message)
{
  g_autoptr (GBytes) whole = get_whole (self);

  answer_bytes (message, "application/json", whole);
}

static void
answer_metrics (DvmCliWebServer *self, SoupServerMessage *message)
{
  const DvmCliWebFacts facts = get_facts (self);
  char *text = dvm_cli_web_metrics_format (self->model, &facts);

  soup_server_message_set_status (message, SOUP_STATUS_OK, NULL);
  soup_server_message_set_response (message, DVM_CLI_WEB_METRICS_TYPE, SOUP_MEMORY_TAKE, text, strlen (text));
}

static void
answer_fresh (DvmCliWebServer *self, SoupServerMessage *message)
{
  if (g_str_equal (g_uri_get_path (soup_server_message_get_uri (message)), "/metrics"))
    answer_metrics (self, message);
  else
    answer_state (self, message);
}

static void
on_news (gpointer user_data)
{
  DvmCliWebServer *self = user_data;
  g_autoptr (GPtrArray) waiting = NULL;

  /* While it is made */
  if (self->source == NULL)
    return;
  publish (self);
  waiting = self->waiting;
  self->waiting = g_ptr_array_new_with_free_func (g_object_unref);
  for (guint i = 0; i < waiting->len; i++)
    {
      answer_fresh (self, waiting->pdata[i]);
      soup_server_message_unpause (waiting->pdata[i]);
    }
}

/* ---- paths ---- */

static void
on_fresh (SoupServer *soup, SoupServerMessage *message, const char *path, GHashTable *query, gpointer user_data)
{
  DvmCliWebServer *self = user_data;

  if (dvm_cli_web_source_refresh (self->source))
    {
      g_ptr_array_add (self->waiting, g_object_ref (message));
      soup_server_message_pause (message);
      return;
    }
  publish (self);
  answer_fresh (self, message);
}

static void
on_events (SoupServer *soup, SoupServerMessage *message, const char *path, GHashTable *query, gpointer user_data)
{
  DvmCliWebServer *self = user_data;

  if (soup_server_message_get_method (message) == SOUP_METHOD_HEAD)
    {
      soup_server_message_set_status (message, SOUP_STATUS_OK, NULL);
      soup_message_headers_set_content_type (soup_server_message_get_response_headers (message), "text/event-stream",
                                             NULL);
      return;
    }
  if (dvm_cli_web_readers_count (self->readers) >= DVM_CLI_WEB_MAX_READERS)
    {
      soup_message_headers_replace (soup_server_message_get_response_headers (message), "Retry-After", "10");
      answer_text (message, SOUP_STATUS_SERVICE_UNAVAILABLE, "Too many pages follow this server; close one.\n");
      return;
    }
  publish (self);
  dvm_cli_web_readers_add (self->readers, message);
  dvm_cli_web_source_set_watched (self->source, TRUE);
  dvm_cli_web_source_refresh (self->source);
}

static const char *
guess_type (const char *path)
{
  if (g_str_has_suffix (path, ".js"))
    return "text/javascript; charset=utf-8";
  return g_str_has_suffix (path, ".css") ? "text/css; charset=utf-8" : "text/html; charset=utf-8";
}

static void
on_file (SoupServer *soup, SoupServerMessage *message, const char *path, GHashTable *query, gpointer user_data)
{
  g_autofree char *name = g_strconcat (RESOURCES, strcmp (path, "/") == 0 ? "/index.html" : path, NULL);
  g_autoptr (GBytes)
      file = g_resource_lookup_data (dvm_cli_web_get_resource (), name, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);

  if (file != NULL)
    answer_bytes (message, guess_type (name), file);
  else
    answer_text (message, SOUP_STATUS_NOT_FOUND,
                 "There is no such page: / and /metrics, /api/state and /events are there.\n");
}

static void
answer_map (DvmCliWebServer *self, const char *job, SoupServerMessage *message)
{
  if (dvm_client_get_connected (self->setup->client))
    dvm_cli_web_map_answer (self->setup->client, job, message);
  else
    answer_text (message, SOUP_STATUS_SERVICE_UNAVAILABLE, "No DVM is running.\n");
}

/* A handler has what is below its path, too. */
static void
on_request (SoupServer *soup, SoupServerMessage *message, const char *path, GHashTable *query, gpointer user_data)
{
  const char *job = dvm_cli_web_map_find (path);

  if (g_str_equal (path, "/metrics") || g_str_equal (path, "/api/state"))
    on_fresh (soup, message, path, query, user_data);
  else if (g_str_equal (path, "/events"))
    on_events (soup, message, path, query, user_data);
  else if (job != NULL)
    answer_map (user_data, job, message);
  else
    on_file (soup, message, path, query, user_data);
}

/* ---- its life ---- */

static void
on_over (DvmCliWebServer *self, SoupServerMessage *message)
{
  g_ptr_array_remove (self->waiting, message);
  dvm_cli_web_readers_remove (self->readers, message);
  dvm_cli_web_source_set_watched (self->source, dvm_cli_web_readers_count (self->readers) > 0);
}

static gboolean
start_listening (DvmCliWebServer *self, GError **error)
{
  g_autofree char *shown = g_socket_connectable_to_string (G_SOCKET_CONNECTABLE (self->setup->address));
  g_autoptr (GError) cause = NULL;

  if (soup_server_listen (self->soup, self->setup->address, 0, &cause))
    return TRUE;
  if (g_error_matches (cause, G_IO_ERROR, G_IO_ERROR_ADDRESS_IN_USE))
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_ADDRESS_IN_USE,
                 _ ("another program listens at %s already; without --port, one that is free is taken"), shown);
  else
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_FAILED, _ ("cannot listen at %s: %s"), shown, cause->message);
  return FALSE;
}

static guint
get_port (DvmCliWebServer *self)
{
  GSList *uris = soup_server_get_uris (self->soup);
  guint port = uris != NULL ? (guint)g_uri_get_port (uris->data) : 0;

  g_slist_free_full (uris, (GDestroyNotify)g_uri_unref);
  return port;
}

static void
connect_handlers (DvmCliWebServer *self)
{
  soup_server_add_early_handler (self->soup, NULL, on_head, self, NULL);
  soup_server_add_handler (self->soup, NULL, on_request, self, NULL);
  g_signal_connect_swapped (self->soup, "request-finished", G_CALLBACK (on_over), self);
  g_signal_connect_swapped (self->soup, "request-aborted", G_CALLBACK (on_over), self);
}

DvmCliWebServer *
dvm_cli_web_server_new (const DvmCliWebSetup *setup, GError **error)
{
  g_autoptr (DvmCliWebServer) self = g_new0 (DvmCliWebServer, 1);

  self->setup = setup;
  self->soup = soup_server_new (NULL, NULL);
  self->model = dvm_cli_watch_model_new ();
  self->state = dvm_cli_web_state_new (self->model);
  self->readers = dvm_cli_web_readers_new (get_whole, self);
  self->waiting = g_ptr_array_new_with_free_func (g_object_unref);
  if (!start_listening (self, error))
    return NULL;
  /* Cookies of one machine are the same for all ports. */
  self->cookie_name = g_strdup_printf ("dvm-web-%u", get_port (self));
  self->cookie = setup->token != NULL ? dvm_cli_web_make_cookie (setup->token) : NULL;
  dvm_cli_watch_model_set_all (self->model, TRUE);
  self->source = dvm_cli_web_source_new (setup->client, self->model, on_news, self);
  connect_handlers (self);
  return g_steal_pointer (&self);
}

void
dvm_cli_web_server_free (DvmCliWebServer *self)
{
  g_signal_handlers_disconnect_by_data (self->soup, self);
  soup_server_disconnect (self->soup);
  g_ptr_array_unref (self->waiting);
  dvm_cli_web_readers_free (self->readers);
  g_clear_pointer (&self->source, dvm_cli_web_source_free);
  dvm_cli_web_state_free (self->state);
  dvm_cli_watch_model_free (self->model);
  g_object_unref (self->soup);
  g_free (self->cookie_name);
  g_free (self->cookie);
  g_free (self);
}

char *
dvm_cli_web_server_get_url (DvmCliWebServer *self)
{
  GInetAddress *address = g_inet_socket_address_get_address (G_INET_SOCKET_ADDRESS (self->setup->address));
  g_autofree char *text = g_inet_address_to_string (address);
  gboolean is_v6 = g_inet_address_get_family (address) == G_SOCKET_FAMILY_IPV6;

  if (g_inet_address_get_is_any (address))
    return g_strdup_printf ("http://%s:%u/", g_get_host_name (), get_port (self));
  return g_strdup_printf (is_v6 ? "http://[%s]:%u/" : "http://%s:%u/", text, get_port (self));
}
