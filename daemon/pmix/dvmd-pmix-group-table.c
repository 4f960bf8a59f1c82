/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The groups that clients of this server are in, or want to be, for both threads: fences are looked at on PMIx's.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-groups.h"

#include <stdlib.h>
#include <string.h>

#include "dvm.h"
#include "dvmd-pmix-upcall.h"

#define MAX_NAME 255

struct _DvmdPmixGroup
{
  char *id;
  char *key; /* of the name and the members */
  pmix_proc_t *procs;
  gsize n_procs;
  guint n_asking;      /* clients that wait for an answer */
  GHashTable *clients; /* set of those who are in it */
};

/* By key. */
static GMutex mutex;
static GHashTable *groups;

/* PMIx_Get_version() is a text with the number somewhere, as in "OpenPMIx 4.2.2 (PMIx Standard: 4.1, ...)". */
static gboolean
is_version_of_headers (void)
{
#ifdef HAVE_PMIX_INSIDE
  const char *version = PMIx_Get_version ();
  const char *number = version + strcspn (version, "0123456789");
  g_autofree char *known = g_strdup_printf ("%ld.%ld.%ld", PMIX_VERSION_MAJOR, PMIX_VERSION_MINOR,
                                            PMIX_VERSION_RELEASE);
  gsize length = strlen (known);

  return strncmp (number, known, length) == 0 && !g_ascii_isdigit (number[length]);
#else
  return FALSE;
#endif
}

gboolean
dvmd_pmix_groups_are_served (void)
{
  static gsize answer_once;

  if (g_once_init_enter (&answer_once))
    g_once_init_leave (&answer_once, is_version_of_headers () ? TRUE : 2);
  return answer_once == TRUE;
}

/* ---- the groups of this server ---- */

static void
group_free (gpointer data)
{
  DvmdPmixGroup *self = data;

  g_hash_table_unref (self->clients);
  g_free (self->procs);
  g_free (self->key);
  g_free (self->id);
  g_free (self);
}

static char *
make_name (const pmix_proc_t *proc)
{
  return g_strdup_printf ("%s.%u", proc->nspace, proc->rank);
}

static void
drop_unused (DvmdPmixGroup *self)
{
  if (self->n_asking == 0 && g_hash_table_size (self->clients) == 0)
    g_hash_table_remove (groups, self->key);
}

/* Requests that name the same processes mean the same group. */
static char *
make_key (const char *id, const pmix_proc_t *procs, gsize n)
{
  g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);

  g_checksum_update (sum, (const guchar *)id, (gssize)strlen (id) + 1);
  for (gsize i = 0; i < n; i++)
    {
      g_checksum_update (sum, (const guchar *)procs[i].nspace, (gssize)strlen (procs[i].nspace) + 1);
      g_checksum_update (sum, (const guchar *)&procs[i].rank, sizeof procs[i].rank);
    }
  return g_strdup (g_checksum_get_string (sum));
}

/* Of many clients with long lists one is kept. */
static DvmdPmixGroup *
ensure_group (const char *id, const pmix_proc_t *procs, gsize n)
{
  g_autofree char *key = make_key (id, procs, n);
  DvmdPmixGroup *self;

  if (groups == NULL)
    groups = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, group_free);
  self = g_hash_table_lookup (groups, key);
  if (self != NULL)
    return self;
  self = g_new0 (DvmdPmixGroup, 1);
  self->id = g_strdup (id);
  self->key = g_steal_pointer (&key);
  self->procs = g_memdup2 (procs, n * sizeof (pmix_proc_t));
  self->n_procs = n;
  self->clients = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_hash_table_insert (groups, self->key, self);
  return self;
}

/* (nullable) */
static DvmdPmixGroup *
find_group (const pmix_proc_t *client, const char *id)
{
  g_autofree char *name = make_name (client);
  GHashTableIter iter;
  gpointer value;

  if (groups == NULL)
    return NULL;
  g_hash_table_iter_init (&iter, groups);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    if (g_str_equal (((DvmdPmixGroup *)value)->id, id)
        && g_hash_table_contains (((DvmdPmixGroup *)value)->clients, name))
      return value;
  return NULL;
}

gboolean
dvmd_pmix_groups_find (const pmix_proc_t *client, const char *id, pmix_proc_t **members, gsize *n)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&mutex);
  const DvmdPmixGroup *group = find_group (client, id);

  if (group == NULL)
    return FALSE;
  *members = g_memdup2 (group->procs, group->n_procs * sizeof (pmix_proc_t));
  *n = group->n_procs;
  return TRUE;
}

gboolean
dvmd_pmix_groups_are_none (void)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&mutex);

  return groups == NULL || g_hash_table_size (groups) == 0;
}

DvmdPmixGroup *
dvmd_pmix_groups_ask (const char *id, const pmix_proc_t *procs, gsize n, const char **key, gboolean *is_first)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&mutex);
  DvmdPmixGroup *self = ensure_group (id, procs, n);

  *is_first = self->n_asking++ == 0;
  *key = self->key;
  return self;
}

gsize
dvmd_pmix_groups_answered (DvmdPmixGroup *self, const pmix_proc_t *client, pmix_proc_t **members)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&mutex);
  gsize n = self->n_procs;

  self->n_asking--;
  if (members != NULL)
    {
      g_hash_table_add (self->clients, make_name (client));
      *members = malloc (n * sizeof (pmix_proc_t));
      memcpy (*members, self->procs, n * sizeof (pmix_proc_t));
    }
  drop_unused (self);
  return n;
}

static void
take_out (const pmix_proc_t *client, const char *id)
{
  g_autofree char *name = make_name (client);
  DvmdPmixGroup *group = find_group (client, id);

  if (group == NULL)
    return;
  g_hash_table_remove (group->clients, name);
  drop_unused (group);
}

void
dvmd_pmix_groups_left (const pmix_proc_t *client, const char *id)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&mutex);

  take_out (client, id);
}

void
dvmd_pmix_groups_note (const pmix_proc_t *client, const char *id, GVariant *members)
{
  gsize n = g_variant_n_children (members);
  g_autofree pmix_proc_t *procs = g_new0 (pmix_proc_t, n);
  DvmdPmixGroup *group;

  for (gsize i = 0; i < n; i++)
    {
      const char *nspace;

      g_variant_get_child (members, i, "(&su)", &nspace, &procs[i].rank);
      PMIX_LOAD_NSPACE (procs[i].nspace, nspace);
    }
  dvmd_pmix_sort_procs (procs, n);
  g_mutex_lock (&mutex);
  take_out (client, id);
  group = ensure_group (id, procs, n);
  g_hash_table_add (group->clients, make_name (client));
  g_mutex_unlock (&mutex);
}

static gboolean
is_of_job (gpointer name, gpointer unused, gpointer nspace)
{
  const char *dot = strrchr (name, '.');
  gsize length = (gsize)(dot - (const char *)name);

  return strlen (nspace) == length && strncmp (name, nspace, length) == 0;
}

void
dvmd_pmix_groups_forget (const char *nspace)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&mutex);
  GHashTableIter iter;
  gpointer value;

  if (groups == NULL)
    return;
  g_hash_table_iter_init (&iter, groups);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      DvmdPmixGroup *group = value;

      g_hash_table_foreach_remove (group->clients, is_of_job, (gpointer)nspace);
      if (group->n_asking == 0 && g_hash_table_size (group->clients) == 0)
        g_hash_table_iter_remove (&iter);
    }
}

static int
compare_procs (const void *a, const void *b)
{
  const pmix_proc_t *one = a;
  const pmix_proc_t *other = b;
  int order = strcmp (one->nspace, other->nspace);

  return order != 0 ? order : (one->rank > other->rank) - (one->rank < other->rank);
}

void
dvmd_pmix_sort_procs (pmix_proc_t *procs, gsize n)
{
  if (n > 0)
    qsort (procs, n, sizeof *procs, compare_procs);
}

/* ---- names ---- */

gboolean
dvmd_pmix_group_check_name (const char *id, GError **error)
{
  const char *nspace = dvmd_pmix_upcall_get_nspace ();

  if (id == NULL || id[0] == '\0' || strlen (id) > MAX_NAME || !g_utf8_validate (id, -1, NULL))
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "The name of a group is not a text in UTF-8 of 1 to %d bytes",
                 MAX_NAME);
  /* A fence takes either. */
  else if (g_str_has_prefix (id, nspace))
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "“%s” is a name of jobs: those of groups do not begin with “%s”", id, nspace);
  else
    return TRUE;
  return FALSE;
}
