/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib-object.h>

G_BEGIN_DECLS

/* Objects that are forgotten in one go, when the limit has become much lower */
#define DVMD_TRIM_AT_ONCE 64

/*
 * Objects with numbers: those that are live, and after their end, for a while, those that can still be asked about, the
 * history. When that has too many the oldest are to be forgotten.
 */
typedef struct _DvmdRegistry DvmdRegistry;

/* The number of an object, which does not change. */
typedef guint (*DvmdRegistryNumber) (gpointer object);

DvmdRegistry *dvmd_registry_new (DvmdRegistryNumber number);
void dvmd_registry_free (DvmdRegistry *self);
/* It takes the object. */
void dvmd_registry_add (DvmdRegistry *self, gpointer object);
/* It is live no more, and in the history. */
void dvmd_registry_end (DvmdRegistry *self, guint id);
/* (transfer full): it is not known any more. */
gpointer dvmd_registry_remove (DvmdRegistry *self, guint id);

/* (nullable): live or in the history */
gpointer dvmd_registry_get (DvmdRegistry *self, guint id);
/* The objects, ascending by number; known: those of the history too. */
GList *dvmd_registry_list (DvmdRegistry *self, gboolean known);
/* (nullable): the first one after NULL; NULL after the last */
gpointer dvmd_registry_next (DvmdRegistry *self, gpointer after, gboolean known);
guint dvmd_registry_count_live (DvmdRegistry *self);

/* ---- the history ---- */
void dvmd_registry_set_limit (DvmdRegistry *self, guint limit);
guint dvmd_registry_get_limit (DvmdRegistry *self);
/* 0: without this limit; the last one always may stay */
void dvmd_registry_set_max_bytes (DvmdRegistry *self, guint64 max_bytes);
/* An ended object takes so many bytes of the history. */
void dvmd_registry_set_size (DvmdRegistry *self, guint id, gsize bytes);
/* (transfer full) (nullable): the oldest one, which is known no more; NULL: there are not too many */
gpointer dvmd_registry_forget (DvmdRegistry *self);
gboolean dvmd_registry_is_full (DvmdRegistry *self);

G_END_DECLS
