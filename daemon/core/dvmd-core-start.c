/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The agents at the start of the DVM: each reports, or fails. Then the DVM goes on, with all or with those that came,
 * or fails itself and names those that did not.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvm-host-list.h"
#include "dvm-records-private.h"
#include "dvmd-agent-life.h"
#include "dvmd-core-news.h"
#include "dvmd-core-nodes.h"
#include "dvmd-core-parts.h"
#include "dvmd-membership.h"
#include "dvmd-vm-machine.h"
#include "dvmd-vm.h"

/* More names than these are told as ranges. */
#define MOST_NAMES 20

void
dvmd_core_allocated (DvmdCore *self)
{
  dvmd_core_post_vm (self, DVMD_VM_ALLOCATED, 0, NULL);
}

void
dvmd_core_allocation_failed (DvmdCore *self, const char *reason)
{
  dvmd_core_post_vm (self, DVMD_VM_FAILED, DVM_JOB_STATE_ALLOC_FAILED, reason);
}

static char *
join_names (GPtrArray *names)
{
  if (names->len > MOST_NAMES)
    return dvm_host_list_compress ((const char *const *)names->pdata, names->len);
  g_ptr_array_add (names, NULL);
  return g_strjoinv (", ", (char **)names->pdata);
}

/* Nodes that have one cause in common are named before it together: "node3, node4: unreachable". */
static void
add_causes (DvmdCore *self, GString *text)
{
  g_autoptr (GHashTable)
      by_cause = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_ptr_array_unref);
  g_autoptr (GPtrArray) causes = g_ptr_array_new ();

  for (DvmdNode *node = NULL; (node = dvmd_node_pool_next (dvmd_core_get_nodes (self), node)) != NULL;)
    {
      GPtrArray *names;

      if (node->rank == 0 || dvm_node_get_state (node->record) != DVM_NODE_STATE_DOWN)
        continue;
      names = g_hash_table_lookup (by_cause, dvm_node_get_reason (node->record));
      if (names == NULL)
        {
          names = g_ptr_array_new ();
          g_hash_table_insert (by_cause, (gpointer)dvm_node_get_reason (node->record), names);
          g_ptr_array_add (causes, (gpointer)dvm_node_get_reason (node->record));
        }
      g_ptr_array_add (names, (gpointer)dvm_node_get_name (node->record));
    }
  for (guint i = 0; i < causes->len; i++)
    {
      g_autofree char *names = join_names (g_hash_table_lookup (by_cause, causes->pdata[i]));

      g_string_append_printf (text, "%s%s: %s", i > 0 ? "; " : "", names, (const char *)causes->pdata[i]);
    }
}

static char *
describe_missing (DvmdCore *self)
{
  GString *text = g_string_new (NULL);

  if (dvmd_core_get_nodes_expected (self) > 1)
    g_string_append_printf (text, "%u of the %u nodes of the DVM did not come: ",
                            dvmd_membership_count_missing (dvmd_core_get_membership (self)),
                            dvmd_core_get_nodes_expected (self));
  else
    g_string_append (text, "The node of the DVM did not come: ");
  add_causes (self, text);
  return g_string_free (text, FALSE);
}

/* Everybody is waited for, also when some have failed: one look at the reason shows all that is to be mended. */
static void
check_outcomes (DvmdCore *self)
{
  g_autofree char *reason = NULL;

  if (!dvmd_membership_is_settled (dvmd_core_get_membership (self)))
    return;
  if (dvmd_membership_count_missing (dvmd_core_get_membership (self)) == 0
      || (dvmd_core_get_settings (self)->allow_missing && dvmd_core_get_nodes_reported (self) > 0))
    {
      dvmd_core_post_vm (self, DVMD_VM_REPORTED, 0, NULL);
      return;
    }
  reason = describe_missing (self);
  dvmd_core_post_vm (self, DVMD_VM_FAILED, DVM_JOB_STATE_FAILED_TO_LAUNCH, reason);
}

/* It was given up, and its node is no member: it is told to leave (D8). */
static void
refuse_latecomer (DvmdCore *self, DvmdNode *node)
{
  if (dvmd_core_get_settings (self)->elastic && dvmd_node_is_down (node))
    dvmd_core_get_effects (self)->see_off (dvmd_core_get_user_data (self),
                                           &(DvmdSendOff){ .nodes = &node, .n_nodes = 1 });
}

void
dvmd_core_agent_reported (DvmdCore *self, guint rank, const DvmdAgentReport *report)
{
  DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (self), rank);

  if (node == NULL || node->stage != DVMD_STAGE_COMING)
    {
      g_message ("An agent reports as rank %u, which is not expected", rank);
      /* Of an attempt to bring a node back it is over, and the launcher has ended what there was. */
      if (node != NULL && rank > 0 && node->heal == NULL)
        refuse_latecomer (self, node);
      return;
    }
  node->hwthreads = MAX (report->hwthreads, 1);
  dvmd_node_pool_set_contact (dvmd_core_get_nodes (self), node, report->address, report->pid, report->aliases);
  _dvm_node_set_topology (node->record, report->topology);
  _dvm_node_set_memory_allotted (node->record, report->memory);
  _dvm_node_set_last_seen (node->record, dvmd_clock_now (dvmd_core_get_clock (self)));
  dvmd_core_node_changed (self, rank);
  dvmd_core_changed (self);
  dvmd_core_agent_step (self, node, DVMD_LIFE_REPORTED, 0, NULL);
}

void
dvmd_core_agent_changed (DvmdCore *self, guint rank, const DvmdAgentReport *report)
{
  DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (self), rank);

  if (node == NULL || (node->stage != DVMD_STAGE_REPORTED && node->stage != DVMD_STAGE_MEMBER))
    return;
  node->hwthreads = MAX (report->hwthreads, 1);
  /* One that is not a member yet gets its slots when it is wired. */
  if (node->stage == DVMD_STAGE_MEMBER && !node->slots_given)
    dvmd_node_pool_set_slots (dvmd_core_get_nodes (self), node, node->hwthreads + node->slots_added, node->slots_max);
  _dvm_node_set_topology (node->record, report->topology);
  _dvm_node_set_memory_allotted (node->record, report->memory);
  dvmd_core_node_changed (self, rank);
  dvmd_core_look_again (self);
  dvmd_core_changed (self);
}

void
dvmd_start_reported (DvmdCore *self)
{
  dvmd_membership_report (dvmd_core_get_membership (self));
  dvmd_core_changed (self);
  check_outcomes (self);
}

void
dvmd_start_missed (DvmdCore *self, gboolean had_reported)
{
  dvmd_membership_miss (dvmd_core_get_membership (self), had_reported);
  check_outcomes (self);
}
