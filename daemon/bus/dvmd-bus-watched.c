/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The values of an object are compared with those sent last, so that changes alone are told.
 */

#include "config.h"

#include "dvmd-bus-watched.h"

#include <string.h>

/* At most ten times a second. They can be costly to look at too, as lists of jobs are. */
static const char *const counters[] = { "HeldJobs", "Jobs", "JobsHeld", "JobsRunning", "Owners", "SlotsInUse", NULL };

static guint
count_properties (const DvmdBusWatched *self)
{
  guint n = 0;

  while (self->klass->interface->properties[n] != NULL)
    n++;
  return n;
}

/* (nullable): a property that is not told of */
static GVariant *
get_value (DvmdBusWatched *self, DvmdBusServer *server, guint index)
{
  const GDBusPropertyInfo *info = self->klass->interface->properties[index];
  const char *emits = g_dbus_annotation_info_lookup (info->annotations,
                                                     "org.freedesktop.DBus.Property.EmitsChangedSignal");

  if (emits != NULL && strcmp (emits, "true") != 0)
    return NULL;
  return g_variant_ref_sink (self->klass->get_property (server, self->object, info->name));
}

static void
word_change_clear (gpointer data)
{
  DvmdBusWordChange *change = data;

  g_free (change->old_state);
  g_free (change->new_state);
  g_free (change->reason);
}

DvmdBusWatched *
dvmd_bus_watched_new (const DvmdBusClass *klass, const char *folder, guint id, gpointer object)
{
  DvmdBusWatched *self = g_new0 (DvmdBusWatched, 1);

  self->klass = klass;
  self->object = object != NULL ? g_object_ref (object) : NULL;
  self->id = id;
  self->path = folder != NULL ? g_strdup_printf ("%s/%u", folder, id) : g_strdup (DVMD_BUS_MANAGER_PATH);
  self->states = g_array_new (FALSE, FALSE, sizeof (DvmdBusWordChange));
  g_array_set_clear_func (self->states, word_change_clear);
  self->sent = g_new0 (GVariant *, count_properties (self));
  return self;
}

void
dvmd_bus_watched_free (DvmdBusWatched *self)
{
  guint n = count_properties (self);

  for (guint i = 0; i < n; i++)
    g_clear_pointer (&self->sent[i], g_variant_unref);
  g_free (self->sent);
  g_array_unref (self->states);
  g_free (self->path);
  g_clear_object (&self->object);
  g_free (self);
}

void
dvmd_bus_watched_reset (DvmdBusWatched *self, DvmdBusServer *server)
{
  guint n = count_properties (self);

  for (guint i = 0; i < n; i++)
    {
      g_clear_pointer (&self->sent[i], g_variant_unref);
      self->sent[i] = get_value (self, server, i);
    }
}

GVariant *
dvmd_bus_watched_get_sent (DvmdBusWatched *self)
{
  guint n = count_properties (self);
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  for (guint i = 0; i < n; i++)
    if (self->sent[i] != NULL)
      g_variant_builder_add (&builder, "{sv}", self->klass->interface->properties[i]->name, self->sent[i]);
  return g_variant_builder_end (&builder);
}

GVariant *
dvmd_bus_watched_take (DvmdBusWatched *self, DvmdBusServer *server, gboolean with_counters, gboolean *left)
{
  guint n_properties = count_properties (self);
  GVariantBuilder builder;
  guint n = 0;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  for (guint i = 0; i < n_properties; i++)
    {
      const char *name = self->klass->interface->properties[i]->name;
      g_autoptr (GVariant) value = NULL;

      if (!with_counters && g_strv_contains (counters, name))
        {
          *left = TRUE;
          continue;
        }
      value = get_value (self, server, i);
      if (value == NULL || (self->sent[i] != NULL && g_variant_equal (value, self->sent[i])))
        continue;
      g_variant_builder_add (&builder, "{sv}", name, value);
      g_clear_pointer (&self->sent[i], g_variant_unref);
      self->sent[i] = g_steal_pointer (&value);
      n++;
    }
  if (n > 0)
    return g_variant_builder_end (&builder);
  g_variant_builder_clear (&builder);
  return NULL;
}

void
dvmd_bus_watched_add_state (DvmdBusWatched *self, const char *old_state, const char *new_state, const char *reason)
{
  DvmdBusWordChange change = { g_strdup (old_state), g_strdup (new_state), g_strdup (reason != NULL ? reason : "") };

  g_array_append_val (self->states, change);
}
