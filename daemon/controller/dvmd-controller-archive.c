/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs and campaigns that have ended go into the archive, if there is one.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvm-records-private.h"
#include "dvmd-archive.h"
#include "dvmd-services.h"

/* A job that has waited or run for so long (µs) is put down, so that it is not forgotten when the DVM is killed; short
 * ones would cost twice as much. */
#define LONG_ENOUGH (G_USEC_PER_SEC / 5)
/* At most so many jobs are put down at once, and then a pause (µs) follows: others have their turn when thousands begin
 * together. */
#define AT_ONCE 200
#define BREATH  (G_USEC_PER_SEC / 50)

typedef struct
{
  DvmdController *controller; /* unowned */
  const DvmdArchive *archive;
  DvmdArchiveBook *book; /* (nullable): none is wanted */
  GHashTable *fresh;     /* DvmdJob (unowned) -> since when (monotonic): live, and are not put down as they are */
  guint timer;
} Archive;

const DvmdArchive *
dvmd_archive_open (GError **error)
{
  return dvmd_part_open ("archive", "dvmd_archive", sizeof (DvmdArchive), error);
}

static DvmdClock *
get_clock (Archive *self)
{
  return dvmd_controller_get_parts (self->controller)->clock;
}

static void
on_timer (gpointer user_data)
{
  Archive *self = user_data;
  gint64 now = dvmd_clock_monotonic (get_clock (self));
  GHashTableIter iter;
  gpointer job;
  gpointer began;
  guint n = 0;

  self->timer = 0;
  g_hash_table_iter_init (&iter, self->fresh);
  while (n < AT_ONCE && g_hash_table_iter_next (&iter, &job, &began))
    if (now - *(gint64 *)began >= LONG_ENOUGH)
      {
        n++;
        self->archive->book_start (self->book, DVMD_ARCHIVE_JOB, dvmd_job_get_id (job),
                                   _dvm_record_to_sparse_variant (dvmd_job_get_record (job)));
        g_hash_table_iter_remove (&iter);
      }
  if (g_hash_table_size (self->fresh) > 0)
    self->timer = dvmd_clock_add_timer (get_clock (self), n < AT_ONCE ? LONG_ENOUGH : BREATH, on_timer, self);
}

static void
note_job (Archive *self, DvmdJob *job)
{
  gint64 now = dvmd_clock_monotonic (get_clock (self));

  g_hash_table_insert (self->fresh, job, g_memdup2 (&now, sizeof now));
  if (self->timer == 0)
    self->timer = dvmd_clock_add_timer (get_clock (self), LONG_ENOUGH, on_timer, self);
}

static void
on_job_added (DvmdCore *core, DvmdJob *job, gpointer user_data)
{
  note_job (user_data, job);
}

/* If it had to wait, it is put down once more: now it has its nodes. */
static void
job_started (gpointer service, DvmdJob *job)
{
  Archive *self = service;

  if (self->book != NULL)
    note_job (self, job);
}

/* Nothing of the job will change any more. */
static void
on_job_ended (DvmdCore *core, DvmdJob *job, gpointer user_data)
{
  Archive *self = user_data;

  g_hash_table_remove (self->fresh, job);
  self->archive->book_add (self->book, DVMD_ARCHIVE_JOB, dvmd_job_get_id (job),
                           _dvm_record_to_sparse_variant (dvmd_job_get_record (job)));
}

/* There are few, and each takes a while. */
static void
on_campaign_added (DvmdCore *core, DvmdCampaign *campaign, gpointer user_data)
{
  Archive *self = user_data;
  DvmCampaign *record = dvmd_campaign_get_record (campaign);

  self->archive->book_start (self->book, DVMD_ARCHIVE_CAMPAIGN, dvm_campaign_get_id (record),
                             _dvm_record_to_sparse_variant (record));
}

static void
campaign_ended (gpointer service, DvmdCampaign *campaign)
{
  Archive *self = service;
  DvmCampaign *record = dvmd_campaign_get_record (campaign);

  if (self->book != NULL)
    self->archive->book_add (self->book, DVMD_ARCHIVE_CAMPAIGN, dvm_campaign_get_id (record),
                             _dvm_record_to_sparse_variant (record));
}

/* ---- the service ---- */

/* A DVM whose archive cannot be written works all the same. */
static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  Archive *self = g_new0 (Archive, 1);
  g_autoptr (GError) error = NULL;
  DvmdArchiveSettings of_book = settings->archive;

  self->controller = controller;
  self->fresh = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  if (of_book.path == NULL)
    return self;
  of_book.instance = dvmd_controller_get_parts (controller)->instance_id;
  self->archive = dvmd_archive_open (&error);
  if (self->archive != NULL)
    self->book = self->archive->book_new (&of_book, &error);
  if (self->book != NULL)
    {
      DvmdCore *core = dvmd_controller_get_core (controller);

      g_signal_connect (core, "job-added", G_CALLBACK (on_job_added), self);
      g_signal_connect (core, "job-ended", G_CALLBACK (on_job_ended), self);
      g_signal_connect (core, "campaign-added", G_CALLBACK (on_campaign_added), self);
    }
  else
    g_message ("Jobs that have ended are not kept: %s", error->message);
  return self;
}

static void
add_statistics (gpointer service, GVariantBuilder *statistics)
{
  Archive *self = service;
  guint64 n_waiting = 0;
  guint64 n_dropped = 0;

  if (self->book != NULL)
    self->archive->book_count (self->book, &n_waiting, &n_dropped);
  dvmd_services_add_number (statistics, "archive-waiting", n_waiting);
  dvmd_services_add_number (statistics, "archive-dropped", n_dropped);
}

static void
archive_free (gpointer service)
{
  Archive *self = service;

  dvmd_clock_remove_timer (get_clock (self), self->timer);
  g_hash_table_unref (self->fresh);
  if (self->book != NULL)
    {
      g_signal_handlers_disconnect_by_data (dvmd_controller_get_core (self->controller), self);
      self->archive->book_free (self->book);
    }
  g_free (self);
}

const DvmdService dvmd_archive_service = {
  .name = "archive",
  .create = create,
  .free = archive_free,
  .job_started = job_started,
  .campaign_ended = campaign_ended,
  .add_statistics = add_statistics,
};
