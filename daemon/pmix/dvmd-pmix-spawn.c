/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Clients and tools that want a job: PMIx's words made those of SubmitApps on the bus.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-spawn.h"

#include "dvm.h"
#include "dvmd-id-set.h"
#include "dvmd-map.h"
#include "dvmd-pmix-inner.h"
#include "dvmd-pmix-read.h"
#include "dvmd-pmix-shown.h"
#include "dvmd-pmix-spawn-keys.h"

#include <string.h>

/* Every node is sent it. */
#define MAX_INFO (256 * 1024)

typedef struct
{
  GVariantDict *options; /* of the job */
  GString *output;
  gboolean file_only;
  GString *runtime;
  DvmdPmixAttributes *attributes;
  GVariantDict *dict;         /* what is being read: options, or those of an application */
  GPtrArray *env;             /* likewise, "NAME=value" */
  GPtrArray *edits;           /* likewise, Edit; an application begins with those of the job */
  GString *qualifiers;        /* likewise, of "map-by": ":NOLOCAL:PE=2" */
  char *map_by;               /* (nullable): of the job, as it stands in its own key */
  GVariantBuilder *info;      /* a(usay) of what the job is told besides */
  GVariantBuilder *edit_rows; /* of all applications */
  gsize n_edit_rows;
  gsize info_size;
  guint32 app;        /* that is being read, G_MAXUINT32: the job */
  GString *beside;    /* "JOB:RANKS+JOB", empty: the job is beside no others */
  GString *beside_by; /* ":nperproc=2" */
  GString *debugged;  /* "JOB" or "JOB:RANK", empty: the job has nothing to debug */
  gboolean daemons;   /* the job is one of debuggers */
  guint n_daemons;    /* applications that say it of themselves */
  DvmdPmixShown shown;
} Reader;

/* Applications of one job may differ in what is theirs, not in what is the job's. */
static gboolean
insert (GVariantDict *dict, const pmix_info_t *info, const char *option, GVariant *value, GError **error)
{
  g_autoptr (GVariant) owned = g_variant_ref_sink (value);
  g_autoptr (GVariant) old = g_variant_dict_lookup_value (dict, option, NULL);

  if (old != NULL && !g_variant_equal (old, owned))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s: “%s” is given twice, and not alike", info->key, option);
      return FALSE;
    }
  g_variant_dict_insert_value (dict, option, owned);
  return TRUE;
}

static gboolean
take_text (GVariantDict *dict, const pmix_info_t *info, const DvmdPmixSpawnKey *key, GError **error)
{
  const char *text = dvmd_pmix_read_text (info, error);
  g_autofree char *whole = NULL;

  if (text == NULL)
    return FALSE;
  whole = g_strconcat (key->extra != NULL ? key->extra : "", text, NULL);
  return insert (dict, info, key->option, g_variant_new_string (whole), error);
}

/* "strace -f" */
static gboolean
take_command (GVariantDict *dict, const pmix_info_t *info, const DvmdPmixSpawnKey *key, GError **error)
{
  const char *text = dvmd_pmix_read_text (info, error);
  g_auto (GStrv) words = NULL;

  if (text == NULL)
    return FALSE;
  if (g_shell_parse_argv (text, NULL, &words, NULL))
    return insert (dict, info, key->option, g_variant_new_strv ((const char *const *)words, -1), error);
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s: “%s” is no command whose words can be told apart", info->key,
               text);
  return FALSE;
}

static gboolean
take_number (GVariantDict *dict, const pmix_info_t *info, const DvmdPmixSpawnKey *key, GError **error)
{
  guint32 number;

  return dvmd_pmix_read_number (info, &number, error)
         && insert (dict, info, key->option, g_variant_new_uint32 (number), error);
}

/* Lists that come more than once add up. */
static gboolean
take_list (GVariantDict *dict, const pmix_info_t *info, const DvmdPmixSpawnKey *key, GError **error)
{
  g_autoptr (GPtrArray) list = g_ptr_array_new_with_free_func (g_free);
  g_autofree const char **old = NULL;

  g_variant_dict_lookup (dict, key->option, "^a&s", &old);
  for (gsize i = 0; old != NULL && old[i] != NULL; i++)
    g_ptr_array_add (list, g_strdup (old[i]));
  if (!dvmd_pmix_read_list (info, key->take == DVMD_PMIX_TAKE_TARGETS, list, error))
    return FALSE;
  g_variant_dict_insert_value (dict, key->option,
                               g_variant_new_strv ((const char *const *)list->pdata, (gssize)list->len));
  return TRUE;
}

static gboolean
take_word (Reader *self, const pmix_info_t *info, const DvmdPmixSpawnKey *key, GError **error)
{
  const char *text = "";

  if (key->take == DVMD_PMIX_TAKE_WORD_OF)
    text = dvmd_pmix_read_text (info, error);
  else if (!PMIX_INFO_TRUE (info))
    return TRUE;
  if (text == NULL)
    return FALSE;
  if (strchr (text, ',') != NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s: “%s”: the name of a file has no comma here", info->key,
                   text);
      return FALSE;
    }
  g_string_append_printf (self->output, "%s%s%s", self->output->len > 0 ? "," : "", key->extra, text);
  return TRUE;
}

/* All that is said of it adds up; the library's parser finds contradictions. */
static gboolean
take_runtime (Reader *self, const pmix_info_t *info, const DvmdPmixSpawnKey *key, GError **error)
{
  const char *text = PMIX_INFO_TRUE (info) ? "yes" : "no";
  const char *divider = self->runtime->len > 0 ? "," : "";

  if (key->take == DVMD_PMIX_TAKE_WORDS)
    {
      text = dvmd_pmix_read_text (info, error);
      if (text == NULL)
        return FALSE;
      g_string_append_printf (self->runtime, "%s%s", divider, text);
    }
  else
    g_string_append_printf (self->runtime, "%s%s=%s", divider, key->extra, text);
  return TRUE;
}

static gboolean
is_off (const pmix_info_t *info)
{
  guint32 number;

  if (info->value.type == PMIX_BOOL)
    return !info->value.data.flag;
  return dvmd_pmix_read_number (info, &number, NULL) && number == 0;
}

static gboolean
refuse (const pmix_info_t *info, GError **error)
{
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, "Jobs cannot be asked for by %s here", info->key);
  return FALSE;
}

/* All models but that of no PMIx are served in one way. */
static gboolean
take_personality (GVariantDict *dict, const pmix_info_t *info, GError **error)
{
  static const char *const models[] = { "pmix", "prte", "prrte", "ompi", "oshmem", "mpich", "dvm" };
  const char *text = dvmd_pmix_read_text (info, error);
  g_auto (GStrv) names = text != NULL ? g_strsplit (text, ",", -1) : NULL;

  if (names == NULL)
    return FALSE;
  for (gsize i = 0; names[i] != NULL; i++)
    {
      const char *name = g_strstrip (names[i]);
      gboolean known = strcmp (name, "plain") == 0;

      for (gsize j = 0; j < G_N_ELEMENTS (models); j++)
        known |= g_str_has_prefix (name, models[j]);
      if (!known)
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, "%s: “%s” is no programming model that is known here",
                       info->key, name);
          return FALSE;
        }
    }
  return insert (dict, info, "personality",
                 g_variant_new_string (g_strv_contains ((const char *const *)names, "plain") ? "plain" : "pmix"),
                 error);
}

/* PRRTE's tools say it as it stands on their command lines. */
static gboolean
read_stdin_text (const pmix_info_t *info, const char *text, guint32 *rank, GError **error)
{
  guint64 number;

  if (g_str_equal (text, "all"))
    *rank = PMIX_RANK_WILDCARD;
  else if (g_str_equal (text, "none"))
    *rank = PMIX_RANK_INVALID;
  else if (g_ascii_string_to_unsigned (text, 10, 0, PMIX_RANK_VALID, &number, NULL))
    *rank = (guint32)number;
  else
    {
      g_autofree char *shown = g_utf8_make_valid (text, (gssize)MIN (strlen (text), 80));

      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s is “%s”: right is a rank, “all” or “none”", info->key,
                   shown);
      return FALSE;
    }
  return TRUE;
}

static gboolean
take_stdin (GVariantDict *dict, const pmix_info_t *info, const DvmdPmixSpawnKey *key, GError **error)
{
  const pmix_value_t *value = &info->value;
  g_autofree char *text = NULL;
  guint32 rank;

  if (value->type == PMIX_PROC && value->data.proc != NULL)
    rank = value->data.proc->rank;
  else if (value->type == PMIX_PROC_RANK)
    rank = value->data.rank;
  else if (value->type == PMIX_STRING && value->data.string != NULL)
    {
      if (!read_stdin_text (info, value->data.string, &rank, error))
        return FALSE;
    }
  else if (!dvmd_pmix_read_number (info, &rank, error))
    return FALSE;
  if (rank == PMIX_RANK_WILDCARD)
    text = g_strdup ("all");
  else
    text = rank > PMIX_RANK_VALID ? g_strdup ("none") : g_strdup_printf ("%u", rank);
  return insert (dict, info, key->option, g_variant_new_string (text), error);
}

/* ---- processes of other jobs ---- */

/* Behind "colocate=" a number and a path name jobs, too, and signs part what belongs to them. */
static gboolean
is_nspace (const char *nspace)
{
  return nspace[strspn (nspace, "0123456789")] != '\0' && strpbrk (nspace, ":+/") == NULL
         && g_utf8_validate (nspace, -1, NULL);
}

static gboolean
check_process (const pmix_info_t *info, const pmix_proc_t *proc, GError **error)
{
  if (is_nspace (proc->nspace) && (proc->rank <= PMIX_RANK_VALID || proc->rank == PMIX_RANK_WILDCARD))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               "%s names a process that is none: each has the namespace of a job, and a rank or PMIX_RANK_WILDCARD",
               info->key);
  return FALSE;
}

/* jobs (element-type utf8): namespaces in the order in which they are named first; ranks_of: DvmdIdRange of each */
static void
add_process (GPtrArray *jobs, GHashTable *ranks_of, const pmix_proc_t *proc)
{
  GArray *ranks = g_hash_table_lookup (ranks_of, proc->nspace);
  DvmdIdRange range = { proc->rank, proc->rank };

  if (ranks == NULL)
    {
      char *nspace = g_strdup (proc->nspace);

      ranks = g_array_new (FALSE, FALSE, sizeof (DvmdIdRange));
      g_hash_table_insert (ranks_of, nspace, ranks);
      g_ptr_array_add (jobs, nspace);
    }
  if (proc->rank == PMIX_RANK_WILDCARD)
    range = (DvmdIdRange){ 0, G_MAXUINT };
  g_array_append_val (ranks, range);
}

static void
show_processes (GString *text, GPtrArray *jobs, GHashTable *ranks_of)
{
  for (guint i = 0; i < jobs->len; i++)
    {
      g_autoptr (DvmdIdSet) ranks = dvmd_id_set_new_from_ranges (g_hash_table_lookup (ranks_of, jobs->pdata[i]));
      g_autofree char *shown = dvmd_id_set_format (ranks);

      g_string_append_printf (text, "%s%s", text->len > 0 ? "+" : "", (const char *)jobs->pdata[i]);
      if (!dvmd_id_set_contains (ranks, G_MAXUINT))
        g_string_append_printf (text, ":%s", shown);
    }
}

/* (nullable): what is wrong with a list of them */
static const char *
find_fault (const Reader *self, const pmix_value_t *value)
{
  const pmix_data_array_t *array = value->type == PMIX_DATA_ARRAY ? value->data.darray : NULL;

  if (self->beside->len > 0)
    return "is given twice";
  if (array == NULL || array->type != PMIX_PROC || array->array == NULL || array->size == 0)
    return "is not an array of processes";
  return array->size > DVMD_MAP_MAX_PROCS ? "names more processes than a job can have" : NULL;
}

static gboolean
take_processes (Reader *self, const pmix_info_t *info, GError **error)
{
  const pmix_data_array_t *array = info->value.data.darray;
  const char *fault = find_fault (self, &info->value);
  g_autoptr (GHashTable)
      ranks_of = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_array_unref);
  g_autoptr (GPtrArray) jobs = g_ptr_array_new ();

  if (fault != NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s %s", info->key, fault);
      return FALSE;
    }
  for (gsize i = 0; i < array->size; i++)
    {
      const pmix_proc_t *proc = (const pmix_proc_t *)array->array + i;

      if (!check_process (info, proc, error))
        return FALSE;
      add_process (jobs, ranks_of, proc);
    }
  show_processes (self->beside, jobs, ranks_of);
  return TRUE;
}

static gboolean
take_number_beside (Reader *self, const pmix_info_t *info, const DvmdPmixSpawnKey *key, GError **error)
{
  guint32 number;

  if (!dvmd_pmix_read_number (info, &number, error))
    return FALSE;
  g_string_append_printf (self->beside_by, ":%s=%u", key->extra, number);
  return TRUE;
}

/*
 * Debuggers that know no other word ask for so many on each node ("ppr:1:node:PE=2"), and mean those of the target.
 * Returns: what is left of the words
 */
static const char *
take_per_node (Reader *self, const char *map_by)
{
  const char *number = map_by + strlen ("ppr:");
  const char *rest;

  if (g_ascii_strncasecmp (map_by, "ppr:", strlen ("ppr:")) != 0)
    return map_by;
  rest = number + strspn (number, "0123456789");
  if (rest == number || g_ascii_strncasecmp (rest, ":node", strlen (":node")) != 0
      || strchr (":", rest[strlen (":node")]) == NULL)
    return map_by;
  g_string_printf (self->beside_by, ":npernode=%.*s", (int)(rest - number), number);
  return rest + strlen (":node");
}

/* It says where the job goes, as a word of map-by does; qualifiers of it stand behind. */
static gboolean
add_beside (Reader *self, GError **error)
{
  gboolean debugs = self->debugged->len > 0;
  const GString *beside = debugs ? self->debugged : self->beside;
  const char *given = "";
  g_autofree char *map_by = NULL;

  if (beside->len == 0 && self->beside_by->len == 0)
    return TRUE;
  g_variant_dict_lookup (self->options, "map-by", "&s", &given);
  if (debugs && self->beside_by->len == 0)
    given = take_per_node (self, given);
  if (beside->len > 0 && (given[0] == '\0' || given[0] == ':'))
    {
      map_by = g_strdup_printf ("colocate=%s%s%s", beside->str, self->beside_by->str, given);
      g_variant_dict_insert (self->options, "map-by", "s", map_by);
      return TRUE;
    }
  if (beside->len == 0)
    g_set_error_literal (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                         "A number of processes beside others needs " PMIX_COLOCATE_PROCS " or " PMIX_DEBUG_TARGET);
  else
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s and the mapping policy “%s” contradict each other%s",
                 debugs ? PMIX_DEBUG_TARGET : PMIX_COLOCATE_PROCS, given,
                 debugs ? ": daemons are beside the target, for each of its processes or (ppr:N:node) on each of its "
                          "nodes"
                        : "");
  return FALSE;
}

/* ---- variables ---- */

/* A change of a variable that depends on what the process would have. */
typedef struct
{
  DvmdEdit edit;
  char separator;
  char *entry; /* "NAME=value" */
} Edit;

static void
edit_free (gpointer data)
{
  g_free (((Edit *)data)->entry);
  g_free (data);
}

static void
add_edit (GPtrArray *edits, DvmdEdit edit, char separator, const char *entry)
{
  Edit *copy = g_new0 (Edit, 1);

  *copy = (Edit){ edit, separator, g_strdup (entry) };
  g_ptr_array_add (edits, copy);
}

static gboolean
is_of (const char *entry, const char *name)
{
  gsize length = strcspn (name, "=");

  return strncmp (entry, name, length) == 0 && entry[length] == '=';
}

/* Earlier words about the variable are void. */
static void
forget_variable (Reader *self, const char *name)
{
  for (guint i = self->edits->len; i > 0; i--)
    if (is_of (((const Edit *)self->edits->pdata[i - 1])->entry, name))
      g_ptr_array_remove_index (self->edits, i - 1);
  for (guint i = self->env->len; i > 0; i--)
    if (is_of (self->env->pdata[i - 1], name))
      g_ptr_array_remove_index (self->env, i - 1);
}

/* (transfer full) (nullable): "NAME=value" */
static char *
read_variable (const pmix_info_t *info, GError **error)
{
  const pmix_envar_t *variable = &info->value.data.envar;

  if (info->value.type == PMIX_ENVAR && variable->envar != NULL && variable->envar[0] != '\0'
      && strchr (variable->envar, '=') == NULL)
    return g_strconcat (variable->envar, "=", variable->value != NULL ? variable->value : "", NULL);
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s is not a variable with its value", info->key);
  return NULL;
}

static gboolean
take_variable (Reader *self, const pmix_info_t *info, GError **error)
{
  char *entry = read_variable (info, error);

  if (entry == NULL)
    return FALSE;
  forget_variable (self, entry);
  g_ptr_array_add (self->env, entry);
  return TRUE;
}

static gboolean
take_edit (Reader *self, const pmix_info_t *info, DvmdEdit edit, GError **error)
{
  g_autofree char *entry = read_variable (info, error);
  char separator = info->value.type == PMIX_ENVAR ? info->value.data.envar.separator : '\0';

  if (entry == NULL)
    return FALSE;
  if (separator == '\0' && edit != DVMD_EDIT_ADD)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   "%s: a character is needed that parts the value from that which the variable has", info->key);
      return FALSE;
    }
  add_edit (self->edits, edit, separator, entry);
  return TRUE;
}

static gboolean
take_unset (Reader *self, GVariantDict *dict, const pmix_info_t *info, const DvmdPmixSpawnKey *key, GError **error)
{
  const char *name = dvmd_pmix_read_text (info, error);

  if (name == NULL)
    return FALSE;
  forget_variable (self, name);
  return take_list (dict, info, key, error);
}

static void
add_edit_rows (Reader *self)
{
  for (guint i = 0; i < self->edits->len; i++)
    {
      const Edit *edit = self->edits->pdata[i];

      g_variant_builder_add (self->edit_rows, "(uu@ayy)", self->app, (guint32)edit->edit,
                             g_variant_new_bytestring (edit->entry), (guint8)edit->separator);
    }
  self->n_edit_rows += self->edits->len;
}

static void
take_stream (Reader *self, const pmix_info_t *info, guint stream)
{
  if (PMIX_INFO_TRUE (info))
    self->attributes->forward |= stream;
  else
    self->attributes->withhold |= stream;
}

/* The library takes them apart, and would believe what stands in them. */
static gboolean
is_structure (const char *key)
{
  static const char *const keys[] = { PMIX_SESSION_INFO_ARRAY, PMIX_JOB_INFO_ARRAY,
                                      PMIX_APP_INFO_ARRAY,     PMIX_PROC_INFO_ARRAY,
                                      PMIX_NODE_INFO_ARRAY,    PMIX_NODE_MAP,
                                      PMIX_PROC_MAP,           NULL };

  return g_strv_contains (keys, key);
}

/* app: whose processes find it with PMIx_Get(), G_MAXUINT32: those of the job */
static gboolean
tell_processes (Reader *self, guint32 app, const pmix_info_t *info, GError **error)
{
  GVariant *bytes;

  if (!g_utf8_validate (info->key, -1, NULL))
    {
      g_set_error_literal (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "A key is no text in UTF-8");
      return FALSE;
    }
  bytes = dvmd_pmix_pack_value (info, error);
  if (bytes == NULL)
    return FALSE;
  self->info_size += strlen (info->key) + g_variant_get_size (bytes);
  g_variant_builder_add (self->info, "(us@ay)", app, info->key, bytes);
  if (self->info_size <= MAX_INFO)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE,
               "Keys and values that a job is to be told are larger than %u bytes", MAX_INFO);
  return FALSE;
}

/* libpmix (4.2 to 6.1) keeps no key of PMIx's own that is not in its table: the job could not be registered. */
static gboolean
is_foreign (const char *key)
{
  return PMIX_CHECK_RESERVED_KEY (key) && g_strcmp0 (PMIx_Get_attribute_name ((char *)key), key) == 0;
}

/* An attribute that is not known and required is refused; others are for the processes of the job. */
static gboolean
take_other (Reader *self, const pmix_info_t *info, GError **error)
{
  if ((info->flags & PMIX_INFO_REQD) != 0 || is_structure (info->key))
    return refuse (info, error);
  if (is_foreign (info->key))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                   "%s is no key of this PMIx, which could not tell the processes of it", info->key);
      return FALSE;
    }
  return tell_processes (self, self->app, info, error);
}

/* ---- debuggers ---- */

static gboolean
take_debug_target (Reader *self, const pmix_info_t *info, GError **error)
{
  const pmix_proc_t *proc = info->value.type == PMIX_PROC ? info->value.data.proc : NULL;

  if (proc == NULL || self->debugged->len > 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s %s", info->key,
                   proc == NULL ? "is not a process" : "is given twice");
      return FALSE;
    }
  if (!check_process (info, proc, error))
    return FALSE;
  g_string_append (self->debugged, proc->nspace);
  if (proc->rank != PMIX_RANK_WILDCARD)
    g_string_append_printf (self->debugged, ":%u", proc->rank);
  return tell_processes (self, G_MAXUINT32, info, error);
}

/* Ranks read whom it means, if not all: a program that stops where it likes has to. */
static gboolean
take_stop (Reader *self, const pmix_info_t *info, const DvmdPmixSpawnKey *key, GError **error)
{
  g_autofree char *ranks = NULL;

  if (info->value.type == PMIX_BOOL && !info->value.data.flag)
    return TRUE;
  ranks = info->value.type == PMIX_BOOL ? g_strdup ("") : dvmd_pmix_read_ranks (info, error);
  if (ranks == NULL || !insert (self->options, info, DVMD_SPAWN_STOP_RANKS, g_variant_new_string (ranks), error))
    return FALSE;
  g_string_append_printf (self->runtime, "%s%s", self->runtime->len > 0 ? "," : "", key->extra);
  return ranks[0] == '\0' || tell_processes (self, G_MAXUINT32, info, error);
}

static gboolean
take_daemons (Reader *self, const pmix_info_t *info)
{
  gboolean is_on = PMIX_INFO_TRUE (info);

  if (self->app == G_MAXUINT32)
    self->daemons = is_on;
  else
    self->n_daemons += is_on;
  return TRUE;
}

static gboolean
check_daemons (const Reader *self, GError **error)
{
  if (self->debugged->len > 0 ? self->beside->len == 0 : !self->daemons && self->n_daemons == 0)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s",
               self->debugged->len > 0 ? PMIX_DEBUG_TARGET " and " PMIX_COLOCATE_PROCS " contradict each other"
                                       : PMIX_DEBUGGER_DAEMONS " needs " PMIX_DEBUG_TARGET);
  return FALSE;
}

static gboolean
take_cpus (Reader *self, const pmix_info_t *info, GError **error)
{
  guint32 cpus;

  if (!dvmd_pmix_read_number (info, &cpus, error))
    return FALSE;
  if (cpus > 0)
    g_string_append_printf (self->qualifiers, ":PE=%u", cpus);
  return TRUE;
}

static gboolean
take_value (Reader *self, GVariantDict *dict, const pmix_info_t *info, const DvmdPmixSpawnKey *key, GError **error)
{
  switch (key->take)
    {
    case DVMD_PMIX_TAKE_TEXT:
    case DVMD_PMIX_TAKE_PREFIXED:
      return take_text (dict, info, key, error);
    case DVMD_PMIX_TAKE_NUMBER:
      return take_number (dict, info, key, error);
    case DVMD_PMIX_TAKE_FLAG:
      g_variant_dict_insert (dict, key->option, "b", PMIX_INFO_TRUE (info));
      return TRUE;
    case DVMD_PMIX_TAKE_WORD:
    case DVMD_PMIX_TAKE_WORD_OF:
      return take_word (self, info, key, error);
    case DVMD_PMIX_TAKE_LIST:
    case DVMD_PMIX_TAKE_TARGETS:
      return take_list (dict, info, key, error);
    case DVMD_PMIX_TAKE_COMMAND:
      return take_command (dict, info, key, error);
    case DVMD_PMIX_TAKE_PLAIN:
      if (PMIX_INFO_TRUE (info))
        g_variant_dict_insert (dict, "personality", "s", "plain");
      return TRUE;
    case DVMD_PMIX_TAKE_PERSONALITY:
      return take_personality (dict, info, error);
    case DVMD_PMIX_TAKE_CPUS:
      return take_cpus (self, info, error);
    case DVMD_PMIX_TAKE_QUALIFIER:
      if (PMIX_INFO_TRUE (info))
        g_string_append_printf (self->qualifiers, ":%s", key->extra);
      return TRUE;
    case DVMD_PMIX_TAKE_WORDS:
    case DVMD_PMIX_TAKE_RUNTIME:
      return take_runtime (self, info, key, error);
    case DVMD_PMIX_TAKE_STOP:
      return take_stop (self, info, key, error);
    case DVMD_PMIX_TAKE_FILE_ONLY:
      self->file_only = PMIX_INFO_TRUE (info);
      return TRUE;
    case DVMD_PMIX_TAKE_IF_ON:
      return PMIX_INFO_TRUE (info) || refuse (info, error);
    case DVMD_PMIX_TAKE_APART:
    case DVMD_PMIX_TAKE_IF_OFF:
      return is_off (info) || refuse (info, error);
    case DVMD_PMIX_TAKE_NEVER:
      return refuse (info, error);
    case DVMD_PMIX_TAKE_TIME:
      return dvmd_pmix_read_number (info, &self->attributes->timeout, error);
    case DVMD_PMIX_TAKE_FORWARD_OUT:
      take_stream (self, info, DVMD_PMIX_STDOUT);
      return TRUE;
    case DVMD_PMIX_TAKE_FORWARD_ERR:
      take_stream (self, info, DVMD_PMIX_STDERR);
      return TRUE;
    case DVMD_PMIX_TAKE_COLOCATE:
      return take_processes (self, info, error);
    case DVMD_PMIX_TAKE_COLOCATE_BY:
      return take_number_beside (self, info, key, error);
    case DVMD_PMIX_TAKE_DAEMONS:
      return take_daemons (self, info);
    case DVMD_PMIX_TAKE_DEBUG_TARGET:
      return take_debug_target (self, info, error);
    case DVMD_PMIX_TAKE_STDIN:
      return take_stdin (dict, info, key, error);
    case DVMD_PMIX_TAKE_ENVIRONMENT:
      return take_variable (self, info, error);
    case DVMD_PMIX_TAKE_UNSET:
      return take_unset (self, dict, info, key, error);
    case DVMD_PMIX_TAKE_ADD:
      return take_edit (self, info, DVMD_EDIT_ADD, error);
    case DVMD_PMIX_TAKE_PREPEND:
      return take_edit (self, info, DVMD_EDIT_PREPEND, error);
    case DVMD_PMIX_TAKE_APPEND:
      return take_edit (self, info, DVMD_EDIT_APPEND, error);
    case DVMD_PMIX_TAKE_FIRST:
      return take_edit (self, info, DVMD_EDIT_FIRST, error);
    case DVMD_PMIX_TAKE_SHOW:
    case DVMD_PMIX_TAKE_SHOW_OF:
    case DVMD_PMIX_TAKE_SHOW_HOW:
      return dvmd_pmix_shown_take (&self->shown, info, key, error);
    case DVMD_PMIX_TAKE_NOTHING:
      return TRUE;
    }
  g_return_val_if_reached (FALSE);
}

static gboolean
check_type (const pmix_info_t *info, const DvmdPmixSpawnKey *key, GError **error)
{
  static const DvmdPmixTake flags[] = {
    DVMD_PMIX_TAKE_FLAG,    DVMD_PMIX_TAKE_WORD,      DVMD_PMIX_TAKE_PLAIN,       DVMD_PMIX_TAKE_QUALIFIER,
    DVMD_PMIX_TAKE_RUNTIME, DVMD_PMIX_TAKE_FILE_ONLY, DVMD_PMIX_TAKE_FORWARD_OUT, DVMD_PMIX_TAKE_FORWARD_ERR,
    DVMD_PMIX_TAKE_DAEMONS, DVMD_PMIX_TAKE_IF_ON,
  };

  for (gsize i = 0; i < G_N_ELEMENTS (flags); i++)
    if (key->take == flags[i])
      return dvmd_pmix_check_flag (info, error);
  return TRUE;
}

static gboolean
read_infos (Reader *self, const pmix_info_t *info, gsize n, GError **error)
{
  for (gsize i = 0; i < n; i++)
    {
      gboolean of_job;
      const DvmdPmixSpawnKey *key = dvmd_pmix_find_spawn_key (info[i].key, &of_job);
      GVariantDict *dict = of_job ? self->options : self->dict;

      if (key == NULL ? !take_other (self, &info[i], error)
                      : !check_type (&info[i], key, error) || !take_value (self, dict, &info[i], key, error))
        return FALSE;
    }
  return TRUE;
}

/* An application that says no more than this is mapped as the job is, with other cpus. */
static void
add_qualifiers (Reader *self)
{
  g_autofree char *map_by = NULL;
  g_autofree char *whole = NULL;

  if (self->qualifiers->len == 0)
    return;
  if (!g_variant_dict_lookup (self->dict, "map-by", "s", &map_by))
    map_by = g_strdup (self->map_by != NULL ? self->map_by : "");
  whole = g_strconcat (map_by, self->qualifiers->str, NULL);
  g_variant_dict_insert (self->dict, "map-by", "s", whole);
  g_string_truncate (self->qualifiers, 0);
}

/* Bytes, so that what is no UTF-8 goes through. */
static void
add_environment (Reader *self)
{
  if (self->env->len > 0)
    g_variant_dict_insert_value (
        self->dict, "env-bytes",
        g_variant_new_bytestring_array ((const char *const *)self->env->pdata, (gssize)self->env->len));
}

/* The library puts the name of the program before the arguments, without its directory. */
static GVariant *
describe_argv (const pmix_app_t *app)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();

  g_ptr_array_add (argv, app->cmd != NULL ? app->cmd : app->argv[0]);
  for (gsize i = 1; app->argv != NULL && app->argv[0] != NULL && app->argv[i] != NULL; i++)
    g_ptr_array_add (argv, app->argv[i]);
  return g_variant_new_bytestring_array ((const char *const *)argv->pdata, (gssize)argv->len);
}

static GVariant *
read_app (Reader *self, const pmix_app_t *app, GPtrArray *job_edits, GError **error)
{
  g_autoptr (GPtrArray) env = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GPtrArray) edits = g_ptr_array_new_with_free_func (edit_free);
  g_auto (GVariantDict) dict;

  g_variant_dict_init (&dict, NULL);
  if ((app->cmd == NULL && (app->argv == NULL || app->argv[0] == NULL)) || app->maxprocs < 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "An application has %s",
                   app->maxprocs < 0 ? "fewer than no processes" : "no program");
      return NULL;
    }
  self->dict = &dict;
  self->env = env;
  self->edits = edits;
  for (guint i = 0; i < job_edits->len; i++)
    {
      const Edit *edit = job_edits->pdata[i];

      add_edit (edits, edit->edit, edit->separator, edit->entry);
    }
  g_variant_dict_insert_value (&dict, "argv-bytes", describe_argv (app));
  if (app->maxprocs > 0)
    g_variant_dict_insert (&dict, "np", "u", (guint32)app->maxprocs);
  for (gsize i = 0; app->env != NULL && app->env[i] != NULL; i++)
    g_ptr_array_add (env, g_strdup (app->env[i]));
  if (!read_infos (self, app->info, app->ninfo, error))
    return NULL;
  add_qualifiers (self);
  /* The library puts the caller's directory here; who says it in a key means that one. */
  if (app->cwd != NULL && !g_variant_dict_contains (&dict, "cwd") && !g_variant_dict_contains (self->options, "cwd"))
    g_variant_dict_insert_value (&dict, "cwd-bytes", g_variant_new_bytestring (app->cwd));
  add_environment (self);
  add_edit_rows (self);
  return g_variant_dict_end (&dict);
}

static gboolean
read_options (Reader *self, const pmix_info_t *info, gsize n, GPtrArray *edits, GError **error)
{
  g_autoptr (GPtrArray) env = g_ptr_array_new_with_free_func (g_free);

  self->dict = self->options;
  self->env = env;
  self->edits = edits;
  if (!read_infos (self, info, n, error))
    return FALSE;
  g_variant_dict_lookup (self->options, "map-by", "s", &self->map_by);
  add_qualifiers (self);
  add_environment (self);
  return TRUE;
}

/* Output that goes into files is handed on, too, unless the request says otherwise. */
static void
add_texts (Reader *self)
{
  gboolean has_files = strstr (self->output->str, "file=") != NULL || strstr (self->output->str, "dir=") != NULL;
  g_autofree char *display = dvmd_pmix_shown_end (&self->shown);

  if (has_files && !self->file_only)
    g_string_append (self->output, ",:copy");
  if (self->output->len > 0)
    g_variant_dict_insert (self->options, "output", "s", self->output->str);
  if (self->runtime->len > 0)
    g_variant_dict_insert (self->options, "runtime-options", "s", self->runtime->str);
  if (display != NULL)
    g_variant_dict_insert (self->options, DVMD_SPAWN_DISPLAY, "s", display);
}

static void
reader_clear (Reader *self)
{
  g_free (self->map_by);
  dvmd_pmix_shown_clear (&self->shown);
  g_string_free (self->output, TRUE);
  g_string_free (self->runtime, TRUE);
  g_variant_builder_unref (self->info);
  g_variant_builder_unref (self->edit_rows);
  g_string_free (self->qualifiers, TRUE);
  g_string_free (self->beside, TRUE);
  g_string_free (self->beside_by, TRUE);
  g_string_free (self->debugged, TRUE);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Reader, reader_clear)

GVariant *
dvmd_pmix_read_job (const pmix_info_t *info, gsize n_info, const pmix_app_t *apps, gsize n_apps, const char *target,
                    DvmdPmixAttributes *attributes, GError **error)
{
  g_auto (GVariantDict) options;
  g_autoptr (GVariantBuilder) rows = g_variant_builder_new (G_VARIANT_TYPE ("aa{sv}"));
  g_autoptr (GPtrArray) job_edits = g_ptr_array_new_with_free_func (edit_free);
  g_auto (Reader) reader = {
    .options = &options,
    .output = g_string_new (NULL),
    .runtime = g_string_new (NULL),
    .info = g_variant_builder_new (G_VARIANT_TYPE (DVMD_SPAWN_INFO_TYPE)),
    .edit_rows = g_variant_builder_new (G_VARIANT_TYPE (DVMD_SPAWN_EDITS_TYPE)),
    .app = G_MAXUINT32,
    .qualifiers = g_string_new (NULL),
    .attributes = attributes,
    .beside = g_string_new (NULL),
    .beside_by = g_string_new (NULL),
    .debugged = g_string_new (target),
  };

  *attributes = (DvmdPmixAttributes){ 0 };
  /* libpmix 4.2.2 forwards no output to a caller that gives no attributes at all. */
  if (n_info == 0)
    attributes->withhold = DVMD_PMIX_STDOUT | DVMD_PMIX_STDERR;
  g_variant_dict_init (&options, NULL);
  if (!read_options (&reader, info, n_info, job_edits, error))
    return NULL;
  for (gsize i = 0; i < n_apps; i++)
    {
      GVariant *row;

      reader.app = (guint32)i;
      row = read_app (&reader, &apps[i], job_edits, error);
      if (row == NULL)
        return NULL;
      g_variant_builder_add_value (rows, row);
    }
  if (!check_daemons (&reader, error) || !add_beside (&reader, error))
    return NULL;
  add_texts (&reader);
  if (reader.info_size > 0)
    g_variant_dict_insert_value (&options, DVMD_SPAWN_INFO, g_variant_builder_end (reader.info));
  if (reader.n_edit_rows > 0)
    g_variant_dict_insert_value (&options, DVMD_SPAWN_EDITS, g_variant_builder_end (reader.edit_rows));
  return g_variant_ref_sink (g_variant_new ("(aa{sv}@a{sv})", rows, g_variant_dict_end (&options)));
}
