/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The nodes that a job wants added to the DVM before it is placed.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-spec"

#include <glib/gi18n-lib.h>

#include "dvm-job-spec-fields-private.h"
#include "dvm-words-private.h"

static GQuark
additions_quark (void)
{
  return g_quark_from_static_string ("dvm-job-spec-additions");
}

/**
 * dvm_job_spec_get_add_hosts:
 * @self: a job description
 *
 * The nodes that are added to the DVM before the job is placed.
 *
 * Returns: (transfer none) (array zero-terminated=1): the names, empty for none
 * Since: 0.1
 */
const char *const *
dvm_job_spec_get_add_hosts (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return _dvm_record_get_strv (self->add_hosts);
}

/**
 * dvm_job_spec_set_add_hosts:
 * @self: a job description
 * @hosts: (nullable) (array zero-terminated=1): "node9", or with a number of slots "node9:2", each
 *
 * Sets the nodes that are added to the DVM before the job is placed. The DVM must be elastic. A node that it has
 * already stays as it is.
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_add_hosts (DvmJobSpec *self, const char *const *hosts)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_strv (self, &_dvm_job_spec_codec, &self->add_hosts, hosts);
}

/**
 * dvm_job_spec_get_add_hostfile:
 * @self: a job description
 *
 * The file that names nodes that are added to the DVM before the job is placed.
 *
 * Returns: (transfer none) (nullable): its absolute path, %NULL for none
 * Since: 0.1
 */
const char *
dvm_job_spec_get_add_hostfile (DvmJobSpec *self)
{
  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  return self->add_hostfile;
}

/**
 * dvm_job_spec_set_add_hostfile:
 * @self: a job description
 * @path: (nullable): an absolute path, %NULL for none
 *
 * Sets the file that names nodes that are added to the DVM before the job is placed; the DVM reads it. Beside
 * [method@JobSpec.set_add_hosts] those are added that the list chooses among the hosts of the file.
 *
 * Since: 0.1
 */
void
dvm_job_spec_set_add_hostfile (DvmJobSpec *self, const char *path)
{
  g_return_if_fail (DVM_IS_JOB_SPEC (self));

  _dvm_record_set_string (self, &_dvm_job_spec_codec, &self->add_hostfile, path);
}

/* ---- for the daemon ---- */

gboolean
_dvm_job_spec_check_additions (DvmJobSpec *self, const char *place, DvmHostsRead *read, GError **error)
{
  g_autofree char *what = g_strdup_printf ("%sadd-hosts", place);
  g_autofree char *shown = NULL;
  g_autoptr (DvmHosts) hosts = NULL;

  for (gsize i = 0; self->add_hosts != NULL && self->add_hosts[i] != NULL; i++)
    if (!g_utf8_validate (self->add_hosts[i], -1, NULL))
      {
        g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%s is not UTF-8"), what);
        return FALSE;
      }
  if (self->add_hostfile != NULL && self->add_hostfile[0] != '/')
    {
      shown = _dvm_words_show (self->add_hostfile);
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%s%s: “%s” is not an absolute path"), place,
                   "add-hostfile", shown);
      return FALSE;
    }
  if (self->add_hosts == NULL || self->add_hosts[0] == NULL)
    return TRUE;
  hosts = _dvm_hosts_read_new ((const char *const *)self->add_hosts, NULL, what, read, error);
  return hosts != NULL;
}

gboolean
_dvm_job_spec_load_additions (DvmJobSpec *self, const char *place, DvmHostsRead *read, GError **error)
{
  g_autofree char *what = g_strdup_printf ("%sadd-hosts", place);
  DvmHosts *hosts;

  if (self->add_hostfile == NULL && (self->add_hosts == NULL || self->add_hosts[0] == NULL))
    return TRUE;
  hosts = _dvm_hosts_read_new ((const char *const *)self->add_hosts, self->add_hostfile, what, read, error);
  if (hosts == NULL)
    return FALSE;
  g_object_set_qdata_full (G_OBJECT (self), additions_quark (), hosts, (GDestroyNotify)_dvm_hosts_free);
  return TRUE;
}

DvmHosts *
_dvm_job_spec_get_additions (DvmJobSpec *self)
{
  DvmHosts *hosts = g_object_get_qdata (G_OBJECT (self), additions_quark ());

  /* A description without a file has not been loaded: it has been validated all the same. */
  if (hosts == NULL && self->add_hostfile == NULL && _dvm_job_spec_load_additions (self, "", NULL, NULL))
    hosts = g_object_get_qdata (G_OBJECT (self), additions_quark ());
  return hosts;
}
