/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix-info.h"
#include "dvmd-pmix-inner.h"

G_BEGIN_DECLS

/* The members of a group, as those clients of this server have named them who are in it, or want to be. */
typedef struct _DvmdPmixGroup DvmdPmixGroup;

typedef struct _DvmdPmixGroupRequest DvmdPmixGroupRequest;

/* The information that a member has given the others. */
typedef struct
{
  pmix_proc_t proc;
  DvmdPmixInfo info;
} DvmdPmixGroupInfo;

/* A request of a client: all of it from malloc. */
struct _DvmdPmixGroupRequest
{
  gpointer client; /* whoever has captured it knows it by this */
  pmix_proc_t proc;
  gboolean dissolves;
  gboolean leaves; /* with dissolves: it alone */
  char *id;
  pmix_proc_t *procs; /* of a group that is to be: sorted */
  gsize n_procs;
  pmix_info_t *info;
  gsize n_info;
  /* On PMIx's thread, once: the request is freed after it. */
  void (*answer) (const DvmdPmixGroupRequest *self);
  /* The answer, when it has come. */
  DvmdPmixGroup *group; /* (nullable) */
  pmix_status_t status;
  gsize context;
  gboolean has_context;
  GArray *infos; /* (nullable): DvmdPmixGroupInfo, those that this server does not have yet */
};

/* From PMIx's thread. request: (transfer full) */
void dvmd_pmix_upcall_group (DvmdPmixGroupRequest *request);
void dvmd_pmix_group_request_free (DvmdPmixGroupRequest *self);

/* The rest is dvmd-pmix-group-table.c, for any thread. */

/*
 * A client asks for a group, to be answered with dvmd_pmix_groups_answered(). key (out): of the name and the members;
 * is_first (out): no other client of this server waits for that
 */
DvmdPmixGroup *dvmd_pmix_groups_ask (const char *id, const pmix_proc_t *procs, gsize n, const char **key,
                                     gboolean *is_first);
/*
 * members (out) (nullable) (transfer full): the client is in it, else it is not; from malloc. Returns: how many they
 * are
 */
gsize dvmd_pmix_groups_answered (DvmdPmixGroup *self, const pmix_proc_t *client, pmix_proc_t **members);
void dvmd_pmix_groups_left (const pmix_proc_t *client, const char *id);

/* As libpmix sorts them, so that it knows each member by the same number. */
void dvmd_pmix_sort_procs (pmix_proc_t *procs, gsize n);

/*
 * Whether a client of this server is in a group of that name: copies its members. members (out)
 * (transfer full): to be freed with g_free()
 */
gboolean dvmd_pmix_groups_find (const pmix_proc_t *client, const char *id, pmix_proc_t **members, gsize *n);
/* There is none at all. */
gboolean dvmd_pmix_groups_are_none (void);
/* Whether this server has groups: the library that it has is the one that it was built with. */
gboolean dvmd_pmix_groups_are_served (void);
gboolean dvmd_pmix_group_check_name (const char *id, GError **error);
/* The client is in that group now, as others have told, and in no other of the name. members: a(su) */
void dvmd_pmix_groups_note (const pmix_proc_t *client, const char *id, GVariant *members);
/* The clients of that job have gone. */
void dvmd_pmix_groups_forget (const char *nspace);

/* Adds the attributes of a group that are heeded. */
void dvmd_pmix_list_group_keys (GPtrArray *keys);

G_END_DECLS
