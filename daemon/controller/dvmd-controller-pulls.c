/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Output of jobs goes to the PMIx servers of nodes whose clients want it. libpmix tells no host which of its clients
 * asks, so that it is a server that pulls: of the pulls of all its clients it gets what any of them wants, and hands it
 * to each that does.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-pulls.h"

#include "dvmd-controller-streams.h"
#include "dvmd-services.h"

typedef struct
{
  DvmdController *controller; /* unowned */
  GHashTable *servers;        /* key -> Server */
  GHashTable *jobs;           /* id -> Job */
} Pulls;

/* A server with clients that want output. */
typedef struct
{
  guint64 key;
  guint agent; /* of its node */
  guint id;    /* on that node */
  guint n_pulls;
  GQueue under_way; /* DvmdReceipt of each piece that it has not taken */
} Server;

typedef struct _Job Job;

/* Output of one job for one server, marked in one way. */
typedef struct
{
  Job *job;
  Server *server;
  guint marks;        /* DVMD_PMIX_MARKS; 0: as the job marks it */
  DvmdOutput *mirror; /* (nullable): marks it for this pull; of the streams of the job */
  guint spawned;      /* streams for the one who has spawned the job, of the jobs that follow it as well */
  guint all;          /* streams of all ranks that are pulled */
  GHashTable *ranks;  /* rank -> streams that are pulled */
} Pull;

/* A piece that is kept until the spawner knows the job. */
typedef struct
{
  DvmdOutputPiece piece;
  DvmdReceipt *receipt;
} Held;

struct _Job
{
  Pulls *all;
  guint id;
  GPtrArray *pulls; /* Pull */
  gboolean holds;
  GQueue held; /* Held */
};

static Pulls *
get_all (DvmdController *self)
{
  return dvmd_services_get (self, &dvmd_pulls_service);
}

/* ---- servers ---- */

static guint64
make_key (guint agent, guint server)
{
  return (guint64)agent << 32 | server;
}

static void
server_free (gpointer data)
{
  Server *self = data;

  g_queue_clear_full (&self->under_way, dvmd_receipt_unref);
  g_free (self);
}

static Server *
get_server (Pulls *all, const DvmdCall *call)
{
  guint64 key = make_key (call->agent, DVMD_CALL_SERVER (call->token));
  Server *self = g_hash_table_lookup (all->servers, &key);

  if (self != NULL)
    return self;
  self = g_new0 (Server, 1);
  self->key = key;
  self->agent = call->agent;
  self->id = DVMD_CALL_SERVER (call->token);
  g_queue_init (&self->under_way);
  g_hash_table_insert (all->servers, &self->key, self);
  return self;
}

/* One that wants nothing more may still have to take what is under way. */
static void
check_server (Pulls *all, Server *self)
{
  if (self->n_pulls == 0 && g_queue_is_empty (&self->under_way))
    g_hash_table_remove (all->servers, &self->key);
}

static guint
get_bit (const DvmdOutputPiece *piece)
{
  return piece->stream == DVMD_STREAM_STDERR ? DVMD_PMIX_STDERR : DVMD_PMIX_STDOUT;
}

static void
send_piece (const Pull *pull, const DvmdOutputPiece *piece, DvmdReceipt *receipt)
{
  DvmdController *self = pull->job->all->controller;
  DvmdJob *writer = dvmd_core_get_job (dvmd_controller_get_core (self), pull->job->id);
  Server *server = pull->server;

  if (writer == NULL)
    return;
  g_queue_push_tail (&server->under_way, dvmd_receipt_ref (receipt));
  dvmd_controller_send (self, server->agent, DVMD_MSG_PULLED_OUTPUT,
                        g_variant_new ("(usuu@ay)", server->id, dvm_job_get_nspace (dvmd_job_get_record (writer)),
                                       piece->rank, get_bit (piece) | pull->marks,
                                       g_variant_new_from_bytes (G_VARIANT_TYPE_BYTESTRING, piece->bytes, TRUE)));
}

/* ---- jobs ---- */

static void
pull_free (gpointer data)
{
  Pull *self = data;
  DvmdJobStreams *streams = dvmd_controller_get_streams (self->job->all->controller, self->job->id);

  if (self->mirror != NULL && streams != NULL)
    dvmd_job_streams_drop_mirror (streams, self->mirror);
  self->server->n_pulls--;
  g_hash_table_unref (self->ranks);
  g_free (self);
}

static void
held_free (gpointer data)
{
  Held *self = data;

  g_bytes_unref (self->piece.bytes);
  dvmd_receipt_unref (self->receipt);
  g_free (self);
}

static void
job_free (gpointer data)
{
  Job *self = data;

  g_queue_clear_full (&self->held, held_free);
  g_ptr_array_unref (self->pulls);
  g_free (self);
}

static gboolean
wants (const Pull *self, const DvmdOutputPiece *piece)
{
  guint streams = self->spawned;

  if (piece->own)
    streams |= self->all | GPOINTER_TO_UINT (g_hash_table_lookup (self->ranks, GUINT_TO_POINTER (piece->rank)));
  return (streams & get_bit (piece)) != 0;
}

static void
hold (Job *self, const DvmdOutputPiece *piece, DvmdReceipt *receipt)
{
  Held *held = g_new (Held, 1);

  held->piece = *piece;
  g_bytes_ref (held->piece.bytes);
  held->receipt = dvmd_receipt_ref (receipt);
  g_queue_push_tail (&self->held, held);
}

static gboolean
on_output (DvmdOutput *output, const DvmdOutputPiece *piece, DvmdReceipt *receipt, gpointer user_data)
{
  Job *self = user_data;
  gboolean wanted = FALSE;

  for (guint i = 0; i < self->pulls->len; i++)
    {
      const Pull *pull = self->pulls->pdata[i];

      if (!wants (pull, piece))
        continue;
      wanted = TRUE;
      /* A mirror gives it to the others. */
      if (!self->holds && pull->mirror == NULL)
        send_piece (pull, piece, receipt);
    }
  if (wanted && self->holds)
    hold (self, piece, receipt);
  return wanted;
}

/* Of a mirror: who pulls knows the job, so that nothing is held. */
static gboolean
on_marked (DvmdOutput *mirror, const DvmdOutputPiece *piece, DvmdReceipt *receipt, gpointer user_data)
{
  const Pull *self = user_data;

  if (wants (self, piece))
    send_piece (self, piece, receipt);
  return TRUE;
}

/* FALSE: nobody can want its output any more */
static gboolean
set_tap (Pulls *all, guint job, DvmdOutputTap tap, gpointer user_data)
{
  DvmdJobStreams *streams = dvmd_controller_get_streams (all->controller, job);

  if (streams != NULL)
    dvmd_job_streams_tap (streams, tap, user_data);
  return streams != NULL;
}

static Job *
get_job (Pulls *all, guint id)
{
  Job *self = g_hash_table_lookup (all->jobs, GUINT_TO_POINTER (id));

  if (self != NULL)
    return self;
  self = g_new0 (Job, 1);
  if (!set_tap (all, id, on_output, self))
    {
      g_free (self);
      return NULL;
    }
  self->all = all;
  self->id = id;
  self->pulls = g_ptr_array_new_with_free_func (pull_free);
  g_queue_init (&self->held);
  g_hash_table_insert (all->jobs, GUINT_TO_POINTER (id), self);
  return self;
}

/* Hands on what was held; what nobody wants any more is kept for others. */
static void
let_go (Job *self)
{
  DvmdJobStreams *streams = dvmd_controller_get_streams (self->all->controller, self->id);
  Held *held;

  self->holds = FALSE;
  while ((held = g_queue_pop_head (&self->held)) != NULL)
    {
      if (!on_output (NULL, &held->piece, held->receipt, self) && streams != NULL)
        dvmd_job_streams_keep (streams, &held->piece);
      held_free (held);
    }
}

static void
drop_job (Pulls *all, guint id)
{
  Job *self = g_hash_table_lookup (all->jobs, GUINT_TO_POINTER (id));

  if (self == NULL)
    return;
  set_tap (all, id, NULL, NULL);
  for (guint i = self->pulls->len; i > 0; i--)
    {
      Server *server = ((Pull *)self->pulls->pdata[i - 1])->server;

      g_ptr_array_remove_index_fast (self->pulls, i - 1);
      check_server (all, server);
    }
  let_go (self);
  g_hash_table_remove (all->jobs, GUINT_TO_POINTER (id));
}

static DvmdOutputFormat *
make_format (guint marks)
{
  static const struct
  {
    guint mark;
    DvmdOutputTag tag;
  } tags[] = {
    { DVMD_PMIX_MARK_TAG, DVMD_OUTPUT_TAG_SHORT },
    { DVMD_PMIX_MARK_DETAILED, DVMD_OUTPUT_TAG_DETAILED },
    { DVMD_PMIX_MARK_FULLNAME, DVMD_OUTPUT_TAG_FULLNAME },
    { DVMD_PMIX_MARK_RANK, DVMD_OUTPUT_TAG_RANK },
  };
  DvmdOutputFormat *format = dvmd_output_format_new ();

  for (guint i = 0; i < G_N_ELEMENTS (tags); i++)
    if (marks & tags[i].mark)
      format->tag = tags[i].tag;
  format->timestamp = (marks & DVMD_PMIX_MARK_TIMESTAMP) != 0;
  format->xml = (marks & DVMD_PMIX_MARK_XML) != 0;
  format->merge = (marks & DVMD_PMIX_MARK_MERGE) != 0;
  format->raw = (marks & DVMD_PMIX_MARK_RAW) != 0;
  return format;
}

static Pull *
get_pull (Job *job, Server *server, guint marks)
{
  DvmdJobStreams *streams = dvmd_controller_get_streams (job->all->controller, job->id);
  Pull *self;

  for (guint i = 0; i < job->pulls->len; i++)
    {
      self = job->pulls->pdata[i];
      if (self->server == server && self->marks == marks)
        return self;
    }
  self = g_new0 (Pull, 1);
  self->job = job;
  self->server = server;
  self->marks = marks;
  if (marks != 0 && streams != NULL)
    self->mirror = dvmd_job_streams_mirror (streams, make_format (marks), on_marked, self);
  self->ranks = g_hash_table_new (NULL, NULL);
  server->n_pulls++;
  g_ptr_array_add (job->pulls, self);
  return self;
}

static gboolean
is_empty (const Pull *self)
{
  return self->spawned == 0 && self->all == 0 && g_hash_table_size (self->ranks) == 0;
}

typedef gboolean (*Filter) (Pull *self, gconstpointer data);

/* Drops the pulls of the job for which the filter says so, and the job with the last one. */
static void
drop_pulls (Job *job, Filter filter, gconstpointer data)
{
  for (guint i = job->pulls->len; i > 0; i--)
    {
      Pull *pull = job->pulls->pdata[i - 1];
      Server *server = pull->server;

      if (!filter (pull, data))
        continue;
      g_ptr_array_remove_index_fast (job->pulls, i - 1);
      check_server (job->all, server);
    }
  if (job->pulls->len == 0)
    drop_job (job->all, job->id);
}

static void
drop_everywhere (Pulls *self, Filter filter, gconstpointer data)
{
  g_autoptr (GList) jobs = g_hash_table_get_values (self->jobs);

  for (GList *l = jobs; l != NULL; l = l->next)
    drop_pulls (l->data, filter, data);
}

/* ---- jobs that somebody has spawned ---- */

void
dvmd_controller_pull_spawned (DvmdController *self, DvmdJob *job, const DvmdCall *call, guint streams)
{
  Pulls *all = get_all (self);
  Job *entry = streams != 0 ? get_job (all, dvmd_job_get_id (job)) : NULL;

  if (entry == NULL)
    return;
  entry->holds = TRUE;
  get_pull (entry, get_server (all, call), 0)->spawned = streams;
}

static void
release (Pulls *all, guint job)
{
  Job *entry = g_hash_table_lookup (all->jobs, GUINT_TO_POINTER (job));

  if (entry != NULL)
    let_go (entry);
}

void
dvmd_controller_release_spawned (DvmdController *self, DvmdJob *job)
{
  release (get_all (self), dvmd_job_get_id (job));
}

static gboolean
drop_spawned (Pull *self, gconstpointer data)
{
  self->spawned = 0;
  return is_empty (self);
}

void
dvmd_controller_drop_spawned (DvmdController *self, guint job)
{
  Job *entry = g_hash_table_lookup (get_all (self)->jobs, GUINT_TO_POINTER (job));

  if (entry == NULL)
    return;
  drop_pulls (entry, drop_spawned, NULL);
  /* Others that pull it wait for no answer of the spawn. */
  release (get_all (self), job);
}

void
dvmd_controller_end_pulls (DvmdController *self, DvmdJob *job)
{
  drop_job (get_all (self), dvmd_job_get_id (job));
}

/* ---- calls ---- */

/* A job that has not been mapped has the ranks that were asked for, as far as that is known. */
static int
check_proc (DvmdController *self, const char *nspace, guint32 rank, DvmdJob **job)
{
  *job = dvmd_core_find_job (dvmd_controller_get_core (self), nspace);
  if (*job == NULL || dvmd_job_get_ended (*job)
      || (rank != DVMD_PMIX_RANK_WILDCARD && rank >= dvm_job_get_num_procs (dvmd_job_get_record (*job))))
    return DVMD_PMIX_ERR_NOT_FOUND;
  return DVMD_PMIX_SUCCESS;
}

static int
check_procs (DvmdController *self, GVariant *procs)
{
  GVariantIter iter;
  const char *nspace;
  guint32 rank;
  DvmdJob *job;

  g_variant_iter_init (&iter, procs);
  while (g_variant_iter_next (&iter, "(&su)", &nspace, &rank))
    if (check_proc (self, nspace, rank, &job) != DVMD_PMIX_SUCCESS)
      {
        g_message ("A client or tool wants the output of rank %d of job %s, which there is not", (gint32)rank, nspace);
        return DVMD_PMIX_ERR_NOT_FOUND;
      }
  return DVMD_PMIX_SUCCESS;
}

static void
add_pull (Pulls *self, const DvmdCall *call, DvmdJob *job, guint32 rank, guint streams)
{
  Job *entry = get_job (self, dvmd_job_get_id (job));
  Pull *pull = entry != NULL ? get_pull (entry, get_server (self, call), streams & DVMD_PMIX_MARKS) : NULL;
  gpointer key = GUINT_TO_POINTER (rank);

  if (pull == NULL)
    return;
  if (rank == DVMD_PMIX_RANK_WILDCARD)
    pull->all |= streams;
  else
    g_hash_table_insert (pull->ranks, key,
                         GUINT_TO_POINTER (streams | GPOINTER_TO_UINT (g_hash_table_lookup (pull->ranks, key))));
}

/* All of it, or nothing. */
static void
handle_pull (gpointer service, DvmdCall *call, GVariant *request)
{
  Pulls *self = service;
  g_autoptr (GVariant) procs = NULL;
  GVariantIter iter;
  const char *nspace;
  guint32 streams;
  guint32 rank;
  int status;

  g_variant_get (request, "(@a(su)u)", &procs, &streams);
  status = check_procs (self->controller, procs);
  g_variant_iter_init (&iter, procs);
  while (status == DVMD_PMIX_SUCCESS && g_variant_iter_next (&iter, "(&su)", &nspace, &rank))
    {
      DvmdJob *job;

      if (check_proc (self->controller, nspace, rank, &job) == DVMD_PMIX_SUCCESS)
        add_pull (self, call, job, rank, streams);
    }
  dvmd_controller_answer (self->controller, call->id, status,
                          status == DVMD_PMIX_SUCCESS ? g_variant_new ("()") : NULL);
}

/* ---- messages ---- */

/* (nullable): it may have gone with its last pull */
static Server *
find_server (Pulls *self, guint agent, guint32 id)
{
  guint64 key = make_key (agent, id);

  return g_hash_table_lookup (self->servers, &key);
}

static void
handle_taken (gpointer service, guint source, GVariant *body)
{
  Pulls *self = service;
  Server *server;
  guint32 id;
  guint32 n;

  g_variant_get (body, "(uu)", &id, &n);
  server = find_server (self, source, id);
  if (server == NULL)
    return;
  for (; n > 0 && !g_queue_is_empty (&server->under_way); n--)
    dvmd_receipt_unref (g_queue_pop_head (&server->under_way));
  check_server (self, server);
}

static gboolean
drop_pulled (Pull *self, gconstpointer server)
{
  if (self->server != server)
    return FALSE;
  self->all = 0;
  g_hash_table_remove_all (self->ranks);
  return is_empty (self);
}

static gboolean
is_of_server (Pull *self, gconstpointer server)
{
  return self->server == server;
}

static void
drop_server (Pulls *self, Server *server)
{
  g_queue_clear_full (&server->under_way, dvmd_receipt_unref);
  /* It goes with its last pull. */
  if (server->n_pulls > 0)
    drop_everywhere (self, is_of_server, server);
  else
    check_server (self, server);
}

static void
handle_unwanted (gpointer service, guint source, GVariant *body)
{
  Pulls *self = service;
  Server *server;
  gboolean ended;
  guint32 id;

  g_variant_get (body, "(ub)", &id, &ended);
  server = find_server (self, source, id);
  if (server == NULL)
    return;
  if (ended)
    drop_server (self, server);
  else
    drop_everywhere (self, drop_pulled, server);
}

/* ---- the service ---- */

static void
agent_gone (gpointer service, guint rank)
{
  Pulls *self = service;
  g_autoptr (GList) servers = g_hash_table_get_values (self->servers);

  for (GList *l = servers; l != NULL; l = l->next)
    if (((Server *)l->data)->agent == rank)
      drop_server (self, l->data);
}

static void
add_statistics (gpointer service, GVariantBuilder *statistics)
{
  dvmd_services_add_number (statistics, "output-pulls", g_hash_table_size (((Pulls *)service)->jobs));
}

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  Pulls *self = g_new0 (Pulls, 1);

  self->controller = controller;
  self->servers = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL, server_free);
  self->jobs = g_hash_table_new_full (NULL, NULL, NULL, job_free);
  return self;
}

static void
pulls_free (gpointer service)
{
  Pulls *self = service;
  GHashTableIter iter;
  gpointer id;

  g_hash_table_iter_init (&iter, self->jobs);
  while (g_hash_table_iter_next (&iter, &id, NULL))
    set_tap (self, GPOINTER_TO_UINT (id), NULL, NULL);
  g_hash_table_unref (self->jobs);
  g_hash_table_unref (self->servers);
  g_free (self);
}

static const DvmdHandler handlers[] = {
  { DVMD_MSG_OUTPUT_TAKEN, handle_taken },
  { DVMD_MSG_OUTPUT_UNWANTED, handle_unwanted },
  { 0 },
};

static const DvmdCallHandler calls[] = { { DVMD_CALL_PULL, handle_pull }, { 0 } };

const DvmdService dvmd_pulls_service = {
  .name = "pulls",
  .create = create,
  .free = pulls_free,
  .handlers = handlers,
  .calls = calls,
  .agent_gone = agent_gone,
  .add_statistics = add_statistics,
};
