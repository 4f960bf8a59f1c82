/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The inside of a session, for the core's own files.
 */

#pragma once

#include "dvmd-core-elastic.h"

G_BEGIN_DECLS

struct _DvmdSession
{
  GObject parent_instance;

  DvmdCore *core; /* unowned: the core owns its sessions */
  DvmSession *record;
  gboolean untold; /* that its nodes or jobs have changed is known, and nobody has asked since */
  GList link;      /* in the core's queue of sessions */
};

DvmdSession *dvmd_session_new (DvmdCore *core, guint id);
/* Its nodes have changed. */
void dvmd_session_changed (DvmdSession *self);
/* It is being released: nobody can name it any more. */
gboolean dvmd_session_is_ending (DvmdSession *self);
/* That are in it now, ascending by rank (element-type DvmdNode). */
GPtrArray *dvmd_session_list_nodes (DvmdSession *self);

G_END_DECLS
