/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix-inner.h"

G_BEGIN_DECLS

/*
 * Pulls whose output is marked: of the pieces that the library's server is given each goes to those pulls alone that
 * want it marked like that. All on PMIx's thread.
 */

/* Pulls can be told apart here: with the headers of the inside of this library, before 5.0, which marks by itself. */
gboolean dvmd_pmix_marks_are_served (void);
/* Pulls want output marked: DVMD_PMIX_MARKS, or 0. pull: what the library gives the upcall. */
void dvmd_pmix_marks_set (gpointer pull, guint marks);
/* A pull has been deregistered: that is what its client is to be told. */
void dvmd_pmix_marks_answer_end (gpointer pull);
/* The information that goes with a piece. */
void dvmd_pmix_marks_load (pmix_info_t *info, guint marks);
/* The marks that are in it; 0 */
guint dvmd_pmix_marks_read (const pmix_info_t *info, gsize n_info);

G_END_DECLS
