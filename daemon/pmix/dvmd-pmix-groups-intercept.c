/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The functions of libpmix's server for groups, which it finds before its own: each client's request goes to the
 * controller, which knows all members of the group.
 *
 * The functions of libpmix 4.2.2 gather the clients of one server, take a timer's argument for another struct than it
 * is, tell nobody of a member that has gone, believe that a group of all of a job is one of this node, and keep the
 * members of the first group of a name for all later ones. A group whose name is that of a namespace, or empty, takes
 * the fences of that namespace, or all, to its members. Those of 4.2.4 to 5.0 hand up what they have gathered, by name
 * alone and without a word on who has come, and never while a member is missing that has died.
 *
 * So do its fences, of groups and of programs that nobody has launched.
 *
 * This file, dvmd-pmix-missed.c and the other *-intercept.c know the inside of the library: they are built where the
 * headers of that are installed, and do nothing with another version than theirs.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "dvmd-pmix-groups.h"
#include "dvmd-pmix-inner.h"
#include "dvmd-pmix-inside.h"
#include "dvmd-pmix-tools.h"

#include "src/mca/gds/gds.h"
#include "src/mca/ptl/base/base.h"

#define EXPORTED __attribute__ ((visibility ("default")))

typedef pmix_status_t (*ServeGroup) (pmix_server_caddy_t *client, pmix_buffer_t *buffer);
typedef pmix_status_t (*ServeFence) (pmix_server_caddy_t *client, pmix_buffer_t *buffer, pmix_modex_cbfunc_t modex,
                                     pmix_op_cbfunc_t done);

/* ---- requests ---- */

/* Clients from 4.2.4 on are told the members of a group, and tell them when they dissolve it. */
static gboolean
knows_members (const pmix_peer_t *peer)
{
  const pmix_proc_type_t *type = &peer->proc_type;

  return (type->major << 16 | type->minor << 8 | type->release) >= 0x040204;
}

static pmix_status_t
read_request (pmix_peer_t *peer, pmix_buffer_t *buffer, DvmdPmixGroupRequest *request)
{
  pmix_status_t status;
  int32_t count = 1;

  PMIX_BFROPS_UNPACK (status, peer, buffer, &request->id, &count, PMIX_STRING);
  if (status != PMIX_SUCCESS || request->id == NULL)
    return status != PMIX_SUCCESS ? status : PMIX_ERR_BAD_PARAM;
  if (!request->dissolves || (!request->leaves && knows_members (peer)))
    {
      gpointer procs = NULL;

      status = dvmd_pmix_inside_read_items (peer, buffer, &procs, &request->n_procs, sizeof (pmix_proc_t), PMIX_PROC);
      request->procs = procs;
    }
  if (status == PMIX_SUCCESS)
    {
      gpointer info = NULL;

      status = dvmd_pmix_inside_read_items (peer, buffer, &info, &request->n_info, sizeof (pmix_info_t), PMIX_INFO);
      request->info = info;
    }
  return status;
}

/* A value counts, for those who name the group by the number that the DVM has given it. */
static pmix_status_t
store (const DvmdPmixGroupInfo *given, gsize context)
{
  pmix_status_t status = PMIX_SUCCESS;

  for (gsize i = 0; i < given->info.length && status == PMIX_SUCCESS; i++)
    {
      pmix_info_t pair[2] = { 0 };
      pmix_data_array_t array = { .type = PMIX_INFO, .size = 2, .array = pair };
      pmix_value_t value = { .type = PMIX_DATA_ARRAY, .data.darray = &array };
      pmix_kval_t entry;

      PMIX_INFO_XFER (&pair[0], &given->info.items[i]);
      PMIX_INFO_LOAD (&pair[1], PMIX_GROUP_CONTEXT_ID, &context, PMIX_SIZE);
      PMIX_INFO_SET_QUALIFIER (&pair[1]);
      PMIX_CONSTRUCT (&entry, pmix_kval_t);
      entry.key = (char *)PMIX_QUALIFIED_VALUE;
      entry.value = &value;
      PMIX_GDS_STORE_KV (status, pmix_globals.mypeer, &given->proc, PMIX_GLOBAL, &entry);
      PMIX_INFO_DESTRUCT (&pair[0]);
      PMIX_INFO_DESTRUCT (&pair[1]);
    }
  return status;
}

/* The members come first for those who read them. */
static pmix_status_t
pack_answer (pmix_peer_t *peer, pmix_buffer_t *buffer, const DvmdPmixGroupRequest *request)
{
  gsize context = request->has_context ? request->context : SIZE_MAX;
  pmix_status_t status = request->status;
  pmix_status_t rc;

  PMIX_BFROPS_PACK (rc, peer, buffer, &status, 1, PMIX_STATUS);
  if (rc != PMIX_SUCCESS || status != PMIX_SUCCESS || request->dissolves)
    return rc;
  if (knows_members (peer))
    {
      PMIX_BFROPS_PACK (rc, peer, buffer, &request->n_procs, 1, PMIX_SIZE);
      if (rc == PMIX_SUCCESS)
        PMIX_BFROPS_PACK (rc, peer, buffer, request->procs, (int32_t)request->n_procs, PMIX_PROC);
      if (rc != PMIX_SUCCESS)
        return rc;
    }
  PMIX_BFROPS_PACK (rc, peer, buffer, &context, 1, PMIX_SIZE);
  return rc;
}

/* The client of a request, which may have gone before the answer. An object of the library for that cannot be made
 * here. */
typedef struct
{
  pmix_peer_t *peer;
  guint32 tag;
} Asker;

static Asker *
asker_new (pmix_peer_t *peer, guint32 tag)
{
  Asker *self = g_new0 (Asker, 1);

  PMIX_RETAIN (peer);
  self->peer = peer;
  self->tag = tag;
  return self;
}

static void
asker_free (Asker *self)
{
  PMIX_RELEASE (self->peer);
  g_free (self);
}

static void
answer (const DvmdPmixGroupRequest *request)
{
  Asker *asker = request->client;
  pmix_buffer_t *buffer = PMIX_NEW (pmix_buffer_t);
  pmix_status_t status = PMIX_SUCCESS;

  for (guint i = 0; request->infos != NULL && i < request->infos->len && status == PMIX_SUCCESS; i++)
    status = store (&g_array_index (request->infos, DvmdPmixGroupInfo, i), request->context);
  if (status != PMIX_SUCCESS)
    g_message ("What the members of group %s have for one another is not stored: %s", request->id,
               PMIx_Error_string (status));
  dvmd_pmix_inside_send (asker->peer, asker->tag, buffer, pack_answer (asker->peer, buffer, request));
  asker_free (asker);
}

/* The library's own notes of groups that it has told its clients of. */
static void
drop_notes (void)
{
#ifdef HAVE_PMIX_SERVER_GLOBALS_GROUPS
  pmix_list_item_t *item;

  while ((item = pmix_list_remove_first (&pmix_server_globals.groups)) != NULL)
    PMIX_RELEASE (item);
#endif
}

static pmix_status_t
take (pmix_peer_t *peer, guint32 tag, pmix_buffer_t *buffer, gboolean dissolves, gboolean leaves)
{
  DvmdPmixGroupRequest *request = g_new0 (DvmdPmixGroupRequest, 1);
  pmix_status_t status;

  drop_notes ();
  request->dissolves = dissolves;
  request->leaves = leaves;
  request->answer = answer;
  status = read_request (peer, buffer, request);
  if (status != PMIX_SUCCESS)
    {
      dvmd_pmix_group_request_free (request);
      return status;
    }
  dvmd_pmix_sort_procs (request->procs, request->n_procs);
  PMIX_LOAD_PROCID (&request->proc, peer->info->pname.nspace, peer->info->pname.rank);
  request->client = asker_new (peer, tag);
  dvmd_pmix_upcall_group (request);
  return PMIX_SUCCESS;
}

/* client: the library's, unless this succeeds */
static pmix_status_t
take_of_client (pmix_server_caddy_t *client, pmix_buffer_t *buffer, gboolean dissolves)
{
  pmix_status_t status = take (client->peer, client->hdr.tag, buffer, dissolves, FALSE);

  if (status == PMIX_SUCCESS)
    PMIX_RELEASE (client);
  return status;
}

EXPORTED pmix_status_t
pmix_server_grpconstruct (pmix_server_caddy_t *client, pmix_buffer_t *buffer)
{
  if (dvmd_pmix_groups_are_served ())
    return take_of_client (client, buffer, FALSE);
  return ((ServeGroup)dlsym (RTLD_NEXT, "pmix_server_grpconstruct")) (client, buffer);
}

EXPORTED pmix_status_t
pmix_server_grpdestruct (pmix_server_caddy_t *client, pmix_buffer_t *buffer)
{
  if (dvmd_pmix_groups_are_served ())
    return take_of_client (client, buffer, TRUE);
  return ((ServeGroup)dlsym (RTLD_NEXT, "pmix_server_grpdestruct")) (client, buffer);
}

/* ---- a request that the library's server has no function for ---- */

typedef void (*ServeMessage) (struct pmix_peer_t *sender, pmix_ptl_hdr_t *header, pmix_buffer_t *buffer, void *data);

/* For each message; on PMIx's thread alone. */
static ServeMessage
find_next_handler (void)
{
  static gsize next_once;

  if (g_once_init_enter (&next_once))
    g_once_init_leave (&next_once, (gsize)dlsym (RTLD_NEXT, "pmix_server_message_handler"));
  return (ServeMessage)next_once;
}

/* TRUE: the rest of the buffer is what it is about; else all of it is there as before. */
static gboolean
take_leave (pmix_peer_t *peer, pmix_buffer_t *buffer)
{
  char *start = buffer->unpack_ptr;
  pmix_cmd_t command = 0;
  int32_t count = 1;
  pmix_status_t status;

  if (PMIX_BUFFER_IS_EMPTY (buffer))
    return FALSE;
  PMIX_BFROPS_UNPACK (status, peer, buffer, &command, &count, PMIX_COMMAND);
  if (status == PMIX_SUCCESS && command == PMIX_GROUP_LEAVE_CMD)
    return TRUE;
  buffer->unpack_ptr = start;
  return FALSE;
}

EXPORTED void
pmix_server_message_handler (struct pmix_peer_t *sender, pmix_ptl_hdr_t *header, pmix_buffer_t *buffer, void *data)
{
  pmix_peer_t *peer = (pmix_peer_t *)sender;
  pmix_status_t status;

  if (!dvmd_pmix_groups_are_served () || !take_leave (peer, buffer))
    {
      find_next_handler () (sender, header, buffer, data);
      return;
    }
  status = take (peer, header->tag, buffer, TRUE, TRUE);
  if (status != PMIX_SUCCESS)
    dvmd_pmix_inside_answer (peer, header->tag, status);
}

/* ---- fences of groups ---- */

static gboolean
has_whole_job (const pmix_proc_t *members, gsize n)
{
  for (gsize i = 0; i < n; i++)
    if (members[i].rank == PMIX_RANK_WILDCARD)
      return TRUE;
  return FALSE;
}

/* TRUE: found, all of the members or (index) one of them, and added to procs. */
static gboolean
add_member (GArray *procs, const pmix_proc_t *client, const pmix_proc_t *named, pmix_status_t *status)
{
  g_autofree pmix_proc_t *members = NULL;
  gsize n;

  if (!dvmd_pmix_groups_find (client, named->nspace, &members, &n))
    return FALSE;
  if (named->rank == PMIX_RANK_WILDCARD)
    g_array_append_vals (procs, members, (guint)n);
  else if (named->rank < n && !has_whole_job (members, n))
    g_array_append_val (procs, members[named->rank]);
  else
    *status = PMIX_ERR_BAD_PARAM;
  return TRUE;
}

/* (transfer full) (nullable): the processes, if there are groups among them */
static GArray *
expand (const pmix_proc_t *client, const pmix_proc_t *procs, gsize n, pmix_status_t *status)
{
  g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof (pmix_proc_t));
  gboolean found = FALSE;

  for (gsize i = 0; i < n; i++)
    if (add_member (all, client, &procs[i], status))
      found = TRUE;
    else
      g_array_append_val (all, procs[i]);
  return found ? g_steal_pointer (&all) : NULL;
}

/* The request with other processes in it. */
static pmix_status_t
rewrite (pmix_peer_t *peer, pmix_buffer_t *request, GArray *procs, pmix_buffer_t *buffer)
{
  gsize n = procs->len;
  pmix_status_t status;

  PMIX_BFROPS_PACK (status, peer, buffer, &n, 1, PMIX_SIZE);
  if (status == PMIX_SUCCESS)
    PMIX_BFROPS_PACK (status, peer, buffer, procs->data, (int32_t)n, PMIX_PROC);
  if (status == PMIX_SUCCESS)
    PMIX_BFROPS_COPY_PAYLOAD (status, peer, buffer, request);
  return status;
}

static pmix_status_t
fence_expanded (pmix_server_caddy_t *client, pmix_buffer_t *request, GArray *procs, pmix_modex_cbfunc_t modex,
                pmix_op_cbfunc_t done, ServeFence next)
{
  pmix_buffer_t buffer;
  pmix_status_t status;

  PMIX_CONSTRUCT (&buffer, pmix_buffer_t);
  status = rewrite (client->peer, request, procs, &buffer);
  if (status == PMIX_SUCCESS)
    status = next (client, &buffer, modex, done);
  PMIX_DESTRUCT (&buffer);
  return status;
}

/* ---- how they end ---- */

/* client: still the caller's unless this succeeds */
static pmix_status_t
answer_fence (pmix_server_caddy_t *client, pmix_status_t how)
{
  pmix_status_t status = dvmd_pmix_inside_answer (client->peer, client->hdr.tag, how);

  if (status == PMIX_SUCCESS)
    PMIX_RELEASE (client);
  return status;
}

/* How the library ends a fence: one function for all of them. */
static pmix_modex_cbfunc_t
remember_end (pmix_modex_cbfunc_t end)
{
  static gsize end_once;

  if (g_once_init_enter (&end_once))
    g_once_init_leave (&end_once, (gsize)end);
  return (pmix_modex_cbfunc_t)end_once;
}

typedef struct
{
  pmix_modex_cbfunc_t end;
  pmix_server_trkr_t *fence;
  pmix_status_t status;
  pmix_release_cbfunc_t release; /* (nullable) */
  void *release_data;
} Failure;

/*
 * The library (4.2.9 to 6.0) tells the first client of a fence that it has failed, and the others that it has not:
 * these are told by us.
 */
static void
fail_each (pmix_status_t status, void *data)
{
  g_autofree Failure *self = data;
  pmix_server_caddy_t *client;

  if (status == PMIX_ERR_INIT)
    return;
  while (pmix_list_get_size (&self->fence->local_cbs) > 1)
    {
      client = (pmix_server_caddy_t *)pmix_list_remove_last (&self->fence->local_cbs);
      /* Its process has gone. */
      if (answer_fence (client, self->status) != PMIX_SUCCESS)
        PMIX_RELEASE (client);
    }
  self->end (self->status, NULL, 0, self->fence, self->release, self->release_data);
}

/* The library and what we run on its thread call this there, and the host on the main thread. */
static void
end_fence (pmix_status_t status, const char *data, size_t n, void *tracker, pmix_release_cbfunc_t release,
           void *release_data)
{
  pmix_modex_cbfunc_t end = remember_end (NULL);
  pmix_server_trkr_t *fence = tracker;
  Failure *failure;

  if (status == PMIX_SUCCESS || fence == NULL)
    {
      end (status, data, n, tracker, release, release_data);
      return;
    }
  failure = g_new (Failure, 1);
  *failure = (Failure){ end, fence, status, release, release_data };
  if (gettid () == getpid ())
    dvmd_pmix_server_run_on_thread (fail_each, failure);
  else
    fail_each (PMIX_SUCCESS, failure);
}

EXPORTED pmix_status_t
pmix_server_fence (pmix_server_caddy_t *client, pmix_buffer_t *buffer, pmix_modex_cbfunc_t modex, pmix_op_cbfunc_t done)
{
  ServeFence next = (ServeFence)dlsym (RTLD_NEXT, "pmix_server_fence");
  char *start = buffer->unpack_ptr;
  g_auto (DvmdPmixMeeting) asked = { 0 };
  g_autoptr (GArray) procs = NULL;
  pmix_proc_t proc;
  gboolean of_tool;
  pmix_status_t status;

  if (!dvmd_pmix_groups_are_served ())
    return next (client, buffer, modex, done);
  remember_end (modex);
  drop_notes ();
  PMIX_LOAD_PROCID (&proc, client->peer->info->pname.nspace, client->peer->info->pname.rank);
  of_tool = dvmd_pmix_is_tool (proc.nspace);
  status = dvmd_pmix_meeting_read (&asked, client->peer, buffer);
  if (status == PMIX_SUCCESS)
    status = dvmd_pmix_meeting_check (&asked, PMIX_COLLECT_DATA);
  /* There is no other process. */
  if (status == PMIX_SUCCESS && asked.n_procs == 1 && of_tool && dvmd_pmix_is_singleton (asked.procs))
    return answer_fence (client, PMIX_SUCCESS);
  if (status == PMIX_SUCCESS && (of_tool || !dvmd_pmix_groups_are_none ()))
    procs = expand (&proc, asked.procs, asked.n_procs, &status);
  if (status != PMIX_SUCCESS)
    return status;
  buffer->unpack_ptr = procs != NULL ? asked.rest : start;
  return procs != NULL ? fence_expanded (client, buffer, procs, end_fence, done, next)
                       : next (client, buffer, end_fence, done);
}
