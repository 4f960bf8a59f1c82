/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin-host.h"
#include "dvmd-plugin-info.h"

G_BEGIN_DECLS

/**
 * DvmdPluginVerdict:
 * @DVMD_PLUGIN_DONE: the plugin has done what it was asked for
 * @DVMD_PLUGIN_DECLINED: this is not for this plugin: the next one is asked. It has changed nothing
 * @DVMD_PLUGIN_FAILED: this is for this plugin, and it cannot be done: an error is set, no other plugin is asked
 *
 * How a plugin answers.
 *
 * Since: 0.1
 */
typedef enum
{
  DVMD_PLUGIN_DONE,
  DVMD_PLUGIN_DECLINED,
  DVMD_PLUGIN_FAILED,
} DvmdPluginVerdict;

/**
 * DvmdPluginNode:
 * @name: its name
 * @rank: of its agent; ranks are never given twice
 * @slots: how many processes it is meant for, 0 if nobody said
 * @slots_max: how many it may take at most, 0 for no limit beyond @slots
 * @address: (nullable): for a launcher: how to get there, [USER@]HOST[:PORT]; %NULL for its name
 * @cpus: (nullable): from an allocator: the cpus of the node that it gives, as dvmd_allocation_set_cpus() takes them;
 *   %NULL for all that its agent may use
 * @memory: from an allocator: how many bytes of memory of the node it gives; 0 if nobody said
 *
 * A node as launchers and allocators see it. Borrowed for the time of the call.
 *
 * Since: 0.1
 */
typedef struct
{
  const char *name;
  guint32 rank;
  guint32 slots;
  guint32 slots_max;
  const char *address;
  const char *cpus;
  guint64 memory;
  gpointer reserved[1];
} DvmdPluginNode;

/**
 * DvmdPlugin:
 *
 * What all kinds of plugin have in common: the host. Derive from one of the kinds, not from this.
 *
 * Since: 0.1
 */
#define DVMD_TYPE_PLUGIN (dvmd_plugin_get_type ())
G_DECLARE_DERIVABLE_TYPE (DvmdPlugin, dvmd_plugin, DVMD, PLUGIN, GObject)

/**
 * DvmdPluginClass:
 * @parent_class: the parent
 *
 * Since: 0.1
 */
struct _DvmdPluginClass
{
  GObjectClass parent_class;

  gpointer reserved[4];
};

/**
 * dvmd_plugin_get_host:
 * @self: (type DvmdPlugin): a plugin
 *
 * Returns: (transfer none): the host that the daemon has given to this plugin; it may be used from constructed() on
 * Since: 0.1
 */
DvmdPluginHost *dvmd_plugin_get_host (gpointer self);

/**
 * dvmd_plugin_get_info:
 * @self: (type DvmdPlugin): a plugin
 *
 * Returns: (transfer none): what it was loaded by
 * Since: 0.1
 */
const DvmdPluginInfo *dvmd_plugin_get_info (gpointer self);

G_END_DECLS
