/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A job of the core: its record, its map and processes, and what it is waiting for.
 */

#include "config.h"

#include "dvmd-job-private.h"

#include "dvmd-core-parts.h"
#include "dvmd-job-stacks.h"

#include "dvm-job-spec-private.h"
#include "dvm-preload-private.h"
#include "dvm-records-private.h"

#include <string.h>

/* The objects of a job, and an entry of its trace with its note. */
#define JOB_BYTES   2048
#define TRACE_BYTES (sizeof (DvmdTraceEntry) + 32)

G_DEFINE_FINAL_TYPE (DvmdJob, dvmd_job, G_TYPE_OBJECT)

DvmdRequester *
dvmd_requester_new (const char *name, guint uid, guint pid)
{
  DvmdRequester *self = g_new0 (DvmdRequester, 1);

  self->name = g_strdup (name);
  self->uid = uid;
  self->pid = pid;
  return self;
}

DvmdRequester *
dvmd_requester_copy (const DvmdRequester *self)
{
  return dvmd_requester_new (self->name, self->uid, self->pid);
}

void
dvmd_requester_free (DvmdRequester *self)
{
  g_free (self->name);
  g_free (self);
}

static void
dvmd_job_finalize (GObject *object)
{
  DvmdJob *self = DVMD_JOB (object);

  for (guint i = 0; i < DVMD_JOB_N_PARTS; i++)
    {
      if (self->clear_part[i] != NULL)
        self->clear_part[i](self->parts[i]);
      g_free (self->parts[i]);
    }
  g_clear_object (&self->record);
  g_clear_object (&self->spec);
  g_clear_pointer (&self->requester, dvmd_requester_free);
  g_clear_pointer (&self->map, dvmd_map_free);
  g_clear_pointer (&self->old_map, dvmd_map_free);
  g_clear_pointer (&self->procs, dvmd_proc_table_free);
  G_OBJECT_CLASS (dvmd_job_parent_class)->finalize (object);
}

static void
dvmd_job_class_init (DvmdJobClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = dvmd_job_finalize;
}

static void
dvmd_job_init (DvmdJob *self)
{
  self->error_nonzero_status = TRUE;
}

static const char *const *
first_command (DvmJobSpec *spec)
{
  return dvm_app_spec_get_argv (dvm_job_spec_get_app (spec, 0));
}

/* Records are UTF-8: a word that is not is shown with its bytes as \377. */
static char *
show_word (const char *word)
{
  return g_utf8_validate (word, -1, NULL) ? g_strdup (word) : g_strescape (word, NULL);
}

static char **
show_command (const char *const *argv)
{
  g_autoptr (GPtrArray) shown = g_ptr_array_new ();

  for (; *argv != NULL; argv++)
    g_ptr_array_add (shown, show_word (*argv));
  g_ptr_array_add (shown, NULL);
  return (char **)g_ptr_array_free (g_steal_pointer (&shown), FALSE);
}

static void
describe (DvmdJob *self)
{
  g_auto (GStrv) argv = show_command (first_command (self->spec));
  g_autofree char *base = NULL;
  const char *name = dvm_job_spec_get_name (self->spec);
  const DvmArrayPlace *place = _dvm_job_spec_get_place (self->spec);

  if (name == NULL)
    name = base = g_path_get_basename (argv[0]);
  _dvm_job_set_description (self->record, name, dvm_job_spec_get_label (self->spec), (const char *const *)argv);
  _dvm_job_set_priority (self->record, dvm_job_spec_get_priority (self->spec));
  if (place != NULL)
    _dvm_job_set_array (self->record, place->id, place->index, place->count);
}

static void
read_options (DvmdJob *self)
{
  DvmRuntimeOptions options;

  _dvm_job_spec_get_runtime (self->spec, &options);
  self->do_not_launch = options.do_not_launch;
  self->recoverable = options.recoverable;
  self->notify_errors = options.notify_errors;
  self->error_nonzero_status = options.error_nonzero_status;
  self->max_restarts = options.max_restarts;
  self->stack_traces = options.stack_traces;
  self->report_state = options.report_state;
  self->stops = options.stop != DVM_STOP_NONE;
  self->spawn_timeout = options.spawn_timeout;
  self->children_apart = options.report_children_apart;
}

DvmdJob *
dvmd_job_new (DvmdCore *core, guint id, const char *nspace, DvmJobSpec *spec, const DvmdRequester *requester)
{
  DvmdJob *self = g_object_new (DVMD_TYPE_JOB, NULL);

  self->core = core;
  self->record = _dvm_job_new (id, nspace);
  if (spec != NULL)
    {
      self->spec = g_object_ref (spec);
      describe (self);
      read_options (self);
    }
  if (requester != NULL)
    {
      self->requester = dvmd_requester_copy (requester);
      _dvm_job_set_submitter (self->record, requester->name, requester->uid, requester->pid);
    }
  return self;
}

gpointer
dvmd_job_get_part (DvmdJob *self, DvmdJobPart part, gsize size, void (*clear) (gpointer part))
{
  if (self->parts[part] == NULL)
    {
      self->parts[part] = g_malloc0 (size);
      self->clear_part[part] = clear;
    }
  return self->parts[part];
}

void
dvmd_job_place (DvmdJob *self, DvmdMap *map)
{
  g_clear_pointer (&self->old_map, dvmd_map_free);
  self->map = map;
  self->procs = dvmd_map_expand (map);
}

void
dvmd_job_publish_nodes (DvmdJob *job)
{
  g_autoptr (GArray) ranks = dvmd_map_get_nodes (job->map);
  g_autofree const char **names = g_new0 (const char *, ranks->len + 1);

  for (guint i = 0; i < ranks->len; i++)
    names[i] = dvmd_node_pool_get_name (dvmd_core_get_nodes (job->core), g_array_index (ranks, guint, i));
  _dvm_job_set_nodes (job->record, names);
}

void
dvmd_job_unplace (DvmdJob *self)
{
  g_clear_pointer (&self->old_map, dvmd_map_free);
  self->old_map = g_steal_pointer (&self->map);
  g_clear_pointer (&self->procs, dvmd_proc_table_free);
  _dvm_job_set_nodes (self->record, NULL);
  _dvm_job_set_num_procs (self->record, 0);
}

void
dvmd_job_release_spec (DvmdJob *self)
{
  g_autoptr (DvmJobSpec) rest = dvm_job_spec_new ();

  for (guint i = 0; i < dvm_job_spec_get_n_apps (self->spec); i++)
    {
      const char *const *argv = dvm_app_spec_get_argv (dvm_job_spec_get_app (self->spec, i));
      const char *const program[] = { argv[0], NULL };
      g_autoptr (DvmAppSpec) app = dvm_app_spec_new (program);

      dvm_job_spec_add_app (rest, app);
    }
  dvm_job_spec_set_pty (rest, dvm_job_spec_get_pty (self->spec));
  g_set_object (&self->spec, rest);
}

static gsize
count_strings (const char *const *strings)
{
  gsize size = 0;

  for (gsize i = 0; strings[i] != NULL; i++)
    size += strlen (strings[i]) + 1 + sizeof (char *);
  return size;
}

gsize
dvmd_job_get_size (DvmdJob *self)
{
  gsize size = JOB_BYTES + count_strings (dvm_job_get_command (self->record))
               + count_strings (dvm_job_get_nodes (self->record)) + count_strings (dvm_job_get_children (self->record));

  size += dvmd_job_get_trace (self)->len * TRACE_BYTES;
  if (self->procs != NULL)
    size += self->procs->n_rows * sizeof (DvmdProcRow);
  if (dvmd_job_get_stacks (self) != NULL)
    size += g_variant_get_size (dvmd_job_get_stacks (self));
  return size;
}

guint
dvmd_job_get_id (DvmdJob *self)
{
  return dvm_job_get_id (self->record);
}

DvmdCore *
dvmd_job_get_core (DvmdJob *self)
{
  return self->core;
}

void
dvmd_job_count_output (DvmdJob *self, gsize n_bytes)
{
  _dvm_job_add_output (self->record, n_bytes);
}

void
dvmd_job_tell_output (DvmdJob *self)
{
  _dvm_job_notify_output (self->record);
}

DvmJob *
dvmd_job_get_record (DvmdJob *self)
{
  return self->record;
}

DvmJobSpec *
dvmd_job_get_spec (DvmdJob *self)
{
  return self->spec;
}

const DvmdRequester *
dvmd_job_get_requester (DvmdJob *self)
{
  return self->requester;
}

DvmJobState
dvmd_job_get_state (DvmdJob *self)
{
  return dvm_job_get_state (self->record);
}

gboolean
dvmd_job_get_ended (DvmdJob *self)
{
  return dvm_job_get_ended (self->record);
}

gboolean
dvmd_job_is_mapped_only (DvmdJob *self)
{
  return self->do_not_launch;
}

gboolean
dvmd_job_is_launched (DvmdJob *self)
{
  return self->launch != DVMD_LAUNCH_NOT_SENT;
}

gboolean
dvmd_job_reports_children_apart (DvmdJob *self)
{
  return self->children_apart;
}

gboolean
dvmd_job_stops (DvmdJob *self)
{
  return self->stops;
}

guint
dvmd_job_get_max_restarts (DvmdJob *self)
{
  return self->max_restarts;
}

gboolean
dvmd_job_is_recoverable (DvmdJob *self)
{
  return self->recoverable;
}

gboolean
dvmd_job_wants_stacks (DvmdJob *self)
{
  return self->stack_traces;
}

gboolean
dvmd_job_wants_state_told (DvmdJob *self)
{
  return self->report_state;
}

gboolean
dvmd_job_notifies_errors (DvmdJob *self)
{
  return self->notify_errors;
}

DvmdMap *
dvmd_job_get_map (DvmdJob *self)
{
  return self->map;
}

DvmdProcTable *
dvmd_job_get_procs (DvmdJob *self)
{
  return self->procs;
}
