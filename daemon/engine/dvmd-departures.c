/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-departures"

#include "dvmd-departures.h"

/* Nobody's: LEFT has not been said. */
#define NO_UPLINK G_MAXUINT32

typedef struct
{
  DvmdDepartures *departures; /* unowned */
  guint32 rank;
  guint32 parent;   /* the nearest one above it that has not departed */
  guint32 uplink;   /* whose end of the link counts, NO_UPLINK before LEFT */
  guint timer;      /* of its grace, 0: does not run */
  gboolean waiting; /* for those below it */
  gboolean ending;  /* the launcher has been asked */
} Leaver;

struct _DvmdDepartures
{
  DvmdClock *clock;
  gint64 grace;
  const DvmdDepartureFuncs *funcs;
  gpointer world;
  GHashTable *leavers; /* rank -> Leaver */
};

static void
leaver_free (gpointer data)
{
  Leaver *self = data;

  dvmd_clock_remove_timer (self->departures->clock, self->timer);
  g_free (self);
}

static Leaver *
find (DvmdDepartures *self, guint32 rank)
{
  return g_hash_table_lookup (self->leavers, GUINT_TO_POINTER (rank));
}

/* ---- the grace ---- */

static void
on_grace_over (gpointer user_data)
{
  Leaver *leaver = user_data;
  DvmdDepartures *self = leaver->departures;
  guint32 rank = leaver->rank;

  leaver->timer = 0;
  g_message ("Agent %u was ordered to leave and has not: it %s; the launcher ends it", rank,
             leaver->uplink == NO_UPLINK ? "has not said that it is done" : "has said that it is done, and stays");
  dvmd_departures_end (self, &rank, 1);
}

static void
start_grace (DvmdDepartures *self, Leaver *leaver)
{
  leaver->waiting = FALSE;
  if (!leaver->ending)
    leaver->timer = dvmd_clock_add_timer (self->clock, self->grace, on_grace_over, leaver);
}

/* (transfer container) (element-type guint32): those that have somebody below them */
static GHashTable *
list_parents (DvmdDepartures *self)
{
  GHashTable *parents = g_hash_table_new (NULL, NULL);
  GHashTableIter iter;
  gpointer leaver;

  g_hash_table_iter_init (&iter, self->leavers);
  while (g_hash_table_iter_next (&iter, NULL, &leaver))
    g_hash_table_add (parents, GUINT_TO_POINTER (((Leaver *)leaver)->parent));
  return parents;
}

static void
start_graces (DvmdDepartures *self)
{
  g_autoptr (GHashTable) parents = list_parents (self);
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->leavers);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      Leaver *leaver = value;

      if (leaver->waiting && !g_hash_table_contains (parents, GUINT_TO_POINTER (leaver->rank)))
        start_grace (self, leaver);
    }
}

/* ---- orders ---- */

static Leaver *
add (DvmdDepartures *self, guint32 rank, guint32 parent)
{
  Leaver *leaver = g_new0 (Leaver, 1);

  leaver->departures = self;
  leaver->rank = rank;
  leaver->parent = parent;
  leaver->uplink = NO_UPLINK;
  leaver->waiting = TRUE;
  g_hash_table_insert (self->leavers, GUINT_TO_POINTER (rank), leaver);
  return leaver;
}

void
dvmd_departures_order (DvmdDepartures *self, const guint32 *ranks, const guint32 *parents, guint n)
{
  for (guint i = 0; i < n; i++)
    if (find (self, ranks[i]) == NULL)
      add (self, ranks[i], parents[i]);
  start_graces (self);
}

void
dvmd_departures_end (DvmdDepartures *self, const guint32 *ranks, guint n)
{
  g_autofree guint32 *asked = g_new (guint32, n + 1);
  guint n_asked = 0;

  for (guint i = 0; i < n; i++)
    {
      Leaver *leaver = find (self, ranks[i]);

      if (leaver == NULL)
        leaver = add (self, ranks[i], 0);
      if (leaver->ending)
        continue;
      leaver->ending = TRUE;
      dvmd_clock_remove_timer (self->clock, leaver->timer);
      leaver->timer = 0;
      asked[n_asked++] = ranks[i];
    }
  if (n_asked > 0)
    self->funcs->terminate (self->world, asked, n_asked);
}

/* ---- departures ---- */

/* Whoever was below it is below the one above it now. */
static void
depart (DvmdDepartures *self, Leaver *leaver, DvmdDepartedHow how)
{
  guint32 rank = leaver->rank;
  guint32 parent = leaver->parent;
  GHashTableIter iter;
  gpointer value;

  g_hash_table_remove (self->leavers, GUINT_TO_POINTER (rank));
  g_hash_table_iter_init (&iter, self->leavers);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    if (((Leaver *)value)->parent == rank)
      ((Leaver *)value)->parent = parent;
  start_graces (self);
  self->funcs->departed (self->world, rank, how);
}

gboolean
dvmd_departures_left (DvmdDepartures *self, guint32 rank, guint32 uplink)
{
  Leaver *leaver = find (self, rank);

  if (leaver == NULL)
    return FALSE;
  leaver->uplink = uplink;
  return TRUE;
}

gboolean
dvmd_departures_link_lost (DvmdDepartures *self, guint32 rank, guint32 reporter)
{
  Leaver *leaver = find (self, rank);

  if (leaver == NULL)
    return FALSE;
  /* Another link than the one over which it has said LEFT, or before that: it may come back. */
  if (leaver->uplink == reporter)
    depart (self, leaver, DVMD_DEPARTED_LEFT);
  return TRUE;
}

gboolean
dvmd_departures_ended (DvmdDepartures *self, guint32 rank)
{
  Leaver *leaver = find (self, rank);

  if (leaver == NULL)
    return FALSE;
  depart (self, leaver, DVMD_DEPARTED_ENDED);
  return TRUE;
}

gboolean
dvmd_departures_contains (DvmdDepartures *self, guint32 rank)
{
  return find (self, rank) != NULL;
}

guint
dvmd_departures_get_n (DvmdDepartures *self)
{
  return g_hash_table_size (self->leavers);
}

/* ---- the object ---- */

DvmdDepartures *
dvmd_departures_new (DvmdClock *clock, gint64 grace, const DvmdDepartureFuncs *funcs, gpointer world)
{
  DvmdDepartures *self = g_new0 (DvmdDepartures, 1);

  self->clock = dvmd_clock_ref (clock);
  self->grace = grace;
  self->funcs = funcs;
  self->world = world;
  self->leavers = g_hash_table_new_full (NULL, NULL, NULL, leaver_free);
  return self;
}

void
dvmd_departures_free (DvmdDepartures *self)
{
  g_hash_table_unref (self->leavers);
  dvmd_clock_unref (self->clock);
  g_free (self);
}
