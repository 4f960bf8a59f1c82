/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents that were ordered to leave are followed until they have gone (D1).
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-departures"

#include "dvmd-departures.h"

/* A leaver has no uplink before it has said LEFT. */
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
  gpointer user_data;
  GHashTable *leavers; /* rank -> Leaver */
  GHashTable *below;   /* rank -> set of Leaver whose parent it is; no empty ones */
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

/* ---- who is below whom ---- */

static gboolean
has_below (DvmdDepartures *self, guint32 rank)
{
  return g_hash_table_contains (self->below, GUINT_TO_POINTER (rank));
}

static void
put_below (DvmdDepartures *self, Leaver *leaver, guint32 parent)
{
  GHashTable *set = g_hash_table_lookup (self->below, GUINT_TO_POINTER (parent));

  if (set == NULL)
    {
      set = g_hash_table_new (NULL, NULL);
      g_hash_table_insert (self->below, GUINT_TO_POINTER (parent), set);
    }
  g_hash_table_add (set, leaver);
  leaver->parent = parent;
}

static void
take_from_below (DvmdDepartures *self, Leaver *leaver)
{
  GHashTable *set = g_hash_table_lookup (self->below, GUINT_TO_POINTER (leaver->parent));

  g_hash_table_remove (set, leaver);
  if (g_hash_table_size (set) == 0)
    g_hash_table_remove (self->below, GUINT_TO_POINTER (leaver->parent));
}

static void
check_grace (DvmdDepartures *self, guint32 rank)
{
  Leaver *leaver = find (self, rank);

  if (leaver != NULL && leaver->waiting && !has_below (self, rank))
    start_grace (self, leaver);
}

/* ---- orders ---- */

static Leaver *
add (DvmdDepartures *self, guint32 rank, guint32 parent)
{
  Leaver *leaver = g_new0 (Leaver, 1);

  leaver->departures = self;
  leaver->rank = rank;
  leaver->uplink = NO_UPLINK;
  leaver->waiting = TRUE;
  g_hash_table_insert (self->leavers, GUINT_TO_POINTER (rank), leaver);
  put_below (self, leaver, parent);
  return leaver;
}

void
dvmd_departures_order (DvmdDepartures *self, const guint32 *ranks, const guint32 *parents, guint n)
{
  for (guint i = 0; i < n; i++)
    if (find (self, ranks[i]) == NULL)
      add (self, ranks[i], parents[i]);
  for (guint i = 0; i < n; i++)
    check_grace (self, ranks[i]);
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
    self->funcs->terminate (self->user_data, asked, n_asked);
}

/* ---- departures ---- */

/* The daemons that were below the leaver are below its parent now. */
static void
depart (DvmdDepartures *self, Leaver *leaver, DvmdDepartedHow how)
{
  guint32 rank = leaver->rank;
  guint32 parent = leaver->parent;
  GHashTable *orphans = NULL;
  GHashTableIter iter;
  gpointer orphan;

  take_from_below (self, leaver);
  g_hash_table_steal_extended (self->below, GUINT_TO_POINTER (rank), NULL, (gpointer *)&orphans);
  g_hash_table_remove (self->leavers, GUINT_TO_POINTER (rank));
  if (orphans != NULL)
    {
      g_hash_table_iter_init (&iter, orphans);
      while (g_hash_table_iter_next (&iter, &orphan, NULL))
        put_below (self, orphan, parent);
      g_hash_table_unref (orphans);
    }
  check_grace (self, parent);
  self->funcs->departed (self->user_data, rank, how);
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
dvmd_departures_new (DvmdClock *clock, gint64 grace, const DvmdDepartureFuncs *funcs, gpointer user_data)
{
  DvmdDepartures *self = g_new0 (DvmdDepartures, 1);

  self->clock = dvmd_clock_ref (clock);
  self->grace = grace;
  self->funcs = funcs;
  self->user_data = user_data;
  self->leavers = g_hash_table_new_full (NULL, NULL, NULL, leaver_free);
  self->below = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_hash_table_unref);
  return self;
}

void
dvmd_departures_free (DvmdDepartures *self)
{
  g_hash_table_unref (self->below);
  g_hash_table_unref (self->leavers);
  dvmd_clock_unref (self->clock);
  g_free (self);
}
