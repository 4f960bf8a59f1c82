/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The answer of squeue about a job. Its states are those of squeue(1), under "job state codes".
 */

#include "config.h"

#include "slurm-view.h"

#include <string.h>

#include "time-left.h"

/* In all other states the nodes are those of others, or of a later run of the job. */
static const char *const holding[] = {
  "RUNNING", "SUSPENDED", "CONFIGURING", "STOPPED", "SIGNALING", "RESIZING", NULL
};

void
slurm_view_free (SlurmView *self)
{
  g_free (self->state);
  g_strfreev (self->nodes);
  g_free (self);
}

/* One line is added to what others have said. */
static gboolean
add_line (SlurmView *self, GStrvBuilder *nodes, const char *line, GError **error)
{
  g_auto (GStrv) fields = g_strsplit (line, "|", 3);
  g_auto (GStrv) names = NULL;
  gint64 left;

  if (g_strv_length (fields) < 3)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_ALLOC_FAILED, "squeue has said “%.200s”, which is no job", line);
      return FALSE;
    }
  left = strchr (fields[1], ':') != NULL ? dvmd_time_left_parse (fields[1]) : -1;
  if (self->state == NULL || g_strv_contains (holding, fields[0]))
    {
      g_free (self->state);
      self->state = g_strdup (fields[0]);
    }
  self->is_over = self->is_over && !g_strv_contains (holding, fields[0]);
  if (left >= 0)
    self->left = self->left >= 0 ? MIN (self->left, left) : left;
  if (fields[2][0] == '\0')
    return TRUE;
  names = dvm_host_list_expand (fields[2], "squeue", error);
  if (names != NULL)
    g_strv_builder_addv (nodes, (const char **)names);
  return names != NULL;
}

SlurmView *
slurm_view_parse (const char *text, GError **error)
{
  g_autofree char *stripped = g_strstrip (g_utf8_make_valid (text, -1));
  g_auto (GStrv) lines = g_strsplit (stripped, "\n", -1);
  g_autoptr (GStrvBuilder) nodes = g_strv_builder_new ();
  g_autoptr (SlurmView) self = g_new0 (SlurmView, 1);

  self->is_over = TRUE;
  self->left = -1;
  for (guint i = 0; lines[i] != NULL; i++)
    {
      GError *local = NULL;

      if (add_line (self, nodes, lines[i], &local))
        continue;
      if (self->state != NULL || lines[i + 1] == NULL)
        {
          g_propagate_error (error, local);
          return NULL;
        }
      /* A warning before the job. */
      g_error_free (local);
    }
  if (self->state == NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_ALLOC_FAILED, "squeue has said nothing");
      return NULL;
    }
  self->nodes = g_strv_builder_end (nodes);
  return g_steal_pointer (&self);
}

/* "gres:gpu:2,gres:craft:1", or with "gres/" from Slurm 23.11 on. (transfer full) (nullable) */
static char *
read_gres (const char *text)
{
  g_auto (GStrv) words = g_strsplit (text, ",", -1);

  if (text[0] == '\0' || strcmp (text, "N/A") == 0 || strcmp (text, "(null)") == 0)
    return NULL;
  for (guint i = 0; words[i] != NULL; i++)
    if (g_str_has_prefix (words[i], "gres:") || g_str_has_prefix (words[i], "gres/"))
      memmove (words[i], words[i] + strlen ("gres:"), strlen (words[i]) - strlen ("gres:") + 1);
  /* As --gres=none is shown. */
  if (strcmp (words[0], "none") == 0 && words[1] == NULL)
    return NULL;
  return g_strjoinv (",", words);
}

gboolean
slurm_wishes_parse (const char *text, char **gres, char **constraint, GError **error)
{
  g_autofree char *valid = g_strstrip (g_utf8_make_valid (text, -1));
  const char *newline = strrchr (valid, '\n');
  g_auto (GStrv) fields = g_strsplit (newline != NULL ? newline + 1 : valid, "|", 2);

  if (g_strv_length (fields) < 2)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_ALLOC_FAILED,
                   "squeue has said “%.200s”, which is no gres and constraint of a job", valid);
      return FALSE;
    }
  *gres = read_gres (fields[0]);
  *constraint = fields[1][0] != '\0' && strcmp (fields[1], "(null)") != 0 ? g_strdup (fields[1]) : NULL;
  return TRUE;
}
