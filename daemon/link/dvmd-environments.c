/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Environments of applications travel to an agent once, and are named by their digest from then on.
 */

#include "config.h"

#include "dvmd-environments.h"

#include <string.h>

struct _DvmdEnvironments
{
  gsize limit;
  gsize n_bytes;
  GQueue retained;       /* DvmdEnvironment, the one that was used last first; holds the references */
  GHashTable *by_digest; /* GBytes -> DvmdEnvironment */
  GHashTable *by_strings;
};

DvmdEnvironment *
dvmd_environment_new (GBytes *digest, const char *const *strings)
{
  DvmdEnvironment *self = g_new0 (DvmdEnvironment, 1);

  g_ref_count_init (&self->ref_count);
  self->digest = digest != NULL ? g_bytes_ref (digest) : NULL;
  self->strings = g_strdupv ((char **)strings);
  self->holders = dvmd_id_set_new ();
  self->link.data = self;
  for (gsize i = 0; strings[i] != NULL; i++)
    self->n_bytes += strlen (strings[i]) + 1;
  return self;
}

DvmdEnvironment *
dvmd_environment_ref (DvmdEnvironment *self)
{
  g_ref_count_inc (&self->ref_count);
  return self;
}

void
dvmd_environment_unref (DvmdEnvironment *self)
{
  if (!g_ref_count_dec (&self->ref_count))
    return;
  g_clear_pointer (&self->digest, g_bytes_unref);
  g_strfreev (self->strings);
  dvmd_id_set_free (self->holders);
  g_free (self);
}

/* Cheap: it is looked at for each job. The digest is for those that are new. */
static guint
strings_hash (gconstpointer data)
{
  guint hash = 0;

  for (const char *const *string = data; *string != NULL; string++)
    hash = hash * 31 + g_str_hash (*string);
  return hash;
}

static gboolean
strings_equal (gconstpointer a, gconstpointer b)
{
  return g_strv_equal (a, b);
}

DvmdEnvironments *
dvmd_environments_new (gsize limit)
{
  DvmdEnvironments *self = g_new0 (DvmdEnvironments, 1);

  self->limit = limit;
  g_queue_init (&self->retained);
  self->by_digest = g_hash_table_new (g_bytes_hash, g_bytes_equal);
  self->by_strings = g_hash_table_new (strings_hash, strings_equal);
  return self;
}

static void
forget_environment (DvmdEnvironments *self, DvmdEnvironment *environment)
{
  g_queue_unlink (&self->retained, &environment->link);
  g_hash_table_remove (self->by_digest, environment->digest);
  if (g_hash_table_lookup (self->by_strings, environment->strings) == environment)
    g_hash_table_remove (self->by_strings, environment->strings);
  self->n_bytes -= environment->n_bytes;
  dvmd_environment_unref (environment);
}

void
dvmd_environments_free (DvmdEnvironments *self)
{
  while (self->retained.length > 0)
    forget_environment (self, self->retained.head->data);
  g_hash_table_unref (self->by_digest);
  g_hash_table_unref (self->by_strings);
  g_free (self);
}

static DvmdEnvironment *
use (DvmdEnvironments *self, DvmdEnvironment *environment)
{
  if (environment == NULL)
    return NULL;
  g_queue_unlink (&self->retained, &environment->link);
  g_queue_push_head_link (&self->retained, &environment->link);
  return dvmd_environment_ref (environment);
}

DvmdEnvironment *
dvmd_environments_find (DvmdEnvironments *self, GBytes *digest)
{
  return use (self, g_hash_table_lookup (self->by_digest, digest));
}

DvmdEnvironment *
dvmd_environments_add (DvmdEnvironments *self, GBytes *digest, const char *const *strings)
{
  DvmdEnvironment *environment = dvmd_environments_find (self, digest);

  if (environment != NULL)
    return environment;
  environment = dvmd_environment_new (digest, strings);
  g_queue_push_head_link (&self->retained, &environment->link);
  g_hash_table_insert (self->by_digest, environment->digest, environment);
  g_hash_table_insert (self->by_strings, environment->strings, environment);
  self->n_bytes += environment->n_bytes;
  while (self->n_bytes > self->limit && self->retained.length > 1)
    forget_environment (self, self->retained.tail->data);
  return dvmd_environment_ref (environment);
}

DvmdEnvironment *
dvmd_environments_intern (DvmdEnvironments *self, const char *const *strings)
{
  DvmdEnvironment *known = g_hash_table_lookup (self->by_strings, strings);
  g_autoptr (GChecksum) checksum = NULL;
  g_autoptr (GBytes) digest = NULL;
  guint8 sum[32];
  gsize length = sizeof sum;

  if (known != NULL)
    return use (self, known);
  checksum = g_checksum_new (G_CHECKSUM_SHA256);
  /* With the final zeros, so that "A=1", "B" is not "A=1B". */
  for (gsize i = 0; strings[i] != NULL; i++)
    g_checksum_update (checksum, (const guchar *)strings[i], strlen (strings[i]) + 1);
  g_checksum_get_digest (checksum, sum, &length);
  digest = g_bytes_new (sum, length);
  return dvmd_environments_add (self, digest, strings);
}

guint
dvmd_environments_get_n (DvmdEnvironments *self)
{
  return self->retained.length;
}
