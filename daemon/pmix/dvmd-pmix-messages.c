/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The messages between an agent and its PMIx server processes: their types, and how settings and jobs are put into
 * them.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-messages.h"

#include <string.h>

#include "dvmd-call-kind.h"
#include "dvmd-message.h"

#define PROCS "a(su)"
#define DONE  "(tis"

#define DIGEST_SIZE 8

/*
 * (nspace, applications, nodes, their numbers, our node, ranks, cpusets of those that are bound, devices of those that
 * have some, universe size, most processes, session, node size, parent, its rank, offset, stop, whether processes may
 * be started again, uid, gid, its allocation, told besides) of an application: (argv, directory, processes, mapped by,
 * ranked by, bound to); of a rank: (node, local rank, node rank)
 */
#define JOB "(sa" APP "asauua(uqq)a{us}a{us}uuutusuuubuusa(usay))"
#define APP "(aayayussss)"

typedef struct
{
  DvmdPmixMessageKind kind;
  const char *name;
  const char *type;
} Kind;

static const Kind kinds[] = {
  { DVMD_PMIX_MSG_START, "start", DVMD_PMIX_SETTINGS_TYPE },
  { DVMD_PMIX_MSG_REGISTER, "register", "(t" JOB ")" },
  { DVMD_PMIX_MSG_DEREGISTER, "deregister", "(ts)" },
  { DVMD_PMIX_MSG_ABANDON, "abandon", "(s)" },
  { DVMD_PMIX_MSG_GONE, "gone", "(su)" },
  { DVMD_PMIX_MSG_FETCH, "fetch", "(tsu)" },
  { DVMD_PMIX_MSG_FENCE_DONE, "fence-done", "(tiay)" },
  { DVMD_PMIX_MSG_MODEX_DONE, "modex-done", "(tiay)" },
  { DVMD_PMIX_MSG_ANSWER, "answer", "(timv)" },
  { DVMD_PMIX_MSG_OUTPUT, "output", "(suuay)" },
  { DVMD_PMIX_MSG_CONNECT_DONE, "connect-done", "(ti)" },
  { DVMD_PMIX_MSG_EVENT, "event", "(im(su)" PROCS "ma{sv})" },
  { DVMD_PMIX_MSG_CATCH_UP, "catch-up", "(t)" },
  { DVMD_PMIX_MSG_PING, "ping", "(t)" },
  { DVMD_PMIX_MSG_STOP, "stop", "()" },
  { DVMD_PMIX_MSG_TAKE_BACK, "take-back", "(tsu)" },
  { DVMD_PMIX_MSG_STARTED, "started", "(s)" },
  { DVMD_PMIX_MSG_REGISTERED, "registered", DONE "a(uay))" },
  { DVMD_PMIX_MSG_DONE, "done", DONE "t)" },
  { DVMD_PMIX_MSG_FETCHED, "fetched", DONE "ay)" },
  { DVMD_PMIX_MSG_ANSWERED, "answered", "(t)" },
  { DVMD_PMIX_MSG_CONNECTED, "connected", "(su)" },
  { DVMD_PMIX_MSG_FINALIZED, "finalized", "(su)" },
  { DVMD_PMIX_MSG_WAITS, "waits", "(su)" },
  { DVMD_PMIX_MSG_LOST, "lost", "(su)" },
  { DVMD_PMIX_MSG_TOOL, "tool", "(su)" },
  { DVMD_PMIX_MSG_ABORT, "abort", "(suis" PROCS ")" },
  { DVMD_PMIX_MSG_FENCE, "fence", "(t" PROCS "aybu)" },
  { DVMD_PMIX_MSG_MODEX, "modex", "(tsusu)" },
  { DVMD_PMIX_MSG_CALL, "call", "(tusuv)" },
  { DVMD_PMIX_MSG_TAKEN, "taken", "(u)" },
  { DVMD_PMIX_MSG_UNWANTED, "unwanted", "()" },
  { DVMD_PMIX_MSG_CONNECT, "connect", "(tb" PROCS "u)" },
};

static const Kind *
find_kind (guint16 kind)
{
  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (kinds[i].kind == kind)
      return &kinds[i];
  return NULL;
}

const GVariantType *
dvmd_pmix_message_type (DvmdPacketType type, guint16 kind)
{
  const Kind *row = type == DVMD_PACKET_MESSAGE ? find_kind (kind) : NULL;

  return row != NULL ? G_VARIANT_TYPE (row->type) : NULL;
}

const char *
dvmd_pmix_message_name (guint16 kind)
{
  const Kind *row = find_kind (kind);

  return row != NULL ? row->name : "unknown";
}

char *
dvmd_pmix_messages_dup_digest (void)
{
  g_autoptr (GString) text = g_string_new (NULL);
  char *digest;

  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++)
    g_string_append_printf (text, "%d%s", kinds[i].kind, kinds[i].type);
  for (guint kind = 0; kind < DVMD_N_CALLS; kind++)
    g_string_append_printf (text, " %s %s", dvmd_call_kind_get_type (kind)->request,
                            dvmd_call_kind_get_type (kind)->answer);
  digest = g_compute_checksum_for_string (G_CHECKSUM_SHA256, text->str, text->len);
  digest[DIGEST_SIZE] = '\0';
  return digest;
}

static GVariant *
bytes_or_nothing (const char *text)
{
  return dvmd_variant_new_bytes (text != NULL ? text : "");
}

static const char *
text_or_nothing (const char *text)
{
  return text != NULL ? text : "";
}

/* The other way round. */
static char *
dup_text (const char *text)
{
  return text[0] != '\0' ? g_strdup (text) : NULL;
}

static char *
dup_path (GVariant *tuple, gsize i)
{
  g_autoptr (GVariant) bytes = g_variant_get_child_value (tuple, i);
  g_autofree char *path = dvmd_variant_dup_bytes (bytes);

  return dup_text (path);
}

/* ---- settings ---- */

GVariant *
dvmd_pmix_settings_to_variant (const DvmdPmixSettings *settings)
{
  g_autofree char *xml = settings->topology != NULL ? dvmd_topology_dup_xml_with_adapters (settings->topology, NULL)
                                                    : NULL;

  return g_variant_new ("(@ay@ay@aysussssb)", bytes_or_nothing (settings->runtime_dir),
                        bytes_or_nothing (settings->pmix_dir), bytes_or_nothing (settings->shm_dir), settings->nspace,
                        settings->rank, settings->node_name, text_or_nothing (settings->tool_prefix),
                        text_or_nothing (xml), text_or_nothing (settings->gds), settings->tools);
}

void
dvmd_pmix_settings_from_variant (DvmdPmixSettings *settings, GVariant *variant)
{
  g_autoptr (GError) error = NULL;
  const char *prefix;
  const char *xml;
  const char *gds;

  settings->runtime_dir = dup_path (variant, 0);
  settings->pmix_dir = dup_path (variant, 1);
  settings->shm_dir = dup_path (variant, 2);
  g_variant_get_child (variant, 3, "s", &settings->nspace);
  g_variant_get_child (variant, 4, "u", &settings->rank);
  g_variant_get_child (variant, 5, "s", &settings->node_name);
  g_variant_get_child (variant, 6, "&s", &prefix);
  g_variant_get_child (variant, 7, "&s", &xml);
  g_variant_get_child (variant, 8, "&s", &gds);
  g_variant_get_child (variant, 9, "b", &settings->tools);
  settings->tool_prefix = dup_text (prefix);
  settings->gds = dup_text (gds);
  if (xml[0] == '\0')
    return;
  settings->topology = dvmd_topology_new_from_neighbour (xml, strlen (xml), &error);
  if (settings->topology == NULL)
    g_message ("The topology of the node cannot be read, the PMIx library looks for itself: %s", error->message);
}

/* ---- jobs ---- */

static GVariant *
apps_to_variant (DvmdPmixJob *job)
{
  GVariantBuilder apps;

  g_variant_builder_init (&apps, G_VARIANT_TYPE ("a" APP));
  for (guint i = 0; i < job->apps->len; i++)
    {
      const DvmdPmixApp *app = g_ptr_array_index (job->apps, i);

      g_variant_builder_add (&apps, "(@aay@ayussss)", dvmd_variant_new_bytes_array ((const char *const *)app->argv),
                             bytes_or_nothing (app->cwd), app->n_procs, text_or_nothing (app->map_by),
                             text_or_nothing (app->rank_by), text_or_nothing (app->bind_to),
                             text_or_nothing (app->pset));
    }
  return g_variant_builder_end (&apps);
}

static GVariant *
cpusets_to_variant (DvmdPmixJob *job)
{
  GVariantBuilder cpusets;

  g_variant_builder_init (&cpusets, G_VARIANT_TYPE ("a{us}"));
  for (guint32 rank = 0; rank < dvmd_pmix_job_get_size (job); rank++)
    if (dvmd_pmix_job_get_rank (job, rank)->cpuset != NULL)
      g_variant_builder_add (&cpusets, "{us}", rank, dvmd_pmix_job_get_rank (job, rank)->cpuset);
  return g_variant_builder_end (&cpusets);
}

static GVariant *
devices_to_variant (DvmdPmixJob *job)
{
  GVariantBuilder devices;

  g_variant_builder_init (&devices, G_VARIANT_TYPE ("a{us}"));
  for (guint32 rank = 0; rank < dvmd_pmix_job_get_size (job); rank++)
    if (dvmd_pmix_job_get_rank (job, rank)->devices != NULL)
      g_variant_builder_add (&devices, "{us}", rank, dvmd_pmix_job_get_rank (job, rank)->devices);
  return g_variant_builder_end (&devices);
}

/* As a(uqq) lies in memory: a job may have very many. */
typedef struct
{
  guint32 node;
  guint16 local_rank;
  guint16 node_rank;
} RankRow;

static GVariant *
ranks_to_variant (DvmdPmixJob *job)
{
  guint32 n = dvmd_pmix_job_get_size (job);
  g_autofree RankRow *rows = g_new (RankRow, n);

  for (guint32 rank = 0; rank < n; rank++)
    {
      const DvmdPmixRank *row = dvmd_pmix_job_get_rank (job, rank);

      rows[rank] = (RankRow){ row->node, row->local_rank, row->node_rank };
    }
  return g_variant_new_fixed_array (G_VARIANT_TYPE ("(uqq)"), rows, n, sizeof (RankRow));
}

GVariant *
dvmd_pmix_job_to_variant (DvmdPmixJob *job, gboolean guest)
{
  return g_variant_new ("(s@a" APP "^as@auu@a(uqq)@a{us}@a{us}uuutusuuubuus@a(usay))", job->nspace,
                        apps_to_variant (job), job->nodes,
                        g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, job->ids, job->n_nodes, sizeof *job->ids),
                        guest ? G_MAXUINT32 : job->my_node, ranks_to_variant (job), cpusets_to_variant (job),
                        devices_to_variant (job), job->universe_size, job->max_procs, job->session_id, job->memory,
                        job->node_size, text_or_nothing (job->parent_nspace), job->parent_rank, job->offset,
                        (guint32)job->stop, job->may_restart, job->uid, job->gid, text_or_nothing (job->alloc_id),
                        job->info != NULL ? job->info : g_variant_new_array (G_VARIANT_TYPE ("(usay)"), NULL, 0));
}

/* (nullable): the reverse of text_or_nothing() */
static const char *
something (const char *text)
{
  return text[0] != '\0' ? text : NULL;
}

static void
read_apps (DvmdPmixJob *job, GVariant *apps)
{
  for (gsize i = 0; i < g_variant_n_children (apps); i++)
    {
      g_autoptr (GVariant) app = g_variant_get_child_value (apps, i);
      g_autoptr (GVariant) arguments = g_variant_get_child_value (app, 0);
      g_auto (GStrv) argv = dvmd_variant_dup_bytes_array (arguments);
      g_autofree char *cwd = dup_path (app, 1);
      const char *map_by;
      const char *rank_by;
      const char *bind_to;
      const char *pset;
      guint32 n_procs;

      g_variant_get (app, "(@aay@ayu&s&s&s&s)", NULL, NULL, &n_procs, &map_by, &rank_by, &bind_to, &pset);
      dvmd_pmix_job_add_app (job, (const char *const *)argv, cwd, n_procs);
      dvmd_pmix_job_set_policies (job, i, something (map_by), something (rank_by), something (bind_to));
      dvmd_pmix_job_set_pset (job, i, pset);
    }
}

static void
read_ranks (DvmdPmixJob *job, GVariant *ranks, GVariant *cpusets, GVariant *devices)
{
  gsize n;
  const RankRow *rows = g_variant_get_fixed_array (ranks, &n, sizeof (RankRow));
  GVariantIter iter;
  const char *text;
  guint32 rank;

  for (gsize i = 0; i < n; i++)
    dvmd_pmix_job_add_rank (job, rows[i].node, rows[i].local_rank, rows[i].node_rank, NULL);
  g_variant_iter_init (&iter, cpusets);
  while (g_variant_iter_next (&iter, "{u&s}", &rank, &text))
    if (rank < n)
      {
        DvmdPmixRank *row = &g_array_index (job->ranks, DvmdPmixRank, rank);

        g_free (row->cpuset);
        row->cpuset = g_strdup (text);
      }
  g_variant_iter_init (&iter, devices);
  while (g_variant_iter_next (&iter, "{u&s}", &rank, &text))
    if (rank < n)
      dvmd_pmix_job_set_devices (job, rank, text);
}

static void
read_ids (DvmdPmixJob *job, GVariant *variant)
{
  gsize n;
  const guint32 *ids = g_variant_get_fixed_array (variant, &n, sizeof *ids);

  if (n == job->n_nodes)
    dvmd_pmix_job_set_node_ids (job, ids);
}

DvmdPmixJob *
dvmd_pmix_job_new_from_variant (GVariant *variant)
{
  g_autoptr (GVariant) apps = NULL;
  g_autoptr (GVariant) ids = NULL;
  g_autoptr (GVariant) ranks = NULL;
  g_autoptr (GVariant) cpusets = NULL;
  g_autoptr (GVariant) devices = NULL;
  g_autofree const char **nodes = NULL;
  const char *nspace;
  const char *parent;
  const char *alloc_id;
  guint32 my_node;
  guint32 stop;
  guint32 numbers[4];
  guint64 memory;
  guint32 rest[4];
  gboolean may_restart;
  GVariant *job_info;
  DvmdPmixJob *job;

  g_variant_get (variant, "(&s@a" APP "^a&s@auu@a(uqq)@a{us}@a{us}uuutu&suuubuu&s@a(usay))", &nspace, &apps, &nodes,
                 &ids, &my_node, &ranks, &cpusets, &devices, &numbers[0], &numbers[1], &numbers[2], &memory,
                 &numbers[3], &parent, &rest[0], &rest[1], &stop, &may_restart, &rest[2], &rest[3], &alloc_id,
                 &job_info);
  job = dvmd_pmix_job_new (nspace, nodes, my_node);
  read_ids (job, ids);
  job->universe_size = numbers[0];
  job->max_procs = numbers[1];
  job->session_id = numbers[2];
  job->memory = memory;
  job->node_size = numbers[3];
  job->parent_nspace = dup_text (parent);
  job->parent_rank = rest[0];
  job->offset = rest[1];
  job->stop = (DvmdPmixStop)stop;
  job->may_restart = may_restart;
  job->uid = rest[2];
  job->gid = rest[3];
  job->alloc_id = dup_text (alloc_id);
  job->info = job_info;
  read_apps (job, apps);
  read_ranks (job, ranks, cpusets, devices);
  return job;
}

/* ---- bytes and processes ---- */

GVariant *
dvmd_pmix_strings_to_variant (const char *const *strings)
{
  g_autoptr (GByteArray) bytes = g_byte_array_new ();

  for (gsize i = 0; strings[i] != NULL; i++)
    g_byte_array_append (bytes, (const guint8 *)strings[i], strlen (strings[i]) + 1);
  return g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, bytes->data, bytes->len, 1);
}

char **
dvmd_pmix_strings_from_variant (GVariant *variant)
{
  g_autoptr (GPtrArray) strings = g_ptr_array_new ();
  gsize size;
  const char *data = g_variant_get_fixed_array (variant, &size, 1);

  for (gsize start = 0, end = 0; end < size; end++)
    if (data[end] == '\0')
      {
        g_ptr_array_add (strings, g_strdup (data + start));
        start = end + 1;
      }
  g_ptr_array_add (strings, NULL);
  return (char **)g_ptr_array_free (g_steal_pointer (&strings), FALSE);
}

GVariant *
dvmd_pmix_bytes_to_variant (GBytes *bytes)
{
  g_autoptr (GBytes) none = g_bytes_new_static ("", 0);

  return g_variant_new_from_bytes (G_VARIANT_TYPE_BYTESTRING, bytes != NULL ? bytes : none, TRUE);
}

GVariant *
dvmd_pmix_procs_to_variant (const DvmdPmixProc *procs, guint n_procs)
{
  GVariantBuilder rows;

  g_variant_builder_init (&rows, G_VARIANT_TYPE (PROCS));
  for (guint i = 0; i < n_procs; i++)
    g_variant_builder_add (&rows, "(su)", procs[i].nspace, procs[i].rank);
  return g_variant_builder_end (&rows);
}

DvmdPmixProc *
dvmd_pmix_procs_from_variant (GVariant *variant, guint *n_procs)
{
  guint n = (guint)g_variant_n_children (variant);
  DvmdPmixProc *procs = g_new0 (DvmdPmixProc, MAX (n, 1));

  for (guint i = 0; i < n; i++)
    g_variant_get_child (variant, i, "(&su)", &procs[i].nspace, &procs[i].rank);
  *n_procs = n;
  return procs;
}
