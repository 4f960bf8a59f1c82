/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvm-record-codec-private.h"

G_BEGIN_DECLS

struct _DvmAppSpec
{
  GObject parent_instance;

  char **argv;
  guint np;
  char *cwd;
  char **env;
  char **unset_env;
  gboolean clear_env;
  char **hosts;
  char *hostfile;
  char **preload_files;
  char *preload_dir;
  gboolean preload_binary;
  gboolean session_cwd;
  char *map_by;
  char *rank_by;
  char *bind_to;
  char *pset;
};

extern const DvmRecordCodec _dvm_app_spec_codec;

G_END_DECLS
