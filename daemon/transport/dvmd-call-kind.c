/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The kinds of calls have one table, with the types of request and answer.
 */

#include "config.h"

#include "dvmd-call-kind.h"

const DvmdCallType *
dvmd_call_kind_get_type (guint kind)
{
  static const DvmdCallType types[DVMD_N_CALLS] = {
    [DVMD_CALL_ALLOCATE] = { "change the nodes of the DVM", "(sa{sv})", "(ssu)" },
    [DVMD_CALL_SPAWN] = { "start a job", "(aa{sv}a{sv}uu)", "(s)" },
    [DVMD_CALL_JOB_CONTROL] = { "control jobs", "(a(su)si)", "()" },
    [DVMD_CALL_DATA] = { "publish or look up", "(uuua{sv})", "(a(susay))" },
  };

  return kind < DVMD_N_CALLS ? &types[kind] : NULL;
}
