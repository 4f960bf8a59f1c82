/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Credentials of munge are made and read, where its library and a munged are there.
 */

#include "config.h"

#include "dvmd-pmix-munge.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/types.h>

#include <dvm.h>

/* Packages of libpmix that were built with munge bring it along. */
#define MUNGE_LIBRARY "libmunge.so.2"

/* munge(3): the numbers of errors. */
#define EMUNGE_NO_MEMORY    5
#define EMUNGE_TIMEOUT      7
#define EMUNGE_FIRST_OF_BAD 8 /* from here on the credential is at fault */

typedef struct
{
  int (*encode) (char **credential, void *context, const void *data, int size);
  int (*decode) (const char *credential, void *context, void **data, int *size, uid_t *uid, gid_t *gid);
  const char *(*describe) (int status);
  char *reason; /* (nullable): why there is none */
} Munge;

static Munge *
open_library (void)
{
  Munge *self = g_new0 (Munge, 1);
  void *library = dlopen (MUNGE_LIBRARY, RTLD_NOW | RTLD_LOCAL);

  if (library == NULL)
    {
      self->reason = g_strdup (dlerror ());
      return self;
    }
  self->encode = (int (*) (char **, void *, const void *, int))dlsym (library, "munge_encode");
  self->decode = (int (*) (const char *, void *, void **, int *, uid_t *, gid_t *))dlsym (library, "munge_decode");
  self->describe = (const char *(*)(int))dlsym (library, "munge_strerror");
  if (self->encode == NULL || self->decode == NULL || self->describe == NULL)
    self->reason = g_strdup (MUNGE_LIBRARY " is none of munge's");
  return self;
}

/* (nullable) */
static const Munge *
get_munge (GError **error)
{
  static gsize once;
  const Munge *self;

  if (g_once_init_enter (&once))
    g_once_init_leave (&once, (gsize)open_library ());
  self = (const Munge *)once;
  if (self->reason == NULL)
    return self;
  g_set_error_literal (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, self->reason);
  return NULL;
}

static DvmError
find_code (int status)
{
  if (status >= EMUNGE_FIRST_OF_BAD)
    return DVM_ERROR_BAD_PARAM;
  if (status == EMUNGE_TIMEOUT)
    return DVM_ERROR_TIMEOUT;
  return status == EMUNGE_NO_MEMORY ? DVM_ERROR_OUT_OF_RESOURCE : DVM_ERROR_NOT_SUPPORTED;
}

char *
dvmd_munge_encode (GError **error)
{
  const Munge *munge = get_munge (error);
  char *credential = NULL;
  char *copy = NULL;
  int status = munge != NULL ? munge->encode (&credential, NULL, NULL, 0) : -1;

  if (munge != NULL && status != 0)
    g_set_error_literal (error, DVM_ERROR, find_code (status), munge->describe (status));
  else if (munge != NULL)
    copy = g_strdup (credential);
  free (credential);
  return copy;
}

gboolean
dvmd_munge_decode (const char *credential, guint32 *uid, guint32 *gid, GError **error)
{
  const Munge *munge = get_munge (error);
  void *data = NULL;
  int size = 0;
  uid_t user = 0;
  gid_t group = 0;
  int status;

  if (munge == NULL)
    return FALSE;
  /* A credential that has expired has a user, too. */
  status = munge->decode (credential, NULL, &data, &size, &user, &group);
  free (data);
  if (status != 0)
    {
      g_set_error_literal (error, DVM_ERROR, find_code (status), munge->describe (status));
      return FALSE;
    }
  *uid = user;
  *gid = group;
  return TRUE;
}
