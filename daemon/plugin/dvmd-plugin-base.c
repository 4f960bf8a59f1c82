/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The base class of all plugins.
 */

#include "config.h"

#include "dvmd-plugin-base.h"

typedef struct
{
  DvmdPluginHost *host;
  const DvmdPluginInfo *info;
} DvmdPluginPrivate;

enum
{
  PROP_0,
  PROP_HOST,
  PROP_INFO,
  N_PROPERTIES
};

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (DvmdPlugin, dvmd_plugin, G_TYPE_OBJECT)

static void
dvmd_plugin_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  DvmdPluginPrivate *priv = dvmd_plugin_get_instance_private (DVMD_PLUGIN (object));

  if (id == PROP_HOST)
    priv->host = g_value_dup_object (value);
  else if (id == PROP_INFO)
    priv->info = g_value_get_pointer (value);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static void
dvmd_plugin_dispose (GObject *object)
{
  DvmdPluginPrivate *priv = dvmd_plugin_get_instance_private (DVMD_PLUGIN (object));

  g_clear_object (&priv->host);
  G_OBJECT_CLASS (dvmd_plugin_parent_class)->dispose (object);
}

static void
dvmd_plugin_class_init (DvmdPluginClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->set_property = dvmd_plugin_set_property;
  object_class->dispose = dvmd_plugin_dispose;
  g_object_class_install_property (
      object_class, PROP_HOST,
      g_param_spec_object ("host", NULL, NULL, DVMD_TYPE_PLUGIN_HOST,
                           G_PARAM_WRITABLE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS));
  g_object_class_install_property (
      object_class, PROP_INFO,
      g_param_spec_pointer ("info", NULL, NULL, G_PARAM_WRITABLE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS));
}

static void
dvmd_plugin_init (DvmdPlugin *self)
{
}

DvmdPluginHost *
dvmd_plugin_get_host (gpointer self)
{
  DvmdPluginPrivate *priv = dvmd_plugin_get_instance_private (DVMD_PLUGIN (self));

  return priv->host;
}

const DvmdPluginInfo *
dvmd_plugin_get_info (gpointer self)
{
  DvmdPluginPrivate *priv = dvmd_plugin_get_instance_private (DVMD_PLUGIN (self));

  return priv->info;
}
