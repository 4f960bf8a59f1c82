/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/*
 * The session directory of a job as the files come that it brings along: what is asked for is done one after another
 * on a thread, and answered on the main context. Each time that the files come they come as another pass; answers of an
 * earlier one are not heard any more.
 */

typedef struct _DvmdStage DvmdStage;

typedef struct
{
  /* (nullable): a file has been begun. */
  void (*begun) (guint64 pass, gpointer user_data);
  /* Of the data, so much is written. */
  void (*taken) (guint64 pass, gsize bytes, gpointer user_data);
  /* The pass is over: everything is there, or error says why not. Once per pass. */
  void (*done) (guint64 pass, const GError *error, gpointer user_data);
} DvmdStageFuncs;

typedef void (*DvmdStageRemoved) (gpointer user_data);

DvmdStage *dvmd_stage_new (const char *directory, const DvmdStageFuncs *funcs, gpointer user_data);
/* Nothing is answered any more. What is there stays. */
void dvmd_stage_free (DvmdStage *self);

/* Makes the directory at once, for a job without files. */
gboolean dvmd_stage_create (DvmdStage *self, GError **error);

guint64 dvmd_stage_get_pass (DvmdStage *self);
void dvmd_stage_begin_pass (DvmdStage *self, guint64 pass);
void dvmd_stage_add_file (DvmdStage *self, const char *target, guint mode, guint64 size);
void dvmd_stage_add_data (DvmdStage *self, GBytes *bytes);
void dvmd_stage_end_pass (DvmdStage *self);

/* Writes that wait are dropped; func is called when the directory and everything in it have gone. */
void dvmd_stage_remove (DvmdStage *self, DvmdStageRemoved func, gpointer user_data);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdStage, dvmd_stage_free)

G_END_DECLS
