/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Get and GetAll are answered here and not by GDBus, because the objects of forgotten jobs say NotFound.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-call.h"
#include "dvmd-bus-hidden.h"
#include "dvmd-bus-log.h"

GVariant *
dvmd_bus_get_some (DvmdBusServer *server, const DvmdBusClass *klass, gpointer object, guint64 fields)
{
  const GDBusInterfaceInfo *info = klass->interface;
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  for (guint i = 0; info->properties[i] != NULL; i++)
    {
      gboolean wanted = (fields & DVMD_BUS_FIELD (i)) != 0;
      GVariant *value = wanted ? klass->get_property (server, object, info->properties[i]->name) : NULL;

      if (value != NULL)
        g_variant_builder_add (&builder, "{sv}", info->properties[i]->name, value);
    }
  return g_variant_builder_end (&builder);
}

GVariant *
dvmd_bus_get_all (DvmdBusServer *server, const DvmdBusClass *klass, gpointer object)
{
  return dvmd_bus_get_some (server, klass, object, G_MAXUINT64);
}

GVariant *
dvmd_bus_make_interfaces (const DvmdBusClass *klass, GVariant *values)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a{sa{sv}}"));
  g_variant_builder_add (&builder, "{s@a{sv}}", klass->interface->name, values);
  return g_variant_builder_end (&builder);
}

GVariant *
dvmd_bus_get_interfaces (DvmdBusServer *server, const DvmdBusClass *klass, gpointer object)
{
  return dvmd_bus_make_interfaces (klass, dvmd_bus_get_all (server, klass, object));
}

gboolean
dvmd_bus_is_properties_call (GDBusMethodInvocation *invocation)
{
  return g_strcmp0 (g_dbus_method_invocation_get_interface_name (invocation), DVMD_BUS_PROPERTIES_INTERFACE) == 0;
}

void
dvmd_bus_handle_properties (DvmdBusServer *server, const DvmdBusClass *klass, gpointer object, gboolean hides,
                            GDBusMethodInvocation *invocation)
{
  GVariant *parameters = g_dbus_method_invocation_get_parameters (invocation);
  const char *method = g_dbus_method_invocation_get_method_name (invocation);
  const char *name = NULL;
  GVariant *value;

  /* GDBus has looked at interface, name and access already. */
  if (g_str_equal (method, "GetAll"))
    {
      value = dvmd_bus_get_all (server, klass, object);
      dvmd_bus_return_value (invocation, g_variant_new ("(@a{sv})", hides ? dvmd_bus_hide_values (value) : value));
      return;
    }
  if (!g_str_equal (method, "Get"))
    {
      dvmd_bus_return_error (invocation, g_error_new (DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                                                      "The properties of %s can only be read", klass->interface->name));
      return;
    }
  g_variant_get_child (parameters, 1, "&s", &name);
  value = klass->get_property (server, object, name);
  if (value != NULL && hides && dvmd_bus_is_hidden (name))
    value = dvmd_bus_hide_value (name, value);
  if (value != NULL)
    dvmd_bus_return_value (invocation, g_variant_new ("(v)", value));
  else
    dvmd_bus_return_error (invocation, g_error_new (DVM_ERROR, DVM_ERROR_NOT_FOUND, "%s has no property %s",
                                                    klass->interface->name, name));
}
