/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How long a job of Grid Engine lasts, and whether it runs: the list of the user's running jobs, in XML, has the start
 * of each and its h_rt, and a "d" in the state of those that somebody has deleted.
 */

#include "config.h"

#include "job-time.h"

#include <string.h>

#include "node-memory.h"
#include "node-table.h"
#include "time-left.h"

/* The running job that is being read, and the one that is looked for. */
typedef struct
{
  const char *id;
  GString *text;  /* of the element */
  char **request; /* (nullable): the member that the element is for */
  char *number;
  char *task; /* (nullable): of an array */
  char *start;
  char *limit;          /* (nullable) */
  char *limited_memory; /* (nullable): h_vmem */
  char *free_memory;    /* (nullable): mem_free */
  char *state;
  gboolean is_found;
  gint64 left;
  guint64 memory; /* bytes of each slot; 0: the job has asked for none */
} Reading;

static char **
make_argv (const char *id)
{
  const char *const argv[] = { "qstat", "-xml", "-r", "-s", "rs", "-u", g_get_user_name (), NULL };

  return g_strdupv ((char **)argv);
}

static void
clear_job (Reading *self)
{
  g_clear_pointer (&self->number, g_free);
  g_clear_pointer (&self->task, g_free);
  g_clear_pointer (&self->start, g_free);
  g_clear_pointer (&self->limit, g_free);
  g_clear_pointer (&self->limited_memory, g_free);
  g_clear_pointer (&self->free_memory, g_free);
  g_clear_pointer (&self->state, g_free);
}

static void
on_start (GMarkupParseContext *context, const char *name, const char **names, const char **values, gpointer user_data,
          GError **error)
{
  Reading *self = user_data;

  g_string_truncate (self->text, 0);
  if (strcmp (name, "job_list") == 0)
    clear_job (self);
  self->request = NULL;
  for (guint i = 0; strcmp (name, "hard_request") == 0 && names[i] != NULL; i++)
    if (strcmp (names[i], "name") == 0)
      self->request = strcmp (values[i], "h_rt") == 0       ? &self->limit
                      : strcmp (values[i], "h_vmem") == 0   ? &self->limited_memory
                      : strcmp (values[i], "mem_free") == 0 ? &self->free_memory
                                                            : NULL;
}

static gboolean
is_wanted (Reading *self)
{
  g_autofree char *id = self->task != NULL ? g_strconcat (self->number, ".", self->task, NULL)
                                           : g_strdup (self->number);

  return self->number != NULL && strcmp (id, self->id) == 0;
}

/* As sge_types(1) writes memory. 0: the job has asked for none */
static guint64
read_size (const char *text)
{
  static const DvmdSizeUnit units[] = {
    { "k", 1000 },
    { "K", G_GUINT64_CONSTANT (1) << 10 },
    { "m", 1000000 },
    { "M", G_GUINT64_CONSTANT (1) << 20 },
    { "g", 1000000000 },
    { "G", G_GUINT64_CONSTANT (1) << 30 },
    { "t", G_GUINT64_CONSTANT (1000000000000) },
    { "T", G_GUINT64_CONSTANT (1) << 40 },
    { "", 1 },
  };
  guint64 bytes;

  return text != NULL && dvmd_size_parse (text, units, &bytes) ? bytes : 0;
}

/* Times are local ones, without a zone. */
static void
read_job (Reading *self, GError **error)
{
  g_autoptr (GTimeZone) zone = g_time_zone_new_local ();
  g_autoptr (GDateTime) start = self->start != NULL ? g_date_time_new_from_iso8601 (self->start, zone) : NULL;
  gint64 limit = self->limit != NULL ? dvmd_time_left_parse (self->limit) : -1;

  self->is_found = TRUE;
  self->left = -1;
  self->memory = read_size (self->limited_memory != NULL ? self->limited_memory : self->free_memory);
  if (self->state != NULL && strchr (self->state, 'd') != NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "qstat has said that it is deleted (state %.20s)", self->state);
  else if (self->limit == NULL || g_ascii_strcasecmp (self->limit, "infinity") == 0)
    ;
  else if (limit >= 0 && start != NULL)
    self->left = MAX (limit - (g_get_real_time () / G_USEC_PER_SEC - g_date_time_to_unix (start)), 0);
  else
    g_set_error (error, DVM_ERROR, DVM_ERROR_ALLOC_FAILED, "qstat has said that h_rt is “%.60s” and the start “%.60s”",
                 self->limit, self->start != NULL ? self->start : "");
}

static void
on_end (GMarkupParseContext *context, const char *name, gpointer user_data, GError **error)
{
  Reading *self = user_data;
  char **value = strcmp (name, "JB_job_number") == 0    ? &self->number
                 : strcmp (name, "tasks") == 0          ? &self->task
                 : strcmp (name, "JAT_start_time") == 0 ? &self->start
                 : strcmp (name, "state") == 0          ? &self->state
                                                        : self->request;

  if (value != NULL)
    {
      g_free (*value);
      *value = g_strstrip (g_strdup (self->text->str));
    }
  self->request = NULL;
  if (strcmp (name, "job_list") == 0 && is_wanted (self))
    read_job (self, error);
}

static void
on_text (GMarkupParseContext *context, const char *text, gsize length, gpointer user_data, GError **error)
{
  g_string_append_len (((Reading *)user_data)->text, text, (gssize)length);
}

/* FALSE: it is no list of jobs, with an error of GMarkup or of the job, or without one */
static gboolean
read_list (const char *text, Reading *self, GError **error)
{
  static const GMarkupParser parser = { .start_element = on_start, .end_element = on_end, .text = on_text };
  g_autoptr (GString) element = g_string_new (NULL);
  g_autoptr (GMarkupParseContext) context = g_markup_parse_context_new (&parser, 0, self, NULL);
  const char *begin = strchr (text, '<');
  gboolean is_list;

  self->text = element;
  is_list = begin != NULL && g_markup_parse_context_parse (context, begin, -1, error)
            && g_markup_parse_context_end_parse (context, error);
  clear_job (self);
  return is_list;
}

static gboolean
read_left (const char *text, const char *id, gint64 *left, GError **error)
{
  Reading self = { .id = id };
  g_autoptr (GError) wrong = NULL;
  gboolean is_list = read_list (text, &self, &wrong);

  *left = self.left;
  if (is_list && self.is_found)
    return TRUE;
  if (is_list)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "qstat does not name it among the running jobs of %s",
                 g_get_user_name ());
  else if (wrong != NULL && wrong->domain == DVM_ERROR)
    g_propagate_error (error, g_steal_pointer (&wrong));
  else
    g_set_error (error, DVM_ERROR, DVM_ERROR_ALLOC_FAILED, "the answer of qstat is no list of jobs: %s",
                 wrong != NULL ? wrong->message : "it is no XML");
  return FALSE;
}

/* A request of the job is for each of its slots. */
static void
read_memory (const char *text, const char *id, DvmdAllocation *allocation, guint64 *memory)
{
  Reading self = { .id = id };
  guint n_nodes;
  const DvmdPluginNode *nodes = dvmd_allocation_get_nodes (allocation, &n_nodes);

  if (!read_list (text, &self, NULL))
    return;
  for (guint i = 0; i < n_nodes; i++)
    memory[i] = MIN (self.memory, DVMD_NODE_TABLE_MOST_MEMORY / MAX (nodes[i].slots, 1)) * nodes[i].slots;
}

const DvmdTimeQuestion gridengine_time_question = {
  .plugin = "allocator-gridengine",
  .scheduler = "Grid Engine",
  .make_argv = make_argv,
  .read = read_left,
  .read_memory = read_memory,
  .file = "PE_HOSTFILE",
};
