/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * An environment that is being put together, of entries "NAME=value": a later value replaces an earlier one in its
 * place. One can begin with all that another one has, without a copy of its texts.
 */
typedef struct _DvmdVariables DvmdVariables;

/* below (nullable) (unowned): is there as long, and not changed any more. */
DvmdVariables *dvmd_variables_new (const DvmdVariables *below);
void dvmd_variables_free (DvmdVariables *self);

void dvmd_variables_put (DvmdVariables *self, const char *entry);
/* entries (nullable) */
void dvmd_variables_put_all (DvmdVariables *self, const char *const *entries);
/* entries: (transfer full) (nullable) */
void dvmd_variables_take_all (DvmdVariables *self, GStrv entries);
void dvmd_variables_printf (DvmdVariables *self, const char *format, ...) G_GNUC_PRINTF (2, 3);
void dvmd_variables_remove (DvmdVariables *self, const char *name);

/* (nullable): its value; name may be an entry, of which only the name counts. */
const char *dvmd_variables_get (const DvmdVariables *self, const char *name);
/* All entries, as exec() wants them; until something is changed. */
const char *const *dvmd_variables_get_vector (DvmdVariables *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdVariables, dvmd_variables_free)

G_END_DECLS
