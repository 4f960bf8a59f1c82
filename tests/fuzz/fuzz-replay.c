/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Gives every target the files of its corpus, without libFuzzer: fuzz CORPUS-DIRECTORY, or fuzz TARGET FILE... One
 * point for each target, each in a process of its own, so that one that crashes does not keep the others from their
 * turn.
 */

#include "config.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dvmd-agent.h"
#include "dvmd-remove-tree.h"
#include "fuzz.h"

#define SKIPPED 77

static void
run_file (const FuzzTarget *target, const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *content = NULL;
  g_autofree guint8 *exact = NULL;
  gsize size;

  if (!g_file_get_contents (path, &content, &size, &error))
    g_error ("%s", error->message);
  g_printerr ("# %s\n", path);
  /* The copy has no zero behind it, so that a read too far is seen. */
  exact = g_memdup2 (content, size);
  target->run (exact != NULL ? exact : (const guint8 *)"", size);
}

/* Files are called TARGET.NAME. */
static guint
run_folder (const FuzzTarget *target, const char *corpus)
{
  g_autofree char *prefix = g_strconcat (target->name, ".", NULL);
  g_autoptr (GDir) dir = g_dir_open (corpus, 0, NULL);
  const char *name;
  guint n = 0;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (corpus, name, NULL);

      if (!g_str_has_prefix (name, prefix))
        continue;
      run_file (target, path);
      n++;
    }
  return n;
}

static void
prepare (const FuzzTarget *target, const char *place)
{
  fuzz_watch_log (target);
  if ((target->flags & FUZZ_CONFINED) == 0)
    return;
  g_setenv ("TMPDIR", place, TRUE);
  dvmd_agent_prepare_process (1 << 20);
  if (!fuzz_confine (place))
    exit (SKIPPED);
}

/* The exit status of a child that has had all files. */
static int
run_in_child (const FuzzTarget *target, const char *corpus, char **files, const char *place)
{
  pid_t pid = fork ();
  int status = 0;

  if (pid != 0)
    {
      waitpid (pid, &status, 0);
      return status;
    }
  prepare (target, place);
  if (corpus != NULL && run_folder (target, corpus) == 0)
    g_error ("%s has no corpus", target->name);
  for (guint i = 0; files != NULL && files[i] != NULL; i++)
    run_file (target, files[i]);
  exit (0);
}

static gboolean
replay (const FuzzTarget *target, guint number, const char *corpus, char **files)
{
  /* GLib must not be asked for the directory of temporary files here: it would keep the answer. */
  const char *tmp = g_getenv ("TMPDIR");
  g_autofree char *template = g_build_filename (tmp != NULL ? tmp : "/tmp", "dvm-fuzz-XXXXXX", NULL);
  const char *place = g_mkdtemp (template);
  int status = run_in_child (target, corpus, files, place);
  gboolean skipped = WIFEXITED (status) && WEXITSTATUS (status) == SKIPPED;
  gboolean ok = status == 0 || skipped;

  g_print ("%s %u %s%s\n", ok ? "ok" : "not ok", number, target->name,
           skipped ? " # SKIP the kernel has no Landlock" : "");
  dvmd_remove_tree (place, NULL);
  return ok;
}

int
main (int argc, char **argv)
{
  const FuzzTarget *target = argc > 1 ? fuzz_find_target (argv[1]) : NULL;
  guint n_failed = 0;
  guint n = 0;

  if (argc < 2 || (target == NULL && argc > 2))
    {
      g_printerr ("Usage: fuzz CORPUS-DIRECTORY, or fuzz TARGET FILE...\n");
      return 2;
    }
  if (target != NULL)
    return replay (target, 1, NULL, argv + 2) ? 0 : 1;
  while (fuzz_targets[n].name != NULL)
    n++;
  g_print ("1..%u\n", n);
  for (guint i = 0; i < n; i++)
    n_failed += !replay (&fuzz_targets[i], i + 1, argv[1], NULL);
  return n_failed > 0 ? 1 : 0;
}
