/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How many connections a PMIx server process has accepted, and which clients it has, which its agent sees without
 * asking.
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct _DvmdPmixCounter DvmdPmixCounter;

/* In dir, which both processes know. NULL: it cannot be made. */
DvmdPmixCounter *dvmd_pmix_counter_new (const char *dir);
/* The one that another process has made there, to be read. NULL: there is none. */
DvmdPmixCounter *dvmd_pmix_counter_open (const char *dir);
void dvmd_pmix_counter_free (DvmdPmixCounter *self);

/* On any thread */
void dvmd_pmix_counter_add (DvmdPmixCounter *self);
guint dvmd_pmix_counter_get (const DvmdPmixCounter *self);

/* On one thread: a client that has connected. */
void dvmd_pmix_counter_add_client (DvmdPmixCounter *self, const char *nspace, guint32 rank);
/*
 * That behind the first *number, or the first one that is still known; *number is then that of those up to it. job:
 * g_str_hash() of its namespace. FALSE: there is none.
 */
gboolean dvmd_pmix_counter_next_client (const DvmdPmixCounter *self, guint *number, guint *job, guint32 *rank);

/* Connections that the accept() of this program lets in are counted there from now on, as long as it lives. */
void dvmd_pmix_door_set_counter (DvmdPmixCounter *counter);
/* So are clients that connect. */
void dvmd_pmix_upcall_set_counter (DvmdPmixCounter *counter);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdPmixCounter, dvmd_pmix_counter_free)

G_END_DECLS
