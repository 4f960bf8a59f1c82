/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Each rank where a file says: "rank 3=n001 slot=0,2", in any order.
 */

#include "config.h"

#include <string.h>

#include "map-file.h"
#include "map-words.h"

#define DVMD_TYPE_RANK_FILE (dvmd_rank_file_get_type ())
G_DECLARE_FINAL_TYPE (DvmdRankFile, dvmd_rank_file, DVMD, RANK_FILE, DvmdMapper)

/* More is a mistake of whoever has written it. */
#define MOST_RANKS (1u << 26)

struct _DvmdRankFile
{
  DvmdMapper parent_instance;

  DvmdMapFiles *files;
};

G_DEFINE_FINAL_TYPE (DvmdRankFile, dvmd_rank_file, DVMD_TYPE_MAPPER)

/* ---- lines ---- */

static const char *
skip_spaces (const char *text)
{
  return text + strspn (text, " \t");
}

/* (nullable): what follows the word and its "=" */
static const char *
skip_word (const char *text, const char *word)
{
  gsize length = strlen (word);

  if (g_ascii_strncasecmp (text, word, length) != 0)
    return NULL;
  text = skip_spaces (text + length);
  return text[0] == '=' ? skip_spaces (text + 1) : NULL;
}

/* (nullable): what follows "rank N=". rank (out): MOST_RANKS if it is too large */
static const char *
read_rank (const char *text, guint32 *rank)
{
  char *end = NULL;
  guint64 number;

  if (g_ascii_strncasecmp (text, "rank", 4) != 0)
    return NULL;
  text = skip_spaces (text + 4);
  if (!g_ascii_isdigit (text[0]))
    return NULL;
  number = g_ascii_strtoull (text, &end, 10);
  text = skip_spaces (end);
  *rank = (guint32)MIN (number, MOST_RANKS);
  return text[0] == '=' ? skip_spaces (text + 1) : NULL;
}

static gboolean
read_line (DvmdMapLine *line, const char *text, GError **error)
{
  const char *host = read_rank (text, &line->rank);
  gsize length = host != NULL ? strcspn (host, " \t") : 0;
  const char *rest = host != NULL ? skip_spaces (host + length) : "";
  const char *cpus = rest[0] != '\0' ? skip_word (rest, "slot") : "";

  if (cpus == NULL)
    cpus = skip_word (rest, "slots");
  if (length == 0 || cpus == NULL || (rest[0] != '\0' && cpus[0] == '\0'))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   "%s: “%s” is not written as it must be: rank N=HOST slot=CPUS, such as rank 0=n001 slot=0-3",
                   line->place, text);
      return FALSE;
    }
  if (line->rank >= MOST_RANKS)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s: “%s”: the rank is too large, the last one can be %u",
                   line->place, text, MOST_RANKS - 1);
      return FALSE;
    }
  line->host = g_strndup (host, length);
  return cpus[0] == '\0' || dvmd_map_line_set_cpus (line, cpus, error);
}

/* (transfer full) (nullable): rank -> line, which lines own */
static GHashTable *
find_lines (GArray *lines, GError **error)
{
  g_autoptr (GHashTable) of_rank = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < lines->len; i++)
    {
      DvmdMapLine *line = &g_array_index (lines, DvmdMapLine, i);
      const DvmdMapLine *other = g_hash_table_lookup (of_rank, GUINT_TO_POINTER (line->rank));

      if (other != NULL)
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s: rank %u has a place already, at %s", line->place,
                       line->rank, other->place);
          return NULL;
        }
      g_hash_table_insert (of_rank, GUINT_TO_POINTER (line->rank), line);
    }
  return g_steal_pointer (&of_rank);
}

/* ---- the mapper ---- */

static gboolean
dvmd_rank_file_check (DvmdMapper *mapper, const DvmdMapRequest *request, GError **error)
{
  g_autoptr (GArray) lines = dvmd_map_files_read (DVMD_RANK_FILE (mapper)->files, request, read_line, error);
  g_autoptr (GHashTable) of_rank = lines != NULL ? find_lines (lines, error) : NULL;

  return of_rank != NULL;
}

static gboolean
dvmd_rank_file_count (DvmdMapper *mapper, const DvmdMapRequest *request, guint32 *app_np)
{
  g_autoptr (GArray) lines = dvmd_map_files_read (DVMD_RANK_FILE (mapper)->files, request, read_line, NULL);

  if (lines != NULL)
    dvmd_map_file_count (request, lines->len, app_np);
  return lines != NULL;
}

static DvmdPluginVerdict
dvmd_rank_file_map (DvmdMapper *mapper, const DvmdMapRequest *request, DvmdPlacement *placement, GError **error)
{
  g_autoptr (GArray) lines = dvmd_map_files_read (DVMD_RANK_FILE (mapper)->files, request, read_line, error);
  g_autoptr (GHashTable) of_rank = lines != NULL ? find_lines (lines, error) : NULL;
  g_auto (DvmdFilePlan) plan = { 0 };
  guint64 np = 0;

  if (of_rank == NULL)
    return DVMD_PLUGIN_FAILED;
  for (guint app = 0; app < request->n_apps; app++)
    np += request->app_np[app];
  dvmd_file_plan_init (&plan, request, placement);
  for (guint32 rank = 0; rank < np; rank++)
    {
      const DvmdMapLine *line = g_hash_table_lookup (of_rank, GUINT_TO_POINTER (rank));

      if (line == NULL)
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
                       "%s: there is no line for rank %u, and the job has %" G_GUINT64_FORMAT " process%s",
                       request->file_name != NULL ? request->file_name : "file", rank, np, np == 1 ? "" : "es");
          return DVMD_PLUGIN_FAILED;
        }
      if (!dvmd_file_plan_place (&plan, rank, line, error))
        return DVMD_PLUGIN_FAILED;
    }
  return DVMD_PLUGIN_DONE;
}

static void
dvmd_rank_file_finalize (GObject *object)
{
  g_ptr_array_unref (DVMD_RANK_FILE (object)->files);
  G_OBJECT_CLASS (dvmd_rank_file_parent_class)->finalize (object);
}

static void
dvmd_rank_file_class_init (DvmdRankFileClass *klass)
{
  DvmdMapperClass *mapper_class = DVMD_MAPPER_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = dvmd_rank_file_finalize;
  mapper_class->map = dvmd_rank_file_map;
  mapper_class->check = dvmd_rank_file_check;
  mapper_class->count = dvmd_rank_file_count;
}

static void
dvmd_rank_file_init (DvmdRankFile *self)
{
  self->files = dvmd_map_files_new ();
}

static const char *const words[] = { "rankfile", NULL };
static const char *const qualifiers[] = { "file=PATH", NULL };

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_MAPPER,
  .name = "rank-file",
  .description = "places each rank where a file says",
  .get_type = dvmd_rank_file_get_type,
  .words = words,
  .qualifiers = qualifiers,
  .rankings = DVMD_RANK_BY_SLOT,
  .bindings = DVMD_MAP_BINDINGS,
  .settings = DVMD_PLUGIN_NO_SETTINGS,
};
