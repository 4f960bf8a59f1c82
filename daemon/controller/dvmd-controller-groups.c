/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Groups of processes: all members come to their forming and to their end, each by a call of its own, wherever it is.
 *
 * A process is in a group because it has asked for it: to name one that does not want is to wait for it. So no rights
 * are asked for. Groups of one name are others for those who are in none of both.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-services.h"

#include "dvmd-controller-collectives.h"
#include "dvmd-controller-groups.h"
#include "dvmd-controller-jobs.h"
#include "dvmd-log.h"
#include "dvmd-member-set.h"

/* Members of all groups, who may form them without end. */
#define MAX_MEMBERS (1024 * 1024)
/* Each of whom is told of each other one that ends. */
#define MAX_NOTIFIED 1024
/* Bytes of what members have for one another: of all groups that form, and of one, for all servers that get it. */
#define MAX_INFOS (256 * 1024 * 1024)
#define MAX_TOLD  (48 * 1024 * 1024)

typedef struct
{
  DvmdController *controller; /* unowned */
  GHashTable *names;          /* name -> GPtrArray of Group */
  guint64 last_context;
  gsize n_members; /* of all */
  gsize info_size; /* bytes, likewise */
} Groups;

typedef enum
{
  INVITING,
  FORMING,
  WHOLE,
  ENDING
} GroupState;

typedef struct
{
  Groups *all; /* unowned */
  char *name;
  char *key;
  GroupState state;
  guint64 leader;      /* who invites */
  gboolean broken;     /* a member has ended without leaving */
  guint32 flags;       /* DvmdGroupFlags */
  GHashTable *members; /* set of those who are left, see dvmd_member_new() */
  GHashTable *missing; /* likewise, of those who have yet to come to its forming or its end */
  GPtrArray *calls;    /* DvmdCall, of those who have come */
  GPtrArray *infos;    /* GVariant (sua(say)), what they have for the others */
  gsize info_size;     /* bytes of it */
  guint timer;
} Group;

static DvmdCore *
get_core (const Groups *self)
{
  return dvmd_controller_get_core (self->controller);
}

/* ---- groups ---- */

static void
drop_call (gpointer call)
{
  dvmd_call_unref (call);
}

static void
stop_timer (Group *self)
{
  dvmd_clock_remove_timer (dvmd_controller_get_parts (self->all->controller)->clock, self->timer);
  self->timer = 0;
}

static void
clear_infos (Group *self)
{
  self->all->info_size -= self->info_size;
  self->info_size = 0;
  g_ptr_array_set_size (self->infos, 0);
}

static void
group_free (gpointer data)
{
  Group *self = data;

  stop_timer (self);
  clear_infos (self);
  g_clear_pointer (&self->missing, g_hash_table_unref);
  g_hash_table_unref (self->members);
  g_ptr_array_unref (self->calls);
  g_ptr_array_unref (self->infos);
  g_free (self->key);
  g_free (self->name);
  g_free (self);
}

static Group *
group_new (Groups *all, const char *name, const char *key)
{
  Group *self = g_new0 (Group, 1);

  self->all = all;
  self->name = g_strdup (name);
  self->key = g_strdup (key);
  self->state = FORMING;
  self->members = dvmd_member_set_new ();
  self->calls = g_ptr_array_new_with_free_func (drop_call);
  self->infos = g_ptr_array_new_with_free_func ((GDestroyNotify)g_variant_unref);
  return self;
}

static void
keep (Group *self)
{
  GPtrArray *same = g_hash_table_lookup (self->all->names, self->name);

  if (same == NULL)
    {
      same = g_ptr_array_new_with_free_func (group_free);
      g_hash_table_insert (self->all->names, g_strdup (self->name), same);
    }
  g_ptr_array_add (same, self);
  self->all->n_members += g_hash_table_size (self->members);
}

static void
drop (Group *self)
{
  GHashTable *names = self->all->names;
  g_autofree char *name = g_strdup (self->name);
  GPtrArray *same = g_hash_table_lookup (names, name);

  self->all->n_members -= g_hash_table_size (self->members);
  g_ptr_array_remove (same, self);
  if (same->len == 0)
    g_hash_table_remove (names, name);
}

static void
forget_member (Group *self, guint64 member)
{
  if (g_hash_table_remove (self->members, &member))
    self->all->n_members--;
}

static gboolean
has_come (const Group *self, guint64 member)
{
  return g_hash_table_contains (self->members, &member)
         && (self->state > FORMING || !g_hash_table_contains (self->missing, &member));
}

/* (nullable): the one of that name that it is in; others that want it in theirs are nothing to it */
static Group *
find_of_member (Groups *self, const char *name, guint64 member)
{
  GPtrArray *same = g_hash_table_lookup (self->names, name);

  for (guint i = 0; same != NULL && i < same->len; i++)
    if (has_come (same->pdata[i], member))
      return same->pdata[i];
  return NULL;
}

/* (nullable) */
static Group *
find_forming (Groups *self, const char *name, const char *key)
{
  GPtrArray *same = g_hash_table_lookup (self->names, name);

  for (guint i = 0; same != NULL && i < same->len; i++)
    if (((Group *)same->pdata[i])->state == FORMING && g_str_equal (((Group *)same->pdata[i])->key, key))
      return same->pdata[i];
  return NULL;
}

/* ---- answers ---- */

/* (transfer full): the ids of the members' jobs */
static GHashTable *
list_jobs (Group *self)
{
  GHashTable *jobs = g_hash_table_new (NULL, NULL);
  GHashTableIter iter;
  gpointer member;

  g_hash_table_iter_init (&iter, self->members);
  while (g_hash_table_iter_next (&iter, &member, NULL))
    g_hash_table_add (jobs, GUINT_TO_POINTER (dvmd_member_get_job (*(guint64 *)member)));
  return jobs;
}

/*
 * Every agent of a member knows the jobs of all before its clients are in the group. (transfer full): their names,
 * where there are several
 */
static GPtrArray *
tell_of_jobs (Group *self)
{
  g_autoptr (GHashTable) jobs = list_jobs (self);
  GPtrArray *names = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer id;

  if (g_hash_table_size (jobs) < 2)
    return names;
  g_hash_table_iter_init (&iter, jobs);
  while (g_hash_table_iter_next (&iter, &id, NULL))
    {
      DvmdJob *job = dvmd_core_get_job (get_core (self->all), GPOINTER_TO_UINT (id));

      g_ptr_array_add (names, (gpointer)dvm_job_get_nspace (dvmd_job_get_record (job)));
      for (guint i = 0; i < self->calls->len; i++)
        dvmd_controller_tell_of_job (self->all->controller, ((const DvmdCall *)self->calls->pdata[i])->agent, job);
    }
  return names;
}

/*
 * The information of the members goes once to each server: by it all of its clients are served. names
 * (nullable): of jobs
 */
static void
answer_all (Group *self, int status, guint64 context, GPtrArray *names)
{
  g_autoptr (GHashTable) told = dvmd_member_set_new ();
  g_autoptr (GPtrArray) calls = g_steal_pointer (&self->calls);
  const char *const *jobs = names != NULL ? (const char *const *)names->pdata : NULL;

  self->calls = g_ptr_array_new_with_free_func (drop_call);
  for (guint i = 0; i < calls->len; i++)
    {
      const DvmdCall *call = calls->pdata[i];
      guint64 server = dvmd_member_new (call->agent, DVMD_CALL_SERVER (call->token));
      GVariantBuilder infos;

      g_variant_builder_init (&infos, G_VARIANT_TYPE ("a(sua(say))"));
      for (guint j = 0; j < self->infos->len && !g_hash_table_contains (told, &server); j++)
        g_variant_builder_add_value (&infos, self->infos->pdata[j]);
      dvmd_member_set_add (told, server);
      dvmd_controller_answer (self->all->controller, call->id, status,
                              g_variant_new ("(t@asa(sua(say)))", context,
                                             g_variant_new_strv (jobs, names != NULL ? (gssize)names->len : 0),
                                             &infos));
    }
}

/* Of a group that cannot end those are left who have not been told so; a time that is over changes nothing. */
static void
fail (Group *self, int status)
{
  g_autoptr (GHashTable) missing = g_steal_pointer (&self->missing);

  stop_timer (self);
  answer_all (self, status, 0, NULL);
  if (self->state == ENDING && status != DVMD_PMIX_ERR_TIMEOUT)
    {
      self->all->n_members -= g_hash_table_size (self->members) - g_hash_table_size (missing);
      g_hash_table_unref (self->members);
      self->members = g_steal_pointer (&missing);
    }
  if (self->state <= FORMING || g_hash_table_size (self->members) == 0)
    drop (self);
  else
    self->state = WHOLE;
}

/* All who are to come have come. */
static void
complete (Group *self)
{
  stop_timer (self);
  g_clear_pointer (&self->missing, g_hash_table_unref);
  if (self->state == FORMING)
    {
      g_autoptr (GPtrArray) names = tell_of_jobs (self);

      self->state = WHOLE;
      answer_all (self, DVMD_PMIX_SUCCESS,
                  (self->flags & DVMD_GROUP_ASSIGN_CONTEXT) != 0 ? ++self->all->last_context : 0, names);
      clear_infos (self);
      if (g_hash_table_size (self->members) == 0)
        drop (self);
      return;
    }
  answer_all (self, DVMD_PMIX_SUCCESS, 0, NULL);
  drop (self);
}

/* Each of the servers gets all that the members have for one another. */
static gboolean
is_too_much (Group *self)
{
  g_autoptr (GHashTable) servers = dvmd_member_set_new ();

  for (guint i = 0; self->info_size > 0 && i < self->calls->len; i++)
    {
      const DvmdCall *call = self->calls->pdata[i];

      dvmd_member_set_add (servers, dvmd_member_new (call->agent, DVMD_CALL_SERVER (call->token)));
    }
  return self->info_size > MAX_TOLD / MAX (1, g_hash_table_size (servers));
}

static void
check_complete (Group *self)
{
  if (g_hash_table_size (self->missing) > 0)
    return;
  if (self->state == FORMING && is_too_much (self))
    fail (self, DVMD_PMIX_ERR_OUT_OF_RESOURCE);
  else
    complete (self);
}

static void
on_timeout (gpointer user_data)
{
  Group *self = user_data;

  self->timer = 0;
  fail (self, DVMD_PMIX_ERR_TIMEOUT);
}

/* The first one who has a limit sets it. */
static void
join (Group *self, DvmdCall *call, guint64 member, guint32 timeout)
{
  g_hash_table_remove (self->missing, &member);
  g_ptr_array_add (self->calls, dvmd_call_ref (call));
  if (timeout > 0 && self->timer == 0)
    self->timer = dvmd_clock_add_timer (dvmd_controller_get_parts (self->all->controller)->clock,
                                        (gint64)timeout * G_USEC_PER_SEC, on_timeout, self);
  check_complete (self);
}

/* ---- forming ---- */

/* One that has ended, or is to end with its job or its node, does not come. */
static int
add_member (Group *self, DvmdJob *job, guint32 rank)
{
  const DvmdProcRow *row = dvmd_proc_table_row (dvmd_job_get_procs (job), rank);

  if (row->state < DVM_PROC_STATE_UNTERMINATED && !dvmd_controller_is_lost (self->all->controller, row->node))
    dvmd_member_set_add (self->members, dvmd_member_new (dvmd_job_get_id (job), rank));
  else if ((self->flags & DVMD_GROUP_OPTIONAL) == 0)
    return DVMD_PMIX_ERR_LOST_CONNECTION;
  return DVMD_PMIX_SUCCESS;
}

static int
add_members (Group *self, const char *nspace, guint32 rank)
{
  DvmdJob *job = dvmd_core_find_job (get_core (self->all), nspace);
  DvmdProcTable *procs = job != NULL ? dvmd_job_get_procs (job) : NULL;
  int status = DVMD_PMIX_SUCCESS;

  if (procs == NULL || (rank != DVMD_PMIX_RANK_WILDCARD && rank >= procs->n_rows))
    return DVMD_PMIX_ERR_NOT_FOUND;
  if (dvmd_job_get_state (job) >= DVM_JOB_STATE_UNTERMINATED)
    return (self->flags & DVMD_GROUP_OPTIONAL) != 0 ? status : DVMD_PMIX_ERR_LOST_CONNECTION;
  if (rank != DVMD_PMIX_RANK_WILDCARD)
    return add_member (self, job, rank);
  for (guint32 i = 0; i < procs->n_rows && status == DVMD_PMIX_SUCCESS; i++)
    status = add_member (self, job, i);
  return status;
}

static guint
find_node (Groups *self, guint64 member)
{
  DvmdJob *job = dvmd_core_get_job (get_core (self), dvmd_member_get_job (member));

  return dvmd_proc_table_row (dvmd_job_get_procs (job), dvmd_member_get_rank (member))->node;
}

static gboolean
is_local (Group *self, guint agent)
{
  GHashTableIter iter;
  gpointer member;

  g_hash_table_iter_init (&iter, self->members);
  while (g_hash_table_iter_next (&iter, &member, NULL))
    if (find_node (self->all, *(guint64 *)member) != agent)
      return FALSE;
  return TRUE;
}

/* Why there is no such group, or success. */
static int
find_members (Group *self, const DvmdCall *call, guint64 caller, GVariant *procs)
{
  int status = DVMD_PMIX_SUCCESS;
  GVariantIter iter;
  const char *nspace;
  guint32 rank;

  g_variant_iter_init (&iter, procs);
  while (status == DVMD_PMIX_SUCCESS && g_variant_iter_next (&iter, "(&su)", &nspace, &rank))
    {
      status = add_members (self, nspace, rank);
      if (g_hash_table_size (self->members) + self->all->n_members > MAX_MEMBERS)
        status = DVMD_PMIX_ERR_OUT_OF_RESOURCE;
    }
  if (status != DVMD_PMIX_SUCCESS)
    return status;
  if (!g_hash_table_contains (self->members, &caller)
      || ((self->flags & DVMD_GROUP_LOCAL) != 0 && !is_local (self, call->agent)))
    return DVMD_PMIX_ERR_BAD_PARAM;
  return status;
}

/* (nullable): status says why there is none */
static Group *
begin (Groups *self, const DvmdCall *call, guint64 caller, const char *name, const char *key, guint32 flags,
       GVariant *procs, int *status)
{
  Group *group;

  /* The first of its server has said who they are: for the others it is over. */
  if (g_variant_n_children (procs) == 0)
    {
      *status = DVMD_PMIX_ERR_LOST_CONNECTION;
      return NULL;
    }
  group = group_new (self, name, key);
  group->flags = flags;
  *status = find_members (group, call, caller, procs);
  if (*status != DVMD_PMIX_SUCCESS)
    {
      group_free (group);
      return NULL;
    }
  group->missing = dvmd_member_set_copy (group->members);
  keep (group);
  return group;
}

static void
add_info (Group *self, const DvmdCall *call, GVariant *given)
{
  gsize size = g_variant_get_size (given);

  self->info_size += size;
  self->all->info_size += size;
  g_ptr_array_add (self->infos, g_variant_ref_sink (g_variant_new ("(su@a(say))", call->nspace, call->rank, given)));
}

static int
check_room (const Group *self, guint32 flags, GVariant *given)
{
  if ((flags & DVMD_GROUP_NOTIFY) != 0 && g_hash_table_size (self->members) > MAX_NOTIFIED)
    return DVMD_PMIX_ERR_OUT_OF_RESOURCE;
  if (self->all->info_size + g_variant_get_size (given) > MAX_INFOS)
    return DVMD_PMIX_ERR_OUT_OF_RESOURCE;
  return DVMD_PMIX_SUCCESS;
}

static void
handle_construct (Groups *self, DvmdCall *call, guint64 caller, const char *name, const char *key, guint32 flags,
                  guint32 timeout, GVariant *procs, GVariant *given)
{
  Group *group = find_forming (self, name, key);
  int status = DVMD_PMIX_SUCCESS;

  if (find_of_member (self, name, caller) != NULL)
    status = DVMD_PMIX_ERR_EXISTS;
  else if (group == NULL)
    group = begin (self, call, caller, name, key, flags, procs, &status);
  else if (!g_hash_table_contains (group->missing, &caller))
    status = DVMD_PMIX_ERR_BAD_PARAM;
  status = group != NULL && status == DVMD_PMIX_SUCCESS ? check_room (group, flags, given) : status;
  if (status != DVMD_PMIX_SUCCESS)
    {
      dvmd_controller_answer (self->controller, call->id, status, NULL);
      return;
    }
  group->flags |= flags;
  if (g_variant_n_children (given) > 0)
    add_info (group, call, given);
  join (group, call, caller, timeout);
}

/* ---- news ---- */

static const char *
name_job (Group *self, guint job)
{
  return dvm_job_get_nspace (dvmd_job_get_record (dvmd_core_get_job (get_core (self->all), job)));
}

/* (transfer full): a{sv}. Where one has left, fences by the name of the group are of those that are named here. */
static GVariant *
describe_change (Group *self, int status, const char *nspace, guint32 rank)
{
  GVariantBuilder details;
  GVariantBuilder members;
  GHashTableIter iter;
  gpointer member;

  g_variant_builder_init (&details, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_AFFECTED_PROC, g_variant_new ("(su)", nspace, rank));
  g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_GROUP_ID, g_variant_new_string (self->name));
  if (status == DVMD_PMIX_GROUP_LEFT)
    {
      g_variant_builder_init (&members, G_VARIANT_TYPE ("a(su)"));
      g_hash_table_iter_init (&iter, self->members);
      while (g_hash_table_iter_next (&iter, &member, NULL))
        g_variant_builder_add (&members, "(su)", name_job (self, dvmd_member_get_job (*(guint64 *)member)),
                               dvmd_member_get_rank (*(guint64 *)member));
      g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_GROUP_MEMBERS, g_variant_builder_end (&members));
    }
  return g_variant_ref_sink (g_variant_builder_end (&details));
}

static void
tell_members (Group *self, guint job, int status, GVariant *details)
{
  g_auto (GVariantBuilder) members = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE ("a(su)"));
  GHashTableIter iter;
  gpointer member;

  g_hash_table_iter_init (&iter, self->members);
  while (g_hash_table_iter_next (&iter, &member, NULL))
    if (dvmd_member_get_job (*(guint64 *)member) == job)
      g_variant_builder_add (&members, "(su)", name_job (self, job), dvmd_member_get_rank (*(guint64 *)member));
  dvmd_controller_send_to_job (self->all->controller, dvmd_core_get_job (get_core (self->all), job), DVMD_MSG_EVENT,
                               g_variant_new ("(isua(su)b@a{sv})", status, "", 0, &members, FALSE, details));
}

/* The others hear of it, job by job. */
static void
notify (Group *self, int status, const char *nspace, guint32 rank)
{
  g_autoptr (GHashTable) jobs = list_jobs (self);
  g_autoptr (GVariant) details = describe_change (self, status, nspace, rank);
  GHashTableIter iter;
  gpointer job;

  g_hash_table_iter_init (&iter, jobs);
  while (g_hash_table_iter_next (&iter, &job, NULL))
    tell_members (self, GPOINTER_TO_UINT (job), status, details);
}

/* ---- the end ---- */

/* The others go on without it, and come to the end without it. */
static int
leave (Group *self, const DvmdCall *call, guint64 member)
{
  if (g_hash_table_size (self->members) > MAX_NOTIFIED)
    return DVMD_PMIX_ERR_OUT_OF_RESOURCE;
  forget_member (self, member);
  notify (self, DVMD_PMIX_GROUP_LEFT, call->nspace, call->rank);
  if (self->state == ENDING && g_hash_table_remove (self->missing, &member))
    check_complete (self);
  else if (g_hash_table_size (self->members) == 0)
    drop (self);
  return DVMD_PMIX_SUCCESS;
}

static void
handle_destruct (Groups *self, DvmdCall *call, guint64 caller, const char *name, guint32 flags, guint32 timeout)
{
  gboolean leaves = (flags & DVMD_GROUP_LEAVE) != 0;
  Group *group = find_of_member (self, name, caller);
  int status = DVMD_PMIX_SUCCESS;

  if (group == NULL)
    status = DVMD_PMIX_ERR_NOT_FOUND;
  else if (group->state <= FORMING || (group->state == ENDING && !g_hash_table_contains (group->missing, &caller)))
    status = DVMD_PMIX_ERR_BAD_PARAM;
  else if (leaves)
    status = leave (group, call, caller);
  else if (group->broken)
    {
      /* A member that has been told has left. */
      status = DVMD_PMIX_ERR_LOST_CONNECTION;
      forget_member (group, caller);
      if (g_hash_table_size (group->members) == 0)
        drop (group);
    }
  if (leaves || status != DVMD_PMIX_SUCCESS)
    {
      dvmd_controller_answer (self->controller, call->id, status,
                              status == DVMD_PMIX_SUCCESS ? g_variant_new_parsed ("(uint64 0, @as [], @a(sua(say)) [])")
                                                          : NULL);
      return;
    }
  if (group->state == WHOLE)
    {
      group->state = ENDING;
      group->missing = dvmd_member_set_copy (group->members);
    }
  join (group, call, caller, timeout);
}

static void
handle_group (gpointer service, DvmdCall *call, GVariant *request)
{
  Groups *self = service;
  DvmdJob *job = dvmd_core_find_job (get_core (self), call->nspace);
  g_autoptr (GVariant) procs = NULL;
  g_autoptr (GVariant) given = NULL;
  gboolean dissolves;
  const char *name;
  const char *key;
  guint32 timeout;
  guint32 flags;
  guint64 caller;

  g_variant_get (request, "(b&s&suu@a(su)@a(say))", &dissolves, &name, &key, &flags, &timeout, &procs, &given);
  if (job == NULL)
    {
      g_message ("%s.%u is a tool, and cannot be in group %s", call->nspace, call->rank, name);
      dvmd_controller_answer (self->controller, call->id, DVMD_PMIX_ERR_NOT_SUPPORTED, NULL);
      return;
    }
  caller = dvmd_member_new (dvmd_job_get_id (job), call->rank);
  if (dissolves)
    handle_destruct (self, call, caller, name, flags, timeout);
  else
    handle_construct (self, call, caller, name, key, flags, timeout, procs, given);
}

/* ---- invitations ---- */

/* (transfer full) */
static GPtrArray *
list_groups (Groups *self, guint64 member)
{
  GPtrArray *found = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer same;

  g_hash_table_iter_init (&iter, self->names);
  while (g_hash_table_iter_next (&iter, NULL, &same))
    for (guint i = 0; i < ((GPtrArray *)same)->len; i++)
      {
        Group *group = ((GPtrArray *)same)->pdata[i];

        if (g_hash_table_contains (group->members, &member))
          g_ptr_array_add (found, group);
      }
  return found;
}

static gboolean
is_named (Groups *self, GVariant *procs, guint64 member)
{
  DvmdJob *job = dvmd_core_get_job (get_core (self), dvmd_member_get_job (member));
  const char *name = dvm_job_get_nspace (dvmd_job_get_record (job));
  GVariantIter iter;
  const char *nspace;
  guint32 rank;

  g_variant_iter_init (&iter, procs);
  while (g_variant_iter_next (&iter, "(&su)", &nspace, &rank))
    if ((rank == dvmd_member_get_rank (member) || rank == DVMD_PMIX_RANK_WILDCARD) && g_str_equal (nspace, name))
      return TRUE;
  return FALSE;
}

/* Only the first of these is told by the leader to those whom it invites; the group is one when all have accepted. */
static int
invite (Groups *self, const DvmdCall *call, guint64 leader, const char *name, GVariant *procs)
{
  Group *group = find_of_member (self, name, leader);
  int status;

  if (group != NULL && (group->state != INVITING || group->leader != leader))
    return DVMD_PMIX_ERR_EXISTS;
  /* It tries again. */
  if (group != NULL)
    drop (group);
  group = group_new (self, name, "");
  group->state = INVITING;
  group->leader = leader;
  status = find_members (group, call, leader, procs);
  if (status != DVMD_PMIX_SUCCESS)
    {
      group_free (group);
      return status;
    }
  group->missing = dvmd_member_set_copy (group->members);
  g_hash_table_remove (group->missing, &leader);
  keep (group);
  return status;
}

/* An answer does not say which group it is about. */
static int
reply (Groups *self, guint64 member, GVariant *procs, gboolean accepts)
{
  g_autoptr (GPtrArray) groups = list_groups (self, member);
  int status = DVMD_PMIX_ERR_NOT_FOUND;

  for (guint i = 0; i < groups->len; i++)
    {
      Group *group = groups->pdata[i];

      if (group->state != INVITING || !g_hash_table_contains (group->missing, &member)
          || !is_named (self, procs, group->leader))
        continue;
      status = DVMD_PMIX_SUCCESS;
      if (accepts && find_of_member (self, group->name, member) == NULL)
        g_hash_table_remove (group->missing, &member);
    }
  return status;
}

/* The leader says so to all, and to nobody else. */
static int
declare (Groups *self, const DvmdCall *call, guint64 leader, const char *name, GVariant *procs)
{
  Group *group = find_of_member (self, name, leader);
  Group *named;
  int status;

  if (group == NULL || group->state != INVITING || group->leader != leader)
    return DVMD_PMIX_ERR_NOT_FOUND;
  if (g_hash_table_size (group->missing) > 0)
    return DVMD_PMIX_ERR_BAD_PARAM;
  named = group_new (self, name, "");
  status = find_members (named, call, leader, procs);
  if (status == DVMD_PMIX_SUCCESS
      && (!dvmd_member_set_equal (named->members, group->members)
          || g_variant_n_children (procs) > g_hash_table_size (group->members)))
    status = DVMD_PMIX_ERR_BAD_PARAM;
  group_free (named);
  if (status != DVMD_PMIX_SUCCESS)
    return status;
  g_clear_pointer (&group->missing, g_hash_table_unref);
  group->state = WHOLE;
  return DVMD_PMIX_SUCCESS;
}

int
dvmd_controller_check_group_event (DvmdController *controller, const DvmdCall *call, int status, const char *name,
                                   GVariant *procs)
{
  Groups *self = dvmd_services_get (controller, &dvmd_groups_service);
  DvmdJob *job = dvmd_core_find_job (get_core (self), call->nspace);
  guint64 caller = job != NULL ? dvmd_member_new (dvmd_job_get_id (job), call->rank) : 0;

  if (job == NULL)
    return DVMD_PMIX_ERR_NOT_SUPPORTED;
  if (status == DVMD_PMIX_GROUP_INVITE_ACCEPTED || status == DVMD_PMIX_GROUP_INVITE_DECLINED)
    return reply (self, caller, procs, status == DVMD_PMIX_GROUP_INVITE_ACCEPTED);
  if (name == NULL)
    return DVMD_PMIX_ERR_BAD_PARAM;
  if (status == DVMD_PMIX_GROUP_INVITED)
    return invite (self, call, caller, name, procs);
  return declare (self, call, caller, name, procs);
}

/* ---- members that end ---- */

/* It is missed no more; its own call is answered to nobody. */
static void
member_ended_while (Group *self, guint64 member)
{
  gboolean was_missing = g_hash_table_remove (self->missing, &member);

  /* A member that has come to the end has left. */
  if (self->state == ENDING && !was_missing)
    return;
  if ((self->flags & DVMD_GROUP_OPTIONAL) != 0 || (self->state == ENDING && (self->flags & DVMD_GROUP_NOTIFY) != 0))
    check_complete (self);
  else
    fail (self, DVMD_PMIX_ERR_LOST_CONNECTION);
}

static void
member_ended (Group *self, guint64 member, const char *nspace)
{
  gboolean leaving = self->state == ENDING && !g_hash_table_contains (self->missing, &member);

  if (self->state == INVITING)
    {
      drop (self);
      return;
    }
  forget_member (self, member);
  if (self->state != FORMING && !leaving)
    {
      self->broken |= (self->flags & (DVMD_GROUP_NOTIFY | DVMD_GROUP_OPTIONAL)) == 0;
      if ((self->flags & DVMD_GROUP_NOTIFY) != 0)
        notify (self, DVMD_PMIX_GROUP_MEMBER_FAILED, nspace, dvmd_member_get_rank (member));
    }
  if (self->state != WHOLE)
    member_ended_while (self, member);
  else if (g_hash_table_size (self->members) == 0)
    drop (self);
}

static void
proc_ended (gpointer service, DvmdJob *job, guint32 rank)
{
  Groups *self = service;
  guint64 member = dvmd_member_new (dvmd_job_get_id (job), rank);
  g_autoptr (GPtrArray) groups = NULL;

  if (g_hash_table_size (self->names) == 0)
    return;
  groups = list_groups (self, member);
  for (guint i = 0; i < groups->len; i++)
    member_ended (groups->pdata[i], member, dvm_job_get_nspace (dvmd_job_get_record (job)));
}

/* Its groups are without it: the next process is in none. */
static void
proc_failed (gpointer service, DvmdJob *job, guint32 rank, int exit_code, int exit_signal)
{
  proc_ended (service, job, rank);
}

/* All members on the node have ended, or with DVMD_NO_NODE all members of the job. */
static void
members_ended (Groups *self, guint job, guint node)
{
  g_autoptr (GHashTable) ended = dvmd_member_set_new ();
  GHashTableIter iter;
  gpointer same;
  gpointer member;

  g_hash_table_iter_init (&iter, self->names);
  while (g_hash_table_iter_next (&iter, NULL, &same))
    for (guint i = 0; i < ((GPtrArray *)same)->len; i++)
      {
        GHashTableIter members;

        g_hash_table_iter_init (&members, ((Group *)((GPtrArray *)same)->pdata[i])->members);
        while (g_hash_table_iter_next (&members, &member, NULL))
          if (node != DVMD_NO_NODE ? find_node (self, *(guint64 *)member) == node
                                   : dvmd_member_get_job (*(guint64 *)member) == job)
            dvmd_member_set_add (ended, *(guint64 *)member);
      }
  g_hash_table_iter_init (&iter, ended);
  while (g_hash_table_iter_next (&iter, &member, NULL))
    proc_ended (self, dvmd_core_get_job (get_core (self), dvmd_member_get_job (*(guint64 *)member)),
                dvmd_member_get_rank (*(guint64 *)member));
}

/* proc_ended() is not called for the processes of a node that is lost. */
static void
agent_gone (gpointer service, guint rank)
{
  members_ended (service, 0, rank);
}

/* Of processes that have never been started none is told of one by one. */
static void
job_ended (gpointer service, DvmdJob *job)
{
  members_ended (service, dvmd_job_get_id (job), DVMD_NO_NODE);
}

/* ---- questions ---- */

GPtrArray *
dvmd_controller_list_groups (DvmdController *controller)
{
  Groups *self = dvmd_services_get (controller, &dvmd_groups_service);
  GPtrArray *names = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer name;
  gpointer same;

  g_hash_table_iter_init (&iter, self->names);
  while (g_hash_table_iter_next (&iter, &name, &same))
    for (guint i = 0; i < ((GPtrArray *)same)->len; i++)
      if (((Group *)((GPtrArray *)same)->pdata[i])->state > FORMING)
        g_ptr_array_add (names, name);
  return names;
}

GArray *
dvmd_controller_list_group_members (DvmdController *controller, const char *name)
{
  Groups *self = dvmd_services_get (controller, &dvmd_groups_service);
  GPtrArray *same = g_hash_table_lookup (self->names, name);
  GArray *members = NULL;

  for (guint i = 0; same != NULL && i < same->len; i++)
    {
      const Group *group = same->pdata[i];
      GHashTableIter iter;
      gpointer member;

      if (group->state <= FORMING)
        continue;
      if (members == NULL)
        members = g_array_new (FALSE, FALSE, sizeof (guint64));
      g_hash_table_iter_init (&iter, group->members);
      while (g_hash_table_iter_next (&iter, &member, NULL))
        g_array_append_val (members, *(guint64 *)member);
    }
  if (members != NULL)
    g_array_sort (members, dvmd_member_compare);
  return members;
}

static void
add_statistics (gpointer service, GVariantBuilder *statistics)
{
  Groups *self = service;

  dvmd_services_add_number (statistics, "group-members", self->n_members);
}

/* ---- the service ---- */

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  Groups *self = g_new0 (Groups, 1);

  self->controller = controller;
  self->names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
  return self;
}

static void
groups_free (gpointer service)
{
  Groups *self = service;

  g_hash_table_unref (self->names);
  g_free (self);
}

static const DvmdCallHandler calls[] = { { DVMD_CALL_GROUP, handle_group }, { 0 } };

const DvmdService dvmd_groups_service = {
  .name = "groups",
  .create = create,
  .free = groups_free,
  .calls = calls,
  .proc_ended = proc_ended,
  .proc_failed = proc_failed,
  .job_ended = job_ended,
  .agent_gone = agent_gone,
  .add_statistics = add_statistics,
};
