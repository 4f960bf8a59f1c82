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
#include "dvmd-pmix-upcalls.h"

typedef struct
{
  DvmdPmixItem item;
  pmix_proc_t source;
  const pmix_proc_t *targets;
  gsize n_targets;
  const pmix_info_t *directives;
  gsize n_directives;
  const pmix_byte_object_t *data;
  DvmdPmixCall call;
} Upcall;

/* The controller takes no more of one writer; a message could not carry any size. */
#define MAX_SIZE (16 * 1024 * 1024)

/* last: an end has no data, or says so. */
static gboolean
read_directives (const Upcall *self, gboolean *last, GError **error)
{
  *last = self->data == NULL || self->data->size == 0;
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
read_input (const Upcall *self, GError **error)
{
  gboolean has_data = self->data != NULL && self->data->bytes != NULL;
  gboolean last;

  if (!read_directives (self, &last, error))
    return NULL;
  if (self->n_targets != 1 || !g_utf8_validate (self->targets[0].nspace, -1, NULL))
    {
      g_set_error_literal (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                           "One job is written to at a time, and it has to be named");
      return NULL;
    }
  if (has_data && self->data->size > MAX_SIZE)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE, "%" G_GSIZE_FORMAT " bytes at once are more than %d",
                   self->data->size, MAX_SIZE);
      return NULL;
    }
  return g_variant_new ("(su@ayb)", self->targets[0].nspace, self->targets[0].rank,
                        g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, has_data ? self->data->bytes : NULL,
                                                   has_data ? self->data->size : 0, 1),
                        last);
}

static void
answer_input (const DvmdPmixCall *call, int status, GVariant *answer)
{
  call->callback.done (status, call->callback_data);
}

static void
upcall_free (DvmdPmixItem *item)
{
  g_free (item);
}

static void
upcall_run (DvmdPmixItem *item, gpointer owner)
{
  Upcall *self = (Upcall *)item;
  g_autoptr (DvmdPmixServer) server = g_object_ref (owner);
  g_autoptr (GError) error = NULL;

  if (!dvmd_pmix_server_refuse_stranger (server, &self->source, &self->call))
    {
      GVariant *request = read_input (self, &error);

      dvmd_pmix_server_call (server, &self->call, DVMD_CALL_INPUT, &self->source, request, error);
    }
  upcall_free (item);
}

void
dvmd_pmix_upcall_input (const pmix_proc_t *source, const pmix_proc_t targets[], size_t n_targets,
                        const pmix_info_t directives[], size_t n_directives, const pmix_byte_object_t *data,
                        pmix_op_cbfunc_t callback, void *callback_data)
{
  Upcall *self = g_new0 (Upcall, 1);

  self->item.run = upcall_run;
  self->item.free = upcall_free;
  self->source = *source;
  self->targets = targets;
  self->n_targets = n_targets;
  self->directives = directives;
  self->n_directives = n_directives;
  self->data = data;
  self->call = (DvmdPmixCall){ .answer = answer_input, .callback.done = callback, .callback_data = callback_data };
  self->call.nspace = self->source.nspace;
  dvmd_pmix_upcalls_post (&self->item);
}
