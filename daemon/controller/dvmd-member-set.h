/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* A process as one number: those of a job by their ranks, jobs in the order in which they came. */
guint64 dvmd_member_new (guint job, guint32 rank);
guint dvmd_member_get_job (guint64 member);
guint32 dvmd_member_get_rank (guint64 member);
/* For g_array_sort(). */
gint dvmd_member_compare (gconstpointer a, gconstpointer b);

/* (element-type guint64): sets of them */
GHashTable *dvmd_member_set_new (void);
void dvmd_member_set_add (GHashTable *self, guint64 member);
GHashTable *dvmd_member_set_copy (GHashTable *self);
gboolean dvmd_member_set_equal (GHashTable *self, GHashTable *other);

G_END_DECLS
