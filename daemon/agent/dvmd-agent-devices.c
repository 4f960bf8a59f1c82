/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The devices of the processes of a job on this node, and what their libraries are told of them.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-devices.h"

#include <string.h>

#define CUDA_ORDER "CUDA_DEVICE_ORDER"

gboolean
dvmd_agent_find_devices (DvmdAgentJob *job, GError **error)
{
  const DvmdAgentParts *parts = dvmd_agent_get_parts (job->agent);

  if (!dvmd_map_has_devices (job->map))
    return TRUE;
  job->devices = dvmd_map_devices_new (job->map, parts->rank, parts->topology, error);
  if (job->devices != NULL)
    return TRUE;
  g_prefix_error (error, "%s: ", parts->name);
  return FALSE;
}

static const DvmdDeviceGroup *
get_group (const DvmdAgentJob *job, guint local_rank)
{
  return job->devices != NULL ? dvmd_map_devices_get (job->devices, local_rank) : NULL;
}

char *
dvmd_agent_dup_devices (const DvmdAgentJob *job, guint local_rank)
{
  const DvmdDeviceGroup *group = get_group (job, local_rank);

  return group != NULL ? dvmd_device_group_name (group) : NULL;
}

/* ---- variables ---- */

/* A list of those devices of the group that the variable is about. */
typedef struct
{
  GStrvBuilder *variables;
  const DvmdDeviceGroup *group;
  char **given;
} Teller;

/* (transfer full) (nullable): NULL: the variable is not about that device */
typedef char *(*Namer) (const DvmdDevice *device, const char *vendor);

/* Nothing is said of devices of other kinds. */
static void
tell_devices (Teller *self, const char *variable, const char *prefix, Namer name_device, const char *vendor)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < self->group->devices->len; i++)
    {
      g_autofree char *name = name_device (self->group->devices->pdata[i], vendor);

      if (name != NULL)
        g_string_append_printf (text, "%s%s", text->len > 0 ? "," : "", name);
    }
  if (text->len == 0 || g_environ_getenv (self->given, variable) != NULL)
    return;
  g_string_prepend (text, prefix);
  g_string_prepend (text, "=");
  g_string_prepend (text, variable);
  g_strv_builder_add (self->variables, text->str);
}

static char *
name_gpu (const DvmdDevice *device, const char *vendor)
{
  return device->type == DVMD_DEVICE_GPU && strcmp (device->vendor, vendor) == 0 ? g_strdup (device->uuid) : NULL;
}

/* The adapters of Omni-Path have a library of their own. */
static char *
name_fabric (const DvmdDevice *device, const char *omni_path)
{
  if (device->type != DVMD_DEVICE_NETWORK || device->fabric[0] == '\0')
    return NULL;
  return g_str_has_prefix (device->fabric, "hfi") == (omni_path != NULL) ? g_strdup (device->fabric) : NULL;
}

/* ":1": the first port of an adapter. */
static char *
name_for_ucx (const DvmdDevice *device, const char *vendor)
{
  g_autofree char *adapter = NULL;

  if (device->type == DVMD_DEVICE_NETWORK && device->fabric[0] == '\0')
    return g_strdup (device->names[0]);
  adapter = name_fabric (device, NULL);
  return adapter != NULL ? g_strconcat (adapter, ":1", NULL) : NULL;
}

/* A GPU without a uuid has its number on the bus, which CUDA takes only if it counts so. */
static gboolean
tell_order (Teller *self, GError **error)
{
  const char *order = g_environ_getenv (self->given, CUDA_ORDER);
  gboolean numbered = FALSE;

  for (guint i = 0; i < self->group->devices->len; i++)
    {
      g_autofree char *name = name_gpu (self->group->devices->pdata[i], "nvidia");

      numbered = numbered || (name != NULL && g_ascii_isdigit (name[0]));
    }
  if (!numbered || g_environ_getenv (self->given, "CUDA_VISIBLE_DEVICES") != NULL)
    return TRUE;
  if (order == NULL)
    g_strv_builder_add (self->variables, CUDA_ORDER "=PCI_BUS_ID");
  else if (strcmp (order, "PCI_BUS_ID") != 0)
    {
      g_set_error (
          error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
          "map-by: the GPUs of this node are known by their numbers on the bus alone, and the job has set %s to "
          "another order: it can be PCI_BUS_ID",
          CUDA_ORDER);
      return FALSE;
    }
  return TRUE;
}

GStrv
dvmd_agent_dup_device_variables (const DvmdAgentJob *job, guint local_rank, const char *const *given, GError **error)
{
  g_autoptr (GStrvBuilder) variables = g_strv_builder_new ();
  g_autofree char *names = dvmd_agent_dup_devices (job, local_rank);
  g_autofree char *all = g_strconcat ("DVM_DEVICES=", names, NULL);
  Teller self = { variables, get_group (job, local_rank), (char **)given };

  if (self.group == NULL)
    return g_new0 (char *, 1);
  g_strv_builder_add (variables, all);
  if (!tell_order (&self, error))
    return NULL;
  tell_devices (&self, "CUDA_VISIBLE_DEVICES", "", name_gpu, "nvidia");
  tell_devices (&self, "ROCR_VISIBLE_DEVICES", "", name_gpu, "amd");
  tell_devices (&self, "ZE_AFFINITY_MASK", "", name_gpu, "intel");
  /* "=": these names, and not all that begin so. */
  tell_devices (&self, "NCCL_IB_HCA", "=", name_fabric, NULL);
  tell_devices (&self, "UCX_NET_DEVICES", "", name_for_ucx, NULL);
  tell_devices (&self, "PSM3_NIC", "", name_fabric, "hfi");
  return g_strv_builder_end (variables);
}
