/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A map says where the processes of a job go, in compact rows.
 */

#include "config.h"

#include "dvmd-map.h"

#define DVMD_MAP_ROW(self, i)    (&g_array_index ((self)->rows, DvmdMapRow, i))
#define DVMD_MAP_POLICY(self, i) (g_array_index ((self)->policies, DvmdMapAppPolicy, i))

/* How many rows may take turns in being made longer. */
#define LAST_ROWS 4

/* So it is one fixed array in a message. */
G_STATIC_ASSERT (sizeof (DvmdMapRow) == 12 * sizeof (guint32));
G_STATIC_ASSERT (sizeof (DvmdMapAppPolicy) == 8 * sizeof (guint32));

#define ROW_TYPE    "(uuiuuuuiuuuu)"
#define POLICY_TYPE "(uuuuuuuu)"
#define MAP_TYPE    "(@a" ROW_TYPE "@a" POLICY_TYPE "@as@a(uu))"

DvmdMap *
dvmd_map_new (void)
{
  DvmdMap *self = g_new0 (DvmdMap, 1);

  self->rows = g_array_new (FALSE, FALSE, sizeof (DvmdMapRow));
  self->policies = g_array_new (FALSE, TRUE, sizeof (DvmdMapAppPolicy));
  g_array_set_size (self->policies, 1);
  self->cpusets = g_ptr_array_new_with_free_func (g_free);
  self->texts = g_hash_table_new (g_str_hash, g_str_equal);
  self->excluded = g_hash_table_new (NULL, NULL);
  return self;
}

void
dvmd_map_free (DvmdMap *self)
{
  g_array_unref (self->rows);
  g_hash_table_unref (self->texts);
  g_array_unref (self->policies);
  g_ptr_array_unref (self->cpusets);
  g_hash_table_unref (self->excluded);
  g_free (self->unbound);
  g_free (self);
}

/* ---- policies ---- */

void
dvmd_map_set_policy (DvmdMap *self, guint32 first_app, const DvmdBindingPolicy *policy)
{
  DvmdMapAppPolicy *last = &DVMD_MAP_POLICY (self, self->policies->len - 1);
  DvmdMapAppPolicy added = { first_app, *policy };

  g_return_if_fail (first_app >= last->first_app);

  if (first_app == last->first_app)
    last->binding = *policy;
  else
    g_array_append_val (self->policies, added);
}

const DvmdBindingPolicy *
dvmd_map_get_policy (DvmdMap *self, guint32 app)
{
  guint i = self->policies->len - 1;

  while (i > 0 && DVMD_MAP_POLICY (self, i).first_app > app)
    i--;
  return &DVMD_MAP_POLICY (self, i).binding;
}

gboolean
dvmd_map_binds (DvmdMap *self)
{
  for (guint i = 0; i < self->policies->len; i++)
    if (DVMD_MAP_POLICY (self, i).binding.bind_to != DVMD_KIND_NODE)
      return TRUE;
  return FALSE;
}

gboolean
dvmd_map_has_devices (DvmdMap *self)
{
  for (guint i = 0; i < self->rows->len; i++)
    if (DVMD_MAP_ROW (self, i)->place.kind == DVMD_KIND_DEVICE)
      return TRUE;
  return FALSE;
}

/* ---- one row ---- */

static gint64
row_node (const DvmdMapRow *row, guint i)
{
  return row->node + (gint64)i * row->node_stride;
}

static gint64
row_first_rank (const DvmdMapRow *row, guint i)
{
  return row->first_rank + (gint64)i * row->step;
}

static DvmdBindingPlace
row_place (const DvmdMapRow *row, guint k)
{
  return (DvmdBindingPlace){ row->place.kind, row->place.object + k / row->per_object * row->object_stride };
}

/* Which of the row's nodes it is. */
static gboolean
row_find_node (const DvmdMapRow *row, guint node, guint *i)
{
  gint64 distance = (gint64)node - row->node;

  *i = 0;
  if (distance == 0 || row->n_nodes == 1)
    return distance == 0;
  if (distance % row->node_stride != 0 || distance / row->node_stride < 0
      || distance / row->node_stride >= row->n_nodes)
    return FALSE;
  *i = distance / row->node_stride;
  return TRUE;
}

/* The ranks of many a row follow each other: it is one interval, and nothing must be looked at one by one. */
static gboolean
row_is_interval (const DvmdMapRow *row, gint64 *first, gint64 *length)
{
  gint64 step = ABS ((gint64)row->step);

  *first = row->n_nodes > 1 && row->step < 0 ? row_first_rank (row, row->n_nodes - 1) : row->first_rank;
  *length = (gint64)row->n_nodes * row->count;
  if (row->count == 1 || row->stride == 1)
    return row->n_nodes == 1 || step == row->count;
  return step == 1 && row->stride == row->n_nodes;
}

/* ---- making ---- */

static gboolean
fits_distance (gint64 distance)
{
  return distance >= G_MININT32 && distance <= G_MAXINT32;
}

static gboolean
is_on_one_object (const DvmdMapRow *row)
{
  return row->object_stride == 0;
}

/* More ranks of the same node: whether their objects go on as those of the row do. What changes is in longer. */
static gboolean
continue_objects (const DvmdMapRow *row, const DvmdMapRow *run, DvmdMapRow *longer)
{
  if (row->place.kind != run->place.kind)
    return FALSE;
  if (is_on_one_object (row) && is_on_one_object (run))
    {
      if (row->place.object == run->place.object)
        longer->per_object = row->count + run->count;
      else if (run->place.object < row->place.object || run->count > row->count)
        return FALSE;
      else
        longer->object_stride = run->place.object - row->place.object;
      return TRUE;
    }
  return !is_on_one_object (row) && row->count % row->per_object == 0
         && run->place.object == row_place (row, row->count).object
         && (is_on_one_object (run) ? run->count <= row->per_object
                                    : run->per_object == row->per_object && run->object_stride == row->object_stride);
}

static gboolean
add_ranks (DvmdMapRow *row, const DvmdMapRow *run)
{
  DvmdMapRow longer = *row;
  gint64 step = (gint64)run->first_rank - row->first_rank;

  if (row->n_nodes != 1 || row->node != run->node || (row->count > 1 && step != (gint64)row->count * row->stride)
      || (run->count > 1 && row->count > 1 && run->stride != row->stride) || !continue_objects (row, run, &longer))
    return FALSE;
  if (row->count == 1)
    {
      if (step <= 0 || step > G_MAXUINT32 || (run->count > 1 && run->stride != step))
        return FALSE;
      longer.stride = step;
    }
  longer.count += run->count;
  *row = longer;
  return TRUE;
}

static gboolean
are_alike (const DvmdMapRow *row, const DvmdMapRow *run)
{
  return row->count == run->count && row->stride == run->stride && row->place.kind == run->place.kind
         && row->place.object == run->place.object && row->per_object == run->per_object
         && row->object_stride == run->object_stride;
}

/* Makes the row longer if the run is what comes next in it. */
static gboolean
extend_row (DvmdMapRow *row, const DvmdMapRow *run)
{
  gint64 node_stride = (gint64)run->node - row->node;
  gint64 step = (gint64)run->first_rank - row->first_rank;

  if (row->app != run->app)
    return FALSE;
  if (add_ranks (row, run))
    return TRUE;
  if (!are_alike (row, run))
    return FALSE;
  if (row->n_nodes == 1 && node_stride != 0 && fits_distance (node_stride) && fits_distance (step))
    {
      row->node_stride = node_stride;
      row->step = step;
    }
  else if (row->n_nodes == 1 || row_node (row, row->n_nodes) != run->node
           || row_first_rank (row, row->n_nodes) != run->first_rank)
    return FALSE;
  row->n_nodes++;
  return TRUE;
}

/* Not the last row alone: large and small nodes may take turns. */
static gboolean
extend_rows (DvmdMap *self, const DvmdMapRow *run)
{
  for (guint i = self->rows->len; i > 0 && i + LAST_ROWS > self->rows->len; i--)
    if (extend_row (DVMD_MAP_ROW (self, i - 1), run))
      return TRUE;
  return FALSE;
}

void
dvmd_map_add_run (DvmdMap *self, const DvmdMapRow *run)
{
  DvmdMapRow row = *run;

  row.n_nodes = 1;
  row.node_stride = row.step = 0;
  if (row.count == 1)
    row.stride = 1;
  /* A row of one object is always written in the same way, so that like rows are found. */
  if (row.object_stride == 0 || row.per_object >= row.count)
    {
      row.object_stride = 0;
      row.per_object = row.count;
    }
  if (!extend_rows (self, &row))
    g_array_append_val (self->rows, row);
  self->num_procs += row.count;
}

/* The nodes of a row from this one on. */
static void
append_rest (GArray *rows, const DvmdMapRow *row, guint from)
{
  DvmdMapRow rest = *row;

  if (from >= row->n_nodes)
    return;
  rest.node = row_node (row, from);
  rest.first_rank = row_first_rank (row, from);
  rest.n_nodes = row->n_nodes - from;
  if (rest.n_nodes == 1)
    rest.node_stride = rest.step = 0;
  g_array_append_val (rows, rest);
}

void
dvmd_map_remove_node (DvmdMap *self, guint node)
{
  g_autoptr (GArray) old = g_steal_pointer (&self->rows);

  self->rows = g_array_new (FALSE, FALSE, sizeof (DvmdMapRow));
  for (guint i = 0; i < old->len; i++)
    {
      DvmdMapRow row = g_array_index (old, DvmdMapRow, i);
      guint position;

      if (!row_find_node (&row, node, &position))
        {
          g_array_append_val (self->rows, row);
          continue;
        }
      self->num_procs -= row.count;
      append_rest (self->rows, &row, position + 1);
      row.n_nodes = position;
      append_rest (self->rows, &row, 0);
    }
}

static void
append_cpuset (DvmdMap *self, const char *cpus)
{
  char *text = g_strdup (cpus);

  g_ptr_array_add (self->cpusets, text);
  if (!g_hash_table_contains (self->texts, text))
    g_hash_table_insert (self->texts, text, GUINT_TO_POINTER (self->cpusets->len));
}

guint32
dvmd_map_add_cpuset (DvmdMap *self, const char *cpus)
{
  if (!g_hash_table_contains (self->texts, cpus))
    append_cpuset (self, cpus);
  return GPOINTER_TO_UINT (g_hash_table_lookup (self->texts, cpus)) - 1;
}

/* The same text in this map; 0: there is none */
static guint32
take_text (DvmdMap *self, DvmdMap *other, guint32 index)
{
  return index > 0 ? dvmd_map_add_cpuset (self, g_ptr_array_index (other->cpusets, index - 1)) + 1 : 0;
}

static void
append_policy (DvmdMap *self, DvmdMap *other, const DvmdMapAppPolicy *policy, guint32 first_app)
{
  DvmdBindingPolicy binding = policy->binding;

  binding.devices = take_text (self, other, binding.devices);
  binding.map_by = take_text (self, other, binding.map_by);
  binding.rank_by = take_text (self, other, binding.rank_by);
  dvmd_map_set_policy (self, first_app + policy->first_app, &binding);
}

void
dvmd_map_append (DvmdMap *self, DvmdMap *other, guint32 first_app)
{
  for (guint i = 0; i < other->rows->len; i++)
    {
      DvmdMapRow row = *DVMD_MAP_ROW (other, i);

      row.app += first_app;
      row.first_rank += self->num_procs;
      if (row.place.kind == DVMD_KIND_CPUS)
        row.place.object = dvmd_map_add_cpuset (self, g_ptr_array_index (other->cpusets, row.place.object));
      g_array_append_val (self->rows, row);
    }
  for (guint i = 0; i < other->policies->len; i++)
    append_policy (self, other, &DVMD_MAP_POLICY (other, i), first_app);
  if (self->unbound == NULL)
    self->unbound = g_strdup (other->unbound);
  self->num_procs += other->num_procs;
}

void
dvmd_map_exclude (DvmdMap *self, guint node, const char *cpus)
{
  g_hash_table_insert (self->excluded, GUINT_TO_POINTER (node),
                       GUINT_TO_POINTER (dvmd_map_add_cpuset (self, cpus) + 1));
}

static const char *
get_text (DvmdMap *self, guint32 index)
{
  return index > 0 ? g_ptr_array_index (self->cpusets, index - 1) : NULL;
}

const char *
dvmd_map_get_devices (DvmdMap *self, guint32 app)
{
  return get_text (self, dvmd_map_get_policy (self, app)->devices);
}

const char *
dvmd_map_get_map_by (DvmdMap *self, guint32 app)
{
  return get_text (self, dvmd_map_get_policy (self, app)->map_by);
}

const char *
dvmd_map_get_rank_by (DvmdMap *self, guint32 app)
{
  return get_text (self, dvmd_map_get_policy (self, app)->rank_by);
}

const char *
dvmd_map_get_excluded (DvmdMap *self, guint node)
{
  guint index = GPOINTER_TO_UINT (g_hash_table_lookup (self->excluded, GUINT_TO_POINTER (node)));

  return index > 0 ? g_ptr_array_index (self->cpusets, index - 1) : NULL;
}

static int
compare_keys (gconstpointer a, gconstpointer b)
{
  guint left = GPOINTER_TO_UINT (a);
  guint right = GPOINTER_TO_UINT (b);

  return left < right ? -1 : left > right;
}

/* Ascending by node. */
static GVariant *
excluded_to_variant (DvmdMap *self)
{
  g_autoptr (GList) nodes = g_list_sort (g_hash_table_get_keys (self->excluded), compare_keys);
  GVariantBuilder pairs;

  g_variant_builder_init (&pairs, G_VARIANT_TYPE ("a(uu)"));
  for (GList *l = nodes; l != NULL; l = l->next)
    g_variant_builder_add (&pairs, "(uu)", GPOINTER_TO_UINT (l->data),
                           GPOINTER_TO_UINT (g_hash_table_lookup (self->excluded, l->data)) - 1);
  return g_variant_builder_end (&pairs);
}

GVariant *
dvmd_map_to_variant (DvmdMap *self)
{
  return g_variant_new (
      MAP_TYPE,
      g_variant_new_fixed_array (G_VARIANT_TYPE (ROW_TYPE), self->rows->data, self->rows->len, sizeof (DvmdMapRow)),
      g_variant_new_fixed_array (G_VARIANT_TYPE (POLICY_TYPE), self->policies->data, self->policies->len,
                                 sizeof (DvmdMapAppPolicy)),
      g_variant_new_strv ((const char *const *)self->cpusets->pdata, (gssize)self->cpusets->len),
      excluded_to_variant (self));
}

/* ---- reading ---- */

static guint64
row_last_object (const DvmdMapRow *row)
{
  return row->place.object + (row->count - 1) / row->per_object * (guint64)row->object_stride;
}

/* A row by itself: numbers that cannot be are found before anything is made as large as they say. */
static gboolean
row_is_sound (const DvmdMapRow *row)
{
  gint64 last = row->n_nodes - 1;

  if (row->n_nodes == 0 || row->count == 0 || row->n_nodes > DVMD_MAP_MAX_PROCS || row->count > DVMD_MAP_MAX_PROCS)
    return FALSE;
  if ((row->count > 1 && row->stride == 0) || (last > 0 && (row->node_stride == 0 || row->step == 0)))
    return FALSE;
  if (row->per_object == 0 || row_last_object (row) > (row->place.kind == DVMD_KIND_CPUS ? G_MAXUINT32 : G_MAXUINT16))
    return FALSE;
  return row->node != DVMD_NO_NODE && row_node (row, last) >= 0 && row_node (row, last) < DVMD_NO_NODE
         && row_first_rank (row, last) >= 0;
}

typedef struct
{
  gint64 first;
  gint64 length;
} Interval;

static int
compare_intervals (gconstpointer a, gconstpointer b)
{
  gint64 left = ((const Interval *)a)->first;
  gint64 right = ((const Interval *)b)->first;

  return left < right ? -1 : left > right;
}

/* NULL when one of the rows is no interval. */
static GArray *
list_intervals (DvmdMap *self)
{
  g_autoptr (GArray) intervals = g_array_sized_new (FALSE, FALSE, sizeof (Interval), self->rows->len);

  for (guint i = 0; i < self->rows->len; i++)
    {
      Interval interval;

      if (!row_is_interval (DVMD_MAP_ROW (self, i), &interval.first, &interval.length))
        return NULL;
      g_array_append_val (intervals, interval);
    }
  return g_steal_pointer (&intervals);
}

static gboolean
follow_each_other (GArray *intervals)
{
  gint64 next = 0;

  g_array_sort (intervals, compare_intervals);
  for (guint i = 0; i < intervals->len; i++)
    {
      const Interval *interval = &g_array_index (intervals, Interval, i);

      if (interval->first != next)
        return FALSE;
      next += interval->length;
    }
  return TRUE;
}

static gboolean
mark_row (const DvmdMapRow *row, guint8 *seen, guint num_procs)
{
  for (guint i = 0; i < row->n_nodes; i++)
    for (guint k = 0; k < row->count; k++)
      {
        gint64 rank = row_first_rank (row, i) + (gint64)k * row->stride;

        if (rank < 0 || rank >= num_procs || (seen[rank / 8] & (1 << (rank % 8))) != 0)
          return FALSE;
        seen[rank / 8] |= 1 << (rank % 8);
      }
  return TRUE;
}

gboolean
dvmd_map_is_whole (DvmdMap *self)
{
  g_autoptr (GArray) intervals = list_intervals (self);
  g_autofree guint8 *seen = NULL;

  if (intervals != NULL)
    return follow_each_other (intervals);
  seen = g_malloc0 (self->num_procs / 8 + 1);
  for (guint i = 0; i < self->rows->len; i++)
    if (!mark_row (DVMD_MAP_ROW (self, i), seen, self->num_procs))
      return FALSE;
  return TRUE;
}

static gboolean
read_rows (DvmdMap *self, GVariant *variant, GError **error)
{
  guint64 total = 0;
  gsize n_rows;
  const DvmdMapRow *rows = g_variant_get_fixed_array (variant, &n_rows, sizeof (DvmdMapRow));
  gsize i;

  for (i = 0; i < n_rows && total <= DVMD_MAP_MAX_PROCS && row_is_sound (&rows[i]); i++)
    total += (guint64)rows[i].n_nodes * rows[i].count;
  if (i < n_rows || total > DVMD_MAP_MAX_PROCS)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED,
                   "Row %" G_GSIZE_FORMAT " of the map has numbers that cannot be", i);
      return FALSE;
    }
  g_array_append_vals (self->rows, rows, n_rows);
  self->num_procs = total;
  return TRUE;
}

static gboolean
read_policies (DvmdMap *self, GVariant *variant, GError **error)
{
  gsize n;
  const DvmdMapAppPolicy *policies = g_variant_get_fixed_array (variant, &n, sizeof (DvmdMapAppPolicy));

  for (gsize i = 0; i < n; i++)
    if (policies[i].binding.bind_to > DVMD_KIND_HWTHREAD)
      {
        g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED,
                     "The map binds to objects of kind %u, which there is not", policies[i].binding.bind_to);
        return FALSE;
      }
    else if (i == 0 ? policies[i].first_app != 0 : policies[i].first_app <= policies[i - 1].first_app)
      {
        g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED,
                     "The map binds from application %u on as its policy %" G_GSIZE_FORMAT
                     ": the first one is that of application 0, and the others follow, ascending",
                     policies[i].first_app, i);
        return FALSE;
      }
  if (n == 0)
    {
      g_set_error_literal (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED, "The map does not say how processes are bound");
      return FALSE;
    }
  g_array_set_size (self->policies, 0);
  g_array_append_vals (self->policies, policies, n);
  return TRUE;
}

static gboolean
read_cpusets (DvmdMap *self, GVariant *cpusets, GVariant *excluded, GError **error)
{
  GVariantIter iter;
  const char *text;
  gint64 last = -1;
  guint32 node;
  guint32 index;

  g_variant_iter_init (&iter, cpusets);
  while (g_variant_iter_next (&iter, "&s", &text))
    append_cpuset (self, text);
  g_variant_iter_init (&iter, excluded);
  while (g_variant_iter_next (&iter, "(uu)", &node, &index))
    {
      if (node <= last)
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED,
                       "The map excludes cpus of node %u behind those of node %u: each stands there once, ascending",
                       node, (guint)last);
          return FALSE;
        }
      last = node;
      if (index >= self->cpusets->len)
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED,
                       "The map excludes set %u of cpus of node %u, and has %u sets", index, node, self->cpusets->len);
          return FALSE;
        }
      g_hash_table_insert (self->excluded, GUINT_TO_POINTER (node), GUINT_TO_POINTER (index + 1));
    }
  return TRUE;
}

/* Places that are devices have a wish by which these are found. */
static gboolean
check_devices (DvmdMap *self, GError **error)
{
  gboolean right = TRUE;

  for (guint i = 0; i < self->policies->len; i++)
    {
      const DvmdBindingPolicy *policy = &DVMD_MAP_POLICY (self, i).binding;

      right = right && MAX (policy->devices, MAX (policy->map_by, policy->rank_by)) <= self->cpusets->len;
    }
  for (guint i = 0; right && i < self->rows->len; i++)
    right = DVMD_MAP_ROW (self, i)->place.kind != DVMD_KIND_DEVICE
            || dvmd_map_get_devices (self, DVMD_MAP_ROW (self, i)->app) != NULL;
  if (!right)
    g_set_error_literal (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED,
                         "The map places processes by devices, and does not say by which");
  return right;
}

static gboolean
check_cpusets (DvmdMap *self, GError **error)
{
  for (guint i = 0; i < self->rows->len; i++)
    {
      const DvmdMapRow *row = DVMD_MAP_ROW (self, i);

      if (row->place.kind != DVMD_KIND_CPUS || row_last_object (row) < self->cpusets->len)
        continue;
      g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED,
                   "Row %u of the map speaks of set %" G_GUINT64_FORMAT " of cpus, and the map has %u sets", i,
                   row_last_object (row), self->cpusets->len);
      return FALSE;
    }
  return TRUE;
}

DvmdMap *
dvmd_map_new_from_variant (GVariant *variant, GError **error)
{
  g_autoptr (DvmdMap) self = dvmd_map_new ();
  g_autoptr (GVariant) rows = NULL;
  g_autoptr (GVariant) policies = NULL;
  g_autoptr (GVariant) cpusets = NULL;
  g_autoptr (GVariant) excluded = NULL;

  g_variant_get (variant, MAP_TYPE, &rows, &policies, &cpusets, &excluded);
  if (!read_policies (self, policies, error) || !read_rows (self, rows, error)
      || !read_cpusets (self, cpusets, excluded, error) || !check_cpusets (self, error) || !check_devices (self, error))
    return NULL;
  if (!dvmd_map_is_whole (self))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED,
                   "The map of the job does not give each of its %u ranks exactly one place", self->num_procs);
      return NULL;
    }
  return g_steal_pointer (&self);
}

/* ---- nodes ---- */

static int
compare_shares (gconstpointer a, gconstpointer b)
{
  guint left = ((const DvmdMapShare *)a)->node;
  guint right = ((const DvmdMapShare *)b)->node;

  return left < right ? -1 : left > right;
}

/* One entry for each node. */
static void
join_shares (GArray *shares)
{
  DvmdMapShare *all = (DvmdMapShare *)shares->data;
  guint n = 0;

  g_array_sort (shares, compare_shares);
  for (guint i = 0; i < shares->len; i++)
    if (n > 0 && all[n - 1].node == all[i].node)
      all[n - 1].count += all[i].count;
    else
      all[n++] = all[i];
  g_array_set_size (shares, n);
}

GArray *
dvmd_map_get_shares (DvmdMap *self)
{
  GArray *shares = g_array_new (FALSE, FALSE, sizeof (DvmdMapShare));
  gint64 last = -1;
  gboolean ascending = TRUE;

  for (guint i = 0; i < self->rows->len; i++)
    {
      const DvmdMapRow *row = DVMD_MAP_ROW (self, i);

      for (guint k = 0; k < row->n_nodes; k++)
        {
          DvmdMapShare share = { .node = row_node (row, k), .count = row->count };

          ascending = ascending && share.node > last;
          last = share.node;
          g_array_append_val (shares, share);
        }
    }
  if (!ascending)
    join_shares (shares);
  return shares;
}

GArray *
dvmd_map_get_nodes (DvmdMap *self)
{
  g_autoptr (GArray) shares = dvmd_map_get_shares (self);
  GArray *nodes = g_array_sized_new (FALSE, FALSE, sizeof (guint), shares->len);

  for (guint i = 0; i < shares->len; i++)
    g_array_append_val (nodes, g_array_index (shares, DvmdMapShare, i).node);
  return nodes;
}

guint
dvmd_map_count_on_node (DvmdMap *self, guint node)
{
  guint count = 0;
  guint position;

  for (guint i = 0; i < self->rows->len; i++)
    if (row_find_node (DVMD_MAP_ROW (self, i), node, &position))
      count += DVMD_MAP_ROW (self, i)->count;
  return count;
}

/* ---- ranks ---- */

static guint
find_share (GArray *shares, guint node)
{
  const DvmdMapShare *first = (const DvmdMapShare *)shares->data;
  DvmdMapShare wanted = { .node = node };
  guint position = node - first->node;

  /* Mostly there are no holes between the nodes. */
  if (position < shares->len && first[position].node == node)
    return position;
  g_array_binary_search (shares, &wanted, compare_shares, &position);
  return position;
}

DvmdProcTable *
dvmd_map_expand (DvmdMap *self)
{
  DvmdProcTable *table = dvmd_proc_table_new (self->num_procs);
  g_autoptr (GArray) shares = dvmd_map_get_shares (self);

  /* First with the place of the node among the shares, so that counting per node needs an array alone. */
  for (guint i = 0; i < self->rows->len; i++)
    {
      const DvmdMapRow *row = DVMD_MAP_ROW (self, i);

      for (guint k = 0; k < row->n_nodes; k++)
        {
          guint place = find_share (shares, row_node (row, k));
          guint rank = row_first_rank (row, k);

          for (guint n = 0; n < row->count; n++, rank += row->stride)
            {
              table->rows[rank].node = place;
              table->rows[rank].app = row->app;
            }
        }
    }
  for (guint i = 0; i < shares->len; i++)
    g_array_index (shares, DvmdMapShare, i).count = 0;
  /* Local ranks follow the ranks, whatever order the rows have. */
  for (guint rank = 0; rank < table->n_rows; rank++)
    {
      DvmdProcRow *row = &table->rows[rank];
      DvmdMapShare *share = &g_array_index (shares, DvmdMapShare, row->node);

      row->node = share->node;
      row->local_rank = row->node_rank = share->count++;
    }
  return table;
}

static int
compare_ranks (gconstpointer a, gconstpointer b)
{
  guint32 left = ((const DvmdMapRank *)a)->rank;
  guint32 right = ((const DvmdMapRank *)b)->rank;

  return left < right ? -1 : left > right;
}

gint64
dvmd_map_find_only_row (DvmdMap *self, guint node)
{
  gint64 found = -1;
  guint position;

  for (guint i = 0; i < self->rows->len; i++)
    if (row_find_node (DVMD_MAP_ROW (self, i), node, &position))
      {
        if (found >= 0)
          return -1;
        found = i;
      }
  return found;
}

GArray *
dvmd_map_expand_node (DvmdMap *self, guint node)
{
  GArray *ranks = g_array_new (FALSE, FALSE, sizeof (DvmdMapRank));
  guint n_rows = 0;
  guint position;

  for (guint i = 0; i < self->rows->len; i++)
    {
      const DvmdMapRow *row = DVMD_MAP_ROW (self, i);

      if (!row_find_node (row, node, &position))
        continue;
      n_rows++;
      for (guint k = 0; k < row->count; k++)
        {
          DvmdMapRank rank = {
            .rank = row_first_rank (row, position) + k * row->stride,
            .app = row->app,
            .place = row_place (row, k),
          };

          g_array_append_val (ranks, rank);
        }
    }
  if (n_rows > 1)
    g_array_sort (ranks, compare_ranks);
  return ranks;
}

static gboolean
is_on_objects (const DvmdMapRow *row)
{
  return row->place.kind != DVMD_KIND_NODE && row->place.kind != DVMD_KIND_CPUS;
}

GArray *
dvmd_map_list_places (DvmdMap *self)
{
  GArray *places = NULL;

  for (guint i = 0; i < self->rows->len; i++)
    {
      const DvmdMapRow *row = DVMD_MAP_ROW (self, i);

      if (!is_on_objects (row))
        continue;
      if (places == NULL)
        {
          places = g_array_sized_new (FALSE, TRUE, sizeof (DvmdBindingPlace), self->num_procs);
          g_array_set_size (places, self->num_procs);
        }
      for (guint n = 0; n < row->n_nodes; n++)
        for (guint k = 0; k < row->count; k++)
          {
            gint64 rank = row_first_rank (row, n) + (gint64)k * row->stride;

            g_array_index (places, DvmdBindingPlace, rank) = row_place (row, k);
          }
    }
  return places;
}
