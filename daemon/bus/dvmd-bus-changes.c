/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The changes of a live job are collected until they are told together.
 */

#include "config.h"

#include "dvm-records-private.h"
#include "dvmd-bus-changes.h"

/* Rows of one ProcStateChanged. */
#define MAX_PROC_CHANGES 65536

static void
state_change_clear (gpointer data)
{
  DvmdBusStateChange *change = data;

  g_free (change->reason);
}

DvmdBusLiveJob *
dvmd_bus_live_job_new (DvmdJob *job)
{
  DvmdBusLiveJob *self = g_new0 (DvmdBusLiveJob, 1);

  self->job = g_object_ref (job);
  self->path = dvmd_bus_job_path (dvmd_job_get_id (job));
  self->states = g_array_new (FALSE, FALSE, sizeof (DvmdBusStateChange));
  g_array_set_clear_func (self->states, state_change_clear);
  self->procs = g_array_new (FALSE, FALSE, sizeof (DvmdBusProcChange));
  return self;
}

void
dvmd_bus_live_job_free (DvmdBusLiveJob *self)
{
  DvmJob *record = dvmd_job_get_record (self->job);

  g_clear_signal_handler (&self->notify_handler, record);
  g_clear_signal_handler (&self->proc_handler, record);
  g_array_unref (self->states);
  g_array_unref (self->procs);
  g_free (self->path);
  g_object_unref (self->job);
  g_free (self);
}

static gboolean
is_counter (const DvmRecordField *field)
{
  return g_str_has_prefix (field->bus_name, "Num");
}

guint64
dvmd_bus_live_job_get_mask (DvmdBusLiveJob *self, const char *property)
{
  return _dvm_record_get_changed_fields (G_OBJECT (dvmd_job_get_record (self->job)), property);
}

GVariant *
dvmd_bus_job_get_fields (DvmdJob *job, guint64 mask)
{
  guint n_fields;
  const DvmRecordField *fields = _dvm_record_get_fields (DVM_TYPE_JOB, &n_fields);
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  for (guint i = 0; i < n_fields; i++)
    if ((mask & (G_GUINT64_CONSTANT (1) << i)) != 0)
      _dvm_record_add_field (&builder, dvmd_job_get_record (job), &fields[i]);
  return g_variant_builder_end (&builder);
}

guint64
dvmd_bus_live_job_take_fields (DvmdBusLiveJob *self, gboolean with_counters)
{
  guint n_fields;
  const DvmRecordField *fields = _dvm_record_get_fields (DVM_TYPE_JOB, &n_fields);
  guint64 taken = self->dirty;

  for (guint i = 0; i < n_fields && !with_counters; i++)
    if (is_counter (&fields[i]))
      taken &= ~(G_GUINT64_CONSTANT (1) << i);
  self->dirty &= ~taken;
  return taken;
}

GVariant *
dvmd_bus_proc_changes_take (GArray *procs, guint *position)
{
  guint last = MIN (procs->len, *position + MAX_PROC_CHANGES);
  GVariantBuilder builder;

  if (*position >= procs->len)
    return NULL;
  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a(uuu)"));
  for (; *position < last; (*position)++)
    {
      const DvmdBusProcChange *change = &g_array_index (procs, DvmdBusProcChange, *position);

      g_variant_builder_add (&builder, "(uuu)", change->rank, change->old_state, change->new_state);
    }
  return g_variant_new ("(a(uuu))", &builder);
}
