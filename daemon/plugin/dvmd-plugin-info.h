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
#define DVMD_PLUGIN_ABI 2

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
 * DvmdPluginSetting:
 * @key: its name
 * @values: (array zero-terminated=1) (nullable): the words that it may be
 * @least: of a number: the least one
 * @most: of a number: the largest one; 0: it is text
 *
 * A setting that a plugin heeds. Any other value of it keeps a DVM from its start.
 *
 * Since: 0.1
 */
typedef struct
{
  const char *key;
  const char *const *values;
  guint32 least;
  guint32 most;
} DvmdPluginSetting;

/**
 * DVMD_PLUGIN_NO_SETTINGS:
 *
 * The settings of a plugin that has none: whatever is given for it is refused.
 *
 * Since: 0.1
 */
#define DVMD_PLUGIN_NO_SETTINGS ((const DvmdPluginSetting[]){ { NULL } })

/**
 * DvmdPluginInfo:
 * @abi: DVMD_PLUGIN_ABI
 * @size: sizeof (DvmdPluginInfo)
 * @kind: what kind of plugin it is
 * @name: a short name: small letters, digits and dashes; one that no other plugin of its kind has
 * @description: one sentence for people
 * @get_type: the type that is instantiated; called once, after everything else has been checked
 * @words: (array zero-terminated=1): of a mapper: the words of map-by that it takes, as they are written: "slot",
 *   "ppr:N:OBJECT" with two arguments, "pe-list=CPUS" with a value, "near[=NODE]" with a value that may be missing. The
 *   word itself is small letters, digits and dashes, begins with a letter
 * @qualifiers: (array zero-terminated=1) (nullable): of a mapper: what may follow, in the same way: "span", "pe=N".
 * Others are refused before it is asked
 * @rankings: of a mapper: the #DvmdRankBy that it can do; %DVMD_RANK_BY_SLOT always
 * @bindings: of a mapper: the #DvmdBindTo that it can do, with the flags that it heeds; %DVMD_BIND_TO_NONE always
 * @variables: (array zero-terminated=1) (nullable): of an allocator or a launcher for the job of a scheduler, which it
 * finds in the environment of the DVM: names of variables, one of which each such job has
 * @settings: (array zero-terminated=1) (nullable): its settings, up to one without a key: a DVM does not start with
 * others of this plugin, or with wrong values of these; %DVMD_PLUGIN_NO_SETTINGS: none. %NULL: the plugin takes any,
 * and checks them itself
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
  const char *const *words;
  const char *const *qualifiers;
  guint32 rankings;
  guint32 bindings;
  const char *const *variables;
  const DvmdPluginSetting *settings;
  gpointer reserved[2];
} DvmdPluginInfo;

/* The one symbol of a module. */
extern __attribute__ ((visibility ("default"))) const DvmdPluginInfo dvmd_plugin_info;

/* "launcher", "allocator", "mapper"; NULL for anything else */
const char *dvmd_plugin_kind_to_string (DvmdPluginKind kind);

G_END_DECLS
