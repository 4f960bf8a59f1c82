/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvm-record-codec-private.h"

G_BEGIN_DECLS

struct _DvmCampaign
{
  DvmRecord record;

  guint id;
  DvmCampaignKind kind;
  char *alloc_id;
  char *request_id;
  char *requester;
  GVariant *targets; /* au, (nullable): none */
  char **hosts;
  guint pending;
  int status;
  char *cause;
  gint64 started_at;
  gint64 ended_at;
  guint tree_repairs;
  guint links_changed;
  char **held_jobs;
};

G_END_DECLS
