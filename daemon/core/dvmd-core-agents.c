/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The end of an agent, and what follows from it in each part of its life.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-campaign-inner.h"
#include "dvmd-core-nodes.h"
#include "dvmd-departure.h"
#include "dvmd-log.h"
#include "dvmd-vm.h"

/* ---- the end of an agent ---- */

/* The part of its life that it is in. */
typedef enum
{
  LIFE_ORDERED,  /* it has been told to leave */
  LIFE_ENDING,   /* so have all: the DVM ends */
  LIFE_COMING,   /* a grow brings it */
  LIFE_STARTING, /* the DVM was not ready yet */
  LIFE_MEMBER,
  N_LIVES
} Life;

static Life
get_life (DvmdCore *self, DvmdNode *node)
{
  if (node->ordered)
    return LIFE_ORDERED;
  if (dvmd_core_get_shutting_down (self))
    return LIFE_ENDING;
  if (node->grow != NULL)
    return LIFE_COMING;
  return dvmd_core_was_ready (self) ? LIFE_MEMBER : LIFE_STARTING;
}

enum
{
  NO_NEWS,
  DEPARTS,
  DROPPED,
  MISSED, /* at the start */
  FAILS_GROW,
  LOGGED = 8,
};

/* Of one that is on its way out the departure is what counts; at the end of the DVM nobody goes back. */
static const guint end_steps[DVMD_AGENT_N_ENDS][N_LIVES] = {
  [DVMD_AGENT_FAILED] = { LOGGED, LOGGED | DROPPED, LOGGED | FAILS_GROW, MISSED, LOGGED | DROPPED },
  [DVMD_AGENT_LOST] = { LOGGED, LOGGED | DROPPED, LOGGED | FAILS_GROW, LOGGED | MISSED, LOGGED | DROPPED },
  [DVMD_AGENT_GONE] = { DEPARTS, DROPPED, LOGGED | FAILS_GROW, LOGGED | MISSED, LOGGED | DROPPED },
  [DVMD_AGENT_DEPARTED] = { DEPARTS },
};

static guint
find_step (DvmdCore *self, DvmdNode *node, DvmdAgentEnd how, DvmdCause cause)
{
  /* The departure of a node that is DOWN already counts too. */
  if (node == NULL || (how != DVMD_AGENT_DEPARTED && (node->rank == 0 || dvmd_node_is_down (node))))
    return NO_NEWS;
  /* Nothing of it is there, and no departure follows. */
  if (node->ordered && how == DVMD_AGENT_FAILED && cause == DVMD_CAUSE_LAUNCH)
    return DEPARTS;
  return end_steps[how][get_life (self, node)];
}

static void
log_loss (DvmdCore *self, DvmdNode *node, const char *reason)
{
  dvmd_log_about (G_LOG_DOMAIN,
                  dvmd_core_get_shutting_down (self) || node->ordered ? G_LOG_LEVEL_INFO : G_LOG_LEVEL_MESSAGE,
                  &(DvmdLogSubject){ .node = dvm_node_get_name (node->record) }, "its agent, rank %u, %s: %s",
                  node->rank, node->grow != NULL ? "did not come" : "was lost", reason);
}

static void
fail_grow (DvmdNode *node, DvmdCause cause, const char *reason)
{
  g_autofree char *named = g_strdup_printf ("%s: %s", dvm_node_get_name (node->record), reason);

  node->never_came |= cause == DVMD_CAUSE_LAUNCH;
  dvmd_campaign_fail (node->grow, cause, named);
}

void
dvmd_core_agent_ended (DvmdCore *self, guint rank, DvmdAgentEnd how, DvmdCause cause, const char *reason)
{
  DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (self), rank);
  guint step = find_step (self, node, how, cause);

  if (how == DVMD_AGENT_GONE)
    reason = dvmd_core_get_shutting_down (self) ? "The agent has ended" : "its agent has ended";
  else if (reason == NULL || reason[0] == '\0')
    reason = "nothing is known of why";
  else if (node != NULL)
    reason = dvmd_core_strip_name (node, reason);
  if (step == NO_NEWS)
    g_debug ("That agent %u has ended (%u) is not news", rank, how);
  if (step & LOGGED)
    log_loss (self, node, reason);
  switch (step & ~(guint)LOGGED)
    {
    case DEPARTS:
      dvmd_core_depart (self, node);
      dvmd_core_check_all_gone (self);
      break;
    case DROPPED:
      dvmd_core_drop_agent (self, node, reason);
      break;
    case MISSED:
      dvmd_core_miss_agent (self, node, reason);
      break;
    case FAILS_GROW:
      fail_grow (node, cause, reason);
      break;
    default:
      break;
    }
}
