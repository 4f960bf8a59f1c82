/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Messages find the service that takes them.
 */

#include "config.h"

#include "dvmd-dispatch.h"

#define N_KINDS 256

struct _DvmdDispatch
{
  struct
  {
    void (*handle) (gpointer service, guint source, GVariant *body);
    gpointer service;
  } by_kind[N_KINDS];
};

DvmdDispatch *
dvmd_dispatch_new (void)
{
  return g_new0 (DvmdDispatch, 1);
}

void
dvmd_dispatch_free (DvmdDispatch *self)
{
  g_free (self);
}

void
dvmd_dispatch_add (DvmdDispatch *self, const DvmdHandler *handlers, gpointer service)
{
  for (; handlers != NULL && handlers->handle != NULL; handlers++)
    {
      g_assert (handlers->kind < N_KINDS && self->by_kind[handlers->kind].handle == NULL);
      self->by_kind[handlers->kind].handle = handlers->handle;
      self->by_kind[handlers->kind].service = service;
    }
}

gboolean
dvmd_dispatch_deliver (DvmdDispatch *self, DvmdMessage *message)
{
  if (message->kind >= N_KINDS || self->by_kind[message->kind].handle == NULL)
    return FALSE;
  self->by_kind[message->kind].handle (self->by_kind[message->kind].service, message->source, message->body);
  return TRUE;
}
