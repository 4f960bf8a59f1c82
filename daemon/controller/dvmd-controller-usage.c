/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents measure what processes and nodes use; their answers are put together here.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-usage.h"

#include "dvmd-services.h"

/* All answers together, in bytes: as for any query. */
#define MAX_BYTES (16 * 1024 * 1024)

typedef struct
{
  DvmdController *controller; /* unowned */
  GHashTable *asks;           /* token -> Ask */
  guint64 last_token;
} Usage;

typedef struct
{
  guint64 token;
  Usage *usage;
  guint timer;
  guint n_open;
  gsize size;
  GArray *nodes;   /* guint */
  GVariant **rows; /* by node: (nullable): it has not answered */
  int status;
  DvmdMeasured measured;
  gpointer user_data;
  GDestroyNotify free_data;
} Ask;

static void
ask_free (gpointer data)
{
  Ask *self = data;

  dvmd_clock_remove_timer (dvmd_controller_get_parts (self->usage->controller)->clock, self->timer);
  if (self->free_data != NULL)
    self->free_data (self->user_data);
  for (guint i = 0; i < self->nodes->len; i++)
    g_clear_pointer (&self->rows[i], g_variant_unref);
  g_free (self->rows);
  g_array_unref (self->nodes);
  g_free (self);
}

/* (transfer floating) */
static GVariant *
join_rows (Ask *self)
{
  GVariantBuilder all;
  GVariantIter iter;
  GVariant *row;

  g_variant_builder_init (&all, G_VARIANT_TYPE ("aa{sv}"));
  for (guint i = 0; i < self->nodes->len; i++)
    {
      g_variant_iter_init (&iter, self->rows[i]);
      while (g_variant_iter_loop (&iter, "@a{sv}", &row))
        g_variant_builder_add_value (&all, row);
    }
  return g_variant_builder_end (&all);
}

/* Frees it. */
static void
end_ask (Ask *self, int status)
{
  g_autoptr (GVariant) rows = status == DVMD_PMIX_SUCCESS ? g_variant_ref_sink (join_rows (self)) : NULL;

  self->measured (self->user_data, status, rows);
  g_hash_table_remove (self->usage->asks, &self->token);
}

/* It has waited for its time, or for nothing: self->status says which. */
static void
on_timer (gpointer user_data)
{
  Ask *self = user_data;

  self->timer = 0;
  end_ask (self, self->status);
}

void
dvmd_controller_measure (DvmdController *self, const GArray *nodes, const char *nspace, guint32 rank,
                         DvmdMeasured measured, gpointer user_data, GDestroyNotify free_data)
{
  Usage *usage = dvmd_services_get (self, &dvmd_usage_service);
  Ask *ask = g_new0 (Ask, 1);

  ask->token = ++usage->last_token;
  ask->usage = usage;
  ask->nodes = g_array_copy ((GArray *)nodes);
  ask->rows = g_new0 (GVariant *, nodes->len);
  ask->n_open = nodes->len;
  ask->measured = measured;
  ask->user_data = user_data;
  ask->free_data = free_data;
  ask->status = nodes->len > 0 ? DVMD_PMIX_ERR_TIMEOUT : DVMD_PMIX_SUCCESS;
  for (guint i = 0; i < nodes->len; i++)
    if (dvmd_controller_is_lost (self, g_array_index (nodes, guint, i)))
      ask->status = DVMD_PMIX_ERR_LOST_CONNECTION;
  g_hash_table_insert (usage->asks, &ask->token, ask);
  ask->timer = dvmd_clock_add_timer (dvmd_controller_get_parts (self)->clock,
                                     ask->status == DVMD_PMIX_ERR_TIMEOUT ? DVMD_USAGE_TIMEOUT : 0, on_timer, ask);
  for (guint i = 0; ask->status == DVMD_PMIX_ERR_TIMEOUT && i < nodes->len; i++)
    dvmd_controller_send (self, g_array_index (nodes, guint, i), DVMD_MSG_USAGE_ASK,
                          g_variant_new ("(tsu)", ask->token, nspace != NULL ? nspace : "", rank));
}

/* (nullable): of a node that was asked and has not answered */
static GVariant **
find_row (Ask *self, guint node)
{
  for (guint i = 0; i < self->nodes->len; i++)
    if (g_array_index (self->nodes, guint, i) == node && self->rows[i] == NULL)
      return &self->rows[i];
  return NULL;
}

static void
handle_usage (gpointer service, guint source, GVariant *body)
{
  Usage *self = service;
  g_autoptr (GVariant) rows = NULL;
  guint64 token;
  GVariant **row;
  Ask *ask;

  g_variant_get (body, "(t@aa{sv})", &token, &rows);
  ask = g_hash_table_lookup (self->asks, &token);
  row = ask != NULL ? find_row (ask, source) : NULL;
  /* It is over, or nobody has asked this agent. */
  if (row == NULL)
    return;
  ask->size += g_variant_get_size (rows);
  *row = g_steal_pointer (&rows);
  ask->n_open--;
  if (ask->size > MAX_BYTES)
    end_ask (ask, DVMD_PMIX_ERR_OUT_OF_RESOURCE);
  else if (ask->n_open == 0)
    end_ask (ask, DVMD_PMIX_SUCCESS);
}

/* Asks that wait for this node, or with DVMD_NO_NODE for any, fail. */
static void
give_up (Usage *self, guint node)
{
  g_autoptr (GList) asks = g_hash_table_get_values (self->asks);

  for (GList *l = asks; l != NULL; l = l->next)
    if (node == DVMD_NO_NODE || find_row (l->data, node) != NULL)
      end_ask (l->data, DVMD_PMIX_ERR_LOST_CONNECTION);
}

static void
agent_gone (gpointer service, guint rank)
{
  give_up (service, rank);
}

static void
dvm_ended (gpointer service)
{
  give_up (service, DVMD_NO_NODE);
}

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  Usage *self = g_new0 (Usage, 1);

  self->controller = controller;
  self->asks = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL, ask_free);
  return self;
}

static void
usage_free (gpointer service)
{
  Usage *self = service;

  g_hash_table_unref (self->asks);
  g_free (self);
}

static const DvmdHandler handlers[] = { { DVMD_MSG_USAGE, handle_usage }, { 0 } };

const DvmdService dvmd_usage_service = {
  .name = "usage",
  .create = create,
  .free = usage_free,
  .handlers = handlers,
  .agent_gone = agent_gone,
  .dvm_ended = dvm_ended,
};
