/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs and other records are found and printed.
 */

#include "config.h"

#include "dvm-cli-records.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-array.h"
#include "dvm-cli-json.h"
#include "dvm-cli-output.h"
#include "dvm-cli-screen.h"

gboolean
dvm_cli_print_table (DvmCli *cli, DvmCliTable *table, GError **error)
{
  g_autofree char *text = NULL;

  if (cli->json_lines)
    text = dvm_cli_table_to_json_lines (table);
  else if (cli->json)
    text = dvm_cli_table_to_json (table);
  else
    text = dvm_cli_table_to_text (table, dvm_cli_terminal_width (), dvm_cli_may_use_colour (cli));
  return dvm_cli_show (cli, text, error);
}

/* No more is known of it than how it ended. */
static void
append_first_failure (GString *json, DvmJob *failed)
{
  g_string_append_printf (json, ",\"first-failure\":{\"id\":%u,\"namespace\":", dvm_job_get_id (failed));
  dvm_cli_json_append_string (json, dvm_job_get_nspace (failed));
  g_string_append_printf (json, ",\"state\":\"%s\",\"exit-code\":%d,\"exit-signal\":%d,\"failed-rank\":%d,\"reason\":",
                          dvm_job_state_to_string (dvm_job_get_state (failed)), dvm_job_get_exit_code (failed),
                          dvm_job_get_exit_signal (failed), dvm_job_get_failed_rank (failed));
  dvm_cli_json_append_string (json, dvm_job_get_reason (failed));
  g_string_append_c (json, '}');
}

static void
append_job (GString *json, DvmJob *job)
{
  g_autofree char *text = g_strchomp (dvm_job_to_json (job));
  DvmJob *failed = dvm_job_get_first_failure (job);

  g_string_append_len (json, text, (gssize)strlen (text) - 1);
  if (failed != NULL)
    append_first_failure (json, failed);
  g_string_append_c (json, '}');
}

gboolean
dvm_cli_print_job_json (DvmJob *job, GError **error)
{
  g_autoptr (GString) json = g_string_new (NULL);

  append_job (json, job);
  g_string_append_c (json, '\n');
  return dvm_cli_print (json->str, error);
}

gboolean
dvm_cli_print_jobs_json (GPtrArray *jobs, GError **error)
{
  g_autoptr (GString) json = g_string_new ("[");

  for (guint i = 0; i < jobs->len; i++)
    {
      g_string_append (json, i > 0 ? ",\n " : "");
      append_job (json, g_ptr_array_index (jobs, i));
    }
  g_string_append (json, "]\n");
  return dvm_cli_print (json->str, error);
}

GPtrArray *
dvm_cli_find_jobs (DvmClient *client, const char *const *references, GError **error)
{
  g_autoptr (GPtrArray) jobs = g_ptr_array_new_with_free_func (g_object_unref);
  g_autoptr (GPtrArray) known = NULL;

  for (gsize i = 0; references[i] != NULL; i++)
    {
      g_auto (DvmCliArray) array = { 0 };
      gboolean is_array = dvm_cli_array_read (references[i], &array);
      GPtrArray *found = is_array ? dvm_cli_array_find_jobs (client, references[i], &known, error) : NULL;
      DvmJob *job = is_array ? NULL : dvm_client_find_job (client, references[i], NULL, error);

      if (found == NULL && job == NULL)
        return NULL;
      if (job != NULL)
        g_ptr_array_add (jobs, job);
      else
        g_ptr_array_extend_and_steal (jobs, found);
    }
  return g_steal_pointer (&jobs);
}

char *
dvm_cli_job_name (DvmJob *job)
{
  const char *nspace = dvm_job_get_nspace (job);

  return nspace != NULL && nspace[0] != '\0' ? g_strdup (nspace) : g_strdup_printf ("%u", dvm_job_get_id (job));
}

char *
dvm_cli_describe_command (DvmJob *job)
{
  const char *const *command = dvm_job_get_command (job);

  return command != NULL ? g_strjoinv (" ", (char **)command) : g_strdup ("");
}

static char *
describe_awaited_jobs (const char *const *jobs)
{
  g_autofree char *ids = dvm_cli_join_ids (jobs);

  if (ids[0] == '\0')
    return g_strdup (_ ("waiting for jobs of its name"));
  return g_strdup_printf (
      g_dngettext (GETTEXT_PACKAGE, "waiting for job %s", "waiting for jobs %s", g_strv_length ((char **)jobs)), ids);
}

/* (nullable): that it waits, and for what */
static char *
describe_wait (const DvmCliJobFacts *facts)
{
  const char *held_at = facts->held_at;
  g_autofree char *ids = dvm_cli_join_ids (facts->campaigns);

  if (ids[0] != '\0')
    return g_strdup_printf (g_dngettext (GETTEXT_PACKAGE, "waiting for campaign %s", "waiting for campaigns %s",
                                         g_strv_length ((char **)facts->campaigns)),
                            ids);
  if (g_strcmp0 (held_at, "slots") == 0)
    return g_strdup (_ ("waiting for slots"));
  if (g_strcmp0 (held_at, "cpus") == 0)
    return g_strdup (_ ("waiting for cpus"));
  if (g_strcmp0 (held_at, "devices") == 0)
    return g_strdup (_ ("waiting for devices"));
  if (g_strcmp0 (held_at, "session") == 0)
    return g_strdup (_ ("waiting for its session"));
  if (g_strcmp0 (held_at, "limit") == 0)
    return g_strdup (_ ("waiting for other jobs to end"));
  if (g_strcmp0 (held_at, "jobs") == 0)
    return describe_awaited_jobs (facts->jobs);
  if (g_strcmp0 (held_at, "hold") == 0)
    return g_strdup (_ ("waiting for its release"));
  if (facts->state == DVM_JOB_STATE_READY_FOR_DEBUG)
    return g_strdup (_ ("waiting for a debugger"));
  return held_at[0] != '\0' ? g_strdup_printf (_ ("waiting for %s"), held_at) : NULL;
}

static const char *
describe_end (DvmJobState state)
{
  if (state == DVM_JOB_STATE_KILLED_BY_CMD)
    return _ ("cancelled");
  return dvm_job_state_is_error (state) ? _ ("failed") : _ ("done");
}

/* In a word: the names of the states are for programs, which have them in JSON and in the trace. */
char *
dvm_cli_describe_facts (const DvmCliJobFacts *facts)
{
  char *waiting;

  if (dvm_job_state_is_error (facts->state) || facts->state >= DVM_JOB_STATE_UNTERMINATED)
    return g_strdup (describe_end (facts->state));
  waiting = describe_wait (facts);
  if (waiting != NULL)
    return waiting;
  if (facts->num_launched == 0)
    return g_strdup (facts->paused ? _ ("starting (paused)") : _ ("starting"));
  return g_strdup (facts->paused ? _ ("running (paused)") : _ ("running"));
}

char *
dvm_cli_describe_state (DvmJob *job)
{
  const DvmCliJobFacts facts = {
    .state = dvm_job_get_state (job),
    .held_at = dvm_job_get_held_at (job),
    .campaigns = dvm_job_get_waits_for (job),
    .jobs = dvm_job_get_awaited_jobs (job),
    .num_launched = dvm_job_get_num_launched (job),
    .paused = dvm_job_get_paused (job),
  };

  return dvm_cli_describe_facts (&facts);
}

char *
dvm_cli_describe_elapsed (DvmJob *job)
{
  return dvm_cli_describe_span (dvm_job_get_started_at (job), dvm_job_get_ended (job) ? dvm_job_get_ended_at (job) : 0);
}

/* µs as "1.250s" */
static void
append_seconds (GString *text, gint64 span)
{
  /* Half a millisecond goes where its number of floating point goes, which is a little more or less. */
  if (span % 1000 == 500)
    {
      g_string_append_printf (text, "%.3fs", (double)span / G_USEC_PER_SEC);
      return;
    }
  span = (span + 500) / 1000;
  dvm_cli_append_number (text, span / 1000, 1);
  g_string_append_c (text, '.');
  dvm_cli_append_number (text, span % 1000, 3);
  g_string_append_c (text, 's');
}

/* "3m07s" of 3, 'm', 7 and 's' */
static void
append_parts (GString *text, gint64 more, char unit, gint64 less, char smaller)
{
  dvm_cli_append_number (text, more, 1);
  g_string_append_c (text, unit);
  dvm_cli_append_number (text, less, 2);
  g_string_append_c (text, smaller);
}

void
dvm_cli_append_span (GString *text, gint64 start, gint64 end)
{
  gint64 seconds;

  if (end == 0)
    end = g_get_real_time ();
  if (start == 0 || end < start)
    return;
  seconds = (end - start) / G_USEC_PER_SEC;
  if (seconds < 60)
    append_seconds (text, end - start);
  else if (seconds < 3600)
    append_parts (text, seconds / 60, 'm', seconds % 60, 's');
  else
    append_parts (text, seconds / 3600, 'h', seconds / 60 % 60, 'm');
}

char *
dvm_cli_describe_span (gint64 start, gint64 end)
{
  GString *text = g_string_new (NULL);

  dvm_cli_append_span (text, start, end);
  return g_string_free (text, FALSE);
}

char *
dvm_cli_describe_devices (const char *const *devices)
{
  GString *text = g_string_new (NULL);

  for (gsize i = 0; devices != NULL && devices[i] != NULL; i++)
    {
      const char *equals = strrchr (devices[i], '=');
      int length = equals != NULL ? (int)(equals - devices[i]) : (int)strlen (devices[i]);

      g_string_append_printf (text, "%s%.*s", i > 0 ? ", " : "", length, devices[i]);
      if (equals != NULL && equals[1] != '\0')
        g_string_append_printf (text, " (%s)", equals + 1);
    }
  return g_string_free (text, FALSE);
}

char *
dvm_cli_describe_memory (gint64 bytes)
{
  return bytes > 0 ? g_format_size_full ((guint64)bytes, G_FORMAT_SIZE_IEC_UNITS) : g_strdup ("");
}

char *
dvm_cli_join_ids (const char *const *paths)
{
  GString *text = g_string_new (NULL);

  for (gsize i = 0; paths != NULL && paths[i] != NULL; i++)
    {
      const char *slash = strrchr (paths[i], '/');

      g_string_append_printf (text, "%s%s", i > 0 ? "," : "", slash != NULL ? slash + 1 : paths[i]);
    }
  return g_string_free (text, FALSE);
}

const char *
dvm_cli_lookup_text (GVariant *properties, const char *key)
{
  const char *text = "";

  g_variant_lookup (properties, key, "&s", &text);
  return text;
}

GVariant *
dvm_cli_text (const char *value)
{
  return g_variant_new_take_string (g_utf8_make_valid (value != NULL ? value : "", -1));
}

GVariant *
dvm_cli_take_text (char *value)
{
  g_autofree char *owned = value;

  return dvm_cli_text (owned);
}

static char *
show_number (GVariant *statistics, const char *key)
{
  guint64 number = 0;

  if (statistics != NULL)
    g_variant_lookup (statistics, key, "t", &number);
  return g_strdup_printf ("%" G_GUINT64_FORMAT, number);
}

/* A DVM works where its disk is full, and what it does not write is missed later. */
char **
dvm_cli_list_losses (GVariant *properties)
{
  g_autoptr (GVariant) statistics = g_variant_lookup_value (properties, "Statistics", G_VARIANT_TYPE_VARDICT);
  g_autoptr (GStrvBuilder) losses = g_strv_builder_new ();
  g_autofree char *waiting = show_number (statistics, "archive-waiting");
  g_autofree char *dropped = show_number (statistics, "archive-dropped");
  g_autofree char *lines = show_number (statistics, "log-lines-lost");
  g_autofree char *now = NULL;
  g_autofree char *long_ago = NULL;
  g_autofree char *log = NULL;

  if (waiting[0] != '0')
    {
      now = g_strdup_printf (
          _ ("the archive of the DVM cannot be written now; jobs and campaigns that wait for it: %s"), waiting);
      g_strv_builder_add (losses, now);
    }
  if (dropped[0] != '0')
    {
      long_ago = g_strdup_printf (
          _ ("the archive of the DVM could not be written for too long; jobs and campaigns that it lacks: %s"),
          dropped);
      g_strv_builder_add (losses, long_ago);
    }
  if (lines[0] != '0')
    {
      log = g_strdup_printf (_ ("the log of the DVM could not be written; lines that it lacks: %s"), lines);
      g_strv_builder_add (losses, log);
    }
  return g_strv_builder_end (losses);
}
