/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Requests to change the size of the DVM: read, answered by allocators where nodes are wanted, and handed to the core.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-elastic.h"

#include "dvmd-controller-wired.h"
#include "dvmd-core-elastic.h"
#include "dvmd-size-request.h"

typedef struct
{
  DvmdController *controller; /* unowned: the source of the task */
  DvmdSizeRequest *request;
  DvmdRequester *requester; /* (nullable) */
  gboolean scheduler;
  GPtrArray *allocators; /* DvmdAllocator, that are asked one after another */
  guint next;
  const char **names; /* (nullable): of the hosts that are asked for */
  GArray *known;      /* (nullable): DvmdPluginNode, of each of names */
} SizeChange;

static void
size_change_free (gpointer data)
{
  SizeChange *self = data;

  dvmd_size_request_free (self->request);
  g_clear_pointer (&self->requester, dvmd_requester_free);
  g_clear_pointer (&self->allocators, g_ptr_array_unref);
  g_clear_pointer (&self->known, g_array_unref);
  g_free (self->names);
  g_free (self);
}

/* ---- answers ---- */

/* Takes the task. */
static void
fail (GTask *task, GError *error)
{
  g_task_return_error (task, error);
  g_object_unref (task);
}

/* Takes the task, and clears the answer. */
static void
answer (GTask *task, DvmdSizeAnswer *given)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "alloc-id",
                         g_variant_new_string (given->alloc_id != NULL ? given->alloc_id : ""));
  if (given->req_id != NULL)
    g_variant_builder_add (&builder, "{sv}", "req-id", g_variant_new_string (given->req_id));
  g_variant_builder_add (&builder, "{sv}", "session", g_variant_new_uint32 (given->session));
  g_variant_builder_add (&builder, "{sv}", "campaign", g_variant_new_uint32 (given->campaign));
  dvmd_size_answer_clear (given);
  g_task_return_pointer (task, g_variant_ref_sink (g_variant_builder_end (&builder)), (GDestroyNotify)g_variant_unref);
  g_object_unref (task);
}

/* ---- growing ---- */

static void
grow (GTask *task, const DvmdPluginNode *nodes, guint n_nodes, const char *allocator)
{
  SizeChange *self = g_task_get_task_data (task);
  DvmdSizeRequest *request = self->request;
  g_autofree DvmdGrowHost *hosts = g_new0 (DvmdGrowHost, n_nodes + 1);
  DvmdGrowRequest grow_request = { 0 };
  DvmdSizeAnswer given = { 0 };
  GError *error = NULL;

  for (guint i = 0; i < n_nodes; i++)
    {
      const DvmHost *host = request->hosts != NULL ? _dvm_hosts_find (request->hosts, nodes[i].name) : NULL;

      hosts[i].name = nodes[i].name;
      hosts[i].slots = nodes[i].slots;
      hosts[i].slots_max = nodes[i].slots_max;
      hosts[i].allocator = allocator;
      if (host != NULL && g_strcmp0 (host->address, host->name) != 0)
        hosts[i].address = host->address;
    }
  grow_request.requester = self->requester;
  grow_request.scheduler = self->scheduler;
  grow_request.req_id = request->req_id;
  grow_request.alloc_id = request->alloc_id;
  grow_request.of_req_id = request->of_req_id;
  grow_request.hosts = hosts;
  grow_request.n_hosts = n_nodes;
  grow_request.share = request->share;
  if (dvmd_core_grow (self->controller->core, &grow_request, &given, &error))
    answer (task, &given);
  else
    fail (task, error);
}

static void ask_next (GTask *task);

static void
take_allocation (GTask *task, DvmdAllocator *allocator, DvmdAllocation *allocation)
{
  SizeChange *self = g_task_get_task_data (task);
  const char *name = dvmd_plugins_get_name (self->controller->plugins, allocator);
  guint n_nodes;
  const DvmdPluginNode *nodes = dvmd_allocation_get_nodes (allocation, &n_nodes);
  g_autofree char *wrong = dvmd_controller_judge_nodes (nodes, n_nodes);

  if (wrong != NULL)
    fail (task, g_error_new (DVM_ERROR, DVM_ERROR_ALLOC_FAILED, "The allocator %s %s", name, wrong));
  else
    grow (task, nodes, n_nodes, name);
}

static void
on_allocated (GObject *source, GAsyncResult *result, gpointer user_data)
{
  GTask *task = user_data;
  SizeChange *self = g_task_get_task_data (task);
  g_autoptr (DvmdAllocation) allocation = NULL;
  GError *error = NULL;
  DvmdPluginVerdict verdict = dvmd_allocator_allocate_finish (DVMD_ALLOCATOR (source), result, &allocation, &error);

  if (self->controller->core == NULL)
    {
      g_clear_error (&error);
      fail (task, g_error_new (DVM_ERROR, DVM_ERROR_SHUTTING_DOWN, "The DVM is ending"));
    }
  else if (error != NULL)
    {
      GError *own = g_error_new (DVM_ERROR, DVM_ERROR_ALLOC_FAILED, "%s", error->message);

      g_error_free (error);
      fail (task, own);
    }
  else if (verdict == DVMD_PLUGIN_DONE && allocation != NULL)
    take_allocation (task, DVMD_ALLOCATOR (source), allocation);
  else
    ask_next (task);
}

static void
fail_allocation (GTask *task)
{
  SizeChange *self = g_task_get_task_data (task);
  guint count = self->request->count;

  if (count > 0)
    fail (task, g_error_new (DVM_ERROR, DVM_ERROR_ALLOC_FAILED,
                             "No allocator has %u more node%s: without a scheduler they have to be named", count,
                             count == 1 ? "" : "s"));
  else
    fail (task, g_error_new (DVM_ERROR, DVM_ERROR_ALLOC_FAILED,
                             "No allocator has these nodes: \"disabled-plugins\" may name allocator-hosts, which takes "
                             "those that are named"));
}

/* Logical nodes are numbered, and go on where the last one is. */
static guint
find_first_logical (DvmdController *controller)
{
  DvmdNodePool *nodes = dvmd_core_get_nodes (controller->core);
  guint64 last = 0;

  for (guint rank = 1; rank <= dvmd_node_pool_get_max_rank (nodes); rank++)
    {
      DvmdNode *node = dvmd_node_pool_get (nodes, rank);
      const char *name = node != NULL ? dvm_node_get_name (node->record) : "";
      guint64 number;

      if (g_str_has_prefix (name, "node")
          && g_ascii_string_to_unsigned (name + strlen ("node"), 10, 1, G_MAXINT, &number, NULL))
        last = MAX (last, number);
    }
  return (guint)last + 1;
}

static void
ask_next (GTask *task)
{
  SizeChange *self = g_task_get_task_data (task);
  DvmdController *controller = self->controller;
  gboolean logical = controller->shape.logical && self->request->count > 0;
  const DvmdAllocationRequest request = {
    .host = controller->host,
    .hosts = self->names,
    .count = self->request->count,
    .slots = controller->slots,
    .nodes = self->known != NULL ? (const DvmdPluginNode *)self->known->data : NULL,
    .n_nodes = self->known != NULL ? self->known->len : 0,
    .n_logical = logical ? self->request->count : 0,
    .first_logical = logical ? find_first_logical (controller) : 0,
  };

  if (self->next >= self->allocators->len)
    {
      fail_allocation (task);
      return;
    }
  dvmd_allocator_allocate_async (g_ptr_array_index (self->allocators, self->next++), &request,
                                 g_task_get_cancellable (task), on_allocated, task);
}

static gboolean
check_elastic (DvmdController *self, GError **error)
{
  if (dvmd_core_get_elastic (self->core))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_ELASTIC,
               "This DVM keeps the nodes that it was started with: start one with --elastic, or elastic = true in "
               "dvm.conf");
  return FALSE;
}

/* So many agents there could not be: that is known before the first one has a rank. */
static gboolean
check_number (SizeChange *self, GError **error)
{
  DvmdNodePool *pool = dvmd_core_get_nodes (self->controller->core);
  guint n = self->request->count;

  for (guint i = 0; self->names != NULL && self->names[i] != NULL; i++)
    n += dvmd_node_pool_find (pool, self->names[i]) == NULL;
  return self->controller->wired == NULL || dvmd_wired_check_descriptors (self->controller->wired, n, error);
}

static void
begin_grow (GTask *task)
{
  SizeChange *self = g_task_get_task_data (task);
  GPtrArray *active = dvmd_plugins_get_active (self->controller->plugins, DVMD_PLUGIN_ALLOCATOR);
  DvmHosts *hosts = self->request->hosts;
  GError *error = NULL;

  /* Which are active may change while they are asked. */
  self->allocators = g_ptr_array_new_with_free_func (g_object_unref);
  for (guint i = 0; i < active->len; i++)
    g_ptr_array_add (self->allocators, g_object_ref (active->pdata[i]));
  self->names = dvmd_size_request_list_hosts (self->request);
  if (self->names != NULL)
    self->known = g_array_new (FALSE, FALSE, sizeof (DvmdPluginNode));
  for (guint i = 0; hosts != NULL && i < _dvm_hosts_get_n (hosts); i++)
    {
      const DvmHost *host = _dvm_hosts_get (hosts, i);
      const DvmdPluginNode node = { .name = host->name, .slots = host->slots, .slots_max = host->slots_max };

      g_array_append_val (self->known, node);
    }
  if ((self->known == NULL && !check_elastic (self->controller, &error)) || !check_number (self, &error))
    fail (task, error);
  /* Nobody is asked for nodes that cannot come; those that are there already are no change (D16). */
  else if (!dvmd_core_get_elastic (self->controller->core))
    grow (task, (const DvmdPluginNode *)self->known->data, self->known->len, NULL);
  else
    ask_next (task);
}

/* ---- shrinking ---- */

static void
shrink (GTask *task)
{
  SizeChange *self = g_task_get_task_data (task);
  DvmdSizeRequest *request = self->request;
  g_autofree const char **hosts = dvmd_size_request_list_hosts (request);
  const DvmdShrinkRequest shrink_request = {
    .requester = self->requester,
    .scheduler = self->scheduler,
    .req_id = request->req_id,
    .alloc_id = request->alloc_id,
    .of_req_id = request->of_req_id,
    .hosts = hosts,
    .drain_timeout = request->drain_timeout,
  };
  DvmdSizeAnswer given = { 0 };
  GError *error = NULL;

  if (dvmd_core_shrink (self->controller->core, &shrink_request, &given, &error))
    answer (task, &given);
  else
    fail (task, error);
}

/* ---- cancelling ---- */

/* (nullable): the last one that was begun */
static DvmdCampaign *
find_campaign (SizeChange *self)
{
  DvmdCore *core = self->controller->core;
  DvmdCampaign *found = NULL;

  for (DvmdCampaign *one = dvmd_core_next_campaign (core, NULL, FALSE); one != NULL;
       one = dvmd_core_next_campaign (core, one, FALSE))
    {
      DvmCampaign *record = dvmd_campaign_get_record (one);

      if (self->request->alloc_id != NULL
              ? g_strcmp0 (dvm_campaign_get_alloc_id (record), self->request->alloc_id) == 0
              : g_strcmp0 (dvm_campaign_get_request_id (record), self->request->of_req_id) == 0)
        found = one;
    }
  return found;
}

static void
cancel (GTask *task)
{
  SizeChange *self = g_task_get_task_data (task);
  DvmdCampaign *campaign = find_campaign (self);
  const char *wanted = self->request->alloc_id != NULL ? self->request->alloc_id : self->request->of_req_id;
  DvmdSizeAnswer given = { 0 };
  DvmdSession *session;
  GError *error = NULL;

  if (campaign == NULL)
    {
      fail (task,
            g_error_new (DVM_ERROR, DVM_ERROR_NOT_FOUND,
                         "No change of size that belongs to “%s” is in progress: there is nothing to cancel", wanted));
      return;
    }
  given.alloc_id = g_strdup (dvm_campaign_get_alloc_id (dvmd_campaign_get_record (campaign)));
  given.req_id = g_strdup (self->request->req_id);
  given.campaign = dvmd_campaign_get_id (campaign);
  session = dvmd_core_find_session (self->controller->core, given.alloc_id);
  given.session = session != NULL ? dvmd_session_get_id (session) : 0;
  if (dvmd_core_cancel_campaign (self->controller->core, campaign, &error))
    {
      answer (task, &given);
      return;
    }
  dvmd_size_answer_clear (&given);
  fail (task, error);
}

/* ---- all of them ---- */

static void
begin (GTask *task)
{
  SizeChange *self = g_task_get_task_data (task);

  switch (self->request->kind)
    {
    case DVMD_SIZE_GROW:
      begin_grow (task);
      break;
    case DVMD_SIZE_SHRINK:
      shrink (task);
      break;
    case DVMD_SIZE_CANCEL:
      cancel (task);
      break;
    }
}

void
dvmd_controller_change_size_async (DvmdController *self, const char *directive, GVariant *given,
                                   const DvmdRequester *requester, gboolean scheduler, GCancellable *cancellable,
                                   GAsyncReadyCallback callback, gpointer user_data)
{
  GTask *task;
  DvmdSizeRequest *request;
  SizeChange *change;
  GError *error = NULL;

  if (self->context != NULL)
    g_main_context_push_thread_default (self->context);
  task = g_task_new (self, cancellable, callback, user_data);
  request = dvmd_size_request_new (directive, given, &error);
  if (request != NULL)
    {
      change = g_new0 (SizeChange, 1);
      change->controller = self;
      change->request = request;
      change->requester = requester != NULL ? dvmd_requester_copy (requester) : NULL;
      change->scheduler = scheduler;
      g_task_set_task_data (task, change, size_change_free);
    }
  if (request != NULL && (request->kind != DVMD_SIZE_CANCEL || check_elastic (self, &error)))
    begin (task);
  else
    fail (task, error);
  if (self->context != NULL)
    g_main_context_pop_thread_default (self->context);
}

GVariant *
dvmd_controller_change_size_finish (DvmdController *self, GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}
