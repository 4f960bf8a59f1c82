/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The table of what is fuzzed. A target more is a function, a line here, and a file in corpus/.
 */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

const FuzzTarget fuzz_targets[] = {
  { "address", fuzz_address, 0 },
  { "command-line", fuzz_command_line, 0 },
  { "data-store", fuzz_data_store, 0 },
  { "elf", fuzz_elf, 0 },
  { "frame", fuzz_frame, 0 },
  { "hello", fuzz_hello, 0 },
  { "host-list", fuzz_host_list, 0 },
  { "hostfile", fuzz_hostfile, 0 },
  { "id-set", fuzz_id_set, 0 },
  { "job-file", fuzz_job_file, 0 },
  { "map", fuzz_map, 0 },
  { "messages", fuzz_messages, FUZZ_CONFINED | FUZZ_WARNS },
  { "normal-form", fuzz_normal_form, 0 },
  { "placement", fuzz_placement, 0 },
  { "pmi", fuzz_pmi, 0 },
  { "resource-set", fuzz_resource_set, 0 },
  { "routes", fuzz_routes, 0 },
  { "session-request", fuzz_session_request, 0 },
  { "settings", fuzz_settings, 0 },
  { "size-request", fuzz_size_request, 0 },
  { "spec-words", fuzz_spec_words, 0 },
  { "stage", fuzz_stage, FUZZ_CONFINED },
  { "submit", fuzz_submit, 0 },
  { "tree", fuzz_tree, 0 },
  { NULL, NULL, 0 },
};

const FuzzTarget *
fuzz_find_target (const char *name)
{
  const FuzzTarget *target = fuzz_targets;

  while (target->name != NULL && g_strcmp0 (target->name, name) != 0)
    target++;
  return target->name != NULL ? target : NULL;
}

static gboolean
is_assertion (const GLogField *fields, gsize n_fields)
{
  for (gsize i = 0; i < n_fields; i++)
    if (strcmp (fields[i].key, "MESSAGE") == 0)
      return strstr (fields[i].value, "assertion") != NULL;
  return FALSE;
}

static GLogWriterOutput
write_log (GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer user_data)
{
  const FuzzTarget *target = user_data;

  if ((level & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING)) == 0)
    return G_LOG_WRITER_HANDLED;
  if ((target->flags & FUZZ_WARNS) != 0 && (level & G_LOG_LEVEL_ERROR) == 0 && !is_assertion (fields, n_fields))
    return G_LOG_WRITER_HANDLED;
  g_log_writer_standard_streams (level, fields, n_fields, NULL);
  /* The signal of G_BREAKPOINT() is none that libFuzzer knows. */
  abort ();
}

void
fuzz_watch_log (const FuzzTarget *target)
{
  g_log_set_writer_func (write_log, (gpointer)target, NULL);
}
