/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-id-set.h"
#include "dvmd-stream.h"

G_BEGIN_DECLS

/*
 * Controller side: the standard input of one job, from one descriptor to one rank, to some or to all. Reads no more
 * than the slowest target has credit for (DVMD_STREAM_WINDOW each).
 */

typedef struct _DvmdInput DvmdInput;

#define DVMD_INPUT_ALL  G_MAXUINT       /* every rank */
#define DVMD_INPUT_NONE (G_MAXUINT - 1) /* no rank */
#define DVMD_INPUT_SOME (G_MAXUINT - 2) /* those of a list */

typedef struct
{
  /* rank: DVMD_INPUT_ALL, DVMD_INPUT_SOME, or one that reads. bytes NULL: end-of-file, for that one once and last. */
  void (*send) (DvmdInput *self, guint rank, GBytes *bytes, gpointer user_data);
} DvmdInputFuncs;

/*
 * text (nullable): rank, "0,2-4", "all", "none"; NULL is rank 0. A rank >= n_ranks is DVM_ERROR_BAD_PARAM. some (out)
 * (nullable) (transfer full): those of a list, where the target is DVMD_INPUT_SOME, else NULL
 */
gboolean dvmd_input_parse_target (const char *text, guint n_ranks, guint *target, DvmdIdSet **some, GError **error);

/* some: (nullable): the ranks of DVMD_INPUT_SOME */
DvmdInput *dvmd_input_new (GMainContext *context, guint target, DvmdIdSet *some, guint n_ranks,
                           const DvmdInputFuncs *funcs, gpointer user_data);
void dvmd_input_free (DvmdInput *self);

/* stdin-fd of Submit, taken over (closed on error too). DVM_ERROR_EXISTS when stdin has its owner. */
gboolean dvmd_input_set_fd (DvmdInput *self, int fd, GError **error);
/* The write end of a pipe for the first who asks, else -1: DVM_ERROR_EXISTS. */
int dvmd_input_attach (DvmdInput *self, GError **error);
gboolean dvmd_input_has_owner (DvmdInput *self);

/*
 * The next so many bytes that come from the descriptor, behind those that are written to it already, are for these
 * ranks alone: to (nullable) (transfer full): for all that read. end: their input ends with these bytes.
 */
void dvmd_input_aim (DvmdInput *self, gsize n_bytes, DvmdIdSet *to, gboolean end);
/* One of these ranks (nullable: of all) reads, which is none of but (nullable). */
gboolean dvmd_input_is_read (DvmdInput *self, DvmdIdSet *to, DvmdIdSet *but);

/* Nothing is read before; to be called when the targets have been started. */
void dvmd_input_start (DvmdInput *self);
/* A rank has taken so many bytes. */
void dvmd_input_add_credit (DvmdInput *self, guint rank, gsize n_bytes);
/* A rank has ended; with the last target the descriptor is closed. */
void dvmd_input_rank_ended (DvmdInput *self, guint rank);
/* Sends end-of-file if none was sent, and closes the descriptor. */
void dvmd_input_close (DvmdInput *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdInput, dvmd_input_free)

G_END_DECLS
