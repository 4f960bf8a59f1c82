/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "dvmd-session-private.h"

#include "dvm-records-private.h"

G_DEFINE_FINAL_TYPE (DvmdSession, dvmd_session, G_TYPE_OBJECT)

static void
dvmd_session_finalize (GObject *object)
{
  DvmdSession *self = DVMD_SESSION (object);

  g_clear_object (&self->record);
  G_OBJECT_CLASS (dvmd_session_parent_class)->finalize (object);
}

static void
dvmd_session_class_init (DvmdSessionClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = dvmd_session_finalize;
}

static void
dvmd_session_init (DvmdSession *self)
{
}

guint
dvmd_session_get_id (DvmdSession *self)
{
  return dvm_session_get_id (self->record);
}

const char *
dvmd_session_get_alloc_id (DvmdSession *self)
{
  return dvm_session_get_alloc_id (self->record);
}

DvmSession *
dvmd_session_get_record (DvmdSession *self)
{
  return self->record;
}

void
dvmd_session_publish (DvmdSession *self)
{
}
