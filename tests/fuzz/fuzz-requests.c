/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What comes as variants, from the bus, from PMIx and from other daemons: requests, jobs, maps and tables.
 */

#include "config.h"

#include "dvm-job-spec-private.h"
#include "dvmd-data-store.h"
#include "dvmd-launch-message.h"
#include "dvmd-routes.h"
#include "dvmd-session-request.h"
#include "dvmd-reading.h"
#include "dvmd-size-request.h"
#include "fuzz.h"

/* A map of more processes may be right, but a test has no memory for it. */
#define MOST_PROCS 4096

const FuzzKey fuzz_request_keys[] = {
  /* of jobs and their applications */
  { "name", "s" },
  { "label", "s" },
  { "personality", "s" },
  { "map-by", "s" },
  { "rank-by", "s" },
  { "bind-to", "s" },
  { "when-full", "s" },
  { "output", "s" },
  { "stdin", "s" },
  { "stdout-path", "s" },
  { "runtime-options", "s" },
  { "add-hosts", "as" },
  { "target", "as" },
  { "session", "u" },
  { "alloc-id", "s" },
  { "alloc-req-id", "s" },
  { "child-separate", "b" },
  { "timeout", "u" },
  { "recoverable", "b" },
  { "max-restarts", "u" },
  { "spawn-timeout", "u" },
  { "exec-agent", "as" },
  { "priority", "i" },
  { "hold", "b" },
  { "after", "as" },
  { "after-ok", "as" },
  { "after-any", "as" },
  { "singleton", "b" },
  { "wait-for-slots", "b" },
  { "array", "s" },
  { "pty", "b" },
  { "pty-rows", "u" },
  { "argv", "as" },
  { "argv-bytes", "aay" },
  { "np", "u" },
  { "cwd", "s" },
  { "cwd-bytes", "ay" },
  { "env", "a{ss}" },
  { "env-bytes", "aay" },
  { "unset-env", "as" },
  { "env-clear", "b" },
  { "hosts", "as" },
  { "preload-files", "as" },
  { "preload-dir", "s" },
  { "preload-binary", "b" },
  { "pset", "s" },
  { "set-cwd-to-session-dir", "b" },
  /* of changes of size and of sessions */
  { "of-req-id", "s" },
  { "req-id", "s" },
  { "inheritance", "s" },
  { "count", "u" },
  { "share", "b" },
  { "target", "s" },
  { "time", "u" },
  { "warn-timeout", "u" },
  { "drain-timeout", "u" },
  { "separate", "b" },
  { "instantiate", "b" },
  { "extend", "u" },
  { "pause", "b" },
  { "resume", "b" },
  { "preempt", "b" },
  { "restore", "b" },
  { "signal", "i" },
  { "terminate", "b" },
  { "nspace", "s" },
  { "apps", "aa{sv}" },
  /* of published data */
  { "items", "a(say)" },
  { "range", "u" },
  { "persistence", "u" },
  { "uids", "au" },
  { "gids", "au" },
  { "accessors", "a(su)" },
  { "keys", "as" },
  { "wait", "i" },
  { NULL, NULL },
};

const char *const fuzz_request_words[] = {
  "true",    "/bin/true", "one",   "two",  "n1",         "n1:2",  "^n2",           "job@1",       "job@2",
  "plain",   "pmix",      "node",  "slot", "ppr:1:node", "all",   "none",          "tag",         "file=out",
  "dir=out", "port",      "child", "job",  "NAME=value", "../up", "oversubscribe", "recoverable", NULL,
};

#define READER(data, size)                                                                                             \
  {                                                                                                                    \
    data, size, fuzz_request_words, fuzz_request_keys                                                                  \
  }

/* (nullable): the request with its hosts read beforehand, as those of long requests are */
static DvmdSizeRequest *
read_ahead (const char *directive, GVariant *request)
{
  DvmHostsRead read = { 0 };
  DvmHosts *hosts;

  dvmd_reading_takes_long (request);
  return dvmd_size_request_read_hosts (request, &read, &hosts, NULL)
             ? dvmd_size_request_new (directive, request, hosts, NULL)
             : NULL;
}

void
fuzz_size_request (const guint8 *data, gsize size)
{
  static const char *const directives[] = { "new",      "extend", "grow", "release", "cancel",
                                            "reaquire", "shrink", "",     "odd" };
  FuzzReader reader = READER (data, size);
  const char *directive = directives[fuzz_read_byte (&reader) % G_N_ELEMENTS (directives)];
  g_autoptr (GVariant) request = g_variant_ref_sink (fuzz_read_variant (&reader, G_VARIANT_TYPE_VARDICT));
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdSizeRequest) self = dvmd_size_request_new (directive, request, NULL, &error);
  g_autoptr (DvmdSizeRequest) ahead = read_ahead (directive, request);
  g_autofree const char **hosts = NULL;

  g_assert_true ((self != NULL) == (error == NULL));
  g_assert_true ((self != NULL) == (ahead != NULL));
  if (self != NULL)
    hosts = dvmd_size_request_list_hosts (self);
}

void
fuzz_session_request (const guint8 *data, gsize size)
{
  FuzzReader reader = READER (data, size);
  gboolean tolerant = fuzz_read_byte (&reader) & 1;
  g_autoptr (GVariant) directives = g_variant_ref_sink (fuzz_read_variant (&reader, G_VARIANT_TYPE_VARDICT));
  g_autoptr (GVariant) answer = g_variant_ref_sink (fuzz_read_variant (&reader, G_VARIANT_TYPE_VARDICT));
  g_autoptr (GError) error = NULL;
  DvmdSessionRequest *self = dvmd_session_request_new (directives, tolerant, &error);

  g_assert_true ((self != NULL) == (error == NULL));
  if (self == NULL)
    return;
  dvmd_session_request_read_hosts (self, NULL);
  if (self->kind != DVMD_SESSION_CONTROL)
    dvmd_session_request_grant (self, answer);
  dvmd_session_request_free (self);
}

/* The map that follows in the input need not be one for the job. */
static void
build_launch (FuzzReader *reader, DvmJobSpec *spec)
{
  g_autoptr (GVariant) rows = g_variant_ref_sink (fuzz_read_variant (reader, G_VARIANT_TYPE (DVMD_MAP_VARIANT_TYPE)));
  g_autoptr (DvmdMap) map = dvmd_map_new_from_variant (rows, NULL);
  g_autoptr (GPtrArray) environments = g_ptr_array_new ();
  DvmdLaunchMessage message = { .job = 1, .nspace = "job@1", .spec = spec, .map = map, .environments = environments };

  if (map == NULL)
    return;
  g_ptr_array_set_size (environments, (gint)dvm_job_spec_get_n_apps (spec));
  g_variant_unref (g_variant_ref_sink (dvmd_launch_message_build (&message)));
}

void
fuzz_submit (const guint8 *data, gsize size)
{
  FuzzReader reader = READER (data, size);
  g_autoptr (GVariant) apps = NULL;
  g_autoptr (GVariant) options = NULL;
  g_autoptr (DvmJobSpec) spec = NULL;
  g_autoptr (GError) error = NULL;
  gboolean one = fuzz_read_byte (&reader) & 1;

  apps = g_variant_ref_sink (
      fuzz_read_variant (&reader, one ? G_VARIANT_TYPE_STRING_ARRAY : G_VARIANT_TYPE ("aa{sv}")));
  options = g_variant_ref_sink (fuzz_read_variant (&reader, G_VARIANT_TYPE_VARDICT));
  spec = one ? _dvm_job_spec_new_from_submit (apps, options, &error)
             : dvm_job_spec_new_from_variant (apps, options, &error);
  g_assert_true ((spec != NULL) == (error == NULL));
  if (spec == NULL || !dvm_job_spec_validate (spec, NULL))
    return;
  _dvm_job_spec_check_additions (spec, "", NULL, NULL);
  /* Hosts that have been loaded are not read again, and the spec is as right with them. */
  if (_dvm_job_spec_load_hosts (spec, "", NULL))
    g_assert_true (dvm_job_spec_validate (spec, NULL));
  g_free (dvm_job_spec_to_json (spec));
  build_launch (&reader, spec);
}

static void
on_answer (gpointer world, guint node, guint64 token, int status, GVariant *found)
{
  g_autoptr (GVariant) owned = found != NULL ? g_variant_ref_sink (found) : NULL;

  g_assert_true (owned == NULL || g_variant_is_of_type (owned, G_VARIANT_TYPE ("a(susay)")));
}

static void
handle_data (DvmdDataStore *store, FuzzReader *reader, guint64 token)
{
  static const char *const nspaces[] = { "job@1", "job@2", "tool" };
  const guint32 sessions[] = { fuzz_read_byte (reader) % 3 };
  DvmdDataParty who = { .nspace = nspaces[fuzz_read_byte (reader) % 3],
                        .rank = fuzz_read_byte (reader) % 3,
                        .node = fuzz_read_byte (reader) % 3,
                        .uid = fuzz_read_byte (reader) % 2,
                        .sessions = sessions,
                        .n_sessions = 1 };
  DvmdPmixDataOp op = fuzz_read_byte (reader) % 4;
  g_autoptr (GVariant) request = g_variant_ref_sink (fuzz_read_variant (reader, G_VARIANT_TYPE_VARDICT));

  dvmd_data_store_handle (store, token, op, &who, request);
}

/* Processes publish, look up, wait, and go; in the end no request waits any more. */
void
fuzz_data_store (const guint8 *data, gsize size)
{
  static const char *const nspaces[] = { "job@1", "job@2", "tool" };
  FuzzReader reader = { data, size, fuzz_request_words, fuzz_request_keys + G_N_ELEMENTS (fuzz_request_keys) - 9 };
  g_autoptr (DvmdClock) clock = dvmd_clock_new_manual (0);
  g_autoptr (DvmdDataStore) store = dvmd_data_store_new (clock, on_answer, NULL);

  for (guint64 token = 1; reader.size > 0 && token < 100; token++)
    switch (fuzz_read_byte (&reader) % 16)
      {
      case 0:
        dvmd_data_store_proc_ended (store, nspaces[fuzz_read_byte (&reader) % 3], fuzz_read_byte (&reader) % 3);
        break;
      case 1:
        dvmd_data_store_job_ended (store, nspaces[fuzz_read_byte (&reader) % 3]);
        break;
      case 2:
        dvmd_data_store_session_ended (store, fuzz_read_byte (&reader) % 3);
        break;
      case 3:
        dvmd_data_store_node_lost (store, fuzz_read_byte (&reader) % 3);
        break;
      case 4:
        dvmd_clock_advance (clock, G_USEC_PER_SEC);
        break;
      default:
        handle_data (store, &reader, token);
      }
  for (guint i = 0; i < G_N_ELEMENTS (nspaces); i++)
    dvmd_data_store_job_ended (store, nspaces[i]);
  g_assert_cmpuint (dvmd_data_store_count_waiting (store), ==, 0);
}

/* A map that is taken has a place for each rank, and says the same again. */
void
fuzz_map (const guint8 *data, gsize size)
{
  FuzzReader reader = READER (data, size);
  g_autoptr (GVariant) rows = g_variant_ref_sink (fuzz_read_variant (&reader, G_VARIANT_TYPE (DVMD_MAP_VARIANT_TYPE)));
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdMap) map = dvmd_map_new_from_variant (rows, &error);
  g_autoptr (GVariant) again = NULL;
  g_autoptr (GArray) nodes = NULL;
  guint n = 0;

  g_assert_true ((map != NULL) == (error == NULL));
  if (map == NULL || map->num_procs > MOST_PROCS)
    return;
  again = g_variant_ref_sink (dvmd_map_to_variant (map));
  g_assert_true (g_variant_equal (rows, again));
  dvmd_proc_table_free (dvmd_map_expand (map));
  nodes = dvmd_map_get_nodes (map);
  for (guint i = 0; i < nodes->len; i++)
    {
      guint node = g_array_index (nodes, guint, i);
      g_autoptr (GArray) ranks = dvmd_map_expand_node (map, node);

      g_assert_cmpuint (ranks->len, ==, dvmd_map_count_on_node (map, node));
      n += ranks->len;
    }
  g_assert_cmpuint (n, ==, map->num_procs);
}

/* Each member has a way to each other. */
static void
walk_routes (DvmdRoutes *routes)
{
  guint n = dvmd_routes_get_n_members (routes);

  for (guint i = 0; i < n; i++)
    {
      guint32 at = dvmd_routes_get_rank (routes, i);
      guint32 to = dvmd_routes_get_rank (routes, n - 1 - i);

      for (guint hops = 0; at != to; hops++)
        {
          g_assert_cmpuint (hops, <=, 2 * n);
          at = dvmd_routes_next_hop (routes, at, to);
        }
    }
}

void
fuzz_routes (const guint8 *data, gsize size)
{
  FuzzReader reader = READER (data, size);
  g_autoptr (GVariant) table = g_variant_ref_sink (fuzz_read_variant (&reader, G_VARIANT_TYPE (DVMD_ROUTES_TYPE)));
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdRoutes) routes = dvmd_routes_new_from_variant (table, &error);
  g_autoptr (DvmdRoutes) next = NULL;
  guint32 joined[4];
  guint32 left[4];

  g_assert_true ((routes != NULL) == (error == NULL));
  if (routes == NULL)
    return;
  walk_routes (routes);
  for (guint i = 0; i < 4; i++)
    {
      joined[i] = (guint32)fuzz_read_number (&reader);
      left[i] = (guint32)fuzz_read_number (&reader);
    }
  next = dvmd_routes_change (routes, joined, 4, left, 4);
  walk_routes (next);
  dvmd_routes_count_new_links (routes, next);
}
