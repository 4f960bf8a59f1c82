/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-clock.h"

#include "dvmd-output-format.h"

G_BEGIN_DECLS

/*
 * Controller side: where the output of one job goes. Files and descriptors given at Submit, readers that attach, and
 * the last bytes (DVMD_OUTPUT_KEEP unless told otherwise) when nobody takes a stream.
 *
 * Bytes are credited when every reader of the stream has got them: a reader that does not read holds up this job alone.
 * A reader that closes is dropped.
 */

#define DVMD_OUTPUT_KEEP (1024 * 1024)

typedef struct _DvmdOutput DvmdOutput;

typedef struct
{
  /* So many bytes that were pushed for this rank are off our hands; called within push too. */
  void (*credited) (DvmdOutput *self, guint rank, gsize n_bytes, gpointer user_data);
  /*
   * After dvmd_output_end(): everything has been written, or its readers have left. Once, from the main context; the
   * output may be freed here.
   */
  void (*delivered) (DvmdOutput *self, gpointer user_data);
  /* (nullable): the same for those who attached after that, each time that the last of them is done */
  void (*read_up) (DvmdOutput *self, gpointer user_data);
  /* (nullable): host and pid of a rank, for tag-detailed and %h; host is borrowed */
  void (*describe) (DvmdOutput *self, guint rank, const char **host, gint64 *pid, gpointer user_data);
  /*
   * (nullable): something could not be written (disk full, directory missing); what was to go there goes to the readers
   * from now on, or is kept for them.
   */
  void (*failed) (DvmdOutput *self, const char *message, gpointer user_data);
} DvmdOutputFuncs;

/* format (transfer full, nullable: plain). clock gives the time of the tags. */
DvmdOutput *dvmd_output_new (GMainContext *context, DvmdClock *clock, const char *nspace, guint job, guint n_ranks,
                             DvmdOutputFormat *format, const DvmdOutputFuncs *funcs, gpointer user_data);
void dvmd_output_free (DvmdOutput *self);
/* How much is kept for the first who attaches; before the first push. */
void dvmd_output_set_keep (DvmdOutput *self, gsize max);

/* A descriptor given at Submit, taken over (closed on error too). Its O_NONBLOCK is not touched: the client shares it.
 */
gboolean dvmd_output_add_fd (DvmdOutput *self, DvmdStream stream, int fd, GError **error);
/* stdout-path, stderr-path: a file that is made, or emptied when the job begins; both may name one file. */
gboolean dvmd_output_add_path (DvmdOutput *self, DvmdStream stream, const char *path, GError **error);
/*
 * Output goes where the leader's goes, and to the readers of this one; nothing is retained here. alike: it is marked,
 * and put into files, as the leader's is; those of one name get the number of the job. Before the first push. The
 * leader is to end after this; NULL: it goes without.
 */
void dvmd_output_follow (DvmdOutput *self, DvmdOutput *leader, gboolean alike);
/* Bytes that were pushed: they are credited when the last reference has gone. */
typedef struct _DvmdReceipt DvmdReceipt;
DvmdReceipt *dvmd_receipt_ref (DvmdReceipt *self);
void dvmd_receipt_unref (gpointer self);
typedef struct
{
  guint rank;
  DvmdStream stream;
  GBytes *bytes;
  gboolean own; /* else the rank is one of a job that follows this one */
} DvmdOutputPiece;
/*
 * Somebody who gets what comes, as it comes, before whoever reads, unless it goes into a file alone. TRUE: it was
 * taken, and is not kept for others. NULL: nobody any more.
 */
typedef gboolean (*DvmdOutputTap) (DvmdOutput *self, const DvmdOutputPiece *piece, DvmdReceipt *receipt,
                                   gpointer user_data);
void dvmd_output_set_tap (DvmdOutput *self, DvmdOutputTap tap, gpointer user_data);
/* A piece that a tap took and has no use for: kept for the first who attaches, if nobody else has got it. */
void dvmd_output_keep (DvmdOutput *self, const DvmdOutputPiece *piece);
/*
 * Another output, which gets what is written here from now on and gives it to its tap, marked in its own way; what goes
 * into files alone it does not get. The tap returns TRUE. format: (transfer full). It is freed by
 * dvmd_output_drop_mirror(), or with this one.
 */
DvmdOutput *dvmd_output_add_mirror (DvmdOutput *self, DvmdOutputFormat *format, DvmdOutputTap tap, gpointer user_data);
void dvmd_output_drop_mirror (DvmdOutput *self, DvmdOutput *mirror);
/* Before the first push there is either a job, whose files are emptied, or none: then those that were made are removed.
 */
void dvmd_output_begin (DvmdOutput *self);
void dvmd_output_refuse (DvmdOutput *self);

/*
 * Makes the files of so many ranks, before they are launched: what cannot be written is known then. Of a job with very
 * many ranks the files of the others are made when something is written there. merged: standard error comes on standard
 * output.
 */
gboolean dvmd_output_open_files (DvmdOutput *self, guint n_ranks, gboolean merged, GError **error);

/*
 * Makes a reader for one or both streams at once (NULL: not that one; both may be the same pointer's value in pty jobs:
 * ask for stdout). What was kept of these streams comes first. The descriptors are the caller's. After the end of the
 * job the reader gets what was kept, and end-of-file.
 */
gboolean dvmd_output_attach (DvmdOutput *self, int *stdout_fd, int *stderr_fd, GError **error);
/* The same on a descriptor of ours that is taken over (closed on error too): the socket of a terminal's user. */
gboolean dvmd_output_attach_fd (DvmdOutput *self, DvmdStream stream, int fd, GError **error);
guint dvmd_output_get_n_readers (DvmdOutput *self, DvmdStream stream);

void dvmd_output_push (DvmdOutput *self, guint rank, DvmdStream stream, GBytes *bytes);
/* The last line is completed, files of this stream are closed. */
void dvmd_output_push_eof (DvmdOutput *self, guint rank, DvmdStream stream);

/*
 * Lines that the rank has not written itself, marked as its own are. What the rank is in the middle of goes on after
 * them. No credit is given for them. Not after the end.
 */
void dvmd_output_insert (DvmdOutput *self, guint rank, DvmdStream stream, const char *text);

/* A line of ours on the standard error of the job: to its readers, or kept for them. Not after the end. */
void dvmd_output_say (DvmdOutput *self, const char *message);

/* No push comes any more. TRUE: everything is delivered, delivered() is not called. FALSE: it will be. */
gboolean dvmd_output_end (DvmdOutput *self);
gboolean dvmd_output_is_delivered (DvmdOutput *self);

/* Bytes that are kept for the first who attaches. */
gsize dvmd_output_get_retained (DvmdOutput *self);
void dvmd_output_drop_retained (DvmdOutput *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdOutput, dvmd_output_free)

G_END_DECLS
