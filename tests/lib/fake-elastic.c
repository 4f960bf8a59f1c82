/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "fake-elastic.h"

#include "dvmd-controller-elastic.h"
#include "dvmd-controller-session.h"
#include "dvmd-core-sessions.h"

#include <string.h>

struct _FakeElastic
{
  DvmdCore *core;
  gboolean hold;
  gboolean hold_answers;
  GArray *coming;   /* guint, ranks that are held */
  GArray *going;    /* likewise */
  GQueue unsettled; /* GTask that are held */
  char *last_control;
};

FakeElastic *
fake_elastic_new (DvmdCore *core)
{
  FakeElastic *self = g_new0 (FakeElastic, 1);

  self->core = core;
  self->coming = g_array_new (FALSE, FALSE, sizeof (guint));
  self->going = g_array_new (FALSE, FALSE, sizeof (guint));
  g_queue_init (&self->unsettled);
  return self;
}

void
fake_elastic_free (FakeElastic *self)
{
  g_array_unref (self->coming);
  g_array_unref (self->going);
  g_queue_clear_full (&self->unsettled, g_object_unref);
  g_free (self->last_control);
  g_free (self);
}

/* ---- agents: what happens comes from the main loop ---- */

typedef struct
{
  FakeElastic *self;
  void (*happen) (FakeElastic *self, guint rank, DvmdCampaign *campaign);
  guint rank;
  DvmdCampaign *campaign; /* (nullable) */
} Later;

static void
later_free (gpointer data)
{
  Later *later = data;

  g_clear_object (&later->campaign);
  g_free (later);
}

static gboolean
on_later (gpointer data)
{
  Later *later = data;

  later->happen (later->self, later->rank, later->campaign);
  return G_SOURCE_REMOVE;
}

static void
do_later (FakeElastic *self, void (*happen) (FakeElastic *self, guint rank, DvmdCampaign *campaign), guint rank,
          DvmdCampaign *campaign)
{
  Later *later = g_new0 (Later, 1);

  later->self = self;
  later->happen = happen;
  later->rank = rank;
  g_set_object (&later->campaign, campaign);
  g_idle_add_full (G_PRIORITY_DEFAULT, on_later, later, later_free);
}

static void
report (FakeElastic *self, guint rank, DvmdCampaign *campaign)
{
  const char *host = dvmd_node_pool_get_name (dvmd_core_get_nodes (self->core), rank);
  const DvmdAgentReport agent = { .host = host, .address = "", .pid = 1, .hwthreads = 4, .topology = "" };

  dvmd_core_agent_reported (self->core, rank, &agent);
}

static void
depart (FakeElastic *self, guint rank, DvmdCampaign *campaign)
{
  dvmd_core_agent_ended (self->core, rank, DVMD_AGENT_DEPARTED, DVMD_CAUSE_NONE, NULL);
}

static void
wired (FakeElastic *self, guint rank, DvmdCampaign *campaign)
{
  dvmd_core_agents_wired (self->core, campaign);
}

static void
offered (FakeElastic *self, guint rank, DvmdCampaign *campaign)
{
  dvmd_core_offered (self->core, campaign);
}

gboolean
fake_elastic_hold_agent (FakeElastic *self, guint rank)
{
  if (self->hold)
    g_array_append_val (self->coming, rank);
  return self->hold;
}

void
fake_elastic_hold (FakeElastic *self, gboolean hold)
{
  self->hold = hold;
  for (guint i = 0; !hold && i < self->coming->len; i++)
    do_later (self, report, g_array_index (self->coming, guint, i), NULL);
  for (guint i = 0; !hold && i < self->going->len; i++)
    do_later (self, depart, g_array_index (self->going, guint, i), NULL);
  if (hold)
    return;
  g_array_set_size (self->coming, 0);
  g_array_set_size (self->going, 0);
}

void
fake_elastic_fail (FakeElastic *self, const char *host, DvmdCause cause, const char *reason)
{
  DvmdNodePool *pool = dvmd_core_get_nodes (self->core);

  for (guint i = 0; i < self->coming->len; i++)
    {
      guint rank = g_array_index (self->coming, guint, i);

      if (strcmp (dvmd_node_pool_get_name (pool, rank), host) != 0)
        continue;
      g_array_remove_index (self->coming, i);
      dvmd_core_agent_ended (self->core, rank, DVMD_AGENT_FAILED, cause, reason);
      return;
    }
  g_assert_not_reached ();
}

void
fake_elastic_wire_agents (gpointer world, DvmdCampaign *campaign, DvmdNode *const *nodes, guint n_nodes)
{
  do_later (fake_controller_get_elastic (world), wired, 0, campaign);
}

static void
forget_coming (FakeElastic *self, guint rank)
{
  for (guint i = self->coming->len; i > 0; i--)
    if (g_array_index (self->coming, guint, i - 1) == rank)
      g_array_remove_index (self->coming, i - 1);
}

void
fake_elastic_order_away (gpointer world, DvmdSendOff *order)
{
  FakeElastic *self = fake_controller_get_elastic (world);

  for (guint i = 0; i < order->n_nodes; i++)
    {
      guint rank = order->nodes[i]->rank;

      forget_coming (self, rank);
      if (self->hold)
        g_array_append_val (self->going, rank);
      else
        do_later (self, depart, rank, NULL);
    }
  order->repairs = 1;
  order->links_changed = order->n_nodes;
}

void
fake_elastic_warn_job (gpointer world, DvmdJob *job, DvmdNode *node, gint64 when)
{
}

void
fake_elastic_offer_nodes (gpointer world, DvmdCampaign *campaign, const DvmdOffer *nodes, guint n_nodes)
{
  if (campaign != NULL)
    do_later (fake_controller_get_elastic (world), offered, 0, campaign);
}

void
fake_elastic_campaign_ended (gpointer world, DvmdCampaign *campaign)
{
}

/* ---- requests: hosts, alloc-id, of-req-id and req-id, which are taken to be right ---- */

typedef struct
{
  const char *alloc_id;
  const char *of_req_id;
  const char *req_id;
  const char **hosts;
} Request;

static GVariant *
answer_to_variant (const DvmdSizeAnswer *answer)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "alloc-id", g_variant_new_string (answer->alloc_id));
  if (answer->req_id != NULL)
    g_variant_builder_add (&builder, "{sv}", "req-id", g_variant_new_string (answer->req_id));
  g_variant_builder_add (&builder, "{sv}", "session", g_variant_new_uint32 (answer->session));
  g_variant_builder_add (&builder, "{sv}", "campaign", g_variant_new_uint32 (answer->campaign));
  return g_variant_ref_sink (g_variant_builder_end (&builder));
}

static gboolean
grow (DvmdCore *core, const Request *request, const DvmdRequester *requester, DvmdSizeAnswer *answer, GError **error)
{
  g_autoptr (GArray) hosts = g_array_new (FALSE, TRUE, sizeof (DvmdGrowHost));
  DvmdGrowRequest wish = { .requester = requester,
                           .req_id = request->req_id,
                           .alloc_id = request->alloc_id,
                           .of_req_id = request->of_req_id,
                           .share = TRUE };

  for (guint i = 0; request->hosts != NULL && request->hosts[i] != NULL; i++)
    {
      DvmdGrowHost host = { .name = request->hosts[i], .slots = 1 };

      g_array_append_val (hosts, host);
    }
  wish.hosts = (const DvmdGrowHost *)(gconstpointer)hosts->data;
  wish.n_hosts = hosts->len;
  return dvmd_core_grow (core, &wish, answer, error);
}

static gboolean
shrink (DvmdCore *core, const Request *request, const DvmdRequester *requester, DvmdSizeAnswer *answer, GError **error)
{
  const DvmdShrinkRequest wish = { .requester = requester,
                                   .req_id = request->req_id,
                                   .alloc_id = request->alloc_id,
                                   .of_req_id = request->of_req_id,
                                   .hosts = (const char *const *)request->hosts };

  return dvmd_core_shrink (core, &wish, answer, error);
}

/* Takes both. */
static void
settle (FakeElastic *self, GTask *task, GVariant *answer)
{
  g_task_set_task_data (task, answer, (GDestroyNotify)g_variant_unref);
  g_queue_push_tail (&self->unsettled, task);
  fake_elastic_hold_answers (self, self->hold_answers);
}

void
dvmd_controller_change_size_async (DvmdController *controller, const char *directive, GVariant *dict, DvmHosts *given,
                                   const DvmdRequester *requester, gboolean scheduler, GCancellable *cancellable,
                                   GAsyncReadyCallback callback, gpointer user_data)
{
  FakeElastic *self = fake_controller_get_elastic (controller);
  g_autoptr (GTask) task = g_task_new (controller, cancellable, callback, user_data);
  g_auto (DvmdSizeAnswer) answer = { NULL };
  g_autofree const char **hosts = NULL;
  Request request = { NULL };
  GError *error = NULL;
  gboolean ok;

  g_clear_pointer (&given, _dvm_hosts_free);
  g_variant_lookup (dict, "alloc-id", "&s", &request.alloc_id);
  g_variant_lookup (dict, "of-req-id", "&s", &request.of_req_id);
  g_variant_lookup (dict, "req-id", "&s", &request.req_id);
  g_variant_lookup (dict, "hosts", "^a&s", &hosts);
  request.hosts = hosts;
  if (strcmp (directive, "release") == 0)
    ok = shrink (self->core, &request, requester, &answer, &error);
  else
    ok = grow (self->core, &request, requester, &answer, &error);
  if (!ok)
    g_task_return_error (task, error);
  else
    settle (self, g_steal_pointer (&task), answer_to_variant (&answer));
}

void
fake_elastic_hold_answers (FakeElastic *self, gboolean hold)
{
  self->hold_answers = hold;
  while (!hold && !g_queue_is_empty (&self->unsettled))
    {
      g_autoptr (GTask) task = g_queue_pop_head (&self->unsettled);

      g_task_return_pointer (task, g_variant_ref (g_task_get_task_data (task)), (GDestroyNotify)g_variant_unref);
    }
}

GVariant *
dvmd_controller_change_size_finish (DvmdController *controller, GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

/* ---- sessions: what is asked for is noted ---- */

void
dvmd_controller_control_session_async (DvmdController *controller, guint id, GVariant *directives,
                                       DvmdSessionRequest *given, const DvmdRequester *requester, gboolean scheduler,
                                       GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  FakeElastic *self = fake_controller_get_elastic (controller);
  g_autoptr (GTask) task = g_task_new (controller, cancellable, callback, user_data);
  g_autofree char *text = g_variant_print (directives, FALSE);
  GVariantBuilder answer;

  g_clear_pointer (&given, dvmd_session_request_free);
  g_free (self->last_control);
  self->last_control = g_strdup_printf ("%s %u %s", requester->name, id, text);
  if (g_variant_n_children (directives) == 0)
    {
      g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_BAD_PARAM, "There is no operation");
      return;
    }
  g_variant_builder_init (&answer, G_VARIANT_TYPE_VARDICT);
  if (dvmd_core_get_session (self->core, id) != NULL)
    g_variant_builder_add (&answer, "{sv}", "session", g_variant_new_uint32 (id));
  if (id == G_MAXUINT32)
    g_variant_builder_add (&answer, "{sv}", "sessions", g_variant_new_parsed ("[uint32 1, 2]"));
  settle (self, g_steal_pointer (&task), g_variant_ref_sink (g_variant_builder_end (&answer)));
}

GVariant *
dvmd_controller_control_session_finish (DvmdController *controller, GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

const char *
fake_elastic_get_last_control (FakeElastic *self)
{
  return self->last_control;
}
