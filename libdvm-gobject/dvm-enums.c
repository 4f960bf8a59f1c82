/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The states and kinds of all objects have numbers and names.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-enums"

#include <string.h>

#include "dvm.h"

/* The name for a number of a newer daemon that this library does not know. */
#define UNKNOWN_STATE "INVALID"

/* The values of an enumeration; a class that was asked for once is kept. */
static GEnumClass *
get_class (GType type)
{
  gpointer class = g_type_class_peek_static (type);

  return class != NULL ? class : g_type_class_ref (type);
}

/* The name of a state is that of its value without the prefix. */
static const char *
name_of (GType type, const char *prefix, int state)
{
  const GEnumValue *value = g_enum_get_value (get_class (type), state);

  return value != NULL ? value->value_name + strlen (prefix) : UNKNOWN_STATE;
}

static const GEnumValue *
find_state (GType type, const char *prefix, const char *name)
{
  GEnumClass *class = get_class (type);

  for (guint i = 0; i < class->n_values; i++)
    if (g_ascii_strcasecmp (class->values[i].value_name + strlen (prefix), name) == 0)
      return &class->values[i];
  return NULL;
}

/* The word of a session or a campaign is the nick of its value. */
static const char *
word_of (GType type, int value)
{
  GEnumClass *class = get_class (type);
  const GEnumValue *known = g_enum_get_value (class, value);

  return known != NULL ? known->value_nick : class->values[0].value_nick;
}

static int
find_word (GType type, const char *word)
{
  const GEnumValue *value = word != NULL ? g_enum_get_value_by_nick (get_class (type), word) : NULL;

  return value != NULL ? value->value : 0;
}

/**
 * dvm_job_state_to_string:
 * @state: a state
 *
 * The name of a state as in the specification, without prefix: "VM_READY".
 *
 * Returns: (transfer none): the name, "INVALID" for a number that is not known
 * Since: 0.1
 */
const char *
dvm_job_state_to_string (DvmJobState state)
{
  return name_of (DVM_TYPE_JOB_STATE, "DVM_JOB_STATE_", state);
}

/**
 * dvm_job_state_from_string:
 * @name: a name, in upper or lower case
 * @state: (out) (optional): the state
 *
 * Finds the state of a name.
 *
 * Returns: %FALSE if there is no such state; @state is then left alone
 * Since: 0.1
 */
gboolean
dvm_job_state_from_string (const char *name, DvmJobState *state)
{
  const GEnumValue *value;

  g_return_val_if_fail (name != NULL, FALSE);

  value = find_state (DVM_TYPE_JOB_STATE, "DVM_JOB_STATE_", name);
  if (value != NULL && state != NULL)
    *state = value->value;
  return value != NULL;
}

/**
 * dvm_job_state_is_live:
 * @state: a state
 *
 * Whether a job in this state still has a way to go: it has neither terminated nor failed.
 *
 * Returns: %TRUE if so
 * Since: 0.1
 */
gboolean
dvm_job_state_is_live (DvmJobState state)
{
  return state < DVM_JOB_STATE_UNTERMINATED;
}

/**
 * dvm_job_state_is_error:
 * @state: a state
 *
 * Whether this is an error state.
 *
 * Returns: %TRUE if so
 * Since: 0.1
 */
gboolean
dvm_job_state_is_error (DvmJobState state)
{
  return state >= DVM_JOB_STATE_ERROR;
}

/**
 * dvm_proc_state_to_string:
 * @state: a state
 *
 * The name of a state as in the specification, without prefix: "RUNNING".
 *
 * Returns: (transfer none): the name, "INVALID" for a number that is not known
 * Since: 0.1
 */
const char *
dvm_proc_state_to_string (DvmProcState state)
{
  return name_of (DVM_TYPE_PROC_STATE, "DVM_PROC_STATE_", state);
}

/**
 * dvm_proc_state_from_string:
 * @name: a name, in upper or lower case
 * @state: (out) (optional): the state
 *
 * Finds the state of a name.
 *
 * Returns: %FALSE if there is no such state; @state is then left alone
 * Since: 0.1
 */
gboolean
dvm_proc_state_from_string (const char *name, DvmProcState *state)
{
  const GEnumValue *value;

  g_return_val_if_fail (name != NULL, FALSE);

  value = find_state (DVM_TYPE_PROC_STATE, "DVM_PROC_STATE_", name);
  if (value != NULL && state != NULL)
    *state = value->value;
  return value != NULL;
}

/**
 * dvm_proc_state_is_live:
 * @state: a state
 *
 * Whether a process in this state has neither terminated nor failed.
 *
 * Returns: %TRUE if so
 * Since: 0.1
 */
gboolean
dvm_proc_state_is_live (DvmProcState state)
{
  return state < DVM_PROC_STATE_UNTERMINATED;
}

/**
 * dvm_proc_state_is_error:
 * @state: a state
 *
 * Whether this is an error state.
 *
 * Returns: %TRUE if so
 * Since: 0.1
 */
gboolean
dvm_proc_state_is_error (DvmProcState state)
{
  return state >= DVM_PROC_STATE_ERROR;
}

/**
 * dvm_node_state_to_string:
 * @state: a state
 *
 * The name of a state as in the specification, without prefix: "UP".
 *
 * Returns: (transfer none): the name, "INVALID" for a number that is not known
 * Since: 0.1
 */
const char *
dvm_node_state_to_string (DvmNodeState state)
{
  return name_of (DVM_TYPE_NODE_STATE, "DVM_NODE_STATE_", state);
}

/**
 * dvm_node_state_from_string:
 * @name: a name, in upper or lower case
 * @state: (out) (optional): the state
 *
 * Finds the state of a name.
 *
 * Returns: %FALSE if there is no such state; @state is then left alone
 * Since: 0.1
 */
gboolean
dvm_node_state_from_string (const char *name, DvmNodeState *state)
{
  const GEnumValue *value;

  g_return_val_if_fail (name != NULL, FALSE);

  value = find_state (DVM_TYPE_NODE_STATE, "DVM_NODE_STATE_", name);
  if (value != NULL && state != NULL)
    *state = value->value;
  return value != NULL;
}

/**
 * dvm_session_state_to_string:
 * @state: a state of a session
 *
 * The word for a state of a session that stands on the bus.
 *
 * Returns: (transfer none): the word, "undef" for what has none
 * Since: 0.1
 */
const char *
dvm_session_state_to_string (DvmSessionState state)
{
  return word_of (DVM_TYPE_SESSION_STATE, state);
}

/**
 * dvm_session_state_from_string:
 * @name: (nullable): a word such as it stands on the bus, or %NULL
 *
 * The state of a session that a word stands for.
 *
 * Returns: the state of a session, %DVM_SESSION_STATE_UNDEF for words that are not known
 * Since: 0.1
 */
DvmSessionState
dvm_session_state_from_string (const char *name)
{
  return (DvmSessionState)find_word (DVM_TYPE_SESSION_STATE, name);
}

/**
 * dvm_campaign_kind_to_string:
 * @kind: a kind of a campaign
 *
 * The word for a kind of a campaign that stands on the bus.
 *
 * Returns: (transfer none): the word, "undef" for what has none
 * Since: 0.1
 */
const char *
dvm_campaign_kind_to_string (DvmCampaignKind kind)
{
  return word_of (DVM_TYPE_CAMPAIGN_KIND, kind);
}

/**
 * dvm_campaign_kind_from_string:
 * @name: (nullable): a word such as it stands on the bus, or %NULL
 *
 * The kind of a campaign that a word stands for.
 *
 * Returns: the kind of a campaign, %DVM_CAMPAIGN_KIND_UNDEF for words that are not known
 * Since: 0.1
 */
DvmCampaignKind
dvm_campaign_kind_from_string (const char *name)
{
  return (DvmCampaignKind)find_word (DVM_TYPE_CAMPAIGN_KIND, name);
}

/**
 * dvm_campaign_state_to_string:
 * @state: a state of a campaign
 *
 * The word for a state of a campaign that stands on the bus.
 *
 * Returns: (transfer none): the word, "undef" for what has none
 * Since: 0.1
 */
const char *
dvm_campaign_state_to_string (DvmCampaignState state)
{
  return word_of (DVM_TYPE_CAMPAIGN_STATE, state);
}

/**
 * dvm_campaign_state_from_string:
 * @name: (nullable): a word such as it stands on the bus, or %NULL
 *
 * The state of a campaign that a word stands for.
 *
 * Returns: the state of a campaign, %DVM_CAMPAIGN_STATE_UNDEF for words that are not known
 * Since: 0.1
 */
DvmCampaignState
dvm_campaign_state_from_string (const char *name)
{
  return (DvmCampaignState)find_word (DVM_TYPE_CAMPAIGN_STATE, name);
}
