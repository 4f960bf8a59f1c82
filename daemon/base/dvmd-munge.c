/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Credentials of munge are made and read, where its library and a munged are there.
 */

#include "config.h"

#include "dvmd-munge.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include <dvm.h>

/* Packages of libpmix that were built with munge bring it along. */
#define MUNGE_LIBRARY "libmunge.so.2"

/* munge(3): the numbers of errors. */
#define EMUNGE_NO_MEMORY    5
#define EMUNGE_TIMEOUT      7
#define EMUNGE_FIRST_OF_BAD 8 /* from here on the credential is at fault */

/* munge(3): the numbers of options, and of a cipher. */
#define MUNGE_OPT_CIPHER_TYPE     0
#define MUNGE_OPT_SOCKET          8
#define MUNGE_OPT_UID_RESTRICTION 9
#define MUNGE_CIPHER_AES128       4

typedef struct
{
  int (*encode) (char **credential, void *context, const void *data, int size);
  int (*decode) (const char *credential, void *context, void **data, int *size, uid_t *uid, gid_t *gid);
  const char *(*describe) (int status);
  void *(*create_context) (void);
  void (*destroy_context) (void *context);
  int (*set_option) (void *context, int option, ...);
  const char *(*describe_context) (void *context);
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
  self->create_context = (void *(*)(void))dlsym (library, "munge_ctx_create");
  self->destroy_context = (void (*) (void *))dlsym (library, "munge_ctx_destroy");
  self->set_option = (int (*) (void *, int, ...))dlsym (library, "munge_ctx_set");
  self->describe_context = (const char *(*)(void *))dlsym (library, "munge_ctx_strerror");
  if (self->encode == NULL || self->decode == NULL || self->describe == NULL || self->create_context == NULL
      || self->destroy_context == NULL || self->set_option == NULL || self->describe_context == NULL)
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

gboolean
dvmd_munge_is_there (GError **error)
{
  return get_munge (error) != NULL;
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

/* ---- with data ---- */

/* The words that munge has for a context name the socket, too. */
static void
set_context_error (const Munge *munge, void *context, int status, GError **error)
{
  const char *reason = context != NULL ? munge->describe_context (context) : NULL;

  g_set_error_literal (error, DVM_ERROR, find_code (status), reason != NULL ? reason : munge->describe (status));
}

/* (nullable) */
static void *
make_context (const Munge *munge, const char *socket, GError **error)
{
  void *context = munge->create_context ();
  int status = context == NULL ? EMUNGE_NO_MEMORY : 0;

  if (status == 0 && socket[0] != '\0')
    status = munge->set_option (context, MUNGE_OPT_SOCKET, socket);
  if (status == 0)
    return context;
  set_context_error (munge, context, status, error);
  if (context != NULL)
    munge->destroy_context (context);
  return NULL;
}

char *
dvmd_munge_seal (const char *socket, const guint8 *data, gsize size, GError **error)
{
  const Munge *munge = get_munge (error);
  void *context = munge != NULL ? make_context (munge, socket, error) : NULL;
  char *credential = NULL;
  char *copy = NULL;
  int status;

  if (context == NULL)
    return NULL;
  status = munge->set_option (context, MUNGE_OPT_UID_RESTRICTION, geteuid ());
  if (status == 0)
    status = munge->set_option (context, MUNGE_OPT_CIPHER_TYPE, MUNGE_CIPHER_AES128);
  if (status == 0)
    status = munge->encode (&credential, context, data, (int)size);
  if (status != 0)
    set_context_error (munge, context, status, error);
  else
    copy = g_strdup (credential);
  free (credential);
  munge->destroy_context (context);
  return copy;
}

GBytes *
dvmd_munge_unseal (const char *socket, const char *credential, guint32 *uid, GError **error)
{
  const Munge *munge = get_munge (error);
  void *context = munge != NULL ? make_context (munge, socket, error) : NULL;
  GBytes *bytes = NULL;
  void *data = NULL;
  int size = 0;
  uid_t user = 0;
  gid_t group = 0;
  int status;

  if (context == NULL)
    return NULL;
  status = munge->decode (credential, context, &data, &size, &user, &group);
  /* One that has expired, or came before, is decoded as well. */
  if (status != 0)
    set_context_error (munge, context, status, error);
  else
    {
      bytes = g_bytes_new (data, (gsize)MAX (size, 0));
      *uid = user;
    }
  if (data != NULL)
    explicit_bzero (data, (gsize)MAX (size, 0));
  free (data);
  munge->destroy_context (context);
  return bytes;
}
