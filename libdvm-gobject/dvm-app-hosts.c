/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The nodes that an application may use: what its hosts and its hostfile say together.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-spec"

#include <glib/gi18n-lib.h>

#include "dvm-app-spec-private.h"
#include "dvm-placement-private.h"

static GQuark
loaded_quark (void)
{
  return g_quark_from_static_string ("dvm-job-spec-loaded");
}

static GQuark
choice_quark (void)
{
  return g_quark_from_static_string ("dvm-app-spec-choice");
}

gboolean
_dvm_app_spec_read_hosts (DvmAppSpec *self, const char *place, DvmHosts **hosts, DvmHostsRead *read, GError **error)
{
  g_autofree char *what = g_strdup_printf ("%shosts", place);
  g_autoptr (DvmHosts) list = _dvm_hosts_new ();

  for (gsize i = 0; self->hosts != NULL && self->hosts[i] != NULL; i++)
    if (!_dvm_hosts_add_list (list, self->hosts[i], what, read, error))
      return FALSE;
  if (hosts != NULL)
    *hosts = g_steal_pointer (&list);
  return TRUE;
}

/* *hosts is NULL when nothing is said. */
static gboolean
read_choice (DvmAppSpec *self, const char *place, DvmHosts **hosts, DvmHostsRead *read, GError **error)
{
  g_autoptr (DvmHosts) file = NULL;
  g_autoptr (DvmHosts) list = NULL;

  *hosts = NULL;
  if (!_dvm_app_spec_read_hosts (self, place, &list, read, error))
    return FALSE;
  if (self->hostfile == NULL)
    {
      if (_dvm_hosts_get_n (list) > 0)
        *hosts = g_steal_pointer (&list);
      return TRUE;
    }
  file = _dvm_hosts_new ();
  if (!_dvm_hosts_add_file (file, self->hostfile, read, error))
    return FALSE;
  /* It would be all nodes otherwise. */
  if (_dvm_hosts_get_n (file) == 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%s: no host is named"), self->hostfile);
      return FALSE;
    }
  *hosts = _dvm_hosts_get_n (list) > 0 ? _dvm_hosts_filter (file, list, error) : g_steal_pointer (&file);
  return *hosts != NULL;
}

static gboolean
load (DvmAppSpec *self, const char *place, DvmHostsRead *read, GError **error)
{
  DvmHosts *hosts;

  if (!read_choice (self, place, &hosts, read, error))
    return FALSE;
  if (hosts != NULL)
    g_object_set_qdata_full (G_OBJECT (self), choice_quark (), hosts, (GDestroyNotify)_dvm_hosts_free);
  else
    g_object_set_qdata (G_OBJECT (self), choice_quark (), NULL);
  return TRUE;
}

gboolean
_dvm_job_spec_load_hosts (DvmJobSpec *self, const char *place, GError **error)
{
  DvmHostsRead read = { 0 };

  return _dvm_job_spec_load_hosts_counted (self, place, &read, error);
}

gboolean
_dvm_job_spec_load_hosts_counted (DvmJobSpec *self, const char *place, DvmHostsRead *read, GError **error)
{
  for (guint i = 0; i < dvm_job_spec_get_n_apps (self); i++)
    {
      g_autofree char *app_place = g_strdup_printf ("%sapps[%u].", place, i);

      if (!load (dvm_job_spec_get_app (self, i), app_place, read, error))
        return FALSE;
    }
  if (!_dvm_job_spec_load_additions (self, place, read, error)
      || !_dvm_job_spec_load_map_files (self, place, read, error))
    return FALSE;
  g_object_set_qdata (G_OBJECT (self), loaded_quark (), self);
  return TRUE;
}

gboolean
_dvm_job_spec_has_loaded_hosts (DvmJobSpec *self)
{
  return g_object_get_qdata (G_OBJECT (self), loaded_quark ()) != NULL;
}

DvmHosts *
_dvm_app_spec_get_choice (DvmAppSpec *self)
{
  DvmHosts *hosts = g_object_get_qdata (G_OBJECT (self), choice_quark ());

  /* A description without a file has not been loaded: it has been validated all the same. */
  if (hosts == NULL && self->hostfile == NULL && self->hosts != NULL && load (self, "", NULL, NULL))
    hosts = g_object_get_qdata (G_OBJECT (self), choice_quark ());
  return hosts;
}
