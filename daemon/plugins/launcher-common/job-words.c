/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The command lines by which schedulers start an agent on a node of a job, and what they start there.
 */

#include "config.h"

#include "job-words.h"
#include "command-launcher.h"
#include "launch-words.h"

#include <string.h>

/* All in one line: a shell that reads it may be any. The command hands the standard input on, but only when the shell
 * is there does it get some. */
static const char by_input[] = "echo " DVMD_COMMAND_ARRIVED "$$ >&2; ";

/*
 * The command hands nothing on. A file that was made elsewhere may take a moment to be seen, and is read once; the pid
 * in its place is the answer. The agent's standard input is a pipe that it holds open itself: no end of it says
 * anything.
 */
static const char by_file[] =
    "file=$1; shift; n=0; "
    "until [ -r \"$file\" ]; do n=$((n + 1)); "
    "if [ $n = 10 ]; then echo \"there is no file $file here\" >&2; exit " G_STRINGIFY (
        JOB_NO_FILE) "; fi; "
                     "sleep 1; done; "
                     "place=$(mktemp -d) && mkfifo -m 600 \"$place/input\" && exec 3<>\"$place/input\" || exit 1; "
                     "cat \"$file\" >&3; rm -r \"$place\"; "
                     "echo " DVMD_COMMAND_ARRIVED "$$ >\"$file\"; "
                     "exec <&3 3<&-; ";

/* A directory may be there on the machine of the DVM alone; read takes no byte too many. */
static const char common[] = "while IFS= read -r line && [ \"$line\" != . ]; do export \"$line\"; done; "
                             "[ -d \"$XDG_RUNTIME_DIR\" ] || unset XDG_RUNTIME_DIR; "
                             "exec \"$@\"";

static char **
end_argv (GPtrArray *argv)
{
  g_ptr_array_add (argv, NULL);
  return (char **)g_ptr_array_free (argv, FALSE);
}

static void
add_words (GPtrArray *argv, const char *const *words)
{
  for (gsize i = 0; words[i] != NULL; i++)
    g_ptr_array_add (argv, g_strdup (words[i]));
}

/* Some commands look for programs in no PATH. */
static GPtrArray *
begin_shell (void)
{
  const char *const shell[] = { "/bin/sh", "-c", NULL };
  GPtrArray *argv = g_ptr_array_new ();

  add_words (argv, shell);
  return argv;
}

char **
job_words_make_agent (const char *const *agent_argv, const char *prefix, const char *node, const char *input_file)
{
  GPtrArray *argv = begin_shell ();

  g_ptr_array_add (argv, g_strconcat (input_file != NULL ? by_file : by_input, common, NULL));
  g_ptr_array_add (argv, g_strdup ("dvm-agent"));
  if (input_file != NULL)
    g_ptr_array_add (argv, g_strdup (input_file));
  g_ptr_array_add (argv, dvmd_launch_find_agent (prefix, agent_argv[0]));
  add_words (argv, agent_argv + 1);
  g_ptr_array_add (argv, g_strdup ("--node"));
  g_ptr_array_add (argv, g_strdup (node));
  return end_argv (argv);
}

char **
job_words_make_kill (int pid)
{
  GPtrArray *argv = begin_shell ();

  g_ptr_array_add (argv, dvmd_launch_make_kill_script (pid));
  return end_argv (argv);
}

/* pdsh writes something else in the place of a percent sign with a letter behind it, quoted or not. */
static char *
make_line (char **what)
{
  GString *line = g_string_new ("exec");

  for (gsize i = 0; what[i] != NULL; i++)
    {
      g_autofree char *word = dvmd_launch_quote (what[i]);

      g_string_append_printf (line, " %s", word);
    }
  g_string_replace (line, "%", "%''", 0);
  return g_string_free (line, FALSE);
}

/* A shell that stays: an end by a signal, which guards tell as a status above 128, is an ordinary failure then. */
static const char hiding[] = "\"$@\"; status=$?; "
                             "[ $status -le 128 ] || { echo \"ended by signal $((status - 128))\" >&2; status=1; }; "
                             "exit $status";

static char **
hide_signals (char **what)
{
  GPtrArray *argv = begin_shell ();

  g_ptr_array_add (argv, g_strdup (hiding));
  g_ptr_array_add (argv, g_strdup ("dvm-agent"));
  add_words (argv, (const char *const *)what);
  return end_argv (argv);
}

char **
job_words_make_argv (const JobCommand *command, const char *setting, const char *target, char **what, GError **error)
{
  g_auto (GStrv) own = NULL;
  g_auto (GStrv) hidden = command->hides_signals ? hide_signals (what) : NULL;
  g_autoptr (GError) local = NULL;
  GPtrArray *argv;

  if (setting != NULL && !g_shell_parse_argv (setting, NULL, &own, &local))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "The launcher's command \"%s\" is none: %s", setting,
                   local->message);
      return NULL;
    }
  argv = g_ptr_array_new ();
  if (own != NULL)
    add_words (argv, (const char *const *)own);
  else
    g_ptr_array_add (argv, g_strdup (command->words[0]));
  for (gsize i = 1; command->words[i] != NULL; i++)
    g_ptr_array_add (argv, g_strdup (strcmp (command->words[i], JOB_NODE) == 0 ? target : command->words[i]));
  if (command->is_line)
    g_ptr_array_add (argv, make_line (hidden != NULL ? hidden : what));
  else
    add_words (argv, (const char *const *)(hidden != NULL ? hidden : what));
  return end_argv (argv);
}

/* A value of several lines is handed on by nothing that ends with a line. */
static void
add_variable (GString *text, const char *const *environ, const char *name)
{
  const char *value = g_environ_getenv ((char **)environ, name);

  if (value != NULL && strchr (value, '\n') == NULL)
    g_string_append_printf (text, "%s=%s\n", name, value);
}

GBytes *
job_words_make_input (const char *const *environ, GBytes *token)
{
  g_autoptr (GString) text = g_string_new (NULL);
  gsize size;
  const guint8 *data = g_bytes_get_data (token, &size);
  GByteArray *input = g_byte_array_new ();

  add_variable (text, environ, "PATH");
  add_variable (text, environ, "LD_LIBRARY_PATH");
  g_string_append (text, ".\n");
  g_byte_array_append (input, (const guint8 *)text->str, (guint)text->len);
  g_byte_array_append (input, data, (guint)size);
  return g_byte_array_free_to_bytes (input);
}
