/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <dvm.h>

#include "dvm-hosts-private.h"
#include "dvmd-inheritance.h"

G_BEGIN_DECLS

/* A request asks for a larger or smaller DVM: it is the a{sv} of Manager.Allocate, read. */

typedef enum
{
  DVMD_SIZE_GROW, /* new, extend and reaquire */
  DVMD_SIZE_SHRINK,
  DVMD_SIZE_CANCEL,
} DvmdSizeKind;

typedef struct
{
  DvmdSizeKind kind;
  char *req_id;    /* (nullable): of this request */
  char *alloc_id;  /* (nullable): an allocation that there is */
  char *of_req_id; /* (nullable): the same, by the request that it came from */
  guint session;   /* the same, by number; is_new: its parent */
  gboolean has_session;
  gboolean is_new;
  gboolean reaquire;
  DvmHosts *hosts; /* (nullable) */
  guint count;     /* of nodes that nobody names */
  gboolean share;
  gboolean share_given;
  char *target; /* (nullable): the namespace that owns it */
  DvmdInheritance inheritance;
  gboolean inheritance_given;
  guint time; /* s; 0: no limit */
  gboolean has_time;
  guint warn_timeout; /* s before that; 0: none */
  gboolean has_warn_timeout;
  gboolean child_separate;
  guint drain_timeout; /* s */
} DvmdSizeRequest;

/* DVM_ERROR_BAD_PARAM names the key, or the place in a file; DVM_ERROR_NOT_SUPPORTED what this version does not do. */
DvmdSizeRequest *dvmd_size_request_new (const char *directive, GVariant *request, DvmHosts *hosts, GError **error);
/*
 * The hosts that "hosts" and "hostfile" of a request name are read; in any thread. *hosts (transfer full) (nullable):
 * neither is there. For dvmd_size_request_new(), which takes them, and reads by itself if they are NULL.
 */
gboolean dvmd_size_request_read_hosts (GVariant *request, DvmHostsRead *read, DvmHosts **hosts, GError **error);
void dvmd_size_request_free (DvmdSizeRequest *self);
/* (transfer container): the names of its hosts, NULL if there are none */
const char **dvmd_size_request_list_hosts (DvmdSizeRequest *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdSizeRequest, dvmd_size_request_free)

G_END_DECLS
