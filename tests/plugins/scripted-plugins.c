/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The table of the program's plugins, with those that do what a script says before all others.
 */

#include "config.h"

#include "dvmd-plugins-private.h"

extern const DvmdPluginInfo dvmd_plugin_info_mapper_test;
extern const DvmdPluginInfo dvmd_plugin_info_launcher_test;
extern const DvmdPluginInfo dvmd_plugin_info_allocator_test;
extern const DvmdPluginInfo dvmd_plugin_info_allocator_other;
extern const DvmdPluginInfo dvmd_plugin_info_allocator_hosts;
extern const DvmdPluginInfo dvmd_plugin_info_allocator_slurm;
extern const DvmdPluginInfo dvmd_plugin_info_launcher_local;
extern const DvmdPluginInfo dvmd_plugin_info_launcher_slurm;
extern const DvmdPluginInfo dvmd_plugin_info_launcher_ssh;
extern const DvmdPluginInfo dvmd_plugin_info_mapper_ppr;
extern const DvmdPluginInfo dvmd_plugin_info_mapper_round_robin;

const DvmdPluginInfo *const dvmd_builtin_plugins[] = {
  &dvmd_plugin_info_allocator_test, &dvmd_plugin_info_allocator_other,    &dvmd_plugin_info_launcher_test,
  &dvmd_plugin_info_mapper_test,    &dvmd_plugin_info_allocator_slurm,    &dvmd_plugin_info_allocator_hosts,
  &dvmd_plugin_info_launcher_local, &dvmd_plugin_info_launcher_slurm,     &dvmd_plugin_info_launcher_ssh,
  &dvmd_plugin_info_mapper_ppr,     &dvmd_plugin_info_mapper_round_robin, NULL,
};
