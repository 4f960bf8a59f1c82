/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * PMIx_Group_construct and _destruct: what each client wants is checked and asked of the agent, and those who are in a
 * group are known here by its name.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-groups.h"

#include <stdlib.h>
#include <string.h>

#include "dvm.h"
#include "dvmd-log.h"
#include "dvmd-pmix-calls.h"
#include "dvmd-pmix-read.h"
#include "dvmd-pmix-upcall.h"

/* Bytes of what a member has for the others, each of whom gets it. */
#define MAX_INFO (64 * 1024)
#define MAX_NAME 255

#ifndef PMIX_GROUP_BOOTSTRAP
#define PMIX_GROUP_BOOTSTRAP "pmix.grp.bstrp"
#endif

struct _DvmdPmixGroup
{
  char *id;
  char *key; /* of the name and the members */
  pmix_proc_t *procs;
  gsize n_procs;
  guint n_asking;      /* clients that wait for an answer */
  GHashTable *clients; /* set of those who are in it */
};

/* By key. Fences are looked at on PMIx's thread. */
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

/* Those who name the same processes mean the same. */
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

/* ---- what the client wants ---- */

static void
info_clear (gpointer data)
{
  dvmd_pmix_info_clear (&((DvmdPmixGroupInfo *)data)->info);
}

void
dvmd_pmix_group_request_free (DvmdPmixGroupRequest *self)
{
  g_clear_pointer (&self->infos, g_array_unref);
  PMIX_INFO_FREE (self->info, self->n_info);
  free (self->procs);
  free (self->id);
  g_free (self);
}

static gboolean
read_flag (const pmix_info_t *info, guint32 flag, guint32 *flags, GError **error)
{
  if (info->value.type != PMIX_BOOL && info->value.type != PMIX_UNDEF)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s is neither true nor false", info->key);
      return FALSE;
    }
  if (PMIX_INFO_TRUE (info))
    *flags |= flag;
  return TRUE;
}

/* The client gives this to the others. */
static gboolean
read_given (const pmix_info_t *info, GVariantBuilder *given, gsize *size, GError **error)
{
  const pmix_data_array_t *array = info->value.type == PMIX_DATA_ARRAY ? info->value.data.darray : NULL;

  if (array == NULL || array->type != PMIX_INFO || (array->size > 0 && array->array == NULL))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s is not an array of information", info->key);
      return FALSE;
    }
  for (gsize i = 0; i < array->size; i++)
    {
      const pmix_info_t *one = &((const pmix_info_t *)array->array)[i];
      GVariant *packed = NULL;

      if (!g_utf8_validate (one->key, -1, NULL))
        g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "A key in %s is not a text in UTF-8", info->key);
      else
        packed = dvmd_pmix_pack_value (one, error);
      if (packed == NULL)
        return FALSE;
      *size += strlen (one->key) + g_variant_get_size (packed);
      g_variant_builder_add (given, "(s@ay)", one->key, packed);
      if (*size <= MAX_INFO)
        continue;
      g_set_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE, "%s has more than %d KiB", info->key, MAX_INFO / 1024);
      return FALSE;
    }
  return TRUE;
}

typedef struct
{
  guint32 flags; /* DvmdGroupFlags */
  guint32 timeout;
  gsize size;
  GVariantBuilder *given;
} Directives;

static const struct
{
  const char *key;
  guint32 flag;
} flags[] = {
  { PMIX_GROUP_ASSIGN_CONTEXT_ID, DVMD_GROUP_ASSIGN_CONTEXT },
  { PMIX_GROUP_OPTIONAL, DVMD_GROUP_OPTIONAL },
  { PMIX_GROUP_FT_COLLECTIVE, DVMD_GROUP_OPTIONAL },
  { PMIX_GROUP_NOTIFY_TERMINATION, DVMD_GROUP_NOTIFY },
  { PMIX_GROUP_LOCAL_ONLY, DVMD_GROUP_LOCAL },
};

/* A barrier it is with PMIX_EMBED_BARRIER or without. */
static gboolean
read_directive (const pmix_info_t *info, Directives *directives, GError **error)
{
  for (gsize i = 0; i < G_N_ELEMENTS (flags); i++)
    if (PMIX_CHECK_KEY (info, flags[i].key))
      return read_flag (info, flags[i].flag, &directives->flags, error);
  if (PMIX_CHECK_KEY (info, PMIX_TIMEOUT))
    return dvmd_pmix_read_number (info, &directives->timeout, error);
  if (PMIX_CHECK_KEY (info, PMIX_GROUP_INFO))
    return read_given (info, directives->given, &directives->size, error);
  if (PMIX_CHECK_KEY (info, PMIX_GROUP_ADD_MEMBERS) || PMIX_CHECK_KEY (info, PMIX_GROUP_BOOTSTRAP)
      || (PMIX_INFO_IS_REQUIRED (info) && !PMIX_CHECK_KEY (info, PMIX_EMBED_BARRIER)))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, "%s of a group is not served: its members are named",
                   info->key);
      return FALSE;
    }
  return TRUE;
}

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

static gboolean
add_members (const DvmdPmixGroup *group, GVariantBuilder *members, GError **error)
{
  for (gsize i = 0; i < group->n_procs; i++)
    {
      const pmix_proc_t *proc = &group->procs[i];

      if (!g_utf8_validate (proc->nspace, -1, NULL))
        {
          g_set_error_literal (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                               "A namespace of a group's members is not a text in UTF-8");
          return FALSE;
        }
      g_variant_builder_add (members, "(su)", proc->nspace, proc->rank);
    }
  return TRUE;
}

/* (nullable): floating, with the error set. Only the first of this server says who the members are. */
static GVariant *
read_request (DvmdPmixGroupRequest *request, GError **error)
{
  g_auto (GVariantBuilder) given = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE ("a(say)"));
  g_auto (GVariantBuilder) members = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE ("a(su)"));
  Directives directives = { .given = &given };
  DvmdPmixGroup *group = NULL;
  gboolean good;

  if (!dvmd_pmix_group_check_name (request->id, error))
    return NULL;
  for (gsize i = 0; i < request->n_info; i++)
    if (!read_directive (&request->info[i], &directives, error))
      return NULL;
  if (!request->dissolves)
    {
      g_mutex_lock (&mutex);
      group = ensure_group (request->id, request->procs, request->n_procs);
      free (g_steal_pointer (&request->procs));
      good = group->n_asking > 0 || add_members (group, &members, error);
      if (good)
        {
          group->n_asking++;
          request->group = group;
        }
      else
        drop_unused (group);
      g_mutex_unlock (&mutex);
      if (!good)
        return NULL;
    }
  return g_variant_new ("(bssuua(su)a(say))", request->dissolves, request->id, group != NULL ? group->key : "",
                        directives.flags, directives.timeout, &members, &given);
}

/* ---- the answer ---- */

static void
hand_over (pmix_status_t unused, void *data)
{
  DvmdPmixGroupRequest *request = data;

  request->answer (request);
  dvmd_pmix_group_request_free (request);
}

static void
note_infos (DvmdPmixGroupRequest *request, GVariant *rows)
{
  GVariantIter iter;
  const char *nspace;
  GVariantIter *given;
  guint32 rank;

  request->infos = g_array_new (FALSE, TRUE, sizeof (DvmdPmixGroupInfo));
  g_array_set_clear_func (request->infos, info_clear);
  g_variant_iter_init (&iter, rows);
  while (g_variant_iter_loop (&iter, "(&sua(say))", &nspace, &rank, &given))
    {
      DvmdPmixGroupInfo row = { 0 };
      const char *key;
      GVariant *packed;

      PMIX_LOAD_PROCID (&row.proc, nspace, rank);
      while (g_variant_iter_loop (given, "(&s@ay)", &key, &packed))
        dvmd_pmix_info_add_packed (&row.info, key, packed);
      g_array_append_val (request->infos, row);
    }
}

/* A time that is over leaves a group as it was. */
static void
note_left (const DvmdPmixGroupRequest *request)
{
  g_autofree char *name = make_name (&request->proc);
  DvmdPmixGroup *group = find_group (&request->proc, request->id);

  if (group == NULL || request->status == PMIX_ERR_TIMEOUT)
    return;
  g_hash_table_remove (group->clients, name);
  drop_unused (group);
}

/* The library reads the members out of the request. */
static void
note_joined (DvmdPmixGroupRequest *request)
{
  DvmdPmixGroup *group = g_steal_pointer (&request->group);

  if (group == NULL)
    return;
  group->n_asking--;
  if (request->status == PMIX_SUCCESS)
    {
      g_hash_table_add (group->clients, make_name (&request->proc));
      request->n_procs = group->n_procs;
      request->procs = malloc (group->n_procs * sizeof (pmix_proc_t));
      memcpy (request->procs, group->procs, group->n_procs * sizeof (pmix_proc_t));
    }
  drop_unused (group);
}

/* The library writes this answer into the connection wherever it is called back, and guards nothing. */
static void
answer_group (const DvmdPmixCall *call, int status, GVariant *answer)
{
  DvmdPmixGroupRequest *request = call->callback_data;

  request->status = status;
  if (answer != NULL)
    {
      g_autoptr (GVariant) rows = NULL;
      guint64 context;

      g_variant_get (answer, "(tasa(sua(say)))", &context, NULL, NULL);
      rows = g_variant_get_child_value (answer, 2);
      request->context = (gsize)context;
      request->has_context = context > 0;
      note_infos (request, rows);
    }
  g_mutex_lock (&mutex);
  if (request->dissolves)
    note_left (request);
  else
    note_joined (request);
  g_mutex_unlock (&mutex);
  dvmd_pmix_server_run_on_thread (hand_over, request);
}

static void
run (DvmdPmixServer *server, const DvmdPmixUpcall *self)
{
  DvmdPmixGroupRequest *request = self->call.callback_data;
  g_autoptr (GError) error = NULL;
  GVariant *body;

  dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, self->proc.nspace, self->proc.rank, "%s group %s",
                 request->dissolves ? "dissolves" : "forms", request->id);
  if (dvmd_pmix_server_refuse_stranger_at_times (server, &self->proc, &self->call))
    return;
  body = read_request (request, &error);
  dvmd_pmix_server_call (server, &self->call, DVMD_CALL_GROUP, &self->proc, body, error);
}

void
dvmd_pmix_upcall_group (DvmdPmixGroupRequest *request)
{
  DvmdPmixUpcall upcall = { .run = run, .proc = request->proc };

  upcall.call.answer = answer_group;
  upcall.call.callback_data = request;
  dvmd_pmix_upcall_post (&upcall);
}
