/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs are hidden from other users in part, with the setting `private`. Answers to them have empty values instead;
 * signals of a message bus go to everybody there, and have none of these values at all.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvm-dbus-interfaces.h"
#include "dvmd-bus-caller.h"
#include "dvmd-bus-hidden.h"
#include "dvmd-bus-parts.h"
#include "dvmd-rights.h"

#include <string.h>

/* These properties of a job, and keys of the answer of Wait, are given by the submitter or quote what it has given. */
static const char *const hidden[] = { "Command",         "Label",  "Name",         "OutputError",      "Reason",
                                      "ReasonArguments", "reason", "output-error", "reason-arguments", NULL };

gboolean
dvmd_bus_hides_from (DvmdBusServer *server, const DvmdBusCaller *caller)
{
  if (!server->hides)
    return FALSE;
  return caller == NULL || !caller->known
         || !dvmd_core_has_right (server->core, &caller->requester, DVMD_RIGHT_DVM, NULL, NULL);
}

gboolean
dvmd_bus_is_hidden (const char *name)
{
  return g_strv_contains (hidden, name);
}

/* An empty one would say that all output was written, and that the job ended well. */
static gboolean
is_output_error (const char *name, GVariant *value)
{
  return (strcmp (name, "OutputError") == 0 || strcmp (name, "output-error") == 0)
         && g_variant_get_string (value, NULL)[0] != '\0';
}

GVariant *
dvmd_bus_hide_value (const char *name, GVariant *value)
{
  g_autoptr (GVariant) whole = g_variant_ref_sink (value);

  if (is_output_error (name, whole))
    return g_variant_new_string ("output of the job cannot be written");
  return g_variant_is_of_type (whole, G_VARIANT_TYPE_STRING) ? g_variant_new_string ("") : g_variant_new_strv (NULL, 0);
}

GVariant *
dvmd_bus_hide_values (GVariant *dict)
{
  g_autoptr (GVariant) whole = g_variant_ref_sink (dict);
  GVariantBuilder builder;
  GVariantIter iter;
  const char *name;
  GVariant *value;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_iter_init (&iter, whole);
  while (g_variant_iter_next (&iter, "{&sv}", &name, &value))
    {
      g_variant_builder_add (&builder, "{sv}", name,
                             dvmd_bus_is_hidden (name) ? dvmd_bus_hide_value (name, value) : value);
      g_variant_unref (value);
    }
  return g_variant_builder_end (&builder);
}

/* ---- signals ---- */

/* left_out: (nullable): gets the names */
static GVariant *
leave_out (GVariant *dict, GVariantBuilder *left_out)
{
  GVariantBuilder builder;
  GVariantIter iter;
  const char *name;
  GVariant *value;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_iter_init (&iter, dict);
  while (g_variant_iter_loop (&iter, "{&sv}", &name, &value))
    if (!dvmd_bus_is_hidden (name))
      g_variant_builder_add (&builder, "{sv}", name, value);
    else if (left_out != NULL)
      g_variant_builder_add (left_out, "s", name);
  return g_variant_builder_end (&builder);
}

/* A cache learns which of its values are old. */
static GVariant *
hide_changed (GVariant *body)
{
  g_autoptr (GVariant) changed = NULL;
  GVariantBuilder left_out;
  const char *interface;
  GVariant *rest;

  g_variant_get (body, "(&s@a{sv}@as)", &interface, &changed, NULL);
  if (strcmp (interface, dvm_dbus_job_interface.name) != 0)
    return body;
  g_variant_builder_init (&left_out, G_VARIANT_TYPE_STRING_ARRAY);
  rest = leave_out (changed, &left_out);
  return g_variant_new ("(s@a{sv}as)", interface, rest, &left_out);
}

static GVariant *
hide_added (GVariant *body)
{
  g_autoptr (GVariant) interfaces = NULL;
  g_autoptr (GVariant) values = NULL;
  GVariantBuilder builder;
  const char *path;

  g_variant_get (body, "(&o@a{sa{sv}})", &path, &interfaces);
  values = g_variant_lookup_value (interfaces, dvm_dbus_job_interface.name, G_VARIANT_TYPE_VARDICT);
  if (values == NULL)
    return body;
  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a{sa{sv}}"));
  g_variant_builder_add (&builder, "{s@a{sv}}", dvm_dbus_job_interface.name, leave_out (values, NULL));
  return g_variant_new ("(oa{sa{sv}})", path, &builder);
}

static GVariant *
hide_job_changes (GVariant *body)
{
  g_autoptr (GVariantIter) iter = NULL;
  GVariantBuilder builder;
  guint old_state, new_state;
  const char *path;

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a(ouus)"));
  g_variant_get (body, "(a(ouus))", &iter);
  while (g_variant_iter_next (iter, "(&ouu&s)", &path, &old_state, &new_state, NULL))
    g_variant_builder_add (&builder, "(ouus)", path, old_state, new_state, "");
  return g_variant_new ("(a(ouus))", &builder);
}

static GVariant *
hide_state (GVariant *body)
{
  guint old_state, new_state;

  g_variant_get (body, "(uu&s)", &old_state, &new_state, NULL);
  return g_variant_new ("(uus)", old_state, new_state, "");
}

GVariant *
dvmd_bus_hide_signal (const char *interface, const char *signal, GVariant *body)
{
  if (strcmp (signal, "PropertiesChanged") == 0)
    return hide_changed (body);
  if (strcmp (signal, "InterfacesAdded") == 0)
    return hide_added (body);
  if (strcmp (signal, "JobsChanged") == 0)
    return hide_job_changes (body);
  if (strcmp (signal, "StateChanged") == 0 && strcmp (interface, dvm_dbus_job_interface.name) == 0)
    return hide_state (body);
  return body;
}
