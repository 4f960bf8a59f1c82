/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-config.h"
#include "dvmd-controller.h"

G_BEGIN_DECLS

/*
 * Which nodes the DVM is to have: options, settings, and what becomes of them. An option is a setting that is given on
 * the command line; whoever asks for logical nodes there does not want those that a file of settings names, and the
 * reverse.
 */
typedef struct
{
  int nodes;
  char *slots;
  char *hostfile;
  char *hosts;
  char *launcher;
  gboolean allow_missing;
  gboolean elastic;
} DvmdNodeOptions;

void dvmd_node_options_add (DvmdNodeOptions *self, GOptionContext *context);
/* Puts what is given into the settings. */
gboolean dvmd_node_options_apply (DvmdNodeOptions *self, DvmdConfig *config, GError **error);
void dvmd_node_options_clear (DvmdNodeOptions *self);

/* (nullable): hosts, hostfile or launcher, if the command line says it, as an option or as a setting */
const char *dvmd_node_options_get_given (DvmdConfig *config, const char *name);

/* Jobs that say nothing get these; the texts are those of the settings. */
DvmdDefaults dvmd_node_options_get_defaults (DvmdConfig *config);
DvmdQueueSettings dvmd_node_options_get_queue (DvmdConfig *config);
/* From the settings; strings are those of config. alone: this machine, whatever is asked for. */
gboolean dvmd_node_options_fill (DvmdConfig *config, gboolean alone, DvmdControllerSettings *settings, GError **error);
/* The settings that plugins get: those of dvm.conf that are for them, and plugin-settings. (transfer full) */
char *dvmd_node_options_plugin_settings (DvmdConfig *config);

G_END_DECLS
