/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The files that a job brings along: read piece by piece, sent to the agents of its map. An agent that is slow holds up
 * this job alone, and no more of a file is in memory than a few pieces.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include <gio/gunixinputstream.h>
#include <glib/gstdio.h>

#include "dvm-preload-private.h"
#include "dvmd-services.h"
#include "dvmd-stage-source.h"
#include "dvmd-unpack.h"
#include "dvmd-controller-jobs.h"

/* Of a file; what is on its way to an agent and not yet written there. */
#define PIECE  65536
#define WINDOW (4 * PIECE)

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

typedef struct
{
  DvmdController *controller; /* unowned */
  GHashTable *stagings;       /* job id -> Staging */
  guint64 last_pass;          /* of all jobs */
} Stages;

typedef struct
{
  grefcount ref_count;        /* of the controller, and of what is under way */
  DvmdController *controller; /* unowned; NULL: nobody waits any more */
  DvmdJob *job;
  guint64 pass;
  GPtrArray *files; /* DvmPreload */
  guint next;
  GCancellable *cancellable;
  gboolean busy;          /* opening or reading */
  gboolean ended;         /* STAGE_END is sent, or nothing more can be */
  GInputStream *stream;   /* of the file that is being read */
  GInputStream *archive;  /* (nullable): the archive that it comes from */
  guint64 left;           /* of it */
  GHashTable *unanswered; /* rank of agent -> bytes that it has not written yet */
  GHashTable *seen;       /* ranks of agents that this job's files were ever sent to */
} Staging;

/* One file to open. */
typedef struct
{
  char *path;
  char *search;
  int fd;
  guint mode;
  guint64 size;
  char *folder;          /* (nullable): it is an archive, whose entries come there */
  GInputStream *archive; /* (nullable): open already */
  DvmdUnpackEntry entry; /* of it */
} Source;

static void pump (Staging *self);

static void
source_free (gpointer data)
{
  Source *self = data;

  if (self->fd >= 0)
    g_close (self->fd, NULL);
  g_free (self->path);
  g_free (self->search);
  g_free (self->folder);
  g_clear_object (&self->archive);
  dvmd_unpack_entry_clear (&self->entry);
  g_free (self);
}

static void
staging_unref (Staging *self)
{
  if (!g_ref_count_dec (&self->ref_count))
    return;
  g_clear_object (&self->stream);
  g_clear_object (&self->archive);
  g_object_unref (self->cancellable);
  g_hash_table_unref (self->unanswered);
  g_hash_table_unref (self->seen);
  g_ptr_array_unref (self->files);
  g_object_unref (self->job);
  g_free (self);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Staging, staging_unref)

static Staging *
staging_ref (Staging *self)
{
  g_ref_count_inc (&self->ref_count);
  return self;
}

static void
staging_free (gpointer data)
{
  Staging *self = data;

  self->controller = NULL;
  g_cancellable_cancel (self->cancellable);
  staging_unref (self);
}

static void
send_to_all (Staging *self, DvmdMessageKind kind, GVariant *body)
{
  g_autoptr (GVariant) sunk = g_variant_ref_sink (body);
  GHashTableIter iter;
  gpointer rank;

  g_hash_table_iter_init (&iter, self->unanswered);
  while (g_hash_table_iter_next (&iter, &rank, NULL))
    {
      dvmd_controller_send (self->controller, GPOINTER_TO_UINT (rank), kind, sunk);
      g_hash_table_add (self->seen, rank);
    }
}

static void
add_unwritten (Staging *self, gsize bytes)
{
  GHashTableIter iter;
  gpointer unwritten;

  g_hash_table_iter_init (&iter, self->unanswered);
  while (g_hash_table_iter_next (&iter, NULL, &unwritten))
    g_hash_table_iter_replace (&iter, GSIZE_TO_POINTER (GPOINTER_TO_SIZE (unwritten) + bytes));
}

static void
fail (Staging *self, const char *why)
{
  g_autofree char *reason = g_strdup_printf ("The files of the job cannot be read on %s: %s",
                                             dvmd_controller_get_parts (self->controller)->host, why);

  self->ended = TRUE;
  g_clear_object (&self->stream);
  dvmd_core_files_staged (dvmd_controller_get_core (self->controller), self->job, 0, reason);
}

static void
fail_file (Staging *self, const char *what)
{
  const DvmPreload *file = g_ptr_array_index (self->files, self->next);
  g_autofree char *shown = g_filename_display_name (file->source);
  g_autofree char *why = g_strdup_printf ("“%s” %s", shown, what);

  fail (self, why);
}

/* ---- reading ---- */

static void
on_read (GObject *object, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (Staging) self = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = g_input_stream_read_bytes_finish (G_INPUT_STREAM (object), result, &error);
  gsize length = bytes != NULL ? g_bytes_get_size (bytes) : 0;

  self->busy = FALSE;
  if (self->controller == NULL || self->ended)
    return;
  if (bytes == NULL)
    fail_file (self, error->message);
  else if (length == 0 && self->left > 0)
    fail_file (self, "became shorter while it was being read");
  else if (length > self->left)
    fail_file (self, "grew while it was being read");
  else if (length == 0)
    {
      g_clear_object (&self->stream);
      if (self->archive == NULL)
        self->next++;
    }
  else
    {
      self->left -= length;
      send_to_all (self, DVMD_MSG_STAGE_DATA,
                   g_variant_new ("(ut@ay)", dvmd_job_get_id (self->job), self->pass,
                                  g_variant_new_from_bytes (G_VARIANT_TYPE_BYTESTRING, bytes, TRUE)));
      add_unwritten (self, length);
    }
  pump (self);
}

static gboolean
open_entry (Source *source, GError **error)
{
  const DvmdUnpack *unpack = dvmd_unpack_open (error);
  g_autofree char *shown = g_filename_display_name (source->path);

  if (unpack == NULL)
    return FALSE;
  if (source->archive == NULL)
    {
      int fd = dvmd_stage_source_open (source->path, NULL, &source->size, &source->mode, error);

      if (fd < 0)
        return FALSE;
      source->archive = unpack->open (fd, error);
    }
  if (source->archive != NULL && unpack->next (source->archive, source->folder, &source->entry, error))
    return TRUE;
  g_prefix_error (error, "“%s” ", shown);
  return FALSE;
}

static gboolean
open_file (Source *source, GError **error)
{
  source->fd = dvmd_stage_source_open (source->path, source->search, &source->size, &source->mode, error);
  return source->fd >= 0;
}

static void
open_source (GTask *task, gpointer object, gpointer data, GCancellable *cancellable)
{
  Source *source = data;
  GError *error = NULL;

  if (source->folder != NULL ? open_entry (source, &error) : open_file (source, &error))
    g_task_return_boolean (task, TRUE);
  else
    g_task_return_error (task, error);
}

static void
begin_file (Staging *self, const char *target, guint mode, guint64 size)
{
  self->left = size;
  add_unwritten (self, DVMD_STAGE_FILE_COST);
  send_to_all (self, DVMD_MSG_STAGE_FILE,
               g_variant_new ("(ust@ayut)", dvmd_job_get_id (self->job),
                              dvm_job_get_nspace (dvmd_job_get_record (self->job)), self->pass,
                              dvmd_variant_new_bytes (target), mode, size));
}

/* The content of a link is where it leads to. */
static void
begin_entry (Staging *self, Source *source)
{
  const DvmdUnpackEntry *entry = &source->entry;

  g_set_object (&self->archive, source->archive);
  if (entry->target == NULL)
    {
      g_clear_object (&self->archive);
      self->next++;
    }
  else if (entry->link != NULL)
    {
      self->stream = g_memory_input_stream_new_from_data (g_strdup (entry->link), strlen (entry->link), g_free);
      begin_file (self, entry->target, entry->mode, strlen (entry->link));
    }
  else
    {
      self->stream = g_object_ref (self->archive);
      begin_file (self, entry->target, entry->mode, entry->size);
    }
}

static void
on_opened (GObject *object, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (Staging) self = user_data;
  g_autoptr (GError) error = NULL;
  Source *source = g_task_get_task_data (G_TASK (result));

  self->busy = FALSE;
  g_task_propagate_boolean (G_TASK (result), &error);
  if (self->controller == NULL || self->ended)
    return;
  if (error != NULL)
    {
      fail (self, error->message);
      return;
    }
  if (source->folder != NULL)
    begin_entry (self, source);
  else
    {
      self->stream = g_unix_input_stream_new (source->fd, TRUE);
      source->fd = -1;
      begin_file (self, ((const DvmPreload *)g_ptr_array_index (self->files, self->next))->target, source->mode,
                  source->size);
    }
  pump (self);
}

/* The processes of the application will have this search path, and are looked for in their directory after that. */
static char *
dup_search_path (DvmAppSpec *app)
{
  const char *const *env = dvm_app_spec_get_env (app);
  const char *cwd = dvm_app_spec_get_cwd (app);
  const char *path = dvm_app_spec_get_clear_env (app) ? NULL : g_getenv ("PATH");

  for (gsize i = 0; env[i] != NULL; i++)
    if (g_str_has_prefix (env[i], "PATH="))
      path = env[i] + strlen ("PATH=");
  return g_strconcat (path != NULL ? path : DEFAULT_PATH, ":", cwd != NULL ? cwd : g_get_home_dir (), NULL);
}

static void
open_next (Staging *self)
{
  const DvmPreload *file = g_ptr_array_index (self->files, self->next);
  g_autoptr (GTask) task = g_task_new (NULL, self->cancellable, on_opened, staging_ref (self));
  Source *source = g_new0 (Source, 1);

  source->fd = -1;
  source->path = g_strdup (file->source);
  if (file->archive)
    {
      const char *slash = strrchr (file->target, '/');

      source->folder = g_strndup (file->target, slash != NULL ? (gsize)(slash + 1 - file->target) : 0);
      source->archive = self->archive != NULL ? g_object_ref (self->archive) : NULL;
    }
  if (file->program)
    source->search = dup_search_path (dvm_job_spec_get_app (dvmd_job_get_spec (self->job), file->app));
  g_task_set_source_tag (task, open_next);
  g_task_set_task_data (task, source, source_free);
  self->busy = TRUE;
  g_task_run_in_thread (task, open_source);
}

static gboolean
has_room (Staging *self)
{
  GHashTableIter iter;
  gpointer unwritten;

  g_hash_table_iter_init (&iter, self->unanswered);
  while (g_hash_table_iter_next (&iter, NULL, &unwritten))
    if (GPOINTER_TO_SIZE (unwritten) + PIECE > WINDOW)
      return FALSE;
  return TRUE;
}

static void
pump (Staging *self)
{
  if (self->controller == NULL || self->busy || self->ended || g_hash_table_size (self->unanswered) == 0)
    return;
  if (self->stream != NULL)
    {
      if (!has_room (self))
        return;
      self->busy = TRUE;
      g_input_stream_read_bytes_async (self->stream, PIECE, G_PRIORITY_DEFAULT, self->cancellable, on_read,
                                       staging_ref (self));
    }
  else if (self->next < self->files->len)
    {
      if (has_room (self))
        open_next (self);
    }
  else
    {
      self->ended = TRUE;
      send_to_all (self, DVMD_MSG_STAGE_END,
                   g_variant_new ("(ust)", dvmd_job_get_id (self->job),
                                  dvm_job_get_nspace (dvmd_job_get_record (self->job)), self->pass));
    }
}

/* ---- what core asks for ---- */

/* Agents that the job has left for others: they remove what they have got. */
static void
leave_agents (DvmdController *self, DvmdJob *job, Staging *former, Staging *now)
{
  GHashTableIter iter;
  gpointer rank;

  g_hash_table_iter_init (&iter, former->seen);
  while (g_hash_table_iter_next (&iter, &rank, NULL))
    if (!g_hash_table_contains (now->unanswered, rank))
      dvmd_controller_send (self, GPOINTER_TO_UINT (rank), DVMD_MSG_KILL,
                            g_variant_new ("(ux)", dvmd_job_get_id (job), (gint64)0));
    else
      g_hash_table_add (now->seen, rank);
}

void
dvmd_controller_stage_files (gpointer user_data, DvmdJob *job)
{
  Stages *self = dvmd_services_get (user_data, &dvmd_stage_service);
  gpointer id = GUINT_TO_POINTER (dvmd_job_get_id (job));
  g_autoptr (GArray) agents = dvmd_map_get_nodes (dvmd_job_get_map (job));
  Staging *former = g_hash_table_lookup (self->stagings, id);
  Staging *staging = g_new0 (Staging, 1);

  g_ref_count_init (&staging->ref_count);
  staging->controller = self->controller;
  staging->job = g_object_ref (job);
  staging->pass = ++self->last_pass;
  /* It was checked when the job came. */
  staging->files = _dvm_job_spec_list_preloads (dvmd_job_get_spec (job), "", NULL);
  staging->cancellable = g_cancellable_new ();
  staging->unanswered = g_hash_table_new (NULL, NULL);
  staging->seen = g_hash_table_new (NULL, NULL);
  for (guint i = 0; i < agents->len; i++)
    g_hash_table_insert (staging->unanswered, GUINT_TO_POINTER (g_array_index (agents, guint, i)), NULL);
  if (former != NULL)
    leave_agents (self->controller, job, former, staging);
  g_hash_table_replace (self->stagings, id, staging);
  pump (staging);
}

/* Nothing of it is read or sent any more. */
static void
stop (gpointer service, DvmdJob *job)
{
  g_hash_table_remove (((Stages *)service)->stagings, GUINT_TO_POINTER (dvmd_job_get_id (job)));
}

/* ---- what agents answer ---- */

static Staging *
find_staging (Stages *self, guint32 job, guint64 pass, guint rank)
{
  Staging *staging = g_hash_table_lookup (self->stagings, GUINT_TO_POINTER (job));

  if (staging == NULL || staging->pass != pass || !g_hash_table_contains (staging->unanswered, GUINT_TO_POINTER (rank)))
    return NULL;
  return staging;
}

static void
handle_taken (gpointer service, guint rank, GVariant *body)
{
  Staging *staging;
  gsize unwritten;
  guint32 job;
  guint64 pass;
  guint64 bytes;

  g_variant_get (body, "(utt)", &job, &pass, &bytes);
  staging = find_staging (service, job, pass, rank);
  if (staging == NULL)
    return;
  unwritten = GPOINTER_TO_SIZE (g_hash_table_lookup (staging->unanswered, GUINT_TO_POINTER (rank)));
  g_hash_table_insert (staging->unanswered, GUINT_TO_POINTER (rank),
                       GSIZE_TO_POINTER (unwritten - MIN (unwritten, bytes)));
  pump (staging);
}

static void
handle_staged (gpointer service, guint rank, GVariant *body)
{
  DvmdCore *core = dvmd_controller_get_core (((Stages *)service)->controller);
  DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (core), rank);
  g_autofree char *reason = NULL;
  Staging *staging;
  const char *why;
  guint32 job;
  guint64 pass;

  g_variant_get (body, "(ut&s)", &job, &pass, &why);
  staging = find_staging (service, job, pass, rank);
  if (staging == NULL)
    return;
  g_hash_table_remove (staging->unanswered, GUINT_TO_POINTER (rank));
  if (why[0] != '\0')
    reason = g_strdup_printf ("The files of the job cannot be staged on %s: %s",
                              node != NULL ? dvm_node_get_name (node->record) : "a node", why);
  dvmd_core_files_staged (core, staging->job, rank, reason);
  pump (staging);
}

/* An agent that has gone is not waited for. */
static void
agent_gone (gpointer service, guint rank)
{
  Stages *self = service;
  GHashTableIter iter;
  gpointer staging;

  g_hash_table_iter_init (&iter, self->stagings);
  while (g_hash_table_iter_next (&iter, NULL, &staging))
    if (g_hash_table_remove (((Staging *)staging)->unanswered, GUINT_TO_POINTER (rank)))
      pump (staging);
}

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  Stages *self = g_new0 (Stages, 1);

  self->controller = controller;
  self->stagings = g_hash_table_new_full (NULL, NULL, NULL, staging_free);
  return self;
}

static void
stages_free (gpointer service)
{
  Stages *self = service;

  g_hash_table_unref (self->stagings);
  g_free (self);
}

static const DvmdHandler handlers[] = {
  { DVMD_MSG_STAGE_TAKEN, handle_taken },
  { DVMD_MSG_STAGED, handle_staged },
  { 0 },
};

const DvmdService dvmd_stage_service = {
  .name = "stage",
  .create = create,
  .free = stages_free,
  .handlers = handlers,
  .job_killed = stop,
  .job_ended = stop,
  .agent_gone = agent_gone,
};
