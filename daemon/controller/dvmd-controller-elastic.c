/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Requests to change the size of the DVM: read, checked, forwarded to whoever decides of them, and handed to the core.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-elastic.h"

#include <string.h>

#include "dvmd-controller-forward.h"
#include "dvmd-core-sessions.h"
#include "dvmd-requester.h"
#include "dvmd-requesters.h"
#include "dvmd-size-change.h"

static void
size_change_free (gpointer data)
{
  DvmdSizeChange *self = data;

  g_free (self->directive);
  g_variant_unref (self->given);
  dvmd_size_request_free (self->request);
  g_clear_pointer (&self->requester, dvmd_requester_free);
  g_object_unref (self->stop);
  g_clear_object (&self->decider);
  g_free (self->decided_id);
  g_clear_pointer (&self->hosts, _dvm_hosts_free);
  g_clear_pointer (&self->lent, g_ptr_array_unref);
  g_clear_pointer (&self->known, g_array_unref);
  g_free (self->names);
  g_free (self);
}

/* DvmdSizeChange, that others are asked about */
static GQueue *
get_waiting (DvmdController *controller)
{
  return dvmd_services_get (controller, &dvmd_size_changes_service);
}

/* ---- answers ---- */

static void
stop_waiting (DvmdSizeChange *self)
{
  if (self->waits)
    g_queue_unlink (get_waiting (self->controller), &self->link);
  self->waits = FALSE;
}

void
dvmd_size_change_fail (DvmdSizeChange *self, GError *error)
{
  g_autoptr (GTask) task = self->task;

  stop_waiting (self);
  g_task_return_error (task, error);
}

void
dvmd_size_change_answer (DvmdSizeChange *self, DvmdSizeAnswer *given)
{
  g_autoptr (GTask) task = self->task;
  GVariantBuilder builder;

  stop_waiting (self);
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "alloc-id",
                         g_variant_new_string (given->alloc_id != NULL ? given->alloc_id : ""));
  if (given->req_id != NULL)
    g_variant_builder_add (&builder, "{sv}", "req-id", g_variant_new_string (given->req_id));
  g_variant_builder_add (&builder, "{sv}", "session", g_variant_new_uint32 (given->session));
  g_variant_builder_add (&builder, "{sv}", "campaign", g_variant_new_uint32 (given->campaign));
  dvmd_size_answer_clear (given);
  g_task_return_pointer (task, g_variant_ref_sink (g_variant_builder_end (&builder)), (GDestroyNotify)g_variant_unref);
}

static gboolean
check_elastic (DvmdController *self, GError **error)
{
  if (dvmd_core_get_elastic (dvmd_controller_get_core (self)))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_ELASTIC,
               "This DVM keeps the nodes that it was started with: start one with --elastic, or elastic = true in "
               "dvm.conf");
  return FALSE;
}

/* ---- shrinking ---- */

static void
fill_shrink (DvmdSizeChange *self, const char *const *hosts, DvmdShrinkRequest *request)
{
  *request = (DvmdShrinkRequest){
    .requester = self->requester,
    .scheduler = self->scheduler,
    .req_id = self->request->req_id,
    .session = self->request->session,
    .alloc_id = self->request->alloc_id,
    .of_req_id = self->request->of_req_id,
    .hosts = hosts,
    .drain_timeout = self->request->drain_timeout,
  };
}

static void
shrink (DvmdSizeChange *self)
{
  g_autofree const char **hosts = dvmd_size_request_list_hosts (self->request);
  DvmdShrinkRequest request;
  DvmdSizeAnswer given = { 0 };
  GError *error = NULL;

  fill_shrink (self, hosts, &request);
  if (dvmd_core_shrink (dvmd_controller_get_core (self->controller), &request, &given, &error))
    dvmd_size_change_answer (self, &given);
  else
    dvmd_size_change_fail (self, error);
}

/* ---- cancelling ---- */

/* A request that others are still asked about: it has no allocation yet. */
static gboolean
is_meant (DvmdSizeChange *self, DvmdSizeChange *other)
{
  const char *wanted = self->request->of_req_id;

  return other != self && other->request->kind != DVMD_SIZE_CANCEL && wanted != NULL
         && g_strcmp0 (other->request->req_id, wanted) == 0;
}

static gboolean
is_its_own (DvmdSizeChange *self, DvmdSizeChange *other)
{
  g_autofree char *mine = dvmd_requester_dup_nspace (self->requester);
  g_autofree char *its = dvmd_requester_dup_nspace (other->requester);

  return g_str_equal (mine, its);
}

/* The requester of a change may withdraw it; so may a tool of the same user, and the scheduler. */
static gboolean
may_withdraw (DvmdSizeChange *self, DvmdSizeChange *other)
{
  if (self->scheduler || is_its_own (self, other))
    return TRUE;
  return self->requester != NULL && other->requester != NULL
         && !dvmd_core_is_application (dvmd_controller_get_core (self->controller), self->requester)
         && (self->requester->uid == 0 || self->requester->uid == other->requester->uid);
}

/* (nullable): its own goes before those of others that have the same name, and what it may withdraw before the rest */
static DvmdSizeChange *
find_waiting (DvmdSizeChange *self)
{
  DvmdSizeChange *found = NULL;

  for (GList *l = get_waiting (self->controller)->head; l != NULL; l = l->next)
    {
      DvmdSizeChange *other = l->data;

      if (!is_meant (self, other))
        continue;
      if (is_its_own (self, other))
        return other;
      if (found == NULL || (!may_withdraw (self, found) && may_withdraw (self, other)))
        found = other;
    }
  return found;
}

/* Whether the request was one that waits. Takes the task then. */
static gboolean
withdraw (DvmdSizeChange *self)
{
  DvmdSizeChange *other = find_waiting (self);
  DvmdSizeAnswer given = { 0 };

  if (other == NULL)
    return FALSE;
  if (!may_withdraw (self, other))
    {
      dvmd_size_change_fail (self, g_error_new (DVM_ERROR, DVM_ERROR_NO_PERMISSIONS,
                                                "“%s” was requested by somebody else", self->request->of_req_id));
      return TRUE;
    }
  g_cancellable_cancel (other->stop);
  given.req_id = g_strdup (self->request->req_id);
  dvmd_size_change_answer (self, &given);
  return TRUE;
}

static gboolean
is_of_request (DvmdSizeChange *self, DvmCampaign *record)
{
  const DvmdSizeRequest *request = self->request;
  DvmdSession *session;

  if (request->alloc_id != NULL && g_strcmp0 (dvm_campaign_get_alloc_id (record), request->alloc_id) != 0)
    return FALSE;
  if (request->of_req_id != NULL && g_strcmp0 (dvm_campaign_get_request_id (record), request->of_req_id) != 0)
    return FALSE;
  if (!request->has_session)
    return TRUE;
  session = dvmd_core_get_session (dvmd_controller_get_core (self->controller), request->session);
  return session != NULL && g_str_equal (dvm_campaign_get_alloc_id (record), dvmd_session_get_alloc_id (session));
}

/* (nullable): the last one that was begun */
static DvmdCampaign *
find_campaign (DvmdSizeChange *self)
{
  DvmdCore *core = dvmd_controller_get_core (self->controller);
  DvmdCampaign *found = NULL;

  for (DvmdCampaign *one = dvmd_core_next_campaign (core, NULL, FALSE); one != NULL;
       one = dvmd_core_next_campaign (core, one, FALSE))
    if (is_of_request (self, dvmd_campaign_get_record (one)))
      found = one;
  return found;
}

/* (nullable): with the error set: there is none, or it is not for the requester to end */
static DvmdCampaign *
find_own_campaign (DvmdSizeChange *self, DvmdSession **session, GError **error)
{
  DvmdCampaign *campaign = find_campaign (self);
  const DvmdRequester *by = campaign != NULL ? dvmd_campaign_get_requester (campaign) : NULL;
  const char *wanted = self->request->alloc_id != NULL ? self->request->alloc_id : self->request->of_req_id;
  g_autofree char *number = g_strdup_printf ("session %u", self->request->session);

  *session = NULL;
  if (campaign == NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND,
                   "No change of size that belongs to “%s” is in progress: there is nothing to cancel",
                   wanted != NULL ? wanted : number);
      return NULL;
    }
  *session = dvmd_core_find_session (dvmd_controller_get_core (self->controller),
                                     dvm_campaign_get_alloc_id (dvmd_campaign_get_record (campaign)));
  if (self->scheduler || (by != NULL && self->requester != NULL && g_strcmp0 (by->name, self->requester->name) == 0)
      || dvmd_core_may (dvmd_controller_get_core (self->controller), self->requester, DVMD_RIGHT_RELEASE, *session,
                        NULL, error))
    return campaign;
  return NULL;
}

static void
cancel (DvmdSizeChange *self)
{
  DvmdSizeAnswer given = { 0 };
  DvmdSession *session;
  GError *error = NULL;
  DvmdCampaign *campaign = find_own_campaign (self, &session, &error);

  if (campaign != NULL)
    {
      given.alloc_id = g_strdup (dvm_campaign_get_alloc_id (dvmd_campaign_get_record (campaign)));
      given.req_id = g_strdup (self->request->req_id);
      given.campaign = dvmd_campaign_get_id (campaign);
      given.session = session != NULL ? dvmd_session_get_id (session) : 0;
    }
  if (campaign != NULL && dvmd_core_cancel_campaign (dvmd_controller_get_core (self->controller), campaign, &error))
    {
      dvmd_size_change_answer (self, &given);
      return;
    }
  dvmd_size_answer_clear (&given);
  dvmd_size_change_fail (self, error);
}

/* ---- all of them ---- */

/* A name without anybody owns nothing, and would never end. Core knows the jobs, and who has a connection. */
static gboolean
check_target (DvmdController *self, const char *target, GError **error)
{
  const char *uid = target != NULL && g_str_has_prefix (target, "bus.") ? target + strlen ("bus.") : NULL;

  if (target == NULL || target[0] == '\0' || dvmd_core_has_job_form (dvmd_controller_get_core (self), target, NULL)
      || g_str_has_prefix (target, "scheduler:") || dvmd_controller_has_tool (self, target)
      || (uid != NULL && g_ascii_string_to_unsigned (uid, 10, 0, G_MAXUINT32, NULL, NULL)))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND,
               "target: “%s” is no job and no tool that is there: it cannot own an allocation", target);
  return FALSE;
}

/* Before anybody outside hears of it: what is refused leaves no trace there (R52). */
static gboolean
check (DvmdSizeChange *self, GError **error)
{
  DvmdCore *core = dvmd_controller_get_core (self->controller);
  g_autofree const char **hosts = NULL;
  DvmdGrowRequest grow;
  DvmdShrinkRequest shrink;
  DvmdSession *session;

  switch (self->request->kind)
    {
    case DVMD_SIZE_GROW:
      dvmd_size_change_fill_grow (self, &grow);
      return (self->request->count == 0 || check_elastic (self->controller, error))
             && dvmd_core_check_grow (core, &grow, error) && check_target (self->controller, grow.target, error);
    case DVMD_SIZE_SHRINK:
      hosts = dvmd_size_request_list_hosts (self->request);
      fill_shrink (self, hosts, &shrink);
      return dvmd_core_check_shrink (core, &shrink, error);
    case DVMD_SIZE_CANCEL:
      return check_elastic (self->controller, error) && find_own_campaign (self, &session, error) != NULL;
    }
  return FALSE;
}

static void
begin (DvmdSizeChange *self)
{
  switch (self->request->kind)
    {
    case DVMD_SIZE_GROW:
      dvmd_size_change_begin_grow (self);
      break;
    case DVMD_SIZE_SHRINK:
      shrink (self);
      break;
    case DVMD_SIZE_CANCEL:
      cancel (self);
      break;
    }
}

static gboolean
take_decision (DvmdSizeChange *self, GVariant *answer, GError **error)
{
  g_autofree const char **hosts = NULL;

  g_variant_lookup (answer, "alloc-id", "s", &self->decided_id);
  g_variant_lookup (answer, "session", "u", &self->decided_session);
  g_variant_lookup (answer, "time", "u", &self->decided_time);
  if (!g_variant_lookup (answer, "hosts", "^a&s", &hosts) || self->request->kind != DVMD_SIZE_GROW || hosts[0] == NULL)
    return TRUE;
  self->hosts = _dvm_hosts_read_new (hosts, NULL, "hosts", NULL, error);
  if (self->hosts != NULL)
    return TRUE;
  g_prefix_error (error, "The allocator %s answers with what are no hosts: ",
                  dvmd_plugins_get_name (dvmd_controller_get_parts (self->controller)->plugins, self->decider));
  return FALSE;
}

static void
on_forwarded (GObject *source, GAsyncResult *result, gpointer user_data)
{
  DvmdSizeChange *self = user_data;
  g_autoptr (GVariant) answer = NULL;
  gpointer allocator = NULL;
  GError *error = NULL;

  if (!dvmd_controller_forward_finish (self->controller, result, &answer, &allocator, &error))
    {
      dvmd_size_change_fail (self, error);
      return;
    }
  self->decider = allocator;
  if (answer != NULL && !take_decision (self, answer, &error))
    dvmd_size_change_fail (self, error);
  else if (g_cancellable_is_cancelled (self->stop))
    dvmd_size_change_fail (
        self, g_error_new (DVM_ERROR, DVM_ERROR_FAILED, "The request was withdrawn before it was answered"));
  else
    begin (self);
}

static void
start (DvmdSizeChange *self)
{
  DvmdController *controller = self->controller;
  GError *error = NULL;

  if (self->request->kind == DVMD_SIZE_CANCEL && withdraw (self))
    return;
  if (!check (self, &error))
    {
      dvmd_size_change_fail (self, error);
      return;
    }
  g_queue_push_tail_link (get_waiting (controller), &self->link);
  self->waits = TRUE;
  if (self->granted || !dvmd_controller_forwards (controller))
    begin (self);
  else
    dvmd_controller_forward_async (controller, self->directive, 0, self->given, self->requester, self->stop,
                                   on_forwarded, self);
}

static void
on_cancelled (GCancellable *cancellable, gpointer stop)
{
  g_cancellable_cancel (stop);
}

static DvmdSizeChange *
size_change_new (DvmdController *controller, const char *directive, GVariant *given, DvmdSizeRequest *request)
{
  DvmdSizeChange *self = g_new0 (DvmdSizeChange, 1);

  self->controller = controller;
  self->directive = g_strdup (directive);
  self->given = g_variant_ref (given);
  self->request = request;
  self->stop = g_cancellable_new ();
  self->link.data = self;
  return self;
}

/* A scheduler that asks for nodes by name has them. */
static void
take_push (DvmdSizeChange *self, DvmdAllocator *pusher)
{
  self->decider = g_object_ref (pusher);
  self->decided_time = self->request->time;
  if (self->request->kind == DVMD_SIZE_GROW)
    self->hosts = g_steal_pointer (&self->request->hosts);
}

/* How a request has come here. */
typedef struct
{
  DvmHosts *hosts;       /* (nullable): what it names, read already */
  gboolean granted;      /* nobody else decides of it any more */
  guint wanted_session;  /* 0: any */
  gboolean detached;     /* what it makes outlives its owner */
  gboolean instantiated; /* and is a session with its jobs */
  DvmdAllocator *pusher; /* (nullable) */
} Way;

static void
change_size (DvmdController *self, const char *directive, GVariant *given, const DvmdRequester *requester,
             gboolean scheduler, const Way *way, GCancellable *cancellable, GAsyncReadyCallback callback,
             gpointer user_data)
{
  g_autoptr (GVariant) kept = g_variant_ref_sink (given);
  GTask *task;
  DvmdSizeRequest *request;
  DvmdSizeChange *change;
  GError *error = NULL;

  dvmd_controller_enter (self);
  task = g_task_new (self, NULL, callback, user_data);
  request = dvmd_size_request_new (directive, kept, way->hosts, &error);
  if (request == NULL)
    {
      g_task_return_error (task, error);
      g_object_unref (task);
    }
  else
    {
      change = size_change_new (self, directive, kept, request);
      change->task = task;
      change->requester = requester != NULL ? dvmd_requester_copy (requester) : NULL;
      change->scheduler = scheduler;
      change->granted = scheduler || way->granted;
      change->decided_session = way->wanted_session;
      change->detached = way->detached;
      change->instantiated = way->instantiated;
      if (way->pusher != NULL)
        take_push (change, way->pusher);
      if (cancellable != NULL)
        g_signal_connect_object (cancellable, "cancelled", G_CALLBACK (on_cancelled), change->stop, 0);
      g_task_set_task_data (task, change, size_change_free);
      start (change);
    }
  dvmd_controller_leave (self);
}

void
dvmd_controller_change_size_async (DvmdController *self, const char *directive, GVariant *request, DvmHosts *hosts,
                                   const DvmdRequester *requester, gboolean scheduler, GCancellable *cancellable,
                                   GAsyncReadyCallback callback, gpointer user_data)
{
  const Way way = { .hosts = hosts };

  change_size (self, directive, request, requester, scheduler, &way, cancellable, callback, user_data);
}

void
dvmd_controller_change_granted_async (DvmdController *self, const char *directive, GVariant *request, DvmHosts *hosts,
                                      guint wanted_session, gboolean detached, const DvmdRequester *requester,
                                      gboolean scheduler, GCancellable *cancellable, GAsyncReadyCallback callback,
                                      gpointer user_data)
{
  const Way way = {
    .hosts = hosts,
    .granted = TRUE,
    .wanted_session = wanted_session,
    .detached = detached,
    .instantiated = TRUE,
  };

  change_size (self, directive, request, requester, scheduler, &way, cancellable, callback, user_data);
}

void
dvmd_controller_push_size (DvmdController *self, DvmdAllocator *allocator, const char *directive, GVariant *request,
                           GAsyncReadyCallback callback, gpointer user_data)
{
  const Way way = { .pusher = allocator };

  change_size (self, directive, request, NULL, TRUE, &way, NULL, callback, user_data);
}

GVariant *
dvmd_controller_change_size_finish (DvmdController *self, GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

/* ---- the service ---- */

/* The requester has gone and cannot be answered. */
static void
requester_gone (gpointer service, const char *nspace)
{
  for (GList *l = ((GQueue *)service)->head, *next; l != NULL; l = next)
    {
      DvmdSizeChange *change = l->data;
      g_autofree char *asker = dvmd_requester_dup_nspace (change->requester);

      next = l->next;
      if (g_str_equal (asker, nspace))
        g_cancellable_cancel (change->stop);
    }
}

static void
add_statistics (gpointer service, GVariantBuilder *statistics)
{
  dvmd_services_add_number (statistics, "size-changes", ((GQueue *)service)->length);
}

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  return g_queue_new ();
}

static void
changes_free (gpointer service)
{
  g_queue_free (service);
}

const DvmdService dvmd_size_changes_service = {
  .name = "size-changes",
  .create = create,
  .free = changes_free,
  .requester_gone = requester_gone,
  .add_statistics = add_statistics,
};
