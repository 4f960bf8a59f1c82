/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Pictures of nodes are made from maps and from what the nodes are made of; and drawn as text.
 */

#include "config.h"

#include "dvm-cli-picture.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-output.h"

/* Of the ranks in a cell so much is shown. */
#define MAX_PART 11
/* Names of nodes that are alike in one title. */
#define MAX_NAMES     8
#define DEFAULT_WIDTH 80

/* ---- making ---- */

static void
cell_free (gpointer data)
{
  DvmCliCell *cell = data;

  g_strfreev (cell->parts);
  g_free (cell->ranks);
  g_free (cell);
}

static void
box_free (gpointer data)
{
  DvmCliBox *box = data;

  g_clear_pointer (&box->boxes, g_ptr_array_unref);
  g_free (box->label);
  g_free (box);
}

static void
picture_free (gpointer data)
{
  DvmCliPicture *self = data;

  g_free (self->title);
  g_free (self->unbound);
  g_ptr_array_unref (self->devices);
  g_clear_pointer (&self->boxes, g_ptr_array_unref);
  g_ptr_array_unref (self->cells);
  g_free (self);
}

static DvmCliBox *
box_new (char *label, DvmCliObject object)
{
  DvmCliBox *box = g_new0 (DvmCliBox, 1);

  box->label = label;
  box->first = object.first;
  box->n = object.n;
  return box;
}

static gboolean
is_inside (DvmCliObject object, DvmCliObject outer)
{
  return object.n > 0 && object.first >= outer.first && object.first + object.n <= outer.first + outer.n;
}

/* (nullable): boxes for the objects of a kind; NULL: they do not part what is around them */
static GPtrArray *
list_boxes (DvmCliMachine *machine, DvmCliObjectKind kind, DvmCliObject outer)
{
  g_autoptr (GPtrArray) boxes = g_ptr_array_new_with_free_func (box_free);
  DvmCliBox *last = NULL;
  guint covered = 0;

  for (guint i = 0; i < dvm_cli_machine_count (machine, kind); i++)
    {
      DvmCliObject object = dvm_cli_machine_get_object (machine, kind, i);

      if (!is_inside (object, outer))
        continue;
      /* Two memories of the same cores are two NUMA nodes, and one box. */
      if (last != NULL && last->first == object.first && last->n == object.n)
        {
          char *label = g_strdup_printf ("%s,%u", last->label, i);

          g_free (last->label);
          last->label = label;
          continue;
        }
      last = box_new (g_strdup_printf ("%s %u", dvm_cli_object_kind_to_string (kind), i), object);
      g_ptr_array_add (boxes, last);
      covered += object.n;
    }
  return covered == outer.n && boxes->len > (kind == DVM_CLI_PACKAGE ? 0 : 1) ? g_steal_pointer (&boxes) : NULL;
}

/* (nullable): NULL: there is nothing but cells */
static GPtrArray *
part (DvmCliMachine *machine, guint kind, DvmCliObject outer)
{
  GPtrArray *boxes = NULL;

  for (; boxes == NULL && kind <= DVM_CLI_L3CACHE; kind++)
    boxes = list_boxes (machine, kind, outer);
  for (guint i = 0; boxes != NULL && i < boxes->len; i++)
    {
      DvmCliBox *box = boxes->pdata[i];

      box->boxes = part (machine, kind, (DvmCliObject){ box->first, box->n });
    }
  return boxes;
}

/* From hardware threads to cells. */
static void
find_cells (DvmCliPicture *self, GPtrArray *boxes)
{
  for (guint i = 0; i < boxes->len; i++)
    {
      DvmCliBox *box = boxes->pdata[i];
      DvmCliObject outer = { box->first, box->n };

      box->first = box->n = 0;
      for (guint k = 0; k < dvm_cli_machine_count (self->machine, self->kind); k++)
        if (is_inside (dvm_cli_machine_get_object (self->machine, self->kind, k), outer) && box->n++ == 0)
          box->first = k;
      if (box->boxes != NULL)
        find_cells (self, box->boxes);
    }
}

static char *
describe_machine (const char *names, DvmCliMachine *machine)
{
  return g_strdup_printf (_ ("%s: packages %u, NUMA nodes %u, cores %u, hardware threads %u"), names,
                          dvm_cli_machine_count (machine, DVM_CLI_PACKAGE),
                          dvm_cli_machine_count (machine, DVM_CLI_NUMA), dvm_cli_machine_count (machine, DVM_CLI_CORE),
                          dvm_cli_machine_count (machine, DVM_CLI_HWTHREAD));
}

static DvmCliPicture *
picture_new (const char *names, DvmCliMachine *machine)
{
  DvmCliPicture *self = g_new0 (DvmCliPicture, 1);
  DvmCliObject all;

  self->machine = machine;
  self->cells = g_ptr_array_new_with_free_func (cell_free);
  self->unbound = g_strdup ("");
  self->devices = g_ptr_array_new_with_free_func (g_free);
  if (machine == NULL)
    {
      self->title = g_strdup_printf (_ ("%s: what it is made of is not known"), names);
      return self;
    }
  self->title = describe_machine (names, machine);
  all = dvm_cli_machine_get_whole (machine);
  self->kind = dvm_cli_machine_count (machine, DVM_CLI_CORE) > 0 ? DVM_CLI_CORE : DVM_CLI_HWTHREAD;
  self->boxes = part (machine, DVM_CLI_PACKAGE, all);
  /* Some virtual machines show no packages. */
  if (self->boxes == NULL)
    {
      self->boxes = g_ptr_array_new_with_free_func (box_free);
      g_ptr_array_add (self->boxes, box_new (g_strdup ("node"), all));
    }
  find_cells (self, self->boxes);
  return self;
}

/* ---- ranks ---- */

/* The ranks of one node. */
typedef struct
{
  DvmCliPicture *picture; /* borrowed */
  GPtrArray *of_hwthread; /* GArray of guint, or NULL */
  GArray *unbound;        /* guint */
} Ranks;

static void
unref_array (gpointer array)
{
  if (array != NULL)
    g_array_unref (array);
}

static void
ranks_free (gpointer data)
{
  Ranks *self = data;

  g_ptr_array_unref (self->of_hwthread);
  g_array_unref (self->unbound);
  g_free (self);
}

static Ranks *
ranks_new (DvmCliPicture *picture)
{
  Ranks *self = g_new0 (Ranks, 1);

  self->picture = picture;
  self->of_hwthread = g_ptr_array_new_with_free_func (unref_array);
  if (picture->machine != NULL)
    g_ptr_array_set_size (self->of_hwthread, (int)dvm_cli_machine_count (picture->machine, DVM_CLI_HWTHREAD));
  self->unbound = g_array_new (FALSE, FALSE, sizeof (guint));
  return self;
}

static void
ranks_add (Ranks *self, guint rank, const char *cpus)
{
  DvmCliMachine *machine = self->picture->machine;
  g_autoptr (GArray) hwthreads = machine != NULL ? dvm_cli_machine_read_cpus (machine, cpus) : NULL;

  if (hwthreads == NULL || hwthreads->len == 0)
    g_array_append_val (self->unbound, rank);
  for (guint i = 0; hwthreads != NULL && i < hwthreads->len; i++)
    {
      gpointer *slot = &self->of_hwthread->pdata[g_array_index (hwthreads, guint, i)];

      if (*slot == NULL)
        *slot = g_array_new (FALSE, FALSE, sizeof (guint));
      g_array_append_val (*(GArray **)slot, rank);
    }
}

static void
add_ranks (GArray *all, GArray *some)
{
  if (some != NULL)
    g_array_append_vals (all, some->data, some->len);
}

/* Ranks that all hardware threads of the core have stand there once. */
static DvmCliCell *
make_cell (Ranks *self, DvmCliObject core)
{
  g_autoptr (GStrvBuilder) parts = g_strv_builder_new ();
  g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof (guint));
  DvmCliCell *cell = g_new0 (DvmCliCell, 1);
  gboolean same = TRUE;

  for (guint i = core.first; i < core.first + core.n; i++)
    {
      GArray *ranks = self->of_hwthread->pdata[i];
      g_autofree char *text = ranks != NULL ? dvm_cli_list_numbers (ranks) : g_strdup ("");

      g_strv_builder_add (parts, text);
      add_ranks (all, ranks);
    }
  cell->parts = g_strv_builder_end (parts);
  for (guint i = 1; i < core.n; i++)
    same = same && strcmp (cell->parts[0], cell->parts[i]) == 0;
  for (guint i = 1; same && i < core.n; i++)
    g_clear_pointer (&cell->parts[i], g_free);
  cell->ranks = dvm_cli_list_numbers (all);
  cell->rank = all->len > 0 ? (int)g_array_index (all, guint, 0) : -1;
  return cell;
}

static void
ranks_finish (Ranks *self)
{
  DvmCliPicture *picture = self->picture;

  for (guint i = 0; picture->machine != NULL && i < dvm_cli_machine_count (picture->machine, picture->kind); i++)
    g_ptr_array_add (picture->cells, make_cell (self, dvm_cli_machine_get_object (picture->machine, picture->kind, i)));
  g_free (picture->unbound);
  picture->unbound = dvm_cli_list_numbers (self->unbound);
}

/* object: "device nvml0", as a map has it */
static void
add_devices (DvmCliPicture *picture, guint rank, const char *object)
{
  if (g_str_has_prefix (object, "device "))
    g_ptr_array_add (picture->devices, g_strdup_printf ("[%u] %s", rank, object + strlen ("device ")));
}

GPtrArray *
dvm_cli_pictures_new (GVariant *map, GPtrArray *machines, guint limit, guint *n_left)
{
  GPtrArray *pictures = g_ptr_array_new_with_free_func (picture_free);
  g_autoptr (GPtrArray) nodes = g_ptr_array_new_with_free_func (ranks_free);
  g_autoptr (GHashTable) by_name = g_hash_table_new (g_str_hash, g_str_equal);

  for (gsize i = 0; i < g_variant_n_children (map); i++)
    {
      const char *name;
      const char *cpus;
      const char *object;
      guint rank;
      gpointer found;

      g_variant_get_child (map, i, "(uuu&s&s&s&s)", &rank, NULL, NULL, &name, &cpus, &object, NULL);
      if (!g_hash_table_lookup_extended (by_name, name, NULL, &found))
        {
          found = NULL;
          if (pictures->len < limit)
            {
              found = ranks_new (picture_new (name, dvm_cli_machines_find (machines, name)));
              g_ptr_array_add (pictures, ((Ranks *)found)->picture);
              g_ptr_array_add (nodes, found);
            }
          g_hash_table_insert (by_name, (gpointer)name, found);
        }
      if (found == NULL)
        continue;
      ranks_add (found, rank, cpus);
      add_devices (((Ranks *)found)->picture, rank, object);
    }
  g_ptr_array_foreach (nodes, (GFunc)ranks_finish, NULL);
  *n_left = g_hash_table_size (by_name) - pictures->len;
  return pictures;
}

/* ---- without ranks ---- */

static char *
join_names (DvmCliMachine *machine, const char *const *nodes)
{
  GString *text = g_string_new (NULL);
  guint n = 0;

  for (gsize i = 0; nodes[i] != NULL; i++)
    if (dvm_cli_machine_has_node (machine, nodes[i]) && n++ < MAX_NAMES)
      g_string_append_printf (text, "%s%s", text->len > 0 ? ", " : "", nodes[i]);
  if (n > MAX_NAMES)
    g_string_append_printf (text, _ (" and %u more"), n - MAX_NAMES);
  return g_string_free (text, FALSE);
}

static DvmCliCell *
make_numbered_cell (DvmCliPicture *picture, guint index, gboolean physical)
{
  DvmCliObject core = dvm_cli_machine_get_object (picture->machine, picture->kind, index);
  DvmCliCell *cell = g_new0 (DvmCliCell, 1);

  cell->parts = g_new0 (char *, 2);
  cell->parts[0] = physical ? dvm_cli_machine_list_cpus (picture->machine, core, TRUE) : g_strdup_printf ("%u", index);
  cell->ranks = g_strdup ("");
  cell->rank = -1;
  return cell;
}

GPtrArray *
dvm_cli_pictures_new_for_nodes (GPtrArray *machines, const char *const *nodes, gboolean physical)
{
  GPtrArray *pictures = g_ptr_array_new_with_free_func (picture_free);

  for (guint i = 0; i < machines->len; i++)
    {
      DvmCliMachine *machine = machines->pdata[i];
      g_autofree char *names = join_names (machine, nodes);
      DvmCliPicture *picture;

      if (names[0] == '\0')
        continue;
      picture = picture_new (names, machine);
      for (guint k = 0; k < dvm_cli_machine_count (machine, picture->kind); k++)
        g_ptr_array_add (picture->cells, make_numbered_cell (picture, k, physical));
      g_ptr_array_add (pictures, picture);
    }
  return pictures;
}

/* ---- as text ---- */

typedef struct
{
  const DvmCliStyle *style;
  DvmCliPicture *picture;
  GPtrArray *texts; /* of the cells */
  guint cell_width;
  guint label_width;
  guint inner_width; /* of what the frame holds */
  GPtrArray *lines;  /* of one frame, with colours */
  GArray *widths;    /* guint: what they take on the screen */
} Drawing;

static const char *
free_mark (const DvmCliStyle *style)
{
  return style->ascii ? "." : "·";
}

static char *
cut_part (const char *part, const DvmCliStyle *style)
{
  if (part[0] == '\0')
    return g_strdup (free_mark (style));
  if (strlen (part) <= MAX_PART)
    return g_strdup (part);
  return g_strdup_printf ("%.*s%s", MAX_PART - 1, part, style->ascii ? "+" : "…");
}

static char *
show_cell (DvmCliCell *cell, const DvmCliStyle *style)
{
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_auto (GStrv) shown = NULL;

  for (gsize i = 0; cell->parts[i] != NULL; i++)
    {
      g_autofree char *text = cut_part (cell->parts[i], style);

      g_strv_builder_add (builder, text);
    }
  shown = g_strv_builder_end (builder);
  return g_strjoinv ("|", shown);
}

/* Neighbours differ; black or white stands out from each of them, whatever the terminal's own colours are. */
static const char *
get_colour (int rank)
{
  static const char *const colours[] = { "\033[30;42m", "\033[97;44m", "\033[30;43m", "\033[97;45m", "\033[30;46m" };

  return rank >= 0 ? colours[(guint)rank % G_N_ELEMENTS (colours)] : "\033[2m";
}

static void
append_times (GString *line, const char *text, guint n)
{
  for (guint i = 0; i < n; i++)
    g_string_append (line, text);
}

/* Numbers stand at the right, as in tables. */
static void
append_cell (Drawing *self, GString *line, guint index)
{
  DvmCliCell *cell = self->picture->cells->pdata[index];
  const char *text = self->texts->pdata[index];

  g_string_append_c (line, '[');
  if (self->style->colour)
    g_string_append (line, get_colour (cell->rank));
  append_times (line, " ", self->cell_width - dvm_cli_width (text));
  g_string_append (line, text);
  if (self->style->colour)
    g_string_append (line, "\033[0m");
  g_string_append_c (line, ']');
}

/* label: of the first line */
static void
draw_cells (Drawing *self, const char *label, guint first, guint n)
{
  guint room = self->inner_width - MIN (self->inner_width, self->label_width);
  guint fit = MAX (room / (self->cell_width + 2), 1);
  guint n_lines = (n + fit - 1) / fit;
  guint on_a_line = n_lines > 0 ? (n + n_lines - 1) / n_lines : 1;

  for (guint i = 0; i < n; i += on_a_line)
    {
      GString *line = g_string_new (i == 0 ? label : "");
      guint here = MIN (on_a_line, n - i);
      guint width = self->label_width + here * (self->cell_width + 2);

      append_times (line, " ", self->label_width - dvm_cli_width (line->str));
      for (guint k = 0; k < here; k++)
        append_cell (self, line, first + i + k);
      g_ptr_array_add (self->lines, g_string_free (line, FALSE));
      g_array_append_val (self->widths, width);
    }
}

static char *
join_labels (const char *outer, DvmCliBox *box)
{
  return g_strdup_printf ("%s%s%s", outer, outer[0] != '\0' ? " " : "", box->label);
}

static void
measure_labels (Drawing *self, GPtrArray *boxes, const char *outer)
{
  for (guint i = 0; boxes != NULL && i < boxes->len; i++)
    {
      g_autofree char *label = join_labels (outer, boxes->pdata[i]);

      self->label_width = MAX (self->label_width, dvm_cli_width (label) + 1);
      measure_labels (self, ((DvmCliBox *)boxes->pdata[i])->boxes, label);
    }
}

static void
draw_boxes (Drawing *self, DvmCliBox *box, const char *label)
{
  if (box->boxes == NULL)
    draw_cells (self, label, box->first, box->n);
  for (guint i = 0; box->boxes != NULL && i < box->boxes->len; i++)
    {
      DvmCliBox *inner = box->boxes->pdata[i];
      g_autofree char *whole = join_labels (label, inner);

      draw_boxes (self, inner, whole);
    }
}

static void
append_edge (Drawing *self, GString *text, const char *const corners[2], const char *label, guint width)
{
  const char *bar = self->style->ascii ? "-" : "─";

  g_string_append (text, corners[0]);
  if (label != NULL)
    g_string_append_printf (text, "%s %s ", bar, label);
  append_times (text, bar, width + 2 - (label != NULL ? 3 + dvm_cli_width (label) : 0));
  g_string_append_printf (text, "%s\n", corners[1]);
}

static void
draw_frame (Drawing *self, GString *text, DvmCliBox *box)
{
  static const char *const corners[][2] = { { "┌", "┐" }, { "└", "┘" }, { "+", "+" } };
  const char *side = self->style->ascii ? "|" : "│";
  guint width = dvm_cli_width (box->label) + 2;

  self->lines = g_ptr_array_new_with_free_func (g_free);
  self->widths = g_array_new (FALSE, FALSE, sizeof (guint));
  self->label_width = 0;
  measure_labels (self, box->boxes, "");
  draw_boxes (self, box, "");
  for (guint i = 0; i < self->lines->len; i++)
    width = MAX (width, g_array_index (self->widths, guint, i));
  append_edge (self, text, corners[self->style->ascii ? 2 : 0], box->label, width);
  for (guint i = 0; i < self->lines->len; i++)
    {
      g_string_append_printf (text, "%s %s", side, (char *)self->lines->pdata[i]);
      append_times (text, " ", width - g_array_index (self->widths, guint, i));
      g_string_append_printf (text, " %s\n", side);
    }
  append_edge (self, text, corners[self->style->ascii ? 2 : 1], NULL, width);
  g_clear_pointer (&self->lines, g_ptr_array_unref);
  g_clear_pointer (&self->widths, g_array_unref);
}

static char *
join_texts (GPtrArray *texts)
{
  GString *all = g_string_new (NULL);

  for (guint i = 0; i < texts->len; i++)
    g_string_append_printf (all, "%s%s", i > 0 ? " " : "", (char *)texts->pdata[i]);
  return g_string_free (all, FALSE);
}

char *
dvm_cli_picture_to_text (DvmCliPicture *self, const DvmCliStyle *style)
{
  g_autofree char *title = dvm_cli_escape (self->title);
  GString *text = g_string_new (title);
  g_autoptr (GPtrArray) texts = g_ptr_array_new_with_free_func (g_free);
  guint width = style->width > 0 ? style->width : DEFAULT_WIDTH;
  Drawing drawing = { .style = style, .picture = self, .texts = texts, .inner_width = MAX (width, 12) - 4 };

  g_string_append_c (text, '\n');
  for (guint i = 0; i < self->cells->len; i++)
    {
      g_ptr_array_add (texts, show_cell (self->cells->pdata[i], style));
      drawing.cell_width = MAX (drawing.cell_width, dvm_cli_width (texts->pdata[i]));
    }
  for (guint i = 0; self->boxes != NULL && i < self->boxes->len; i++)
    draw_frame (&drawing, text, self->boxes->pdata[i]);
  if (self->unbound[0] != '\0')
    {
      g_string_append_printf (text, _ ("not bound: ranks %s"), self->unbound);
      g_string_append_c (text, '\n');
    }
  if (self->devices->len > 0)
    {
      g_autofree char *devices = join_texts (self->devices);

      g_string_append_printf (text, _ ("devices: %s"), devices);
      g_string_append_c (text, '\n');
    }
  return g_string_free (text, FALSE);
}

char *
dvm_cli_picture_describe_cells (const DvmCliStyle *style)
{
  return g_strdup_printf (
      _ ("[3] a core and the ranks that are bound to it; [3|4] those of each of its hardware threads; "
         "%s none\n"),
      free_mark (style));
}
