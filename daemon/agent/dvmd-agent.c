/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The agent is put together: it starts, reports, stops, and hands messages to its services.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-private.h"
#include "dvmd-agent-cpus.h"
#include "dvmd-agent-pmix.h"
#include "dvmd-agent-procs.h"
#include "dvmd-agent-rendezvous.h"
#include "dvmd-agent-stage.h"
#include "dvmd-cgroup.h"
#include "dvmd-pmix-dirs.h"
#include "dvmd-pmix-environment.h"

#include <malloc.h>
#include <pwd.h>
#include <unistd.h>

#include "dvmd-remove-tree.h"

enum
{
  ENDED,
  RELEASED,
  TOLD_TO_LEAVE,
  N_SIGNALS
};

static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE_WITH_CODE (DvmdAgent, dvmd_agent, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (DVMD_TYPE_PMIX_HOST, dvmd_agent_pmix_host_iface_init))

static void
dvmd_agent_dispose (GObject *object)
{
  DvmdAgent *self = DVMD_AGENT (object);

  if (self->pmix != NULL)
    dvmd_pmix_stop (self->pmix, NULL, NULL);
  self->pmix_started = FALSE;
  if (self->link != NULL)
    g_signal_handlers_disconnect_by_data (self->link, self);
  g_clear_object (&self->link);
  if (self->services != NULL)
    dvmd_agent_services_ending (self);
  g_clear_pointer (&self->by_nspace, g_hash_table_unref);
  g_clear_pointer (&self->jobs, g_hash_table_unref);
  if (self->parts.clock != NULL)
    dvmd_clock_remove_timer (self->parts.clock, self->memory_timer);
  self->memory_timer = 0;
  g_clear_object (&self->pmix);
  g_clear_pointer (&self->services, dvmd_agent_services_free);
  g_clear_pointer (&self->parts.containers, dvmd_containers_free);
  if (self->options.shares_reaper)
    self->parts.reaper = NULL;
  g_clear_pointer (&self->parts.reaper, dvmd_reaper_free);
  g_clear_pointer (&self->parts.spawner, dvmd_spawner_free);
  g_clear_pointer (&self->parts.queue, dvmd_event_queue_free);
  g_clear_pointer (&self->daemon, dvmd_local_daemon_unref);
  g_clear_pointer (&self->parts.topology, dvmd_topology_unref);
  g_clear_pointer (&self->machine, dvmd_topology_unref);
  g_clear_pointer (&self->parts.clock, dvmd_clock_unref);
  g_clear_pointer (&self->parts.context, g_main_context_unref);
  G_OBJECT_CLASS (dvmd_agent_parent_class)->dispose (object);
}

static void
dvmd_agent_finalize (GObject *object)
{
  DvmdAgent *self = DVMD_AGENT (object);

  g_free (self->parts.name);
  g_free (self->parts.nspace);
  g_free (self->parts.runtime_dir);
  g_free (self->options.addresses);
  g_free (self->options.topology_file);
  g_hash_table_unref (self->node_names);
  G_OBJECT_CLASS (dvmd_agent_parent_class)->finalize (object);
}

static void
dvmd_agent_class_init (DvmdAgentClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = dvmd_agent_dispose;
  G_OBJECT_CLASS (klass)->finalize = dvmd_agent_finalize;
  signals[ENDED] = g_signal_new ("ended", DVMD_TYPE_AGENT, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  signals[RELEASED] = g_signal_new ("released", DVMD_TYPE_AGENT, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE,
                                    0);
  signals[TOLD_TO_LEAVE] = g_signal_new ("told-to-leave", DVMD_TYPE_AGENT, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                         G_TYPE_NONE, 0);
}

static void
dvmd_agent_init (DvmdAgent *self)
{
  self->jobs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)dvmd_agent_job_free);
  self->by_nspace = g_hash_table_new (g_str_hash, g_str_equal);
  self->node_names = g_hash_table_new_full (NULL, NULL, NULL, g_free);
}

static void
handle_membership (gpointer service, guint source, GVariant *body)
{
  DvmdAgent *self = service;
  g_autoptr (GVariantIter) rows = NULL;
  guint32 rank;
  char *name;

  g_hash_table_remove_all (self->node_names);
  g_variant_get (body, "(ta(uss))", NULL, &rows);
  while (g_variant_iter_next (rows, "(uss)", &rank, &name, NULL))
    g_hash_table_insert (self->node_names, GUINT_TO_POINTER (rank), name);
  dvmd_agent_services_told_members (self);
  dvmd_local_daemon_told_members (self->daemon);
  dvmd_agent_give_memory_back (self);
}

void
dvmd_agent_stop (DvmdAgent *self, gint64 grace)
{
  GHashTableIter iter;
  gpointer job;

  dvmd_local_daemon_stop (self->daemon, grace == 0);
  dvmd_agent_services_ending (self);
  g_hash_table_iter_init (&iter, self->jobs);
  while (g_hash_table_iter_next (&iter, NULL, &job))
    dvmd_agent_kill_job (job, grace);
  dvmd_agent_end_unused_stages (self);
  dvmd_agent_check_end (self);
}

void
dvmd_agent_leave (DvmdAgent *self, const char *reason, gint64 grace)
{
  dvmd_agent_send (self, DVMD_MSG_LEAVING, g_variant_new ("(s)", reason));
  dvmd_agent_stop (self, grace);
}

static void
handle_stop (gpointer service, guint source, GVariant *body)
{
  DvmdAgent *self = service;
  gint64 grace;

  g_variant_get (body, "(x)", &grace);
  dvmd_agent_stop (self, grace);
}

static void
handle_exit (gpointer service, guint source, GVariant *body)
{
  g_signal_emit (service, signals[RELEASED], 0);
}

static void
handle_leave (gpointer service, guint source, GVariant *body)
{
  g_signal_emit (service, signals[TOLD_TO_LEAVE], 0);
}

void
dvmd_agent_say_left (DvmdAgent *self, guint32 uplink)
{
  dvmd_agent_send (self, DVMD_MSG_LEFT, g_variant_new ("(u)", uplink));
}

static void
on_pmix_stopped (gpointer user_data)
{
  DvmdAgent *self = user_data;

  dvmd_agent_send (self, DVMD_MSG_GONE, g_variant_new ("()"));
  g_signal_emit (self, signals[ENDED], 0);
}

static void
on_terminated (DvmdLocalDaemon *daemon, gpointer user_data)
{
  DvmdAgent *self = user_data;
  gboolean started = self->pmix_started;

  self->pmix_started = FALSE;
  if (!started || dvmd_pmix_stop (self->pmix, on_pmix_stopped, self))
    on_pmix_stopped (self);
}

/* Several nodes of one machine cannot all have its names. cpus: to which the agent was told to keep; "": to none, as is
 * parts.memory 0 */
static void
report (DvmdAgent *self, const char *cpus)
{
  const char *host = g_get_host_name ();
  g_autofree char *short_name = g_strndup (host, strcspn (host, "."));
  const char *aliases[] = { host, short_name, NULL };
  const char *none[] = { NULL };

  dvmd_agent_send (self, DVMD_MSG_REPORT,
                   g_variant_new ("(uss^assiusst)", self->parts.rank, DVM_VERSION_STRING, host,
                                  self->options.logical ? none : aliases,
                                  self->options.addresses != NULL ? self->options.addresses : "", (gint32)getpid (),
                                  dvmd_topology_get_n_pus (self->parts.topology),
                                  dvmd_topology_get_signature (self->parts.topology), cpus, self->parts.memory));
}

/* The machine is looked at anew, as a process sees it that may use these cpus alone. */
static void
handle_allotment (gpointer service, guint source, GVariant *body)
{
  DvmdAgent *self = service;
  g_autoptr (GError) error = NULL;
  DvmdTopology *topology;
  const char *cpus;

  g_variant_get (body, "(&st)", &cpus, &self->parts.memory);
  topology = dvmd_agent_keep_to_cpus (self->machine, self->parts.topology, cpus, &error);
  if (topology != NULL)
    {
      dvmd_topology_unref (self->parts.topology);
      self->parts.topology = topology;
    }
  else
    g_message ("The scheduler gives the cpus %.200s of this node, and the agent keeps to those that it has: %s", cpus,
               error->message);
  report (self, cpus);
}

static void
handle_topology_ask (gpointer service, guint source, GVariant *body)
{
  DvmdAgent *self = service;
  g_autoptr (GError) error = NULL;
  g_autofree char *xml = dvmd_topology_dup_xml (self->parts.topology, &error);
  guint64 token;

  g_variant_get (body, "(t)", &token);
  dvmd_agent_send (self, DVMD_MSG_TOPOLOGY,
                   g_variant_new ("(tss)", token, xml != NULL ? xml : "", error != NULL ? error->message : ""));
}

static const DvmdHandler handlers[] = {
  { DVMD_MSG_MEMBERSHIP, handle_membership },
  { DVMD_MSG_STOP, handle_stop },
  { DVMD_MSG_ALLOTMENT, handle_allotment },
  { DVMD_MSG_TOPOLOGY_ASK, handle_topology_ask },
  { DVMD_MSG_EXIT, handle_exit },
  { DVMD_MSG_LEAVE, handle_leave },
  { 0 },
};

const DvmdAgentService dvmd_agent_frame_service = {
  .name = "frame",
  .handlers = handlers,
};

static void
on_message (DvmdLink *link, DvmdMessage *message, gpointer user_data)
{
  if (!dvmd_agent_services_handle (user_data, message))
    g_message ("A message of kind %s is not for an agent", dvmd_message_kind_name (message->kind));
}

/* GLib and PMIx ask for the home directory; PMIx falls over where there is none at all. */
static void
set_home (void)
{
  if (g_getenv ("HOME") == NULL && getpwuid (getuid ()) == NULL)
    g_setenv ("HOME", "/", TRUE);
}

/* Output and frames come and go by the megabyte: a heap whose end is given back each time takes longer to grow again
 * than the bytes take to copy. What is larger than this alone goes back at once. */
static void
keep_memory (gsize size)
{
#ifdef __GLIBC__
  mallopt (M_TRIM_THRESHOLD, (int)size);
  mallopt (M_MMAP_THRESHOLD, (int)size);
#endif
}

void
dvmd_agent_prepare_process (gsize heap_kept)
{
  dvmd_reaper_block_sigchld ();
  set_home ();
  keep_memory (heap_kept);
}

gboolean
dvmd_agent_prepare_environment (const char *pmix_gds, const char *pmix_security, GError **error)
{
  dvmd_topology_prepare_environment ();
  dvmd_pmix_prepare_environment (pmix_gds);
  return dvmd_pmix_prepare_security (pmix_security, error);
}

DvmdAgent *
dvmd_agent_new (const DvmdAgentSettings *settings, DvmdLink *link, DvmdPmix *pmix, DvmdClock *clock,
                GMainContext *context)
{
  DvmdAgent *self = g_object_new (DVMD_TYPE_AGENT, NULL);

  self->parts.rank = settings->rank;
  self->parts.name = g_strdup (settings->name);
  self->parts.nspace = g_strdup (settings->dvm_nspace);
  self->parts.runtime_dir = g_strdup (settings->runtime_dir);
  self->options.addresses = g_strdup (settings->addresses);
  self->options.topology_file = g_strdup (settings->topology);
  self->options.logical = settings->logical;
  self->options.pmix_eager = settings->pmix_eager;
  self->options.adopt_orphans = settings->adopt_orphans;
  self->parts.reaper = settings->reaper;
  self->options.shares_reaper = settings->reaper != NULL;
  self->link = g_object_ref (link);
  self->pmix = pmix != NULL ? g_object_ref (pmix) : NULL;
  self->parts.clock = dvmd_clock_ref (clock);
  self->parts.context = context != NULL ? g_main_context_ref (context) : NULL;
  self->parts.queue = dvmd_event_queue_new_for_context (context);
  self->daemon = dvmd_local_daemon_new (self->parts.nspace, self->parts.queue, on_terminated, self);
  self->services = dvmd_agent_services_new (self, settings);
  g_signal_connect (link, "message", G_CALLBACK (on_message), self);
  return self;
}

/* Sessions that are there are of an agent that died: the runtime directory has one owner. */
static gboolean
clear_sessions (DvmdAgent *self, GError **error)
{
  g_autofree char *sessions = g_build_filename (self->parts.runtime_dir, "sessions", NULL);

  return dvmd_remove_tree_contents (sessions, error);
}

static DvmdTopology *
read_topology (DvmdAgent *self, GError **error)
{
  g_autofree char *xml = NULL;
  gsize length;

  if (self->options.topology_file == NULL)
    return dvmd_topology_new_local (error);
  return g_file_get_contents (self->options.topology_file, &xml, &length, error)
             ? dvmd_topology_new_from_neighbour (xml, length, error)
             : NULL;
}

gboolean
dvmd_agent_start (DvmdAgent *self, GError **error)
{
  if (!clear_sessions (self, error))
    return FALSE;
  self->parts.topology = read_topology (self, error);
  if (self->parts.topology == NULL)
    return FALSE;
  self->machine = dvmd_topology_ref (self->parts.topology);
  self->parts.spawner = dvmd_spawner_new (error);
  if (self->parts.spawner == NULL)
    return FALSE;
  dvmd_spawner_raise_nofile (self->parts.spawner);
  if (!self->options.shares_reaper)
    self->parts.reaper = dvmd_reaper_new (self->parts.context, self->options.adopt_orphans, error);
  if (self->parts.reaper == NULL)
    return FALSE;
  self->parts.containers = dvmd_containers_new (self->parts.context, self->parts.clock, self->parts.spawner,
                                                self->parts.reaper, DVMD_CONTAINERS_AUTO, error);
  if (self->parts.containers == NULL)
    return FALSE;
  dvmd_pmix_dirs_sweep (NULL);
  if (self->options.pmix_eager && !dvmd_agent_start_pmix (self, error))
    return FALSE;
  report (self, "");
  dvmd_local_daemon_reported (self->daemon);
  return TRUE;
}

void
dvmd_agent_sweep_machine (void)
{
  g_autoptr (DvmdClock) clock = dvmd_clock_new_real (NULL);
  DvmdCgroups *cgroups = dvmd_cgroups_new (clock, NULL);

  /* They are looked for at the start of those that are to be used. */
  g_clear_pointer (&cgroups, dvmd_cgroups_free);
  dvmd_pmix_dirs_sweep (NULL);
  dvmd_agent_rendezvous_clear ();
}

char *
dvmd_agent_draw_machines (void)
{
  static const DvmdStateTable *const tables[] = { &dvmd_local_daemon_table, &dvmd_local_job_table,
                                                  &dvmd_local_proc_table, NULL };

  return dvmd_state_tables_to_dot (tables);
}
