/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvm-record-codec-private.h"

G_BEGIN_DECLS

struct _DvmSession
{
  DvmRecord record;

  guint id;
  char *alloc_id;
  char *request_id;
  char **nodes;
  char **jobs;
  char *parent;
  char **children;
  char *owner;
  char **owners;
  char *inheritance;
  gboolean shared;
  gboolean separate;
  gint64 expires_at;
};

G_END_DECLS
