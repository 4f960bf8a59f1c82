/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The kinds of messages have one table, with the type of each body.
 */

#include "config.h"

#include "dvmd-message.h"

typedef struct
{
  const char *name;
  const char *type;
  gboolean bulk;
} Kind;

/* By the number of the kind: the compiler refuses a number that is given twice. */
static const Kind kinds[] = {
  [DVMD_MSG_REPORT] = { "report", "(ussassiusst)" },
  [DVMD_MSG_LAUNCHED] = { "launched", "(ua(ui)a(uis))" },
  [DVMD_MSG_PROC_STATES] = { "proc-states", "(ua(uuii))" },
  [DVMD_MSG_RELAUNCHED] = { "relaunched", "(uuuis)" },
  [DVMD_MSG_ABORT] = { "abort", "(uuis)" },
  [DVMD_MSG_JOB_GONE] = { "job-gone", "(u)" },
  [DVMD_MSG_OUTPUT] = { "output", "(uuuay)", TRUE },
  [DVMD_MSG_OUTPUT_EOF] = { "output-eof", "(uuu)" },
  [DVMD_MSG_INPUT_TAKEN] = { "input-taken", "(uut)" },
  [DVMD_MSG_FENCE] = { "fence", "(ta(su)bayui)" },
  [DVMD_MSG_FENCE_GIVEN_UP] = { "fence-given-up", "(uti)" },
  [DVMD_MSG_MODEX] = { "modex", "(tsuu)" },
  [DVMD_MSG_MODEX_DATA] = { "modex-data", "(utiay)" },
  [DVMD_MSG_USAGE] = { "usage", "(taa{sv})", TRUE },
  [DVMD_MSG_STACKS] = { "stacks", "(ta(uss))", TRUE },
  [DVMD_MSG_RUN_LINE] = { "run-line", "(tbs)" },
  [DVMD_MSG_RUN_ENDED] = { "run-ended", "(tiiss)" },
  [DVMD_MSG_GONE] = { "gone", "()" },
  [DVMD_MSG_TOPOLOGY] = { "topology", "(tss)", TRUE },
  [DVMD_MSG_STAGE_TAKEN] = { "stage-taken", "(utt)" },
  [DVMD_MSG_STAGED] = { "staged", "(uts)" },
  [DVMD_MSG_ENVIRONMENT_ASK] = { "environment-ask", "(uu)" },
  [DVMD_MSG_MEMBERSHIP] = { "membership", "(ta(uss))" },
  [DVMD_MSG_LAUNCH] = { "launch", DVMD_LAUNCH_TYPE },
  [DVMD_MSG_SIGNAL] = { "signal", "(uis)" },
  [DVMD_MSG_KILL] = { "kill", "(ux)" },
  [DVMD_MSG_OUTPUT_CREDIT] = { "output-credit", "(ut)" },
  [DVMD_MSG_INPUT] = { "input", "(uuay)", TRUE },
  [DVMD_MSG_INPUT_EOF] = { "input-eof", "(uu)" },
  [DVMD_MSG_FENCE_DONE] = { "fence-done", "(tiay)" },
  [DVMD_MSG_FENCE_RESULT] = { "fence-result", "(utiay)" },
  [DVMD_MSG_MODEX_ASK] = { "modex-ask", "(utsu)" },
  [DVMD_MSG_MODEX_ANSWER] = { "modex-answer", "(tiay)" },
  [DVMD_MSG_USAGE_ASK] = { "usage-ask", "(tsu)" },
  [DVMD_MSG_STACKS_ASK] = { "stacks-ask", "(tusx)" },
  [DVMD_MSG_CONTINUE] = { "continue", "(u)" },
  [DVMD_MSG_STOP] = { "stop", "(x)" },
  [DVMD_MSG_TOPOLOGY_ASK] = { "topology-ask", "(t)" },
  [DVMD_MSG_STAGE_FILE] = { "stage-file", "(ustayut)" },
  [DVMD_MSG_STAGE_DATA] = { "stage-data", "(utay)", TRUE },
  [DVMD_MSG_STAGE_END] = { "stage-end", "(ust)" },
  [DVMD_MSG_RESIZE] = { "resize", "(uuu)" },
  [DVMD_MSG_NODE_LOST] = { "node-lost", "(uusau)" },
  [DVMD_MSG_ENVIRONMENT] = { "environment", "(ayaay)" },
  [DVMD_MSG_ADDRESSES] = { "addresses", "(a(us))" },
  [DVMD_MSG_RUN] = { "run", "(taay)" },
  [DVMD_MSG_RUN_INPUT] = { "run-input", "(tayb)" },
  [DVMD_MSG_ALLOTMENT] = { "allotment", "(st)" },
  [DVMD_MSG_RUN_SIGNAL] = { "run-signal", "(ti)" },
  [DVMD_MSG_EXIT] = { "exit", "()" },
  [DVMD_MSG_LEAVING] = { "leaving", "(s)" },
  [DVMD_MSG_LEAVE] = { "leave", "()" },
  [DVMD_MSG_LEFT] = { "left", "(u)" },
  [DVMD_MSG_CALL] = { "call", "(tusuuv)" },
  [DVMD_MSG_ANSWER] = { "answer", "(tuiv)" },
  [DVMD_MSG_SIZE_EVENT] = { "size-event", "(suissis)" },
  [DVMD_MSG_WARN] = { "warn", "(ux)" },
  [DVMD_MSG_TOOL_CAME] = { "tool-came", "(s)" },
  [DVMD_MSG_TOOL_GONE] = { "tool-gone", "(s)" },
  [DVMD_MSG_ALLOC_WARNING] = { "alloc-warning", "(sussu)" },
  [DVMD_MSG_EVENT] = { "event", "(isua(su)ba{sv})" },
  [DVMD_MSG_PULLED_OUTPUT] = { "pulled-output", "(usuuay)", TRUE },
  [DVMD_MSG_OUTPUT_TAKEN] = { "output-taken", "(uu)" },
  [DVMD_MSG_OUTPUT_UNWANTED] = { "output-unwanted", "(ub)" },
  [DVMD_MSG_ABORT_PROCS] = { "abort-procs", "(suuisa(su))" },
  [DVMD_MSG_JOB_EVENT] = { "job-event", "(suisiis)" },
  [DVMD_MSG_CONNECT] = { "connect", "(tba(su)ui)" },
  [DVMD_MSG_CONNECTED] = { "connected", "(ti)" },
  [DVMD_MSG_PMIX_LOST] = { "pmix-lost", "(us)" },
  [DVMD_MSG_MPI_LIBRARY] = { "mpi-library", "(us)" },
  [DVMD_MSG_JOB_INFO] = { "job-info", DVMD_JOB_INFO_TYPE },
  [DVMD_MSG_JOB_FORGET] = { "job-forget", "(s)" },
};

static const Kind *
find_kind (DvmdMessageKind kind)
{
  return kind < G_N_ELEMENTS (kinds) && kinds[kind].name != NULL ? &kinds[kind] : NULL;
}

const char *
dvmd_message_kind_name (DvmdMessageKind kind)
{
  const Kind *row = find_kind (kind);

  return row != NULL ? row->name : "unknown";
}

const GVariantType *
dvmd_message_kind_type (DvmdMessageKind kind)
{
  const Kind *row = find_kind (kind);

  return row != NULL ? G_VARIANT_TYPE (row->type) : NULL;
}

gboolean
dvmd_message_kind_is_bulk (DvmdMessageKind kind)
{
  const Kind *row = find_kind (kind);

  return row != NULL && row->bulk;
}

DvmdMessage *
dvmd_message_new (DvmdMessageKind kind, guint32 source, guint32 destination, GVariant *body)
{
  DvmdMessage *self;
  g_autoptr (GVariant) sunk = g_variant_ref_sink (body);

  g_return_val_if_fail (dvmd_message_kind_type (kind) != NULL, NULL);
  g_return_val_if_fail (g_variant_is_of_type (sunk, dvmd_message_kind_type (kind)), NULL);

  self = g_new0 (DvmdMessage, 1);
  g_atomic_ref_count_init (&self->ref_count);
  self->kind = kind;
  self->source = source;
  self->destination = destination;
  self->body = g_steal_pointer (&sunk);
  return self;
}

DvmdMessage *
dvmd_message_ref (DvmdMessage *self)
{
  g_atomic_ref_count_inc (&self->ref_count);
  return self;
}

void
dvmd_message_unref (DvmdMessage *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;
  g_variant_unref (self->body);
  g_free (self);
}

GVariant *
dvmd_variant_new_bytes (const char *text)
{
  return g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, text, strlen (text), 1);
}

char *
dvmd_variant_dup_bytes (GVariant *bytes)
{
  gsize n;
  const char *data = g_variant_get_fixed_array (bytes, &n, 1);

  return g_strndup (data != NULL ? data : "", n);
}

GVariant *
dvmd_variant_new_bytes_array (const char *const *texts)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("aay"));
  for (gsize i = 0; texts != NULL && texts[i] != NULL; i++)
    g_variant_builder_add_value (&builder, dvmd_variant_new_bytes (texts[i]));
  return g_variant_builder_end (&builder);
}

char **
dvmd_variant_dup_bytes_array (GVariant *array)
{
  gsize n = g_variant_n_children (array);
  char **texts = g_new0 (char *, n + 1);

  for (gsize i = 0; i < n; i++)
    {
      g_autoptr (GVariant) bytes = g_variant_get_child_value (array, i);

      texts[i] = dvmd_variant_dup_bytes (bytes);
    }
  return texts;
}
