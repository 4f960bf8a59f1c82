/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A controller and two agents with a job, to which messages of every kind come that nobody has sent: each kind of
 * dvmd-message.c, with any body of its type, at the controller as from an agent, and at an agent as from the
 * controller.
 */

#include "config.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dvmd-agent-private.h"
#include "dvmd-controller-private.h"
#include "dvmd-remove-tree.h"
#include "dvmd-stage-writer.h"
#include "engine-fixture.h"
#include "fuzz.h"
#include "wait-until.h"

#define LAST_KIND     255
#define MOST_MESSAGES 32
#define TURNS         8
#define END_TIMEOUT   (G_USEC_PER_SEC / 4)

/* Options of the launch message that no request has. */
static const FuzzKey launch_keys[] = {
  { "kill-grace", "x" },      { "personality", "s" }, { "stdin", "u" },        { "parent-rank", "u" },
  { "parent", "s" },          { "credit", "t" },      { "pty", "b" },          { "pty-rows", "u" },
  { "session", "u" },         { "offset", "u" },      { "stop", "u" },         { "session-dir-apps", "au" },
  { "tree-fences", "b" },     { "pty-columns", "u" }, { "max-restarts", "u" }, { "exec-agent", "as" },
  { "preloaded-apps", "au" }, { "argv", "as" },       { "hosts", "as" },       { "range", "u" },
  { "merge", "b" },           { "items", "a(say)" },  { "keys", "as" },        { NULL, NULL },
};

static GArray *
list_kinds (void)
{
  GArray *kinds = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint kind = 0; kind <= LAST_KIND; kind++)
    if (dvmd_message_kind_type ((DvmdMessageKind)kind) != NULL)
      g_array_append_val (kinds, kind);
  return kinds;
}

static DvmdJob *
submit (EngineFixture *fixture)
{
  const char *argv[] = { "sleep", "1000", NULL };
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (argv);
  g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:1", getuid (), getpid ());
  const int fds[3] = { -1, -1, -1 };
  DvmdJob *job;

  dvm_app_spec_set_np (dvm_job_spec_get_app (spec, 0), 2);
  dvm_job_spec_set_map_by (spec, "node");
  dvm_job_spec_set_recoverable (spec, TRUE);
  job = dvmd_controller_submit (fixture->controller, spec, requester, fds, NULL);
  wait_until (dvmd_job_get_state (job) == DVM_JOB_STATE_RUNNING);
  return job;
}

static void
take_turns (void)
{
  for (guint i = 0; i < TURNS && g_main_context_iteration (NULL, FALSE); i++)
    continue;
}

/* The body has the message's type. A call may carry anything, and mostly carries a request of its type. */
static GVariant *
read_body (FuzzReader *reader, DvmdMessageKind kind)
{
  const DvmdCallType *type;
  g_autofree char *nspace = NULL;
  guint64 token;
  guint32 rank;
  guint call;

  if (kind != DVMD_MSG_CALL)
    return fuzz_read_variant (reader, dvmd_message_kind_type (kind));
  call = fuzz_read_byte (reader) % (DVMD_N_CALLS + 1);
  type = dvmd_call_kind_get_type (call);
  token = fuzz_read_number (reader);
  nspace = fuzz_read_text (reader);
  rank = (guint32)fuzz_read_number (reader);
  return g_variant_new ("(tusuuv)", token, call, nspace, rank, (guint32)fuzz_read_number (reader),
                        fuzz_read_variant (reader, G_VARIANT_TYPE (type != NULL ? type->request : "s")));
}

static void
deliver (EngineFixture *fixture, FuzzReader *reader, GArray *kinds)
{
  guint8 where = fuzz_read_byte (reader);
  guint rank = 1 + (where & 1);
  gboolean to_agent = (where & 2) != 0;
  guint kind = g_array_index (kinds, guint, fuzz_read_byte (reader) % kinds->len);
  GVariant *body = read_body (reader, (DvmdMessageKind)kind);
  g_autoptr (DvmdMessage)
      message = dvmd_message_new ((DvmdMessageKind)kind, to_agent ? 0 : rank, to_agent ? rank : 0, body);
  g_autoptr (DvmdLink) link = NULL;

  if (to_agent)
    link = ((DvmdAgent *)fixture->agents[rank - 1])->link;
  else
    link = g_hash_table_lookup (fixture->controller->links, GUINT_TO_POINTER (rank));
  if (link != NULL)
    dvmd_link_received (g_object_ref (link), message);
  take_turns ();
}

/* A message may have told the controller that a process still runs, or that none does: processes may be left. */
static void
end_processes (void)
{
  g_autofree char *path = g_strdup_printf ("/proc/self/task/%d/children", getpid ());
  g_autofree char *text = NULL;
  char *next;
  long pid;

  if (g_file_get_contents (path, &text, NULL, NULL))
    for (next = text; (pid = strtol (next, &next, 10)) > 0;)
      if (kill ((pid_t)pid, SIGKILL) == 0)
        waitpid ((pid_t)pid, NULL, 0);
}

static gboolean
on_time (gpointer user_data)
{
  *(gboolean *)user_data = TRUE;
  return G_SOURCE_CONTINUE;
}

static void
end (EngineFixture *fixture)
{
  gboolean late = FALSE;
  guint timer = g_timeout_add (END_TIMEOUT / 1000, on_time, &late);

  dvmd_controller_shutdown (fixture->controller, TRUE, "the input is over");
  while (!fixture->ended && !late)
    g_main_context_iteration (NULL, TRUE);
  g_source_remove (timer);
  g_object_unref (fixture->controller);
  for (guint i = 0; i < G_N_ELEMENTS (fixture->fakes); i++)
    g_object_unref (fixture->fakes[i]);
  end_processes ();
  take_turns ();
  dvmd_remove_tree (fixture->dir, NULL);
  g_free (fixture->dir);
}

void
fuzz_messages (const guint8 *data, gsize size)
{
  DvmdControllerSettings settings = { .output = { .of_one = 4096, .of_all = 65536 } };
  EngineFixture fixture = { 0 };
  g_autoptr (GArray) kinds = list_kinds ();
  DvmdJob *job;
  const char *words[] = { NULL,   NULL,  "one", "two", "sleep", "true", "A=b", "../up",
                          "file", "0-1", "key", "new", "pmix",  "",     NULL };
  FuzzReader reader = { data, size, words, launch_keys };

  if (size == 0)
    return;
  engine_fixture_start (&fixture, &settings);
  job = submit (&fixture);
  words[0] = dvm_job_get_nspace (dvmd_job_get_record (job));
  words[1] = dvmd_controller_get_parts (fixture.controller)->nspace;
  for (guint i = 0; i < MOST_MESSAGES && reader.size > 0; i++)
    deliver (&fixture, &reader, kinds);
  end (&fixture);
}

/* Files that a job brings along, with names that lead elsewhere: nothing is written beside the directory. */
void
fuzz_stage (const guint8 *data, gsize size)
{
  static const char *const words[] = { "a", "b/c", "../up", "/tmp/up", ".", "..", "a/../b", "a/b/c/d", "", "b", NULL };
  FuzzReader reader = { data, size, words };
  g_autofree char *place = g_dir_make_tmp ("dvm-stage-XXXXXX", NULL);
  g_autofree char *inside = g_build_filename (place, "inside", NULL);
  DvmdStageWriter *writer = dvmd_stage_writer_new (inside);
  g_autoptr (GDir) dir = NULL;
  const char *name;

  for (guint i = 0; reader.size > 0 && i < 16; i++)
    {
      g_autofree char *target = fuzz_read_text (&reader);
      g_autofree char *content = fuzz_read_text (&reader);
      guint mode = fuzz_read_byte (&reader) * 4;

      if (dvmd_stage_writer_begin (writer, target, mode, fuzz_read_byte (&reader) % 64, NULL))
        dvmd_stage_writer_write (writer, content, MIN (strlen (content), 64), NULL);
      if (fuzz_read_byte (&reader) % 2 == 0)
        dvmd_stage_writer_finish (writer, NULL);
      else
        dvmd_stage_writer_abandon (writer);
    }
  dvmd_stage_writer_free (writer);
  dir = g_dir_open (place, 0, NULL);
  while ((name = g_dir_read_name (dir)) != NULL)
    g_assert_cmpstr (name, ==, "inside");
  g_assert_true (dvmd_remove_tree (place, NULL));
}
