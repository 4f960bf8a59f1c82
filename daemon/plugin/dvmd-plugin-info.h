/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib-object.h>

G_BEGIN_DECLS

/**
 * DVMD_PLUGIN_ABI:
 *
 * The version of this interface. A plugin that was built for another one is refused: it grows with every change that
 * would make an older plugin misread what it is given.
 *
 * Since: 0.1
 */
#define DVMD_PLUGIN_ABI 1

/**
 * DvmdPluginKind:
 * @DVMD_PLUGIN_LAUNCHER: starts and ends agents; its type derives from DvmdLauncher
 * @DVMD_PLUGIN_ALLOCATOR: finds, extends and gives back nodes; its type derives from DvmdAllocator
 * @DVMD_PLUGIN_MAPPER: places the processes of a job; its type derives from DvmdMapper
 *
 * What varies from site to site.
 *
 * Since: 0.1
 */
typedef enum
{
  DVMD_PLUGIN_LAUNCHER = 1,
  DVMD_PLUGIN_ALLOCATOR = 2,
  DVMD_PLUGIN_MAPPER = 3,
} DvmdPluginKind;

/**
 * DvmdPluginInfo:
 * @abi: DVMD_PLUGIN_ABI
 * @size: sizeof (DvmdPluginInfo)
 * @kind: what kind of plugin it is
 * @name: a short name: small letters, digits and dashes; one that no other plugin of its kind has
 * @description: one sentence for people
 * @get_type: the type that is instantiated; called once, after everything else has been checked
 *
 * What a plugin says of itself. A module exports exactly one, under the name dvmd_plugin_info.
 *
 * Since: 0.1
 */
typedef struct
{
  guint32 abi;
  guint32 size;
  DvmdPluginKind kind;
  const char *name;
  const char *description;
  GType (*get_type) (void);
} DvmdPluginInfo;

/* The one symbol of a module. */
extern __attribute__ ((visibility ("default"))) const DvmdPluginInfo dvmd_plugin_info;

/* "launcher", "allocator", "mapper"; NULL for anything else */
const char *dvmd_plugin_kind_to_string (DvmdPluginKind kind);

G_END_DECLS
