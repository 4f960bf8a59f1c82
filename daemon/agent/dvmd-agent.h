/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-clock.h"
#include "dvmd-fence.h"
#include "dvmd-link.h"
#include "dvmd-pmix.h"
#include "dvmd-reaper.h"
#include "dvmd-state-machine.h"

G_BEGIN_DECLS

/*
 * The agent: runs the processes of one node and owns the truth about them. It speaks to the controller through its
 * link alone, so that it can live in the controller's process or in one of its own.
 *
 * Signals: ended (): everything is ended and GONE is sent; released (): nobody needs this daemon any more;
 * told-to-leave (): the DVM goes on without it.
 */

#define DVMD_TYPE_AGENT (dvmd_agent_get_type ())
G_DECLARE_FINAL_TYPE (DvmdAgent, dvmd_agent, DVMD, AGENT, GObject)

typedef struct
{
  guint rank;
  const char *name;         /* of the node */
  const char *dvm_nspace;   /* of the DVM */
  const char *runtime_dir;  /* private directory of this daemon */
  const char *addresses;    /* (nullable): where it listens for others, with blanks between them */
  const char *topology;     /* (nullable): file with the topology of this machine */
  gboolean logical;         /* the node is a part of its machine, under a name of its own */
  const char *pmix_gds;     /* (nullable) */
  gboolean pmix_eager;      /* start PMIx with the agent, not with the first job that needs it */
  guint pmix_servers;       /* processes that PMIx has at most; 0: none, libpmix is in this one */
  gboolean pmix_tools;      /* PMIx lets tools in, and is there for them also without a job */
  gboolean pmix_everywhere; /* on each part of a machine: else it is there without a job on the first alone */
  gboolean pmix_system;     /* its tools find it as the system-level server of the machine */
  gboolean adopt_orphans;   /* this process is the subreaper: not in tests that share it */
  DvmdReaper *reaper;       /* (nullable): that of the process, where others start children too; it lives longer */
} DvmdAgentSettings;

/* First thing in main() of a program with an agent that adopts orphans, before there is any thread. Sees to it that
 * there is a home directory. So many bytes that are free stay with the process: what is on its way needs them again. */
void dvmd_agent_prepare_process (gsize heap_kept);
/* The environment gets the variables that have to be there before there are threads. */
gboolean dvmd_agent_prepare_environment (const char *pmix_gds, const char *pmix_security, GError **error);

/* link, pmix: reffed. pmix is a fake in tests of many agents in one process; NULL: that of libpmix, when it is needed.
 */
DvmdAgent *dvmd_agent_new (const DvmdAgentSettings *settings, DvmdLink *link, DvmdPmix *pmix, DvmdClock *clock,
                           GMainContext *context);
/* Before it has jobs. tree, user_data: borrowed, until the agent has gone */
void dvmd_agent_set_fence_tree (DvmdAgent *self, const DvmdFenceTree *tree, gpointer user_data);
/* The members have changed, and the node is the first of them, or not: where nodes are parts of one machine, tools that
 * look for the machine come here.
 */
void dvmd_agent_set_first (DvmdAgent *self, gboolean first);
/* Looks at the machine and reports to the controller. */
gboolean dvmd_agent_start (DvmdAgent *self, GError **error);
/* Ends all processes (grace in µs between SIGTERM and SIGKILL), then "ended"; as the message STOP does. */
void dvmd_agent_stop (DvmdAgent *self, gint64 grace);
/* The same, by the agent's own will: the controller hears of it first, so that the node is what its jobs have lost. */
void dvmd_agent_leave (DvmdAgent *self, const char *reason, gint64 grace);
/* As ordered, and over this uplink: all is done here. */
void dvmd_agent_say_left (DvmdAgent *self, guint32 uplink);

/* Removes what agents of this machine that were killed have left: files for tools, shared memory, cgroups. */
void dvmd_agent_sweep_machine (void);

/* (transfer full): the state machines of a node, its jobs and its ranks as text for Graphviz, one after another */
char *dvmd_agent_draw_machines (void);

G_END_DECLS
