/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The types of calls are looked up here.
 */

#include "config.h"

#include "dvmd-call-kind.h"

const DvmdCallType *
dvmd_call_kind_get_type (guint kind)
{
#define DVMD_CALL_TYPE(name, words, request, answer) { words, request, answer },
  static const DvmdCallType types[DVMD_N_CALLS] = { DVMD_CALLS (DVMD_CALL_TYPE) };
#undef DVMD_CALL_TYPE

  return kind < DVMD_N_CALLS ? &types[kind] : NULL;
}

gboolean
dvmd_call_kind_is_anonymous (DvmdCallKind kind)
{
  return kind == DVMD_CALL_QUERY || kind == DVMD_CALL_PULL;
}
