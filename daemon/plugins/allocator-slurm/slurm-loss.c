/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Nodes whose agents are lost: whether the job has them any more. One that is down leaves a job that goes on without it
 * (--no-kill), as one does that somebody takes out of the job; sinfo knows the difference.
 */

#include "config.h"

#include "slurm-loss.h"

#include <string.h>

#include "slurm-command.h"

/* Of so many nodes it is asked whether they are down: they are one argument. */
#define MOST_ASKED 1000

typedef struct
{
  GTask *task;
  DvmdPluginHost *host;
  char *id;
  char **names;    /* all that are lost */
  GPtrArray *left; /* of these, those that have left the job */
} Explanation;

/* answer: (nullable) */
static void
end (Explanation *self, GVariant *answer)
{
  if (answer != NULL)
    g_task_return_pointer (self->task, answer, (GDestroyNotify)g_variant_unref);
  else
    g_task_return_pointer (self->task, NULL, NULL);
  g_object_unref (self->task);
  g_object_unref (self->host);
  g_ptr_array_unref (self->left);
  g_strfreev (self->names);
  g_free (self->id);
  g_free (self);
}

/* ---- nodes that are down ---- */

static gboolean
is_down (const char *state)
{
  return g_str_has_prefix (state, "down") || g_str_has_prefix (state, "fail");
}

/* Lines "NODE|STATE|REASON", of which the last one may have more of these signs. (transfer full): name -> reason */
static GHashTable *
read_down (const DvmdPluginOutcome *outcome)
{
  GHashTable *down = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  gsize length = 0;
  const char *data = outcome->output != NULL ? g_bytes_get_data (outcome->output, &length) : NULL;
  g_autofree char *raw = g_strndup (data != NULL ? data : "", length);
  g_autofree char *text = g_utf8_make_valid (raw, -1);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  for (guint i = 0; lines[i] != NULL; i++)
    {
      g_auto (GStrv) fields = g_strsplit (lines[i], "|", 3);

      if (g_strv_length (fields) == 3 && is_down (fields[1]))
        g_hash_table_replace (down, g_strdup (fields[0]), g_strdup (g_strstrip (fields[2])));
    }
  return down;
}

static void
on_states (const DvmdPluginOutcome *outcome, const GError *error, gpointer user_data)
{
  Explanation *self = user_data;
  g_autoptr (GHashTable) down = read_down (outcome);
  GVariantBuilder reasons;
  GVariantBuilder answer;

  g_variant_builder_init (&reasons, G_VARIANT_TYPE ("a{ss}"));
  for (guint i = 0; i < self->left->len; i++)
    {
      const char *name = self->left->pdata[i];
      const char *why = g_hash_table_lookup (down, name);
      g_autofree char *reason = why != NULL ? g_strdup_printf (
                                    "Slurm has marked it down (%s), and job %s does not have it any more", why,
                                    self->id)
                                            : g_strdup_printf ("it has left job %s of Slurm", self->id);

      g_variant_builder_add (&reasons, "{ss}", name, reason);
    }
  g_ptr_array_add (self->left, NULL);
  g_variant_builder_init (&answer, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&answer, "{sv}", "reasons", g_variant_builder_end (&reasons));
  g_variant_builder_add (&answer, "{sv}", "withdrawn", g_variant_new_strv ((const char *const *)self->left->pdata, -1));
  end (self, g_variant_ref_sink (g_variant_builder_end (&answer)));
}

static void
ask_states (Explanation *self)
{
  g_autoptr (GString) nodes = g_string_new ("--nodes=");
  const char *argv[] = { "sinfo", "--noheader", "--Node", "--format=%N|%T|%E", NULL, NULL };

  for (guint i = 0; i < MIN (self->left->len, MOST_ASKED); i++)
    g_string_append_printf (nodes, "%s%s", i > 0 ? "," : "", (char *)self->left->pdata[i]);
  argv[4] = nodes->str;
  slurm_run (self->host, argv, on_states, self);
}

/* ---- nodes of the job ---- */

static GHashTable *
make_set (char **names)
{
  GHashTable *set = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (gsize i = 0; names[i] != NULL; i++)
    g_hash_table_add (set, g_ascii_strdown (names[i], -1));
  return set;
}

/* A job that has ended takes the whole DVM with it. */
static void
on_seen (const SlurmView *view, gpointer user_data)
{
  Explanation *self = user_data;
  g_autoptr (GHashTable) held = view != NULL && !view->is_over ? make_set (view->nodes) : NULL;

  for (guint i = 0; held != NULL && self->names[i] != NULL; i++)
    {
      g_autofree char *key = g_ascii_strdown (self->names[i], -1);

      if (!g_hash_table_contains (held, key))
        g_ptr_array_add (self->left, self->names[i]);
    }
  if (self->left->len > 0)
    ask_states (self);
  else
    end (self, NULL);
}

void
slurm_explain_loss (SlurmWatch *watch, const char *id, const char *const *names, GTask *task)
{
  Explanation *self = g_new0 (Explanation, 1);

  self->task = task;
  self->host = g_object_ref (dvmd_plugin_get_host (g_task_get_source_object (task)));
  self->id = g_strdup (id);
  self->names = g_strdupv ((char **)names);
  self->left = g_ptr_array_new ();
  slurm_watch_ask (watch, on_seen, self);
}
