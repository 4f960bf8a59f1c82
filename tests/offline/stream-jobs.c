/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs for streams: every word of placement, and every qualifier.
 */

#include "config.h"

#include "stream-jobs.h"

#include <glib/gstdio.h>

#include "dvm-job-spec-private.h"

/* Cpus of files and lists are below this; machines may have fewer. */
#define MOST_CPUS 8

static const char *const objects[] = { "hwthread", "core", "l1cache", "l2cache", "l3cache", "numa", "package" };

static guint
draw (const StreamDraw *self, guint n)
{
  return (guint)g_rand_int_range (self->random, 0, (gint32)n);
}

static gboolean
one_in (const StreamDraw *self, guint n)
{
  return draw (self, n) == 0;
}

static const char *
draw_object (const StreamDraw *self)
{
  return objects[draw (self, G_N_ELEMENTS (objects))];
}

/* ---- files ---- */

/* rankfile: else a sequence. (transfer full): its path */
static char *
write_file (const StreamDraw *self, gboolean rankfile)
{
  g_autoptr (GString) text = g_string_new (NULL);
  guint n = 1 + draw (self, 6);
  char *path = g_build_filename (self->folder, rankfile ? "ranks" : "sequence", NULL);

  for (guint i = 0; i < n; i++)
    {
      guint node = 1 + draw (self, self->n_nodes);

      if (rankfile)
        g_string_append_printf (text, "rank %u=node%u slot=%u\n", i, node, draw (self, MOST_CPUS));
      else if (one_in (self, 4))
        g_string_append_printf (text, "node%u %u\n", node, draw (self, MOST_CPUS));
      else
        g_string_append_printf (text, "node%u\n", node);
    }
  g_assert_true (g_file_set_contents (path, text->str, -1, NULL));
  return path;
}

/* ---- words ---- */

static void
add_beside (const StreamDraw *self, GString *text)
{
  g_string_append_printf (text, "colocate=%u", self->beside);
  if (one_in (self, 3))
    g_string_append_printf (text, ":0-%u", draw (self, 3));
  if (one_in (self, 2))
    g_string_append_printf (text, ":%s=%u", one_in (self, 2) ? "NPERPROC" : "NPERNODE", 1 + draw (self, 3));
}

static void
add_list (const StreamDraw *self, GString *text)
{
  guint first = draw (self, MOST_CPUS - 1);

  g_string_append_printf (text, "pe-list=%u-%u", first, first + draw (self, MOST_CPUS - first));
  if (one_in (self, 2))
    g_string_append (text, ":ORDERED");
}

static void
add_word (const StreamDraw *self, GString *text)
{
  g_autofree char *path = NULL;

  switch (draw (self, 10))
    {
    case 0:
      break;
    case 1:
      g_string_append (text, "slot");
      break;
    case 2:
      g_string_append (text, "node");
      break;
    case 3:
      g_string_append_printf (text, "ppr:%u:%s", 1 + draw (self, 3), one_in (self, 3) ? "node" : draw_object (self));
      break;
    case 4:
      add_list (self, text);
      break;
    case 5:
      path = write_file (self, one_in (self, 2));
      g_string_append_printf (text, "%s:FILE=%s", g_str_has_suffix (path, "ranks") ? "rankfile" : "seq", path);
      break;
    case 6:
      if (self->beside != 0)
        add_beside (self, text);
      break;
    default:
      g_string_append (text, draw_object (self));
    }
}

static char *
draw_map_by (const StreamDraw *self)
{
  GString *text = g_string_new (NULL);

  add_word (self, text);
  if (one_in (self, 5))
    g_string_append_printf (text, ":PE=%u", 1 + draw (self, 3));
  if (one_in (self, 6))
    g_string_append (text, ":SPAN");
  if (one_in (self, 8))
    g_string_append (text, one_in (self, 2) ? ":OVERSUBSCRIBE" : ":NOOVERSUBSCRIBE");
  if (one_in (self, 12))
    g_string_append (text, ":NOLOCAL");
  if (one_in (self, 5))
    g_string_append (text, one_in (self, 2) ? ":HWTCPUS" : ":CORECPUS");
  if (one_in (self, 12))
    g_string_append (text, one_in (self, 2) ? ":INHERIT" : ":NOINHERIT");
  if (text->len > 0)
    return g_string_free (text, FALSE);
  g_string_free (text, TRUE);
  return NULL;
}

static char *
draw_bind_to (const StreamDraw *self)
{
  static const char *const qualifiers[] = { "", "", "", ":overload-allowed", ":no-overload", ":if-supported" };
  const char *qualifier = qualifiers[draw (self, G_N_ELEMENTS (qualifiers))];

  if (one_in (self, 2))
    return NULL;
  /* Jobs of which others have a part of an object that they share. */
  if (one_in (self, 8))
    return g_strconcat (one_in (self, 2) ? "package" : "numa", ":overload-allowed", NULL);
  if (one_in (self, 10))
    return g_strdup_printf ("%s:limit=%u", draw_object (self), 1 + draw (self, 3));
  if (one_in (self, 8))
    return qualifier[0] != '\0' ? g_strdup (qualifier) : NULL;
  return g_strconcat (one_in (self, 4) ? "none" : draw_object (self), qualifier, NULL);
}

static const char *
draw_rank_by (const StreamDraw *self)
{
  static const char *const words[] = { NULL, NULL, NULL, NULL, "slot", "node", "fill", "span" };

  return words[draw (self, G_N_ELEMENTS (words))];
}

/* ---- jobs ---- */

static void
draw_hosts (const StreamDraw *self, DvmAppSpec *app)
{
  g_autoptr (GStrvBuilder) hosts = g_strv_builder_new ();
  g_auto (GStrv) list = NULL;

  for (guint n = one_in (self, 4) ? 1 + draw (self, 3) : 0; n > 0; n--)
    {
      g_autofree char *slots = one_in (self, 2) ? g_strdup_printf (":%u", 1 + draw (self, 4)) : g_strdup ("");
      g_autofree char *host = g_strdup_printf ("node%u%s", 1 + draw (self, self->n_nodes), slots);

      g_strv_builder_add (hosts, host);
    }
  list = g_strv_builder_end (hosts);
  if (list[0] != NULL)
    dvm_app_spec_set_hosts (app, (const char *const *)list);
}

static void
add_app (const StreamDraw *self, DvmJobSpec *spec, gboolean own_words)
{
  static const char *const argv[] = { "/bin/prog", NULL };
  g_autoptr (DvmAppSpec) app = dvm_app_spec_new (argv);
  g_autofree char *map_by = own_words ? draw_map_by (self) : NULL;
  g_autofree char *bind_to = own_words ? draw_bind_to (self) : NULL;

  dvm_app_spec_set_np (app, draw (self, one_in (self, 6) ? 16 : 6));
  draw_hosts (self, app);
  dvm_app_spec_set_map_by (app, map_by);
  dvm_app_spec_set_bind_to (app, bind_to);
  dvm_job_spec_add_app (spec, app);
}

DvmJobSpec *
stream_draw_job (const StreamDraw *self)
{
  static const char *const when[] = { NULL, NULL, NULL, "wait", "refuse", "oversubscribe" };
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new ();
  g_autofree char *map_by = draw_map_by (self);
  g_autofree char *bind_to = draw_bind_to (self);

  add_app (self, spec, FALSE);
  for (guint n = one_in (self, 4) ? 1 + draw (self, 2) : 0; n > 0; n--)
    add_app (self, spec, one_in (self, 2));
  /* Words that contradict each other are many: often there are none. */
  if (!one_in (self, 4))
    dvm_job_spec_set_map_by (spec, map_by);
  if (!one_in (self, 4))
    dvm_job_spec_set_bind_to (spec, bind_to);
  dvm_job_spec_set_rank_by (spec, draw_rank_by (self));
  dvm_job_spec_set_when_full (spec, when[draw (self, G_N_ELEMENTS (when))]);
  if (one_in (self, 6))
    dvm_job_spec_set_personality (spec, "plain");
  if (!dvm_job_spec_validate (spec, NULL) || !_dvm_job_spec_load_hosts (spec, "", NULL))
    return NULL;
  return g_steal_pointer (&spec);
}

static void
add_text (GString *text, const char *option, const char *value)
{
  if (value != NULL)
    g_string_append_printf (text, "%s %s ", option, value);
}

char *
stream_show_job (DvmJobSpec *spec)
{
  GString *text = g_string_new (NULL);

  add_text (text, "--map-by", dvm_job_spec_get_map_by (spec));
  add_text (text, "--rank-by", dvm_job_spec_get_rank_by (spec));
  add_text (text, "--bind-to", dvm_job_spec_get_bind_to (spec));
  add_text (text, "--when-full", dvm_job_spec_get_when_full (spec));
  add_text (text, "--personality", dvm_job_spec_get_personality (spec));
  for (guint i = 0; i < dvm_job_spec_get_n_apps (spec); i++)
    {
      DvmAppSpec *app = dvm_job_spec_get_app (spec, i);
      const char *const *hosts = dvm_app_spec_get_hosts (app);
      g_autofree char *list = hosts != NULL && hosts[0] != NULL ? g_strjoinv (",", (char **)hosts) : NULL;

      g_string_append_printf (text, "%s-n %u ", i > 0 ? ": " : "", dvm_app_spec_get_np (app));
      add_text (text, "--map-by", dvm_app_spec_get_map_by (app));
      add_text (text, "--bind-to", dvm_app_spec_get_bind_to (app));
      add_text (text, "--host", list);
    }
  return g_string_free (text, FALSE);
}
