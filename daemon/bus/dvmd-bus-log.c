/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The change log collects what there is to tell, object by object, and merges what is told later.
 */

#include "config.h"

#include "dvmd-bus-log.h"

/* Rows of one ProcStateChanged, and of one JobsChanged. */
#define MAX_PROC_ROWS 65536
#define MAX_JOB_ROWS  4096

struct _DvmdBusLog
{
  GHashTable *index; /* DvmdBusKey, the first thing in a DvmdBusChange; owned by the queues */
  GQueue changes[DVMD_BUS_LOG_N_PARTS];
  GArray *rows[DVMD_BUS_LOG_OTHERS]; /* DvmdBusStateChange */
  GQueue events;
};

static void
state_change_clear (gpointer data)
{
  DvmdBusStateChange *change = data;

  g_free (change->reason);
}

static GArray *
new_states (void)
{
  GArray *states = g_array_new (FALSE, FALSE, sizeof (DvmdBusStateChange));

  g_array_set_clear_func (states, state_change_clear);
  return states;
}

static void
append_state (GArray *states, guint id, guint old_state, guint new_state, const char *reason)
{
  DvmdBusStateChange change = { id, old_state, new_state, g_strdup (reason) };

  g_array_append_val (states, change);
}

/* ---- one object ---- */

void
dvmd_bus_change_free (DvmdBusChange *self)
{
  g_clear_pointer (&self->states, g_array_unref);
  g_clear_pointer (&self->procs, g_array_unref);
  g_free (self);
}

void
dvmd_bus_change_add_state (DvmdBusChange *self, guint old_state, guint new_state, const char *reason)
{
  if (self->states == NULL)
    self->states = new_states ();
  append_state (self->states, self->key.id, old_state, new_state, reason);
}

void
dvmd_bus_change_add_proc (DvmdBusChange *self, guint rank, guint old_state, guint new_state)
{
  DvmdBusProcChange change = { rank, old_state, new_state };

  if (self->procs == NULL)
    self->procs = g_array_new (FALSE, FALSE, sizeof (DvmdBusProcChange));
  g_array_append_val (self->procs, change);
}

void
dvmd_bus_change_merge_procs (DvmdBusChange *self)
{
  g_autoptr (GHashTable) rows = g_hash_table_new (NULL, NULL);
  GArray *procs = self->procs;
  guint n = 0;

  if (procs == NULL)
    return;
  for (guint i = 0; i < procs->len; i++)
    {
      DvmdBusProcChange change = g_array_index (procs, DvmdBusProcChange, i);
      gpointer row;

      if (g_hash_table_lookup_extended (rows, GUINT_TO_POINTER (change.rank), NULL, &row))
        {
          g_array_index (procs, DvmdBusProcChange, GPOINTER_TO_UINT (row)).new_state = change.new_state;
          continue;
        }
      g_hash_table_insert (rows, GUINT_TO_POINTER (change.rank), GUINT_TO_POINTER (n));
      g_array_index (procs, DvmdBusProcChange, n++) = change;
    }
  g_array_set_size (procs, n);
}

GVariant *
dvmd_bus_change_take_procs (DvmdBusChange *self)
{
  guint n = self->procs != NULL ? MIN (self->procs->len, MAX_PROC_ROWS) : 0;
  GVariantBuilder builder;

  if (n == 0)
    return NULL;
  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a(uuu)"));
  for (guint i = 0; i < n; i++)
    {
      const DvmdBusProcChange *change = &g_array_index (self->procs, DvmdBusProcChange, i);

      g_variant_builder_add (&builder, "(uuu)", change->rank, change->old_state, change->new_state);
    }
  g_array_remove_range (self->procs, 0, n);
  return g_variant_new ("(a(uuu))", &builder);
}

/* From the first old state to the last new one. */
static void
merge_states (DvmdBusChange *self, GArray *states)
{
  const DvmdBusStateChange *last = &g_array_index (states, DvmdBusStateChange, states->len - 1);
  guint old_state = g_array_index (states, DvmdBusStateChange, 0).old_state;

  if (self->states != NULL)
    {
      old_state = g_array_index (self->states, DvmdBusStateChange, 0).old_state;
      g_array_set_size (self->states, 0);
    }
  dvmd_bus_change_add_state (self, old_state, last->new_state, last->reason);
}

static void
merge_procs (DvmdBusChange *self, GArray *procs)
{
  if (self->procs == NULL)
    self->procs = g_array_new (FALSE, FALSE, sizeof (DvmdBusProcChange));
  g_array_append_vals (self->procs, procs->data, procs->len);
  if (self->procs->len <= self->procs_limit)
    return;
  dvmd_bus_change_merge_procs (self);
  self->procs_limit = 4 * self->procs->len + 16;
}

/* ---- all of them ---- */

DvmdBusLog *
dvmd_bus_log_new (void)
{
  DvmdBusLog *self = g_new0 (DvmdBusLog, 1);

  self->index = g_hash_table_new (dvmd_bus_key_hash, dvmd_bus_key_equal);
  for (guint i = 0; i < G_N_ELEMENTS (self->changes); i++)
    g_queue_init (&self->changes[i]);
  for (guint i = 0; i < G_N_ELEMENTS (self->rows); i++)
    self->rows[i] = new_states ();
  g_queue_init (&self->events);
  return self;
}

static DvmdBusLogPart
get_part (DvmdBusKind kind)
{
  if (kind == DVMD_BUS_JOB)
    return DVMD_BUS_LOG_JOBS;
  return kind == DVMD_BUS_NODE ? DVMD_BUS_LOG_NODES : DVMD_BUS_LOG_OTHERS;
}

static void
take_out (DvmdBusLog *self, DvmdBusChange *change)
{
  g_hash_table_remove (self->index, &change->key);
  g_queue_unlink (&self->changes[get_part (change->key.kind)], &change->link);
}

void
dvmd_bus_log_free (DvmdBusLog *self)
{
  for (guint i = 0; i < G_N_ELEMENTS (self->changes); i++)
    while (!g_queue_is_empty (&self->changes[i]))
      dvmd_bus_change_free (dvmd_bus_log_pop (self, i));
  g_hash_table_unref (self->index);
  for (guint i = 0; i < G_N_ELEMENTS (self->rows); i++)
    g_array_unref (self->rows[i]);
  g_queue_clear_full (&self->events, (GDestroyNotify)dvmd_bus_event_free);
  g_free (self);
}

DvmdBusChange *
dvmd_bus_log_find (DvmdBusLog *self, DvmdBusKind kind, guint id)
{
  const DvmdBusKey key = { kind, id };

  return g_hash_table_lookup (self->index, &key);
}

DvmdBusChange *
dvmd_bus_log_get (DvmdBusLog *self, DvmdBusKind kind, guint id)
{
  DvmdBusChange *change = dvmd_bus_log_find (self, kind, id);

  if (change != NULL)
    return change;
  change = g_new0 (DvmdBusChange, 1);
  change->key.kind = kind;
  change->key.id = id;
  change->link.data = change;
  g_hash_table_add (self->index, change);
  g_queue_push_tail_link (&self->changes[get_part (kind)], &change->link);
  return change;
}

DvmdBusChange *
dvmd_bus_log_take (DvmdBusLog *self, DvmdBusKind kind, guint id)
{
  DvmdBusChange *change = dvmd_bus_log_find (self, kind, id);

  if (change != NULL)
    take_out (self, change);
  return change;
}

void
dvmd_bus_log_merge (DvmdBusLog *self, const DvmdBusChange *change, gboolean follows)
{
  DvmdBusChange *own = dvmd_bus_log_get (self, change->key.kind, change->key.id);

  own->added |= change->added;
  own->ended |= change->ended;
  own->has_state |= change->has_state;
  own->fields |= change->fields;
  if (follows && change->states != NULL)
    merge_states (own, change->states);
  if (follows && change->procs != NULL)
    merge_procs (own, change->procs);
  /* Many may end while somebody sleeps, and each with many processes. */
  if (own->ended)
    g_clear_pointer (&own->procs, g_array_unref);
  /* A session that has come and gone cannot be found any more, and will not be told of: many may do so. */
  if (own->added && own->ended && own->key.kind == DVMD_BUS_SESSION)
    dvmd_bus_change_free (dvmd_bus_log_take (self, own->key.kind, own->key.id));
}

guint
dvmd_bus_log_count (DvmdBusLog *self, DvmdBusLogPart part)
{
  return self->changes[part].length;
}

DvmdBusChange *
dvmd_bus_log_pop (DvmdBusLog *self, DvmdBusLogPart part)
{
  DvmdBusChange *change = g_queue_peek_head (&self->changes[part]);

  take_out (self, change);
  return change;
}

/* ---- rows ---- */

void
dvmd_bus_log_add_row (DvmdBusLog *self, DvmdBusLogPart part, guint id, guint old_state, guint new_state,
                      const char *reason)
{
  append_state (self->rows[part], id, old_state, new_state, reason);
}

static void
add_row (GVariantBuilder *builder, DvmdBusLogPart part, const DvmdBusStateChange *row)
{
  g_autofree char *path = NULL;

  if (part == DVMD_BUS_LOG_NODES)
    {
      g_variant_builder_add (builder, "(uu)", row->id, row->new_state);
      return;
    }
  path = dvmd_bus_path (DVMD_BUS_JOB, row->id);
  g_variant_builder_add (builder, "(ouus)", path, row->old_state, row->new_state,
                         row->reason != NULL ? row->reason : "");
}

GVariant *
dvmd_bus_log_take_rows (DvmdBusLog *self, DvmdBusLogPart part)
{
  GArray *rows = self->rows[part];
  guint n = part == DVMD_BUS_LOG_JOBS ? MIN (rows->len, MAX_JOB_ROWS) : rows->len;
  GVariantBuilder builder;

  if (n == 0)
    return NULL;
  g_variant_builder_init (&builder, part == DVMD_BUS_LOG_JOBS ? G_VARIANT_TYPE ("a(ouus)") : G_VARIANT_TYPE ("a(uu)"));
  for (guint i = 0; i < n; i++)
    add_row (&builder, part, &g_array_index (rows, DvmdBusStateChange, i));
  g_array_remove_range (rows, 0, n);
  return g_variant_new ("(*)", g_variant_builder_end (&builder));
}

/* ---- events ---- */

void
dvmd_bus_event_free (DvmdBusEvent *self)
{
  g_clear_object (&self->about);
  g_free (self->destination);
  g_free (self->signal);
  g_clear_pointer (&self->body, g_variant_unref);
  g_free (self);
}

void
dvmd_bus_log_add_about (DvmdBusLog *self, gpointer object)
{
  DvmdBusEvent *event = g_new0 (DvmdBusEvent, 1);

  event->about = g_object_ref (object);
  g_queue_push_tail (&self->events, event);
}

void
dvmd_bus_log_add_event (DvmdBusLog *self, const char *destination, const char *signal, GVariant *body)
{
  DvmdBusEvent *event = g_new0 (DvmdBusEvent, 1);

  event->destination = g_strdup (destination);
  event->signal = g_strdup (signal);
  event->body = g_variant_ref_sink (body);
  g_queue_push_tail (&self->events, event);
}

DvmdBusEvent *
dvmd_bus_log_pop_event (DvmdBusLog *self)
{
  return g_queue_pop_head (&self->events);
}
