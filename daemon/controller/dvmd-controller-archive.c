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

typedef struct
{
  DvmdController *controller; /* unowned */
  const DvmdArchive *archive;
  DvmdArchiveBook *book; /* (nullable): none is wanted */
} Archive;

const DvmdArchive *
dvmd_archive_open (GError **error)
{
  return dvmd_part_open ("archive", "dvmd_archive", sizeof (DvmdArchive), error);
}

/* Nothing of the job will change any more. */
static void
on_job_ended (DvmdCore *core, DvmdJob *job, gpointer user_data)
{
  Archive *self = user_data;

  self->archive->book_add (self->book, DVMD_ARCHIVE_JOB, dvmd_job_get_id (job),
                           _dvm_record_to_sparse_variant (dvmd_job_get_record (job)));
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
  if (of_book.path == NULL)
    return self;
  of_book.instance = dvmd_controller_get_parts (controller)->instance_id;
  self->archive = dvmd_archive_open (&error);
  if (self->archive != NULL)
    self->book = self->archive->book_new (&of_book, &error);
  if (self->book != NULL)
    g_signal_connect (dvmd_controller_get_core (controller), "job-ended", G_CALLBACK (on_job_ended), self);
  else
    g_message ("Jobs that have ended are not kept: %s", error->message);
  return self;
}

static void
archive_free (gpointer service)
{
  Archive *self = service;

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
  .campaign_ended = campaign_ended,
};
