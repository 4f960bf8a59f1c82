/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-host.h"
#include "dvmd-plugin.h"
#include "dvmd-reaper.h"
#include "dvmd-spawn.h"

G_BEGIN_DECLS

/*
 * The plugins of one DVM: those of the program and those of the search path. What cannot be loaded is refused with a
 * sentence in the log, and the DVM lives.
 */

typedef struct _DvmdPlugins DvmdPlugins;

typedef struct
{
  const char *path;     /* (nullable): directories with colons between them; NULL: no files */
  const char *disabled; /* (nullable): "mapper-round-robin allocator-hosts" */
  const char *settings; /* (nullable): "mapper-site.key=value allocator-x.y=z"; '' and \ quote as in a shell */
} DvmdPluginsSettings;

typedef struct
{
  const DvmdPluginInfo *info;
  char *path; /* NULL: part of the program */
  GType type;
  gpointer instance; /* DvmdPlugin, NULL when it was disabled from the start */
  gpointer plugin;   /* DvmdPlugin, borrowed; NULL: disabled */
} DvmdPluginEntry;

/* NULL with an error for settings that cannot be understood; a plugin that is refused is none. */
DvmdPlugins *dvmd_plugins_new (const DvmdPluginsSettings *settings, GError **error);
/* BAD_PARAM names the first one in text, a value of plugin-settings, whose plugin there is not, or that its plugin
 * does not have, or not with this value. */
gboolean dvmd_plugins_check_settings (DvmdPlugins *self, const char *text, GError **error);
void dvmd_plugins_free (DvmdPlugins *self);

/*
 * One file. The error says why it is refused. Files that are loaded stay in the process.
 */
gboolean dvmd_plugins_load_file (DvmdPlugins *self, const char *path, GError **error);

/* Other ones are disabled from now on: as the setting. What a disabled one has begun it ends. */
void dvmd_plugins_set_disabled (DvmdPlugins *self, const char *disabled);

/* From here on plugins can spawn commands; to be called again with NULL before the two are freed. */
void dvmd_plugins_set_processes (DvmdPlugins *self, DvmdSpawner *spawner, DvmdReaper *reaper);

/* And, by a service of the controller, on the nodes of agents; NULL likewise. */
void dvmd_plugins_set_elsewhere (DvmdPlugins *self, const DvmdHostElsewhere *elsewhere, gpointer user_data);

/* (element-type DvmdPluginEntry): all that were loaded, in the order in which they are asked. */
GPtrArray *dvmd_plugins_list (DvmdPlugins *self);
/* (element-type DvmdPlugin): the active ones of a kind, in the order in which they are asked. */
GPtrArray *dvmd_plugins_get_active (DvmdPlugins *self, DvmdPluginKind kind);
/* (nullable): what a plugin is called */
const char *dvmd_plugins_get_name (DvmdPlugins *self, gpointer plugin);
/* Whether the environment has variables of a job that one of the active allocators finds its nodes in. */
gboolean dvmd_plugins_find_job (DvmdPlugins *self);
/* (transfer full) (nullable): the variables of which none is set, with commas between them, if a plugin of this kind
 * and name is for jobs of a scheduler alone and the DVM is in none; NULL: it is no such one, or there is a job */
char *dvmd_plugins_find_missing (DvmdPlugins *self, DvmdPluginKind kind, const char *name);
/* The answer of Manager.ListPlugins: (transfer floating) aa{sv} */
GVariant *dvmd_plugins_to_variant (DvmdPlugins *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdPlugins, dvmd_plugins_free)

G_END_DECLS
