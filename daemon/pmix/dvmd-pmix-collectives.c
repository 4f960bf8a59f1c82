/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Fences, connects and disconnects of ranks that are clients of several servers of this node: to the host they are
 * those of one.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-servers-private.h"

#include <string.h>

/* Tokens of the host: no server has this number. */
#define OWN_TOKEN (G_GUINT64_CONSTANT (0xffff) << 48)

typedef struct
{
  DvmdPmixServers *pool; /* unowned */
  DvmdPmixMessageKind kind;
  char *key;
  guint64 token;   /* for the host */
  GVariant *procs; /* a(su) */
  gboolean leave;
  gboolean collect;
  guint32 timeout;
  GByteArray *data;
  GHashTable *missing; /* set of ids of servers */
  GHashTable *tokens;  /* id of a server -> guint64 *, its own */
  guint timer;
} Collective;

static void
collective_free (gpointer data)
{
  Collective *self = data;

  dvmd_clock_remove_timer (self->pool->clock, self->timer);
  g_free (self->key);
  g_variant_unref (self->procs);
  g_byte_array_unref (self->data);
  g_hash_table_unref (self->missing);
  g_hash_table_unref (self->tokens);
  g_free (self);
}

GHashTable *
dvmd_pmix_collectives_new (void)
{
  return g_hash_table_new_full (g_str_hash, g_str_equal, NULL, collective_free);
}

static gint
compare_texts (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

/* Those who name the same processes, in any order, mean the same. */
static char *
make_key (DvmdPmixMessageKind kind, gboolean leave, GVariant *procs)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  GString *key = g_string_new (NULL);
  GVariantIter iter;
  const char *nspace;
  guint32 rank;

  g_string_printf (key, "%u,%d;", (guint)kind, leave);
  g_variant_iter_init (&iter, procs);
  while (g_variant_iter_next (&iter, "(&su)", &nspace, &rank))
    g_ptr_array_add (names, g_strdup_printf ("%s.%u;", nspace, rank));
  g_ptr_array_sort (names, compare_texts);
  for (guint i = 0; i < names->len; i++)
    g_string_append (key, g_ptr_array_index (names, i));
  return g_string_free (key, FALSE);
}

/* (transfer full): the servers of this node whose clients take part */
static GHashTable *
find_servers (DvmdPmixServers *self, DvmdPmixServerProcess *server, GVariant *procs)
{
  GHashTable *servers = g_hash_table_new (NULL, NULL);
  GVariantIter iter;
  const char *nspace;
  guint32 rank;

  g_hash_table_add (servers, GUINT_TO_POINTER (server->id));
  g_variant_iter_init (&iter, procs);
  while (g_variant_iter_next (&iter, "(&su)", &nspace, &rank))
    {
      DvmdPmixServersJob *job = dvmd_pmix_servers_find_job (self, nspace);

      if (job != NULL && job->home != 0 && dvmd_pmix_job_has_local_rank (job->job, rank))
        g_hash_table_add (servers, GUINT_TO_POINTER (job->home));
    }
  return servers;
}

/* ---- answers ---- */

typedef struct
{
  guint id;
  guint64 token;
  int status;
} ConnectAnswer;

static void
say_connected (DvmdPmixServers *self, gpointer user_data)
{
  g_autofree ConnectAnswer *answer = user_data;
  DvmdPmixServerProcess *server = dvmd_pmix_servers_find (self, answer->id);

  if (server != NULL)
    dvmd_pmix_remote_say (server->remote, DVMD_PMIX_MSG_CONNECT_DONE,
                          g_variant_new ("(ti)", answer->token, answer->status));
}

/* The clients of a connect may ask for one another's data as soon as they are answered. */
static void
answer_connect (Collective *self, DvmdPmixServerProcess *server, guint64 token, int status)
{
  ConnectAnswer *answer = g_new (ConnectAnswer, 1);
  gsize n = g_variant_n_children (self->procs);
  g_autofree const char **nspaces = g_new0 (const char *, n + 1);

  *answer = (ConnectAnswer){ server->id, token, status };
  for (gsize i = 0; i < n && status == DVMD_PMIX_SUCCESS && !self->leave; i++)
    g_variant_get_child (self->procs, i, "(&su)", &nspaces[i], NULL);
  dvmd_pmix_servers_ensure_known (self->pool, server, nspaces, say_connected, answer);
}

static void
answer_server (Collective *self, DvmdPmixServerProcess *server, guint64 token, int status, GBytes *data)
{
  if (self->kind == DVMD_PMIX_MSG_CONNECT)
    answer_connect (self, server, token, status);
  else
    dvmd_pmix_remote_say (server->remote, DVMD_PMIX_MSG_FENCE_DONE,
                          g_variant_new ("(ti@ay)", token, status, dvmd_pmix_bytes_to_variant (data)));
}

static void
complete_collective (Collective *self, int status, GBytes *data)
{
  GHashTableIter iter;
  gpointer id;
  gpointer token;
  gpointer key;

  g_hash_table_steal_extended (self->pool->collectives, self->key, &key, NULL);
  g_hash_table_iter_init (&iter, self->tokens);
  while (g_hash_table_iter_next (&iter, &id, &token))
    {
      DvmdPmixServerProcess *server = dvmd_pmix_servers_find (self->pool, GPOINTER_TO_UINT (id));

      if (server != NULL)
        answer_server (self, server, *(guint64 *)token, status, data);
    }
  collective_free (self);
}

static Collective *
find_by_token (DvmdPmixServers *self, guint64 token)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->collectives);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    if (((Collective *)value)->token == token)
      return value;
  return NULL;
}

gboolean
dvmd_pmix_collectives_complete (DvmdPmixServers *self, guint64 token, int status, GBytes *data)
{
  Collective *collective;

  if ((token & OWN_TOKEN) != OWN_TOKEN)
    return FALSE;
  collective = find_by_token (self, token);
  if (collective != NULL)
    complete_collective (collective, status, data);
  return TRUE;
}

/* ---- contributions ---- */

static void
tell_host (Collective *self)
{
  g_autoptr (GBytes) data = g_bytes_new (self->data->data, self->data->len);
  guint n;
  g_autofree DvmdPmixProc *procs = dvmd_pmix_procs_from_variant (self->procs, &n);
  DvmdPmixServers *pool = self->pool;
  guint64 token = self->token;
  gboolean taken;

  if (self->kind == DVMD_PMIX_MSG_CONNECT)
    taken = dvmd_pmix_host_connect (pool->host, token, self->leave, procs, n, self->timeout);
  else
    taken = dvmd_pmix_host_fence (pool->host, token, procs, n, data, self->collect, self->timeout);
  if (!taken)
    dvmd_pmix_collectives_complete (pool, token, DVMD_PMIX_ERR_NOT_SUPPORTED, NULL);
}

static void
on_timeout (gpointer user_data)
{
  Collective *self = user_data;

  self->timer = 0;
  complete_collective (self, DVMD_PMIX_ERR_TIMEOUT, NULL);
}

static Collective *
collective_new (DvmdPmixServers *pool, DvmdPmixMessageKind kind, char *key, GVariant *procs, GHashTable *servers)
{
  Collective *self = g_new0 (Collective, 1);

  self->pool = pool;
  self->kind = kind;
  self->key = key;
  self->token = OWN_TOKEN | ++pool->last_collective;
  self->procs = g_variant_ref (procs);
  self->missing = servers;
  self->tokens = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  self->data = g_byte_array_new ();
  g_hash_table_insert (pool->collectives, self->key, self);
  return self;
}

static void
read_fence (GVariant *body, guint64 *token, GVariant **procs, GVariant **data, gboolean *collect, guint32 *timeout)
{
  g_variant_get (body, "(t@a(su)@aybu)", token, procs, data, collect, timeout);
}

/*
 * One server alone, and a fence, needs no record: its token goes to the host as it is. A connect has one always: its
 * answer waits until the server knows the jobs.
 */
void
dvmd_pmix_collectives_join (DvmdPmixServers *self, DvmdPmixServerProcess *server, DvmdPmixMessageKind kind,
                            GVariant *body)
{
  g_autoptr (GVariant) procs = NULL;
  g_autoptr (GVariant) data = NULL;
  g_autoptr (GHashTable) servers = NULL;
  g_autofree char *key = NULL;
  gboolean leave = FALSE;
  gboolean collect = FALSE;
  Collective *collective;
  guint32 timeout;
  guint64 token;

  if (kind == DVMD_PMIX_MSG_CONNECT)
    g_variant_get (body, "(tb@a(su)u)", &token, &leave, &procs, &timeout);
  else
    read_fence (body, &token, &procs, &data, &collect, &timeout);
  servers = find_servers (self, server, procs);
  if (kind == DVMD_PMIX_MSG_FENCE && g_hash_table_size (servers) == 1)
    {
      guint n;
      g_autofree DvmdPmixProc *participants = dvmd_pmix_procs_from_variant (procs, &n);
      g_autoptr (GBytes) bytes = g_variant_get_data_as_bytes (data);

      token = dvmd_pmix_servers_widen (server, token);
      if (!dvmd_pmix_host_fence (self->host, token, participants, n, bytes, collect, timeout))
        dvmd_pmix_complete_fence (DVMD_PMIX (self), token, DVMD_PMIX_ERR_NOT_SUPPORTED, NULL);
      return;
    }
  key = make_key (kind, leave, procs);
  collective = g_hash_table_lookup (self->collectives, key);
  if (collective == NULL)
    collective = collective_new (self, kind, g_steal_pointer (&key), procs, g_steal_pointer (&servers));
  collective->leave = leave;
  collective->collect |= collect;
  if (timeout > 0 && collective->timeout == 0)
    collective->timer = dvmd_clock_add_timer (self->clock, (gint64)timeout * G_USEC_PER_SEC, on_timeout, collective);
  collective->timeout = MAX (collective->timeout, timeout);
  if (data != NULL)
    g_byte_array_append (collective->data, g_variant_get_data (data), g_variant_get_size (data));
  g_hash_table_insert (collective->tokens, GUINT_TO_POINTER (server->id), g_memdup2 (&token, sizeof token));
  g_hash_table_remove (collective->missing, GUINT_TO_POINTER (server->id));
  if (g_hash_table_size (collective->missing) == 0)
    tell_host (collective);
}

/* ---- those who will not come ---- */

static gboolean
waits_for (const Collective *self, const char *nspace, guint32 rank, guint home)
{
  GVariantIter iter;
  const char *name;
  guint32 number;

  if (!g_hash_table_contains (self->missing, GUINT_TO_POINTER (home)))
    return FALSE;
  g_variant_iter_init (&iter, self->procs);
  while (g_variant_iter_next (&iter, "(&su)", &name, &number))
    if (g_str_equal (name, nspace) && (number == rank || rank == DVMD_PMIX_RANK_WILDCARD))
      return TRUE;
  return FALSE;
}

static void
fail_all (GPtrArray *broken)
{
  for (guint i = 0; i < broken->len; i++)
    complete_collective (g_ptr_array_index (broken, i), DVMD_PMIX_ERR_LOST_CONNECTION, NULL);
}

void
dvmd_pmix_collectives_fail (DvmdPmixServers *self, const char *nspace, guint32 rank)
{
  DvmdPmixServersJob *job = dvmd_pmix_servers_find_job (self, nspace);
  g_autoptr (GPtrArray) broken = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer collective;

  if (job == NULL)
    return;
  g_hash_table_iter_init (&iter, self->collectives);
  while (g_hash_table_iter_next (&iter, NULL, &collective))
    if (waits_for (collective, nspace, rank, job->home))
      g_ptr_array_add (broken, collective);
  fail_all (broken);
}

void
dvmd_pmix_collectives_server_ended (DvmdPmixServers *self, guint id)
{
  g_autoptr (GPtrArray) broken = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->collectives);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      Collective *collective = value;

      if (g_hash_table_contains (collective->missing, GUINT_TO_POINTER (id))
          || g_hash_table_contains (collective->tokens, GUINT_TO_POINTER (id)))
        g_ptr_array_add (broken, collective);
    }
  fail_all (broken);
}
