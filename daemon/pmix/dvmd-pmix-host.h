/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

#include "dvmd-call-kind.h"
#include "dvmd-pmix-numbers.h"

G_BEGIN_DECLS

/*
 * The interface by which a PMIx server asks the agent that owns it. The agent implements it; it is called on the main
 * context the server was started on, never nested in a call of the agent's own. A method that is NULL is refused to the
 * client as not supported. A token is answered exactly once (also after stop(), where the answer is dropped).
 */

#define DVMD_TYPE_PMIX_HOST (dvmd_pmix_host_get_type ())
G_DECLARE_INTERFACE (DvmdPmixHost, dvmd_pmix_host, DVMD, PMIX_HOST, GObject)

struct _DvmdPmixHostInterface
{
  GTypeInterface parent;

  /* The rank has called PMIx_Init, PMIx_Finalize. The client does not wait for the agent. */
  void (*connected) (DvmdPmixHost *self, const char *nspace, guint32 rank);
  void (*finalized) (DvmdPmixHost *self, const char *nspace, guint32 rank);
  /* The rank waits for a debugger, in PMIx_Init or at a place of its own, until DVMD_PMIX_DEBUGGER_RELEASE is told. */
  void (*ready_for_debug) (DvmdPmixHost *self, const char *nspace, guint32 rank);
  /* The connection of a rank broke without PMIx_Finalize. Its process may have gone, or be about to. */
  void (*lost) (DvmdPmixHost *self, const char *nspace, guint32 rank);
  /*
   * PMIx_Abort by nspace.rank of the processes named; none named: of the whole namespace. The client goes on, usually
   * to exit with status.
   */
  void (*abort) (DvmdPmixHost *self, const char *nspace, guint32 rank, int status, const char *message,
                 const DvmdPmixProc *targets, guint n_targets);
  /*
   * All local participants have come to a fence that has participants elsewhere: answered by
   * dvmd_pmix_complete_fence(). data: what this node contributes, empty unless collect. timeout in s, 0: none.
   */
  void (*fence) (DvmdPmixHost *self, guint64 token, const DvmdPmixProc *participants, guint n_participants,
                 GBytes *data, gboolean collect, guint timeout);
  /*
   * A local client wants what nspace.rank, on another node, has put: answered by dvmd_pmix_complete_direct_modex().
   * required_key (nullable): wait until it has put this one.
   */
  void (*direct_modex) (DvmdPmixHost *self, guint64 token, const char *nspace, guint32 rank, const char *required_key,
                        guint timeout);
  /*
   * A tool connects. nspace (nullable): what it calls itself, with rank; the answer (transfer full) is what it is
   * called here, with its rank in *rank. lost() tells when it has gone, also after PMIx_tool_finalize().
   */
  char *(*tool_connected) (DvmdPmixHost *self, const char *nspace, guint32 *rank);
  /* The same of one that a server process has given its name already. */
  void (*tool_named) (DvmdPmixHost *self, const char *nspace, guint32 rank);
  /* Tools find the node's server by a file of these contents; address (nullable): there is none at present. */
  void (*tools_let_in) (DvmdPmixHost *self, const char *address);
  /*
   * The server of this job has ended, or does not answer any more, and why. has_clients FALSE: none of its ranks is
   * known to have been a client, but one may have been coming, or (again) comes now and is turned away. Calls of the
   * job for the server are answered all the same.
   */
  void (*server_lost) (DvmdPmixHost *self, const char *nspace, const char *reason, gboolean has_clients);
  /*
   * A client or tool, as its connection proves, calls: answered by dvmd_pmix_complete_call(). request: of the type that
   * the kind has.
   */
  void (*call) (DvmdPmixHost *self, guint64 token, DvmdCallKind kind, const char *nspace, guint32 rank,
                GVariant *request);
  /* This server of the node has handed over n_pieces more of output. */
  void (*output_taken) (DvmdPmixHost *self, guint server, guint n_pieces);
  /* None of its clients pulls output any more; ended: nor does the server take what is on its way. */
  void (*output_unwanted) (DvmdPmixHost *self, guint server, gboolean ended);
  /*
   * All local participants have come to PMIx_Connect, or (leave) to PMIx_Disconnect, with participants elsewhere:
   * answered by dvmd_pmix_complete_connect().
   */
  void (*connect) (DvmdPmixHost *self, guint64 token, gboolean leave, const DvmdPmixProc *participants,
                   guint n_participants, guint timeout);
};

void dvmd_pmix_host_connected (DvmdPmixHost *self, const char *nspace, guint32 rank);
void dvmd_pmix_host_finalized (DvmdPmixHost *self, const char *nspace, guint32 rank);
void dvmd_pmix_host_ready_for_debug (DvmdPmixHost *self, const char *nspace, guint32 rank);
void dvmd_pmix_host_lost (DvmdPmixHost *self, const char *nspace, guint32 rank);
void dvmd_pmix_host_abort (DvmdPmixHost *self, const char *nspace, guint32 rank, int status, const char *message,
                           const DvmdPmixProc *targets, guint n_targets);
gboolean dvmd_pmix_host_fence (DvmdPmixHost *self, guint64 token, const DvmdPmixProc *participants,
                               guint n_participants, GBytes *data, gboolean collect, guint timeout);
gboolean dvmd_pmix_host_direct_modex (DvmdPmixHost *self, guint64 token, const char *nspace, guint32 rank,
                                      const char *required_key, guint timeout);
char *dvmd_pmix_host_tool_connected (DvmdPmixHost *self, const char *nspace, guint32 *rank);
void dvmd_pmix_host_tool_named (DvmdPmixHost *self, const char *nspace, guint32 rank);
void dvmd_pmix_host_tools_let_in (DvmdPmixHost *self, const char *address);
void dvmd_pmix_host_server_lost (DvmdPmixHost *self, const char *nspace, const char *reason, gboolean has_clients);
gboolean dvmd_pmix_host_call (DvmdPmixHost *self, guint64 token, DvmdCallKind kind, const char *nspace, guint32 rank,
                              GVariant *request);
void dvmd_pmix_host_output_taken (DvmdPmixHost *self, guint server, guint n_pieces);
void dvmd_pmix_host_output_unwanted (DvmdPmixHost *self, guint server, gboolean ended);
gboolean dvmd_pmix_host_connect (DvmdPmixHost *self, guint64 token, gboolean leave, const DvmdPmixProc *participants,
                                 guint n_participants, guint timeout);

G_END_DECLS
