/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Objects are watched: what of them has changed is known by the values that were sent last.
 */

#include "config.h"

#include "dvmd-bus-call.h"
#include "dvmd-bus-log.h"
#include "dvmd-bus-watch.h"

#include <string.h>

/* At most ten times a second. They can be costly to look at too, as lists of jobs are. */
static gboolean
is_counter (const char *name)
{
  static const char *const counters[] = { "HeldJobs", "Jobs", "JobsHeld", "JobsRunning", "Owners", "SlotsInUse", NULL };

  return g_str_has_prefix (name, "Num") || g_strv_contains (counters, name);
}

static gboolean
is_told (const GDBusPropertyInfo *info)
{
  const char *emits = g_dbus_annotation_info_lookup (info->annotations,
                                                     "org.freedesktop.DBus.Property.EmitsChangedSignal");

  return emits == NULL || strcmp (emits, "true") == 0;
}

const DvmdBusClass *
dvmd_bus_get_class (DvmdBusKind kind)
{
  static const DvmdBusClass *const classes[] = {
    [DVMD_BUS_MANAGER] = &dvmd_bus_manager,          [DVMD_BUS_JOB] = &dvmd_bus_jobs.klass,
    [DVMD_BUS_NODE] = &dvmd_bus_nodes.klass,         [DVMD_BUS_SESSION] = &dvmd_bus_sessions.klass,
    [DVMD_BUS_CAMPAIGN] = &dvmd_bus_campaigns.klass,
  };

  return classes[kind];
}

guint64
dvmd_bus_get_fields (DvmdBusKind kind, gboolean counters)
{
  GDBusPropertyInfo **properties = dvmd_bus_get_class (kind)->interface->properties;
  guint64 fields = 0;

  for (guint i = 0; properties[i] != NULL; i++)
    if (is_told (properties[i]) && is_counter (properties[i]->name) == counters)
      fields |= DVMD_BUS_FIELD (i);
  return fields;
}

DvmdBusWatch *
dvmd_bus_watch_new (DvmdBusSignals *signals, DvmdBusKind kind, guint id, gpointer object)
{
  DvmdBusWatch *self = g_new0 (DvmdBusWatch, 1);

  self->key.kind = kind;
  self->key.id = id;
  self->signals = signals;
  self->klass = dvmd_bus_get_class (kind);
  self->object = object != NULL ? g_object_ref (object) : NULL;
  if (kind != DVMD_BUS_JOB)
    self->sent = g_new0 (GVariant *, g_strv_length ((char **)self->klass->interface->properties));
  return self;
}

void
dvmd_bus_watch_free (DvmdBusWatch *self)
{
  for (guint i = 0; self->sent != NULL && self->klass->interface->properties[i] != NULL; i++)
    g_clear_pointer (&self->sent[i], g_variant_unref);
  g_free (self->sent);
  if (self->key.kind == DVMD_BUS_JOB)
    {
      g_clear_signal_handler (&self->notify_handler, dvmd_job_get_record (self->object));
      g_clear_signal_handler (&self->proc_handler, dvmd_job_get_record (self->object));
    }
  g_clear_object (&self->object);
  g_free (self);
}

/* Whether the value is another one than that which was sent. */
static gboolean
look (DvmdBusWatch *self, DvmdBusServer *server, guint index)
{
  const GDBusPropertyInfo *info = self->klass->interface->properties[index];
  g_autoptr (GVariant) value = NULL;

  if (!is_told (info))
    return FALSE;
  value = g_variant_ref_sink (self->klass->get_property (server, self->object, info->name));
  if (self->sent[index] != NULL && g_variant_equal (value, self->sent[index]))
    return FALSE;
  g_clear_pointer (&self->sent[index], g_variant_unref);
  self->sent[index] = g_steal_pointer (&value);
  return TRUE;
}

void
dvmd_bus_watch_reset (DvmdBusWatch *self, DvmdBusServer *server)
{
  for (guint i = 0; self->klass->interface->properties[i] != NULL; i++)
    look (self, server, i);
}

guint64
dvmd_bus_watch_take (DvmdBusWatch *self, DvmdBusServer *server, guint64 fields, gboolean with_counters)
{
  guint64 taken = fields | self->left;
  guint64 changed = 0;

  if (self->sent != NULL)
    taken = G_MAXUINT64;
  self->left = with_counters ? 0 : taken & dvmd_bus_get_fields (self->key.kind, TRUE);
  taken &= ~self->left;
  if (self->sent == NULL)
    return taken;
  for (guint i = 0; self->klass->interface->properties[i] != NULL; i++)
    if ((taken & DVMD_BUS_FIELD (i)) != 0 && look (self, server, i))
      changed |= DVMD_BUS_FIELD (i);
  return changed;
}

GVariant *
dvmd_bus_watch_get_values (DvmdBusWatch *self, DvmdBusServer *server, guint64 fields)
{
  GDBusPropertyInfo **properties = self->klass->interface->properties;
  GVariantBuilder builder;

  if (self->sent == NULL)
    return dvmd_bus_get_some (server, self->klass, self->object, fields);
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  for (guint i = 0; properties[i] != NULL; i++)
    if ((fields & DVMD_BUS_FIELD (i)) != 0 && self->sent[i] != NULL)
      g_variant_builder_add (&builder, "{sv}", properties[i]->name, self->sent[i]);
  return g_variant_builder_end (&builder);
}
