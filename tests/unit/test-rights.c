/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Who may do what: one function decides. Tests are named after the statements of spec/CONFORMANCE.md that they show.
 */

#include "config.h"

#include "sessions-world.h"

static gboolean
may (World *world, const char *who, guint uid, DvmdRight right, DvmdSession *session, DvmdJob *job)
{
  g_autoptr (DvmdRequester) requester = who != NULL ? dvmd_requester_new (who, uid, 7) : NULL;
  g_autoptr (GError) error = NULL;
  gboolean ok = dvmd_core_may (world->core, requester, right, session, job, &error);

  if (!ok)
    {
      g_assert_error (error, DVM_ERROR, DVM_ERROR_NO_PERMISSIONS);
      g_assert_cmpstr (error->message, !=, "");
    }
  else
    g_assert_no_error (error);
  return ok;
}

static void
assert_nspace (const char *name, guint uid, const char *nspace)
{
  g_autoptr (DvmdRequester) requester = dvmd_requester_new (name, uid, 7);
  g_autofree char *found = dvmd_requester_dup_nspace (requester);

  g_assert_cmpstr (found, ==, nspace);
}

static void
test_nspace (void)
{
  assert_nspace (":1.42", 1000, "bus.1000");
  assert_nspace ("private:7", 5, "bus.5");
  assert_nspace ("pmix:dvm@3.12", 1000, "dvm@3");
  assert_nspace ("pmix:a.b.c.0", 1000, "a.b.c");
  assert_nspace ("pmix:odd", 1000, "odd");
  assert_nspace ("scheduler:x", 0, "scheduler:x");
}

/* An application is what was a job of this DVM, also when nobody remembers it; a name that only looks so is a tool. */
static void
test_application (void)
{
  const char *apps[] = { "pmix:dvm-test@1.0", "pmix:dvm-test@2.3" };
  const char *tools[] = { "pmix:dvm-test@3.0", "pmix:dvm-test@0.0",  "pmix:dvm-test@1x.0", "pmix:dvm@1.0",
                          "pmix:dvm-test.0",   "pmix:dvm-test@+1.0", "private:1",          ":1.dvm-test@1.0" };
  g_auto (World) world = { 0 };

  world_init (&world, 1, 4, FALSE);
  bring_up (&world);
  run_to_end (&world, submit (&world, 1));
  run_to_end (&world, submit (&world, 1));
  for (guint i = 0; i < G_N_ELEMENTS (apps); i++)
    {
      g_autoptr (DvmdRequester) who = dvmd_requester_new (apps[i], 1000, 7);

      g_assert_true (dvmd_core_is_application (world.core, who));
    }
  for (guint i = 0; i < G_N_ELEMENTS (tools); i++)
    {
      g_autoptr (DvmdRequester) who = dvmd_requester_new (tools[i], 1000, 7);

      g_assert_false (dvmd_core_is_application (world.core, who));
    }
}

/* One that has no name is a tool all the same. */
static void
test_nameless (void)
{
  g_auto (World) world = { 0 };
  DvmdRequester nameless = { .uid = 1000 };
  g_autofree char *nspace = dvmd_requester_dup_nspace (&nameless);

  g_assert_cmpstr (nspace, ==, "bus.1000");
  world_init (&world, 1, 4, FALSE);
  g_assert_false (dvmd_core_is_application (world.core, &nameless));
  g_assert_true (dvmd_core_may (world.core, &nameless, DVMD_RIGHT_DVM, NULL, NULL, NULL));
  nameless.uid = 7;
  g_assert_false (dvmd_core_may (world.core, &nameless, DVMD_RIGHT_DVM, NULL, NULL, NULL));
}

/* R6, R9, R39, R43, R44, S9 */
static void
test_session (void)
{
  const DvmdRight rights[] = { DVMD_RIGHT_EXTEND, DVMD_RIGHT_RELEASE, DVMD_RIGHT_SPAWN, DVMD_RIGHT_CONTROL };
  g_auto (World) world = { 0 };
  DvmdSession *session;
  DvmdJob *owner;
  DvmdJob *other;
  g_autofree char *own = NULL;
  g_autofree char *others = NULL;

  world_init (&world, 2, 4, FALSE);
  bring_up (&world);
  owner = spawn_running (&world, TOOL, 1, NULL);
  other = spawn_running (&world, TOOL, 1, NULL);
  own = process_of (owner);
  others = process_of (other);
  session = allocate (&world, own, "node2", NULL);
  for (guint i = 0; i < G_N_ELEMENTS (rights); i++)
    {
      g_assert_true (may (&world, own, 1000, rights[i], session, NULL));
      g_assert_false (may (&world, others, 1000, rights[i], session, NULL));
      /* Not even as root: it is a program's process. */
      g_assert_false (may (&world, others, 0, rights[i], session, NULL));
      g_assert_true (may (&world, TOOL, 1000, rights[i], session, NULL));
      g_assert_true (may (&world, "pmix:tool.0", 1000, rights[i], session, NULL));
      g_assert_true (may (&world, TOOL, 0, rights[i], session, NULL));
      g_assert_false (may (&world, TOOL, 1001, rights[i], session, NULL));
      g_assert_false (may (&world, "pmix:tool.0", 1001, rights[i], session, NULL));
      g_assert_true (may (&world, SCHEDULER, 1001, rights[i], session, NULL));
      g_assert_true (may (&world, NULL, 0, rights[i], session, NULL));
    }
  g_assert_true (may (&world, others, 1000, DVMD_RIGHT_SPAWN, dvmd_core_get_session (world.core, 0), NULL));
  g_assert_false (may (&world, others, 1000, DVMD_RIGHT_CONTROL, dvmd_core_get_session (world.core, 0), NULL));
}

/* Itself, its children's children, jobs in what it owns; not its parent, not its brother. */
static void
test_job (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *jobs[4];
  char *who[4];
  DvmdSession *session;
  DvmdJob *guest;

  world_init (&world, 2, 8, FALSE);
  bring_up (&world);
  for (guint i = 0; i < 3; i++)
    {
      jobs[i] = spawn_running (&world, i > 0 ? who[i - 1] : TOOL, 1, NULL);
      who[i] = process_of (jobs[i]);
    }
  jobs[3] = spawn_running (&world, TOOL, 1, NULL);
  who[3] = process_of (jobs[3]);
  for (guint i = 0; i < 3; i++)
    for (guint k = 0; k < 3; k++)
      g_assert_cmpint (may (&world, who[i], 1000, DVMD_RIGHT_JOB, NULL, jobs[k]), ==, k >= i);
  g_assert_false (may (&world, who[0], 1000, DVMD_RIGHT_JOB, NULL, jobs[3]));
  g_assert_false (may (&world, who[3], 1000, DVMD_RIGHT_JOB, NULL, jobs[0]));
  g_assert_false (may (&world, who[3], 1000, DVMD_RIGHT_JOB, NULL, NULL));
  g_assert_true (may (&world, TOOL, 1000, DVMD_RIGHT_JOB, NULL, jobs[2]));
  g_assert_true (may (&world, TOOL, 1000, DVMD_RIGHT_JOB, NULL, NULL));
  g_assert_false (may (&world, TOOL, 1001, DVMD_RIGHT_JOB, NULL, jobs[2]));
  session = allocate (&world, who[3], "node2", NULL);
  guest = spawn_running (&world, TOOL, 1, alloc_of (session));
  g_assert_true (may (&world, who[3], 1000, DVMD_RIGHT_JOB, NULL, guest));
  g_assert_false (may (&world, who[0], 1000, DVMD_RIGHT_JOB, NULL, guest));
  for (guint i = 0; i < 4; i++)
    g_free (who[i]);
}

static void
test_dvm (void)
{
  const DvmdRight rights[] = { DVMD_RIGHT_NODE, DVMD_RIGHT_DVM, DVMD_RIGHT_OWNER_FOR_OTHERS, DVMD_RIGHT_RELEASE };
  g_auto (World) world = { 0 };
  g_autofree char *process = NULL;

  world_init (&world, 1, 4, FALSE);
  bring_up (&world);
  process = process_of (spawn_running (&world, TOOL, 1, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (rights); i++)
    {
      g_assert_true (may (&world, TOOL, 1000, rights[i], NULL, NULL));
      g_assert_true (may (&world, TOOL, 0, rights[i], NULL, NULL));
      g_assert_false (may (&world, TOOL, 1001, rights[i], NULL, NULL));
      g_assert_false (may (&world, process, 1000, rights[i], NULL, NULL));
      g_assert_true (may (&world, SCHEDULER, 1001, rights[i], NULL, NULL));
    }
}

/* R13, D21 */
static void
test_inheritance_words (void)
{
  const char *words[] = { "default", "none", "child", "child-default" };
  const char *wrong[] = { "", "CHILD", "children", "default ", NULL };
  DvmdInheritance inheritance = DVMD_INHERIT_NONE;

  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    {
      g_assert_true (dvmd_inheritance_parse (words[i], &inheritance, NULL));
      g_assert_cmpstr (dvmd_inheritance_to_string (inheritance), ==, words[i]);
    }
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_false (dvmd_inheritance_parse (wrong[i], &inheritance, &error));
      g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/rights/nspace", test_nspace);
  g_test_add_func ("/rights/application", test_application);
  g_test_add_func ("/rights/R6-R9-R39-R43-R44-S9-session", test_session);
  g_test_add_func ("/rights/nameless", test_nameless);
  g_test_add_func ("/rights/job", test_job);
  g_test_add_func ("/rights/dvm", test_dvm);
  g_test_add_func ("/rights/R13-R17-R51-D21-words", test_inheritance_words);
  return g_test_run ();
}
