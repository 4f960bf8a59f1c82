/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Requesters as their connections prove them: the namespace of each, and the job that it is of.
 */

#include "config.h"

#include "dvmd-requester.h"

#include "dvmd-core-parts.h"

#include <string.h>

/* A caller that has no name yet is one on a bus. */
static gboolean
is_pmix (const DvmdRequester *who)
{
  return who != NULL && who->name != NULL && g_str_has_prefix (who->name, "pmix:");
}

char *
dvmd_requester_dup_nspace (const DvmdRequester *self)
{
  const char *end;

  if (self == NULL)
    return g_strdup ("");
  if (dvmd_requester_is_scheduler (self))
    return g_strdup (self->name);
  /* A tool on a bus has one namespace over all of its connections (DBUS.md). */
  if (!is_pmix (self))
    return g_strdup_printf ("bus.%u", self->uid);
  end = strrchr (self->name, '.');
  return end != NULL && end > self->name + 5 ? g_strndup (self->name + 5, end - self->name - 5)
                                             : g_strdup (self->name + 5);
}

gboolean
dvmd_requester_is_scheduler (const DvmdRequester *self)
{
  return self->name != NULL && g_str_has_prefix (self->name, "scheduler:");
}

gboolean
dvmd_core_has_job_form (DvmdCore *self, const char *nspace, guint64 *id)
{
  gsize length = strlen (dvmd_core_get_settings (self)->nspace);

  return nspace != NULL && strncmp (nspace, dvmd_core_get_settings (self)->nspace, length) == 0 && nspace[length] == '@'
         && g_ascii_string_to_unsigned (nspace + length + 1, 10, 1, G_MAXUINT, id, NULL);
}

gboolean
dvmd_core_is_job_nspace (DvmdCore *self, const char *nspace)
{
  guint64 id;

  return dvmd_core_has_job_form (self, nspace, &id) && id <= dvmd_core_get_last_job_id (self);
}

gboolean
dvmd_core_is_application (DvmdCore *self, const DvmdRequester *who)
{
  g_autofree char *nspace = is_pmix (who) ? dvmd_requester_dup_nspace (who) : NULL;

  return dvmd_core_is_job_nspace (self, nspace);
}

DvmdJob *
dvmd_core_find_requesting_job (DvmdCore *self, const DvmdRequester *who)
{
  g_autofree char *nspace = is_pmix (who) ? dvmd_requester_dup_nspace (who) : NULL;

  return nspace != NULL ? dvmd_core_find_job (self, nspace) : NULL;
}
