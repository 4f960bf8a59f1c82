/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Nodes for a DVM that grows: those that a scheduler has given, or those that allocators find.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include <string.h>

#include "dvmd-services.h"
#include "dvmd-core-sessions.h"
#include "dvmd-size-change.h"
#include "dvmd-controller-allocators.h"
#include "dvmd-node-allotment.h"

void
dvmd_size_change_fill_grow (DvmdSizeChange *self, DvmdGrowRequest *request)
{
  const DvmdSizeRequest *from = self->request;

  *request = (DvmdGrowRequest){
    .requester = self->requester,
    .scheduler = self->scheduler,
    .req_id = from->req_id,
    .alloc_id = from->alloc_id,
    .of_req_id = from->of_req_id,
    .session = from->session,
    .extend = !from->is_new,
    .reaquire = from->reaquire,
    .wanted_session_id = self->decided_session,
    .given_alloc_id = self->decided_id,
    .target = from->target,
    .share = from->share,
    .share_given = from->share_given,
    .inheritance = from->inheritance,
    .inheritance_given = from->inheritance_given && !from->reaquire,
    /* A scheduler ends what it has given itself. */
    .limit.time = self->decider != NULL ? self->decided_time : from->time,
    .limit.time_given = self->decider != NULL ? self->decided_time > 0 : from->has_time,
    .limit.warn_timeout = from->warn_timeout,
    .limit.warn_timeout_given = from->has_warn_timeout,
    .limit.outside = self->decider != NULL,
    .child_separate = from->child_separate,
    .detached = self->detached,
    .instantiated = self->instantiated,
  };
}

/* Somebody else has it, or gets it. */
static gboolean
is_used (DvmdCore *core, const char *name)
{
  if (dvmd_node_pool_find (dvmd_core_get_nodes (core), name) != NULL)
    return TRUE;
  for (DvmdCampaign *one = dvmd_core_next_campaign (core, NULL, FALSE); one != NULL;
       one = dvmd_core_next_campaign (core, one, FALSE))
    if (g_strv_contains (dvm_campaign_get_hosts (dvmd_campaign_get_record (one)), name))
      return TRUE;
  return FALSE;
}

/* Nodes that were got for this, and that nobody wants. */
static void
give_back (DvmdSizeChange *self, DvmdAllocator *allocator, const DvmdPluginNode *nodes, guint n_nodes)
{
  g_autofree const char **names = g_new0 (const char *, n_nodes + 1);
  guint n = 0;

  for (guint i = 0; i < n_nodes; i++)
    if (!is_used (dvmd_controller_get_core (self->controller), nodes[i].name))
      names[n++] = nodes[i].name;
  dvmd_controller_return_nodes (self->controller, allocator, self->decided_id, names);
}

/* Nodes for a namespace that has ended meanwhile would never be given back by anybody. */
static gboolean
check_requester (DvmdSizeChange *self, GError **error)
{
  DvmdJob *job = NULL;

  if (self->requester != NULL && !self->scheduler
      && dvmd_core_is_application (dvmd_controller_get_core (self->controller), self->requester))
    job = dvmd_core_find_requesting_job (dvmd_controller_get_core (self->controller), self->requester);
  if (job == NULL || !dvm_job_get_ended (dvmd_job_get_record (job)))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "%s has ended before it was answered", self->requester->name);
  return FALSE;
}

/* allocator: (nullable): who has brought them */
static void
grow (DvmdSizeChange *self, const DvmdPluginNode *nodes, guint n_nodes, DvmdAllocator *allocator)
{
  DvmdController *controller = self->controller;
  DvmHosts *given = self->hosts != NULL ? self->hosts : self->request->hosts;
  const char *name = allocator != NULL
                         ? dvmd_plugins_get_name (dvmd_controller_get_parts (controller)->plugins, allocator)
                         : NULL;
  g_autofree DvmdGrowHost *hosts = g_new0 (DvmdGrowHost, n_nodes + 1);
  DvmdGrowRequest request;
  DvmdSizeAnswer answer = { 0 };
  GError *error = NULL;

  for (guint i = 0; i < n_nodes; i++)
    {
      const DvmHost *host = given != NULL ? _dvm_hosts_find (given, nodes[i].name) : NULL;

      hosts[i].name = nodes[i].name;
      hosts[i].slots = nodes[i].slots;
      hosts[i].slots_max = nodes[i].slots_max;
      hosts[i].allocator = name;
      hosts[i].more = host != NULL && host->more;
      if (host != NULL && g_strcmp0 (host->address, host->name) != 0)
        hosts[i].address = host->address;
    }
  dvmd_size_change_fill_grow (self, &request);
  request.hosts = hosts;
  request.n_hosts = n_nodes;
  if (check_requester (self, &error)
      && dvmd_core_grow (dvmd_controller_get_core (controller), &request, &answer, &error))
    {
      dvmd_size_change_answer (self, &answer);
      return;
    }
  if (allocator != NULL)
    give_back (self, allocator, nodes, n_nodes);
  dvmd_size_change_fail (self, error);
}

/* ---- allocators are asked ---- */

static void
fail_allocation (DvmdSizeChange *self)
{
  guint count = self->request->count;

  if (count > 0)
    dvmd_size_change_fail (self,
                           g_error_new (DVM_ERROR, DVM_ERROR_ALLOC_FAILED,
                                        "No allocator has %u more node%s: without a scheduler they have to be named",
                                        count, count == 1 ? "" : "s"));
  else
    dvmd_size_change_fail (self, g_error_new (DVM_ERROR, DVM_ERROR_ALLOC_FAILED,
                                              "No allocator has these nodes: \"disabled-plugins\" may name "
                                              "allocator-hosts, which takes those that are named"));
}

/* Logical nodes are numbered, and go on where the last one is. */
static guint
find_first_logical (DvmdController *controller)
{
  DvmdNodePool *nodes = dvmd_core_get_nodes (dvmd_controller_get_core (controller));
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
describe (DvmdController *controller, gpointer data, DvmdAllocationRequest *request)
{
  DvmdSizeChange *self = data;

  request->hosts = self->names;
  request->count = self->request->count;
  request->time_limit = self->request->time;
  request->nodes = self->known != NULL ? (const DvmdPluginNode *)self->known->data : NULL;
  request->n_nodes = self->known != NULL ? self->known->len : 0;
  if (!dvmd_controller_get_parts (controller)->shape->logical || request->count == 0)
    return;
  request->n_logical = request->count;
  request->first_logical = find_first_logical (controller);
}

static void
found (DvmdController *controller, gpointer data, DvmdAllocator *allocator, DvmdAllocation *allocation, GError *error)
{
  guint n_nodes = 0;
  const DvmdPluginNode *nodes = allocation != NULL ? dvmd_allocation_get_nodes (allocation, &n_nodes) : NULL;

  if (allocation != NULL)
    {
      dvmd_controller_note_allotments (controller, nodes, n_nodes);
      grow (data, nodes, n_nodes, allocator);
    }
  else if (error != NULL)
    dvmd_size_change_fail (data, error);
  else
    fail_allocation (data);
}

static const DvmdSearchFuncs search_funcs = {
  .limited = TRUE,
  .describe = describe,
  .found = found,
};

/* ---- which are wanted ---- */

/* So many agents there could not be: that is known before the first one has a rank. */
static gboolean
check_number (DvmdSizeChange *self, GError **error)
{
  DvmdNodePool *pool = dvmd_core_get_nodes (dvmd_controller_get_core (self->controller));
  DvmdAgents *agents = dvmd_controller_get_agents (self->controller);
  guint n = self->request->count;

  for (guint i = 0; self->names != NULL && self->names[i] != NULL; i++)
    n += dvmd_node_pool_find (pool, self->names[i]) == NULL;
  return agents->funcs->check_room == NULL || agents->funcs->check_room (agents, n, error);
}

static void
add_known (DvmdSizeChange *self, const char *name, guint slots, guint slots_max)
{
  const DvmdPluginNode node = { .name = name, .slots = slots, .slots_max = slots_max };

  g_array_append_val (self->known, node);
}

/* Nodes that are named, by whomever. lender (nullable): they come back into it, with the slots that they had */
static void
list_known (DvmdSizeChange *self, DvmdSession *lender)
{
  DvmHosts *hosts = self->hosts != NULL ? self->hosts : self->request->hosts;
  guint n = hosts != NULL ? _dvm_hosts_get_n (hosts) : self->lent != NULL ? self->lent->len : 0;

  if (n == 0)
    return;
  self->names = g_new0 (const char *, n + 1);
  self->known = g_array_new (FALSE, FALSE, sizeof (DvmdPluginNode));
  for (guint i = 0; i < n; i++)
    {
      const DvmHost *host = hosts != NULL ? _dvm_hosts_get (hosts, i) : NULL;
      guint slots = host != NULL ? host->slots : 0;
      guint slots_max = host != NULL ? host->slots_max : 0;

      self->names[i] = host != NULL ? host->name : g_ptr_array_index (self->lent, i);
      if (slots == 0 && lender != NULL)
        slots = dvmd_session_get_lent_slots (lender, self->names[i], &slots_max);
      /* No allocator is asked after a scheduler, though one would know how many slots there are. */
      add_known (self, self->names[i],
                 slots == 0 && self->hosts != NULL ? dvmd_controller_get_parts (self->controller)->shape->slots : slots,
                 slots_max);
    }
}

/* Without any word of which ones, an allocation takes back all that it has given away. */
static gboolean
find_lent (DvmdSizeChange *self, DvmdSession **lender, GError **error)
{
  const DvmdSizeRequest *request = self->request;

  if (!request->reaquire || self->hosts != NULL)
    return TRUE;
  if (!dvmd_core_select_session_for (dvmd_controller_get_core (self->controller),
                                     self->scheduler ? NULL : self->requester, request->session, request->alloc_id,
                                     request->of_req_id, lender, error))
    return FALSE;
  if (request->hosts != NULL)
    return TRUE;
  self->lent = dvmd_session_list_lent (*lender);
  if (self->lent->len > 0)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND,
               "No nodes were released from the allocation %s, so that there are none to be had back",
               dvmd_session_get_alloc_id (*lender));
  return FALSE;
}

void
dvmd_size_change_begin_grow (DvmdSizeChange *self)
{
  DvmdSession *lender = NULL;
  GError *error = NULL;

  if (!find_lent (self, &lender, &error))
    {
      dvmd_size_change_fail (self, error);
      return;
    }
  list_known (self, lender);
  if (!check_number (self, &error))
    dvmd_size_change_fail (self, error);
  else if (self->hosts != NULL && self->known != NULL)
    grow (self, (const DvmdPluginNode *)self->known->data, self->known->len, self->decider);
  /* Only the time, or what becomes of it. */
  else if (self->known == NULL && self->request->count == 0)
    grow (self, NULL, 0, NULL);
  /* Allocators are not asked for nodes that cannot come; those that are there already are no change (D16). */
  else if (!dvmd_core_get_elastic (dvmd_controller_get_core (self->controller)) && self->known != NULL)
    grow (self, (const DvmdPluginNode *)self->known->data, self->known->len, NULL);
  else
    dvmd_controller_find_nodes (self->controller, &search_funcs, self->stop, self);
}
