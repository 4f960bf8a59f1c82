/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One process for each line of a file, which names its host, and its cpus if need be; without a file one for each host
 * of the job.
 */

#include "config.h"

#include <string.h>

#include "map-file.h"
#include "map-plan.h"
#include "map-words.h"

#define DVMD_TYPE_SEQ (dvmd_seq_get_type ())
G_DECLARE_FINAL_TYPE (DvmdSeq, dvmd_seq, DVMD, SEQ, DvmdMapper)

struct _DvmdSeq
{
  DvmdMapper parent_instance;

  DvmdMapFiles *files;
};

G_DEFINE_FINAL_TYPE (DvmdSeq, dvmd_seq, DVMD_TYPE_MAPPER)

/* "n001" or "n001 0-1" */
static gboolean
read_line (DvmdMapLine *line, const char *text, GError **error)
{
  gsize length = strcspn (text, " \t");
  const char *rest = text + length + strspn (text + length, " \t");

  line->host = g_strndup (text, length);
  return rest[0] == '\0' || dvmd_map_line_set_cpus (line, rest, error);
}

/* The hosts of the job are the sequence then. */
static gboolean
is_without_file (const DvmdMapRequest *request)
{
  for (gsize i = 0; request->qualifiers != NULL && request->qualifiers[i] != NULL; i++)
    if (g_str_has_prefix (request->qualifiers[i], "file="))
      return FALSE;
  return request->file == NULL;
}

/* The file comes with the job. */
static gboolean
dvmd_seq_check (DvmdMapper *mapper, const DvmdMapRequest *request, GError **error)
{
  g_autoptr (GArray) lines = NULL;

  if (is_without_file (request))
    return TRUE;
  lines = dvmd_map_files_read (DVMD_SEQ (mapper)->files, request, read_line, error);
  return lines != NULL;
}

/* One process for each host of an application. */
static void
count_hosts (const DvmdMapRequest *request, guint32 *app_np)
{
  for (guint app = 0; app < request->n_apps; app++)
    for (guint node = 0, none = app_np[app] == 0; none && node < request->n_nodes; node++)
      app_np[app] += dvmd_map_plan_app_limit (request, app, node) > 0;
}

/* One on each host in turn: one that has more slots than others comes again when all have had their turn. */
static DvmdPluginVerdict
map_hosts (const DvmdMapRequest *request, DvmdPlacement *placement, GError **error)
{
  g_auto (DvmdMapPlan) plan = { 0 };

  dvmd_map_plan_init (&plan, request, placement, DVMD_OBJECT_NODE, 0);
  plan.rank_by = DVMD_RANK_BY_NODE;
  return dvmd_map_plan_place_all (&plan, dvmd_map_plan_deal_nodes, error);
}

static gboolean
dvmd_seq_count (DvmdMapper *mapper, const DvmdMapRequest *request, guint32 *app_np)
{
  g_autoptr (GArray) lines = NULL;

  if (is_without_file (request))
    {
      count_hosts (request, app_np);
      return TRUE;
    }
  lines = dvmd_map_files_read (DVMD_SEQ (mapper)->files, request, read_line, NULL);
  if (lines != NULL)
    dvmd_map_file_count (request, lines->len, app_np);
  return lines != NULL;
}

static DvmdPluginVerdict
dvmd_seq_map (DvmdMapper *mapper, const DvmdMapRequest *request, DvmdPlacement *placement, GError **error)
{
  g_autoptr (GArray) lines = NULL;
  g_auto (DvmdFilePlan) plan = { 0 };
  guint64 np = 0;

  if (is_without_file (request))
    return map_hosts (request, placement, error);
  lines = dvmd_map_files_read (DVMD_SEQ (mapper)->files, request, read_line, error);
  if (lines == NULL)
    return DVMD_PLUGIN_FAILED;
  for (guint app = 0; app < request->n_apps; app++)
    np += request->app_np[app];
  if (np > lines->len)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
                   "%s has %u line%s, each for one process, and the job has %" G_GUINT64_FORMAT " processes",
                   request->file_name != NULL ? request->file_name : "The file", lines->len, lines->len == 1 ? "" : "s",
                   np);
      return DVMD_PLUGIN_FAILED;
    }
  dvmd_file_plan_init (&plan, request, placement);
  for (guint32 rank = 0; rank < np; rank++)
    if (!dvmd_file_plan_place (&plan, rank, &g_array_index (lines, DvmdMapLine, rank), error))
      return DVMD_PLUGIN_FAILED;
  return DVMD_PLUGIN_DONE;
}

static void
dvmd_seq_finalize (GObject *object)
{
  g_ptr_array_unref (DVMD_SEQ (object)->files);
  G_OBJECT_CLASS (dvmd_seq_parent_class)->finalize (object);
}

static void
dvmd_seq_class_init (DvmdSeqClass *klass)
{
  DvmdMapperClass *mapper_class = DVMD_MAPPER_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = dvmd_seq_finalize;
  mapper_class->map = dvmd_seq_map;
  mapper_class->check = dvmd_seq_check;
  mapper_class->count = dvmd_seq_count;
}

static void
dvmd_seq_init (DvmdSeq *self)
{
  self->files = dvmd_map_files_new ();
}

static const char *const words[] = { "seq", NULL };
static const char *const qualifiers[] = { "file=PATH", "pe=N", NULL };

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_MAPPER,
  .name = "seq",
  .description = "places one rank for each line of a file, or for each host of the job",
  .get_type = dvmd_seq_get_type,
  .words = words,
  .qualifiers = qualifiers,
  .rankings = DVMD_RANK_BY_SLOT,
  .bindings = DVMD_MAP_BINDINGS,
  .settings = DVMD_PLUGIN_NO_SETTINGS,
};
