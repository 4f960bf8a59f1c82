/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Clients and tools that write to the standard input of a job.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-input.h"

#include "dvm.h"
#include "dvmd-pmix-calls.h"
#include "dvmd-pmix-upcall.h"

/* A message could not carry any size. */
#define MAX_SIZE (16 * 1024 * 1024)
/* Of one request. */
#define MOST_PROCS 65536

/* last: an end has no data, or says so. */
static gboolean
read_directives (const DvmdPmixUpcall *self, gboolean *last, GError **error)
{
  *last = self->bytes == NULL || self->bytes->size == 0;
  for (gsize i = 0; i < self->n_directives; i++)
    if (PMIX_CHECK_KEY (&self->directives[i], PMIX_IOF_COMPLETE))
      *last |= PMIX_INFO_TRUE (&self->directives[i]);
    else if ((self->directives[i].flags & PMIX_INFO_REQD) != 0)
      {
        g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, "%s is not known here", self->directives[i].key);
        return FALSE;
      }
  return TRUE;
}

/* (nullable): floating */
static GVariant *
read_targets (const DvmdPmixUpcall *self, GError **error)
{
  g_auto (GVariantBuilder) rows = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE ("a(su)"));

  if (self->n_procs == 0 || self->n_procs > MOST_PROCS)
    {
      g_set_error (error, DVM_ERROR, self->n_procs == 0 ? DVM_ERROR_NOT_SUPPORTED : DVM_ERROR_OUT_OF_RESOURCE,
                   "%" G_GSIZE_FORMAT " targets of standard input: there can be 1 to %d", self->n_procs, MOST_PROCS);
      return NULL;
    }
  for (gsize i = 0; i < self->n_procs; i++)
    {
      if (!g_utf8_validate (self->procs[i].nspace, -1, NULL))
        {
          g_set_error_literal (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "The name of a job is no UTF-8");
          return NULL;
        }
      g_variant_builder_add (&rows, "(su)", self->procs[i].nspace, self->procs[i].rank);
    }
  return g_variant_builder_end (&rows);
}

/* (nullable): floating */
static GVariant *
read_input (const DvmdPmixUpcall *self, GError **error)
{
  gboolean has_data = self->bytes != NULL && self->bytes->bytes != NULL;
  gboolean last;
  GVariant *targets;

  if (!read_directives (self, &last, error))
    return NULL;
  if (has_data && self->bytes->size > MAX_SIZE)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE, "%" G_GSIZE_FORMAT " bytes at once are more than %d",
                   self->bytes->size, MAX_SIZE);
      return NULL;
    }
  targets = read_targets (self, error);
  if (targets == NULL)
    return NULL;
  return g_variant_new ("(@a(su)@ayb)", targets,
                        g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, has_data ? self->bytes->bytes : NULL,
                                                   has_data ? self->bytes->size : 0, 1),
                        last);
}

static void
run_input (DvmdPmixServer *server, const DvmdPmixUpcall *self)
{
  g_autoptr (GError) error = NULL;

  if (!dvmd_pmix_server_refuse_stranger (server, &self->proc, &self->call))
    {
      GVariant *request = read_input (self, &error);

      dvmd_pmix_server_call (server, &self->call, DVMD_CALL_INPUT, &self->proc, request, error);
    }
}

void
dvmd_pmix_upcall_input (const pmix_proc_t *source, const pmix_proc_t targets[], size_t n_targets,
                        const pmix_info_t directives[], size_t n_directives, const pmix_byte_object_t *data,
                        pmix_op_cbfunc_t callback, void *callback_data)
{
  dvmd_pmix_upcall_post (&(const DvmdPmixUpcall){
      .run = run_input,
      .proc = *source,
      .procs = targets,
      .n_procs = n_targets,
      .directives = directives,
      .n_directives = n_directives,
      .bytes = data,
      .call.callback.done = callback,
      .call.callback_data = callback_data,
  });
}
