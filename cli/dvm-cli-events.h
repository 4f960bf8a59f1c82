/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What happens in a DVM, one call for each change of state, in the order in which the DVM tells it.
 */

#pragma once

#include <dvm.h>

G_BEGIN_DECLS

typedef enum
{
  DVM_CLI_EVENT_DVM = 1 << 0,
  DVM_CLI_EVENT_JOB = 1 << 1,
  DVM_CLI_EVENT_PROC = 1 << 2,
  DVM_CLI_EVENT_NODE = 1 << 3,
  DVM_CLI_EVENT_SESSION = 1 << 4,
  DVM_CLI_EVENT_CAMPAIGN = 1 << 5,
} DvmCliEventKind;

typedef struct
{
  DvmCliEventKind kind;
  const char *path; /* of the object on the bus; that of its job for a process */
  const char *name; /* for people: a namespace, a node's name, an allocation id, a number */
  guint id;         /* number of the job, session or campaign; a node's rank */
  guint rank;       /* of a process */
  const char *old_state;
  const char *new_state;
  const char *reason;
  gboolean is_current; /* nothing has changed: this is how things are at the beginning */
} DvmCliEvent;

typedef void (*DvmCliEventFunc) (const DvmCliEvent *event, gpointer user_data);

/* "job", "proc", ... */
const char *dvm_cli_event_kind_to_string (DvmCliEventKind kind);
/* list: "job,node"; FALSE with a sentence in DVM_CLI_USAGE_ERROR */
gboolean dvm_cli_event_kinds_parse (const char *list, guint *kinds, GError **error);

typedef struct _DvmCliEvents DvmCliEvents;

/* client: connected. kinds: which DvmCliEventKind are told */
DvmCliEvents *dvm_cli_events_new (DvmClient *client, guint kinds, DvmCliEventFunc func, gpointer user_data);
void dvm_cli_events_free (DvmCliEvents *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmCliEvents, dvm_cli_events_free)

/* Also tells how things are now, as events with is_current. Runs the default main context until the DVM has answered.
 */
gboolean dvm_cli_events_start (DvmCliEvents *self, GError **error);
/* path: of a session or a campaign: whether the DVM still has it */
gboolean dvm_cli_events_knows (DvmCliEvents *self, const char *path);
/* How many jobs have not ended; ids: (nullable): only these count (a set of job numbers) */
guint dvm_cli_events_get_n_jobs (DvmCliEvents *self, GHashTable *ids);

G_END_DECLS
