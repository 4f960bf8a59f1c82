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
};

G_END_DECLS
