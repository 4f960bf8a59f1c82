/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A PMIx server process speaks to its agent over a link: requests and answers as messages.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-stub.h"

#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#include "dvm.h"
#include "dvmd-pmix-messages.h"
#include "dvmd-wire.h"

#define TRIM_STEP (256 * 1024)

struct _DvmdPmixStub
{
  GObject parent_instance;

  DvmdWire *wire;
  DvmdPmix *pmix;
  DvmdPmixSettings settings;
  gboolean started;
  gboolean stopped;
  GHashTable *jobs; /* nspace -> DvmdPmixJob */
  guint last_tool;
  guint64 memory;                       /* bytes, the most that it had after a job */
  void (*on_started) (const char *dir); /* (nullable) */
};

/* A call of the agent that the library is to answer. */
typedef struct
{
  DvmdPmixStub *stub;
  guint64 number;
  DvmdPmixJob *job; /* (nullable) */
} Call;

enum
{
  ENDED,
  N_SIGNALS
};

static guint signals[N_SIGNALS];

static void dvmd_pmix_stub_host_init (DvmdPmixHostInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (DvmdPmixStub, dvmd_pmix_stub, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (DVMD_TYPE_PMIX_HOST, dvmd_pmix_stub_host_init))

static void
say (DvmdPmixStub *self, DvmdPmixMessageKind kind, GVariant *body)
{
  g_autoptr (DvmdPacket) packet = dvmd_packet_new (DVMD_PACKET_MESSAGE, 0, 0, kind, body);
  g_autoptr (GError) error = NULL;

  if (!dvmd_wire_send (self->wire, packet, DVMD_WIRE_CONTROL, &error))
    g_debug ("%s is not said to the agent: %s", dvmd_pmix_message_name (kind), error->message);
}

/* ---- answers to the agent ---- */

static Call *
call_new (DvmdPmixStub *self, guint64 number, DvmdPmixJob *job)
{
  Call *call = g_new0 (Call, 1);

  call->stub = g_object_ref (self);
  call->number = number;
  call->job = job;
  return call;
}

static void
call_free (Call *call)
{
  g_clear_pointer (&call->job, dvmd_pmix_job_unref);
  g_object_unref (call->stub);
  g_free (call);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Call, call_free)

static gint32
code_of (const GError *error)
{
  if (error == NULL)
    return -1;
  return error->domain == DVM_ERROR ? error->code : DVM_ERROR_FAILED;
}

static const char *
text_of (const GError *error)
{
  return error != NULL ? error->message : "";
}

/* The memory of this process that it does not share; 0: unknown. */
static guint64
read_memory (void)
{
  g_autofree char *text = NULL;
  guint64 resident;
  guint64 shared;

  if (!g_file_get_contents ("/proc/self/statm", &text, NULL, NULL)
      || sscanf (text, "%*u %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT, &resident, &shared) != 2)
    return 0;
  return (resident - MIN (shared, resident)) * (guint64)sysconf (_SC_PAGESIZE);
}

/* Growth is none before what is free has been given back, which takes longer than to look. */
static guint64
measure_memory (DvmdPmixStub *self)
{
  guint64 memory = read_memory ();

#ifdef __GLIBC__
  if (memory > self->memory + TRIM_STEP)
    {
      malloc_trim (0);
      memory = read_memory ();
    }
#endif
  self->memory = MAX (self->memory, memory);
  return memory;
}

static GVariant *
list_environments (DvmdPmixStub *self, DvmdPmixJob *job, GError **error)
{
  GVariantBuilder rows;

  g_variant_builder_init (&rows, G_VARIANT_TYPE ("a(uay)"));
  for (guint32 rank = 0; rank < dvmd_pmix_job_get_size (job); rank++)
    {
      g_auto (GStrv) environment = NULL;

      if (dvmd_pmix_job_get_rank (job, rank)->node != job->my_node)
        continue;
      environment = dvmd_pmix_dup_environment (self->pmix, job->nspace, rank, error);
      if (environment == NULL)
        break;
      g_variant_builder_add (&rows, "(u@ay)", rank, dvmd_pmix_strings_to_variant ((const char *const *)environment));
    }
  return g_variant_builder_end (&rows);
}

static void
on_registered (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (Call) call = user_data;
  DvmdPmixStub *self = call->stub;
  g_autoptr (GError) error = NULL;
  GVariant *environments = NULL;

  if (dvmd_pmix_register_job_finish (self->pmix, result, &error))
    environments = list_environments (self, call->job, &error);
  else
    {
      g_hash_table_remove (self->jobs, call->job->nspace);
      environments = g_variant_new_array (G_VARIANT_TYPE ("(uay)"), NULL, 0);
    }
  say (self, DVMD_PMIX_MSG_REGISTERED,
       g_variant_new ("(tis@a(uay))", call->number, code_of (error), text_of (error), environments));
}

static void
say_done (Call *call, const GError *error)
{
  say (call->stub, DVMD_PMIX_MSG_DONE,
       g_variant_new ("(tist)", call->number, code_of (error), text_of (error), measure_memory (call->stub)));
}

static void
on_deregistered (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (Call) call = user_data;
  g_autoptr (GError) error = NULL;

  dvmd_pmix_deregister_job_finish (call->stub->pmix, result, &error);
  say_done (call, error);
}

static void
on_taken_back (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (Call) call = user_data;
  g_autoptr (GError) error = NULL;

  dvmd_pmix_take_back_finish (call->stub->pmix, result, &error);
  say_done (call, error);
}

static void
on_fetched (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (Call) call = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) data = dvmd_pmix_fetch_modex_finish (call->stub->pmix, result, &error);

  if (data != NULL && g_bytes_get_size (data) > DVMD_PMIX_DATA_LIMIT)
    {
      g_set_error (&error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE,
                   "What the rank has put has %" G_GSIZE_FORMAT " bytes: others are told of up to %" G_GSIZE_FORMAT,
                   g_bytes_get_size (data), DVMD_PMIX_DATA_LIMIT);
      g_clear_pointer (&data, g_bytes_unref);
    }
  say (call->stub, DVMD_PMIX_MSG_FETCHED,
       g_variant_new ("(tis@ay)", call->number, code_of (error), text_of (error), dvmd_pmix_bytes_to_variant (data)));
}

static void
on_pinged (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (Call) call = user_data;

  say (call->stub, DVMD_PMIX_MSG_ANSWERED, g_variant_new ("(t)", call->number));
}

/* ---- what the agent says ---- */

static void
handle_start (DvmdPmixStub *self, GVariant *body)
{
  g_autoptr (GError) error = NULL;

  if (self->started)
    return;
  dvmd_pmix_settings_from_variant (&self->settings, body);
  self->started = dvmd_pmix_start (self->pmix, &self->settings, DVMD_PMIX_HOST (self), &error);
  if (self->started && self->on_started != NULL)
    self->on_started (self->settings.pmix_dir);
  say (self, DVMD_PMIX_MSG_STARTED, g_variant_new ("(s)", text_of (error)));
}

static void
handle_register (DvmdPmixStub *self, GVariant *body)
{
  g_autoptr (GVariant) variant = g_variant_get_child_value (body, 1);
  DvmdPmixJob *job = dvmd_pmix_job_new_from_variant (variant);
  guint64 number;

  g_variant_get_child (body, 0, "t", &number);
  g_hash_table_replace (self->jobs, job->nspace, dvmd_pmix_job_ref (job));
  dvmd_pmix_register_job_async (self->pmix, job, on_registered, call_new (self, number, job));
}

static void
handle_deregister (DvmdPmixStub *self, GVariant *body)
{
  const char *nspace;
  guint64 number;

  g_variant_get (body, "(t&s)", &number, &nspace);
  g_hash_table_remove (self->jobs, nspace);
  dvmd_pmix_deregister_job_async (self->pmix, nspace, on_deregistered, call_new (self, number, NULL));
}

static void
handle_abandon (DvmdPmixStub *self, GVariant *body)
{
  const char *nspace;

  g_variant_get (body, "(&s)", &nspace);
  g_hash_table_remove (self->jobs, nspace);
  dvmd_pmix_abandon_job (self->pmix, nspace);
}

static void
handle_gone (DvmdPmixStub *self, GVariant *body)
{
  const char *nspace;
  guint32 rank;

  g_variant_get (body, "(&su)", &nspace, &rank);
  dvmd_pmix_deregister_client (self->pmix, nspace, rank);
}

static void
handle_take_back (DvmdPmixStub *self, GVariant *body)
{
  const char *nspace;
  guint64 number;
  guint32 rank;

  g_variant_get (body, "(t&su)", &number, &nspace, &rank);
  dvmd_pmix_take_back_async (self->pmix, nspace, rank, on_taken_back, call_new (self, number, NULL));
}

static void
handle_fetch (DvmdPmixStub *self, GVariant *body)
{
  const char *nspace;
  guint64 number;
  guint32 rank;

  g_variant_get (body, "(t&su)", &number, &nspace, &rank);
  dvmd_pmix_fetch_modex_async (self->pmix, nspace, rank, on_fetched, call_new (self, number, NULL));
}

/* (token, status, data) */
static GBytes *
read_data (GVariant *body, guint64 *token, gint32 *status)
{
  g_autoptr (GVariant) data = NULL;

  g_variant_get (body, "(ti@ay)", token, status, &data);
  return g_variant_get_data_as_bytes (data);
}

static void
handle_fence_done (DvmdPmixStub *self, GVariant *body)
{
  guint64 token;
  gint32 status;
  g_autoptr (GBytes) data = read_data (body, &token, &status);

  dvmd_pmix_complete_fence (self->pmix, token, status, data);
}

static void
handle_modex_done (DvmdPmixStub *self, GVariant *body)
{
  guint64 token;
  gint32 status;
  g_autoptr (GBytes) data = read_data (body, &token, &status);

  dvmd_pmix_complete_direct_modex (self->pmix, token, status, data);
}

static void
handle_answer (DvmdPmixStub *self, GVariant *body)
{
  g_autoptr (GVariant) answer = NULL;
  guint64 token;
  gint32 status;

  g_variant_get (body, "(timv)", &token, &status, &answer);
  dvmd_pmix_complete_call (self->pmix, token, status, answer);
}

static void
handle_output (DvmdPmixStub *self, GVariant *body)
{
  g_autoptr (GVariant) data = NULL;
  g_autoptr (GBytes) bytes = NULL;
  DvmdPmixProc source;
  guint32 stream;

  g_variant_get (body, "(&suu@ay)", &source.nspace, &source.rank, &stream, &data);
  bytes = g_variant_get_data_as_bytes (data);
  dvmd_pmix_deliver_output (self->pmix, 0, &source, stream, bytes);
}

static void
handle_connect_done (DvmdPmixStub *self, GVariant *body)
{
  guint64 token;
  gint32 status;

  g_variant_get (body, "(ti)", &token, &status);
  dvmd_pmix_complete_connect (self->pmix, token, status);
}

static void
handle_event (DvmdPmixStub *self, GVariant *body)
{
  g_autoptr (GVariant) source = NULL;
  g_autoptr (GVariant) rows = NULL;
  g_autoptr (GVariant) details = NULL;
  g_autofree DvmdPmixProc *targets = NULL;
  DvmdPmixProc proc;
  guint n_targets;
  gint32 status;

  g_variant_get (body, "(im@(su)@a(su)m@a{sv})", &status, &source, &rows, &details);
  targets = dvmd_pmix_procs_from_variant (rows, &n_targets);
  if (source != NULL)
    g_variant_get (source, "(&su)", &proc.nspace, &proc.rank);
  dvmd_pmix_notify_event (self->pmix, status, source != NULL ? &proc : NULL, targets, n_targets, details);
}

static void
handle_catch_up (DvmdPmixStub *self, GVariant *body)
{
  dvmd_pmix_catch_up (self->pmix, "", NULL, NULL);
  say (self, DVMD_PMIX_MSG_ANSWERED, body);
}

static void
handle_ping (DvmdPmixStub *self, GVariant *body)
{
  guint64 number;

  g_variant_get (body, "(t)", &number);
  dvmd_pmix_ping_async (self->pmix, on_pinged, call_new (self, number, NULL));
}

static void
on_stopped (gpointer user_data)
{
  g_signal_emit (user_data, signals[ENDED], 0);
}

/* Clients and tools get what they were to be told before that. */
static void
handle_stop (DvmdPmixStub *self, GVariant *body)
{
  gboolean started = self->started;

  self->started = FALSE;
  self->stopped = TRUE;
  if (!started || dvmd_pmix_stop (self->pmix, on_stopped, self))
    on_stopped (self);
}

typedef void (*Handler) (DvmdPmixStub *self, GVariant *body);

static const Handler handlers[] = {
  [DVMD_PMIX_MSG_START] = handle_start,
  [DVMD_PMIX_MSG_REGISTER] = handle_register,
  [DVMD_PMIX_MSG_DEREGISTER] = handle_deregister,
  [DVMD_PMIX_MSG_ABANDON] = handle_abandon,
  [DVMD_PMIX_MSG_GONE] = handle_gone,
  [DVMD_PMIX_MSG_FETCH] = handle_fetch,
  [DVMD_PMIX_MSG_FENCE_DONE] = handle_fence_done,
  [DVMD_PMIX_MSG_MODEX_DONE] = handle_modex_done,
  [DVMD_PMIX_MSG_ANSWER] = handle_answer,
  [DVMD_PMIX_MSG_OUTPUT] = handle_output,
  [DVMD_PMIX_MSG_CONNECT_DONE] = handle_connect_done,
  [DVMD_PMIX_MSG_EVENT] = handle_event,
  [DVMD_PMIX_MSG_CATCH_UP] = handle_catch_up,
  [DVMD_PMIX_MSG_PING] = handle_ping,
  [DVMD_PMIX_MSG_STOP] = handle_stop,
  [DVMD_PMIX_MSG_TAKE_BACK] = handle_take_back,
};

static void
on_packet (DvmdWire *wire, DvmdPacket *packet, gpointer user_data)
{
  DvmdPmixStub *self = user_data;
  Handler handler = packet->kind < G_N_ELEMENTS (handlers) ? handlers[packet->kind] : NULL;

  if (handler != NULL && (self->started || packet->kind == DVMD_PMIX_MSG_START || packet->kind == DVMD_PMIX_MSG_STOP))
    handler (self, packet->body);
  /* The answer to a client was on its way when the server was told to stop. */
  else if (handler != NULL && self->stopped)
    g_debug ("%s comes after the end", dvmd_pmix_message_name (packet->kind));
  else
    g_message ("%s is nothing that a PMIx server can do now", dvmd_pmix_message_name (packet->kind));
}

static void
on_closed (DvmdWire *wire, const GError *error, gpointer user_data)
{
  DvmdPmixStub *self = user_data;

  dvmd_pmix_stop (self->pmix, NULL, NULL);
  on_stopped (self);
}

/* ---- what the library asks of the agent ---- */

static void
say_proc (DvmdPmixHost *host, DvmdPmixMessageKind kind, const char *nspace, guint32 rank)
{
  say (DVMD_PMIX_STUB (host), kind, g_variant_new ("(su)", nspace, rank));
}

static void
host_connected (DvmdPmixHost *host, const char *nspace, guint32 rank)
{
  say_proc (host, DVMD_PMIX_MSG_CONNECTED, nspace, rank);
}

static void
host_finalized (DvmdPmixHost *host, const char *nspace, guint32 rank)
{
  say_proc (host, DVMD_PMIX_MSG_FINALIZED, nspace, rank);
}

static void
host_waits (DvmdPmixHost *host, const char *nspace, guint32 rank)
{
  say_proc (host, DVMD_PMIX_MSG_WAITS, nspace, rank);
}

static void
host_lost (DvmdPmixHost *host, const char *nspace, guint32 rank)
{
  say_proc (host, DVMD_PMIX_MSG_LOST, nspace, rank);
}

static void
host_abort (DvmdPmixHost *host, const char *nspace, guint32 rank, int status, const char *message,
            const DvmdPmixProc *targets, guint n_targets)
{
  g_autofree char *text = message != NULL ? g_utf8_make_valid (message, -1) : g_strdup ("");

  say (DVMD_PMIX_STUB (host), DVMD_PMIX_MSG_ABORT,
       g_variant_new ("(suis@a(su))", nspace, rank, status, text, dvmd_pmix_procs_to_variant (targets, n_targets)));
}

static void
host_fence (DvmdPmixHost *host, guint64 token, const DvmdPmixProc *participants, guint n_participants, GBytes *data,
            gboolean collect, guint timeout)
{
  /* A part of what is too much is too much as well: the agent says so to all that take part. */
  g_autoptr (GBytes) said = g_bytes_new_from_bytes (data, 0, MIN (g_bytes_get_size (data), DVMD_PMIX_DATA_LIMIT));

  say (DVMD_PMIX_STUB (host), DVMD_PMIX_MSG_FENCE,
       g_variant_new ("(t@a(su)@aybu)", token, dvmd_pmix_procs_to_variant (participants, n_participants),
                      dvmd_pmix_bytes_to_variant (said), collect, timeout));
}

static void
host_direct_modex (DvmdPmixHost *host, guint64 token, const char *nspace, guint32 rank, const char *key, guint timeout)
{
  say (DVMD_PMIX_STUB (host), DVMD_PMIX_MSG_MODEX,
       g_variant_new ("(tsusu)", token, nspace, rank, key != NULL ? key : "", timeout));
}

static gboolean
is_rank_here (DvmdPmixStub *self, const char *nspace, guint32 rank)
{
  DvmdPmixJob *job = g_hash_table_lookup (self->jobs, nspace);

  return job != NULL && dvmd_pmix_job_has_local_rank (job, rank);
}

/* The library wants the name at once. */
static char *
host_tool_connected (DvmdPmixHost *host, const char *nspace, guint32 *rank)
{
  DvmdPmixStub *self = DVMD_PMIX_STUB (host);
  char *name;

  if (nspace != NULL && is_rank_here (self, nspace, *rank))
    name = g_strdup (nspace);
  else
    {
      name = g_strdup_printf ("%s%u", self->settings.tool_prefix, ++self->last_tool);
      *rank = 0;
    }
  say_proc (host, DVMD_PMIX_MSG_TOOL, name, *rank);
  return name;
}

static void
host_call (DvmdPmixHost *host, guint64 token, DvmdCallKind kind, const char *nspace, guint32 rank, GVariant *request)
{
  say (DVMD_PMIX_STUB (host), DVMD_PMIX_MSG_CALL, g_variant_new ("(tusuv)", token, (guint)kind, nspace, rank, request));
}

static void
host_output_taken (DvmdPmixHost *host, guint server, guint n_pieces)
{
  say (DVMD_PMIX_STUB (host), DVMD_PMIX_MSG_TAKEN, g_variant_new ("(u)", n_pieces));
}

static void
host_output_unwanted (DvmdPmixHost *host, guint server, gboolean ended)
{
  say (DVMD_PMIX_STUB (host), DVMD_PMIX_MSG_UNWANTED, g_variant_new ("()"));
}

static void
host_connect (DvmdPmixHost *host, guint64 token, gboolean leave, const DvmdPmixProc *participants, guint n_participants,
              guint timeout)
{
  say (DVMD_PMIX_STUB (host), DVMD_PMIX_MSG_CONNECT,
       g_variant_new ("(tb@a(su)u)", token, leave, dvmd_pmix_procs_to_variant (participants, n_participants), timeout));
}

static void
dvmd_pmix_stub_host_init (DvmdPmixHostInterface *iface)
{
  iface->connected = host_connected;
  iface->finalized = host_finalized;
  iface->ready_for_debug = host_waits;
  iface->lost = host_lost;
  iface->abort = host_abort;
  iface->fence = host_fence;
  iface->direct_modex = host_direct_modex;
  iface->tool_connected = host_tool_connected;
  iface->call = host_call;
  iface->output_taken = host_output_taken;
  iface->output_unwanted = host_output_unwanted;
  iface->connect = host_connect;
}

/* ---- the object ---- */

static void
dvmd_pmix_stub_finalize (GObject *object)
{
  DvmdPmixStub *self = DVMD_PMIX_STUB (object);

  g_signal_handlers_disconnect_by_data (self->wire, self);
  g_object_unref (self->wire);
  g_object_unref (self->pmix);
  g_hash_table_unref (self->jobs);
  dvmd_pmix_settings_clear (&self->settings);
  G_OBJECT_CLASS (dvmd_pmix_stub_parent_class)->finalize (object);
}

static void
dvmd_pmix_stub_class_init (DvmdPmixStubClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = dvmd_pmix_stub_finalize;
  signals[ENDED] = g_signal_new ("ended", DVMD_TYPE_PMIX_STUB, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void
dvmd_pmix_stub_init (DvmdPmixStub *self)
{
  self->jobs = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, (GDestroyNotify)dvmd_pmix_job_unref);
}

DvmdPmixStub *
dvmd_pmix_stub_new (int fd, DvmdPmix *pmix, DvmdClock *clock, void (*started) (const char *dir))
{
  DvmdPmixStub *self = g_object_new (DVMD_TYPE_PMIX_STUB, NULL);
  const DvmdWireOptions options = {
    .clock = clock,
    .body_type = dvmd_pmix_message_type,
    .heartbeat_timeout = DVMD_PMIX_HEARTBEAT,
  };

  self->pmix = g_object_ref (pmix);
  self->on_started = started;
  self->wire = dvmd_wire_new (dvmd_socket_new (fd, "the agent"), 0, &options);
  g_signal_connect (self->wire, "packet", G_CALLBACK (on_packet), self);
  g_signal_connect (self->wire, "closed", G_CALLBACK (on_closed), self);
  dvmd_wire_start (self->wire);
  return self;
}
