/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Pictures of nodes are drawn as SVG: frames in frames, and cores in colours. A background of its own makes it readable
 * on light and dark pages.
 */

#include "config.h"

#include "dvm-cli-svg.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-output.h"

#define MAX_WIDTH   1100
#define MARGIN      16
#define PADDING     8
#define GAP         4
#define LINE        18
#define CELL_HEIGHT 24
/* A letter of 12 px is not wider. */
#define LETTER 8
/* Of the ranks in a cell so many letters are shown; all of them stand in its title. */
#define MAX_LETTERS 12

#define FREE_FILL "#f3f4f6"

typedef struct
{
  guint width;
  guint height;
} Size;

typedef struct
{
  GString *text;
  DvmCliPicture *picture; /* that is drawn */
  guint part_width;       /* of its cells */
  guint n_parts;
} Drawing;

static void G_GNUC_PRINTF (2, 3) append (Drawing *self, const char *format, ...)
{
  va_list arguments;
  g_autofree char *line = NULL;

  va_start (arguments, format);
  line = g_markup_vprintf_escaped (format, arguments);
  va_end (arguments);
  g_string_append_printf (self->text, "%s\n", line);
}

static void
append_text (Drawing *self, guint x, guint y, const char *text)
{
  g_autofree char *shown = dvm_cli_escape (text);

  append (self, "<text x=\"%u\" y=\"%u\">%s</text>", x, y, shown);
}

static guint
text_width (const char *text)
{
  return dvm_cli_width (text) * LETTER;
}

/* ---- cells ---- */

/* Neighbours differ, and black stands out from each of them. */
static const char *
get_fill (const char *part)
{
  static const char *const fills[] = { "#a6cee3", "#b2df8a", "#fdbf6f", "#cab2d6", "#fb9a99", "#ffff99", "#8dd3c7" };

  return part[0] != '\0' ? fills[g_ascii_strtoull (part, NULL, 10) % G_N_ELEMENTS (fills)] : FREE_FILL;
}

static guint
cell_width (Drawing *self)
{
  return self->n_parts * self->part_width;
}

static void
measure_cells (Drawing *self)
{
  self->n_parts = 1;
  self->part_width = 28;
  for (guint i = 0; i < self->picture->cells->len; i++)
    {
      DvmCliCell *cell = self->picture->cells->pdata[i];
      guint n = g_strv_length (cell->parts);

      self->n_parts = MAX (self->n_parts, n);
      for (guint k = 0; k < n; k++)
        self->part_width = MAX (self->part_width, (guint)MIN (strlen (cell->parts[k]), MAX_LETTERS) * LETTER + 8);
    }
}

static void
draw_part (Drawing *self, const char *part, guint x, guint y, guint width)
{
  g_autofree char *shown = strlen (part) > MAX_LETTERS ? g_strdup_printf ("%.*s…", MAX_LETTERS - 1, part)
                                                       : g_strdup (part);

  append (self, "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" fill=\"%s\" stroke=\"#6b7280\"/>", x, y, width,
          CELL_HEIGHT, get_fill (part));
  if (part[0] != '\0')
    append (self, "<text x=\"%u\" y=\"%u\" text-anchor=\"middle\">%s</text>", x + width / 2, y + 16, shown);
}

static void
draw_parts (Drawing *self, char **parts, guint x, guint y, guint width)
{
  guint n = MAX (g_strv_length (parts), 1);

  for (guint i = 0; parts[i] != NULL; i++)
    draw_part (self, parts[i], x + i * width / n, y, width / n);
}

static void
draw_cell (Drawing *self, guint index, guint x, guint y)
{
  DvmCliCell *cell = self->picture->cells->pdata[index];

  append (self, "<g>");
  append (self, cell->ranks[0] != '\0' ? "<title>%s %u: %s</title>" : "<title>%s %u</title>",
          dvm_cli_object_kind_to_string (self->picture->kind), index, cell->ranks);
  draw_parts (self, cell->parts, x, y, cell_width (self));
  append (self, "</g>");
}

/* A grid that is wide rather than high. */
static Size
draw_cells (Drawing *self, DvmCliBox *box, guint x, guint y, gboolean draws)
{
  guint columns = box->n <= 4 ? box->n : box->n <= 16 ? 4 : 8;
  guint step = cell_width (self) + GAP;
  guint n_lines = columns > 0 ? (box->n + columns - 1) / columns : 0;

  for (guint i = 0; draws && i < box->n; i++)
    draw_cell (self, box->first + i, x + i % columns * step, y + i / columns * (CELL_HEIGHT + GAP));
  return (Size){ columns * step, n_lines * (CELL_HEIGHT + GAP) };
}

/* ---- boxes ---- */

static Size draw_boxes (Drawing *self, GPtrArray *boxes, guint x, guint y, guint limit, gboolean draws);

static Size
draw_inside (Drawing *self, DvmCliBox *box, guint x, guint y, guint limit, gboolean draws)
{
  return box->boxes != NULL ? draw_boxes (self, box->boxes, x, y, limit, draws) : draw_cells (self, box, x, y, draws);
}

/* draws: FALSE to measure it */
static Size
draw_box (Drawing *self, DvmCliBox *box, guint x, guint y, guint limit, gboolean draws)
{
  guint inner = limit > 2 * PADDING ? limit - 2 * PADDING : 0;
  Size size = draw_inside (self, box, 0, 0, inner, FALSE);

  size.width = MAX (size.width, text_width (box->label)) + 2 * PADDING;
  size.height += LINE + 2 * PADDING;
  if (!draws)
    return size;
  append (self, "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" rx=\"4\" fill=\"none\" stroke=\"#374151\"/>", x, y,
          size.width, size.height);
  append_text (self, x + PADDING, y + LINE, box->label);
  draw_inside (self, box, x + PADDING, y + LINE + PADDING, inner, TRUE);
  return size;
}

/* In lines of the same number of boxes, as wide as the limit allows. */
static Size
draw_boxes (Drawing *self, GPtrArray *boxes, guint x, guint y, guint limit, gboolean draws)
{
  Size widest = { 1, 1 };
  Size all = { 0, 0 };
  guint fit;
  guint columns;

  for (guint i = 0; i < boxes->len; i++)
    {
      Size size = draw_box (self, boxes->pdata[i], 0, 0, limit, FALSE);

      widest.width = MAX (widest.width, size.width + 2 * GAP);
      widest.height = MAX (widest.height, size.height + 2 * GAP);
    }
  fit = MAX (limit / widest.width, 1);
  columns = (boxes->len + fit - 1) / fit;
  columns = columns > 0 ? (boxes->len + columns - 1) / columns : 1;
  for (guint i = 0; i < boxes->len; i++)
    {
      guint left = i % columns * widest.width;
      guint top = i / columns * widest.height;

      if (draws)
        draw_box (self, boxes->pdata[i], x + left, y + top, limit, TRUE);
      all.width = MAX (all.width, left + widest.width);
      all.height = MAX (all.height, top + widest.height);
    }
  return all;
}

/* ---- devices ---- */

/* One "[0] nvml0" beside the other, in lines that are not wider than the limit. */
static Size
draw_devices (Drawing *self, guint x, guint y, gboolean draws)
{
  GPtrArray *devices = self->picture->devices;
  Size all = { 0, CELL_HEIGHT + GAP };
  guint left = 0;

  for (guint i = 0; i < devices->len; i++)
    {
      g_autofree char *shown = dvm_cli_escape (devices->pdata[i]);
      guint width = text_width (shown) + 8;

      if (left > 0 && left + width > MAX_WIDTH - 2 * PADDING)
        {
          left = 0;
          all.height += CELL_HEIGHT + GAP;
        }
      if (draws)
        {
          guint top = y + all.height - CELL_HEIGHT - GAP;

          append (self, "<g>");
          append (self, "<title>device %s</title>", shown);
          append (self, "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" fill=\"%s\" stroke=\"#6b7280\"/>", x + left,
                  top, width, CELL_HEIGHT, get_fill (shown + strlen ("[")));
          append (self, "<text x=\"%u\" y=\"%u\" text-anchor=\"middle\">%s</text>", x + left + width / 2, top + 16,
                  shown);
          append (self, "</g>");
        }
      left += width + GAP;
      all.width = MAX (all.width, left);
    }
  return all;
}

/* A frame as that of a package, below these. */
static Size
draw_devices_box (Drawing *self, guint x, guint y)
{
  const char *label = _ ("devices of ranks");
  Size size = draw_devices (self, 0, 0, FALSE);

  size.width = MAX (size.width, text_width (label)) + 2 * PADDING;
  size.height += LINE + 2 * PADDING;
  append (self, "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" rx=\"4\" fill=\"none\" stroke=\"#374151\"/>", x, y,
          size.width, size.height);
  append_text (self, x + PADDING, y + LINE, label);
  draw_devices (self, x + PADDING, y + LINE + PADDING, TRUE);
  return size;
}

static Size
draw_node (Drawing *self, DvmCliPicture *picture, guint y)
{
  Size size = { 0, LINE };

  self->picture = picture;
  measure_cells (self);
  append_text (self, MARGIN, y + 12, picture->title);
  if (picture->boxes != NULL)
    {
      Size boxes = draw_boxes (self, picture->boxes, MARGIN, y + LINE + GAP, MAX_WIDTH, TRUE);

      size.width = boxes.width;
      size.height += boxes.height;
    }
  if (picture->unbound[0] != '\0')
    {
      g_autofree char *text = g_strdup_printf (_ ("not bound: ranks %s"), picture->unbound);

      append_text (self, MARGIN, y + size.height + LINE, text);
      size.width = MAX (size.width, text_width (text));
      size.height += LINE;
    }
  if (picture->devices->len > 0)
    {
      Size devices = draw_devices_box (self, MARGIN, y + size.height + GAP);

      size.width = MAX (size.width, devices.width);
      size.height += devices.height + 2 * GAP;
    }
  size.width = MAX (size.width, text_width (picture->title));
  size.height += MARGIN;
  return size;
}

/* ---- the whole ---- */

static Size
draw_legend (Drawing *self, guint y)
{
  static const struct
  {
    const char *parts[3];
    const char *text;
  } entries[] = {
    { { "3", NULL }, N_ ("a core and the ranks that are bound to it") },
    { { "3", "4", NULL }, N_ ("a core whose hardware threads have different ranks") },
    { { "", NULL }, N_ ("a core without ranks") },
  };
  Size size = { 0, 0 };

  for (gsize i = 0; i < G_N_ELEMENTS (entries); i++)
    {
      draw_parts (self, (char **)entries[i].parts, MARGIN, y + size.height, 56);
      append_text (self, MARGIN + 64, y + size.height + 16, _ (entries[i].text));
      size.width = MAX (size.width, 64 + text_width (_ (entries[i].text)));
      size.height += CELL_HEIGHT + GAP;
    }
  return size;
}

static void
add_below (Size *all, Size one)
{
  all->width = MAX (all->width, one.width);
  all->height += one.height;
}

char *
dvm_cli_pictures_to_svg (GPtrArray *pictures, guint n_left)
{
  g_autoptr (GString) body = g_string_new (NULL);
  Drawing drawing = { .text = body };
  Size all = { 0, MARGIN };
  GString *svg = g_string_new (NULL);

  for (guint i = 0; i < pictures->len; i++)
    add_below (&all, draw_node (&drawing, pictures->pdata[i], all.height));
  if (n_left > 0)
    {
      g_autofree char *text = g_strdup_printf (
          g_dngettext (GETTEXT_PACKAGE, "%u more node has processes; --ranks chooses those that are drawn\n",
                       "%u more nodes have processes; --ranks chooses those that are drawn\n", n_left),
          n_left);

      append_text (&drawing, MARGIN, all.height + 12, g_strchomp (text));
      add_below (&all, (Size){ text_width (text), LINE + GAP });
    }
  add_below (&all, draw_legend (&drawing, all.height));
  all.width += 2 * MARGIN;
  all.height += MARGIN;
  g_string_append_printf (svg,
                          "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\" "
                          "role=\"img\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#111827\">\n",
                          all.width, all.height, all.width, all.height);
  drawing.text = svg;
  append (&drawing, "<title>%s</title>", _ ("nodes and the ranks that are bound to their cores"));
  append (&drawing, "<rect width=\"%u\" height=\"%u\" rx=\"8\" fill=\"#ffffff\"/>", all.width, all.height);
  g_string_append (svg, body->str);
  g_string_append (svg, "</svg>\n");
  return g_string_free (svg, FALSE);
}
