/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The command line of srun and its input, and what it says.
 */

#include "config.h"

#include "slurm-words.h"

#include "command-launcher.h"
#include "launch-words.h"

#include <string.h>

/*
 * On the node. The variables of the step go, for they are not those of the jobs of the DVM; the arguments before "--"
 * are those of the allocation. A directory may be there on the machine of the DVM alone. It says that it has arrived,
 * and then waits for its input. Lines that others are to read are skipped: read takes no byte too many. Slurm signals
 * all that there is of a step: USR1 is for jobs alone, and this shell stays as long as its agent, for with it Slurm
 * kills the rest.
 */
static const char script[] =
    "trap '' USR1 USR2\n"
    "trap : TERM HUP INT\n"
    "node=$SLURMD_NODENAME\n"
    "for name in $(env | sed -n 's/^\\(SLURM_[A-Za-z0-9_]*\\)=.*/\\1/p; s/^\\(SRUN_[A-Za-z0-9_]*\\)=.*/\\1/p'); do\n"
    "  case $name in SLURM_CONF | SLURM_CONF_SERVER | SLURM_JWT | SLURM_CLUSTERS) ;; *) unset \"$name\" ;; esac\n"
    "done\n"
    "while [ \"$1\" != -- ]; do export \"$1\"; shift; done\n"
    "shift\n"
    "[ -d \"$XDG_RUNTIME_DIR\" ] || unset XDG_RUNTIME_DIR\n"
    "sh -c 'echo " DVMD_COMMAND_ARRIVED "$$ \"$0\" >&2\n"
    "while read -r name && [ \"$name\" != \"$0\" ] && [ \"$name\" != . ]; do read -r name; done\n"
    "[ -n \"$name\" ] || exit 1\n"
    "[ \"$name\" = \"$0\" ] || { echo \"$0 is none of the nodes of this start\" >&2; exit 1; }\n"
    "exec \"$@\"' \"$node\" \"$@\" --node \"$node\"\n"
    "echo " SLURM_ENDED "$? >&2\n";

static void
add_words (GPtrArray *argv, const char *const *words)
{
  for (gsize i = 0; words != NULL && words[i] != NULL; i++)
    g_ptr_array_add (argv, g_strdup (words[i]));
}

/*
 * The step has what the allocation has on its nodes, memory and devices too, and leaves all of it to other steps. It
 * goes on when the task of one node has ended, whatever with, or the node has.
 */
static GPtrArray *
begin_argv (const char *name, const char *job, const char *const *nodes)
{
  static const char *const options[] = { "srun",
                                         "--job-name=" SLURM_STEP_NAME,
                                         "--overlap",
                                         "--mem=0",
                                         "--cpu-bind=none",
                                         "--mpi=none",
                                         "--input=all",
                                         "--label",
                                         "--kill-on-bad-exit=0",
                                         "--wait=0",
                                         "--no-kill",
                                         "--export=ALL",
                                         "--ntasks-per-node=1",
                                         NULL };
  GPtrArray *argv = g_ptr_array_new_with_free_func (g_free);
  guint n_nodes = g_strv_length ((char **)nodes);
  g_autofree char *list = dvm_host_list_compress (nodes, n_nodes);

  add_words (argv, options);
  g_ptr_array_add (argv, g_strdup_printf ("--job-name=%s", name));
  g_ptr_array_add (argv, g_strdup_printf ("--jobid=%s", job));
  g_ptr_array_add (argv, g_strdup_printf ("--nodes=%u", n_nodes));
  g_ptr_array_add (argv, g_strdup_printf ("--ntasks=%u", n_nodes));
  g_ptr_array_add (argv, g_strdup_printf ("--nodelist=%s", list));
  return argv;
}

static char **
end_argv (GPtrArray *argv)
{
  g_ptr_array_add (argv, NULL);
  return (char **)g_ptr_array_free (argv, FALSE);
}

static void
add_agent (GPtrArray *argv, const SlurmStepWish *wish)
{
  g_ptr_array_add (argv, dvmd_launch_find_agent (wish->prefix, wish->agent_argv[0]));
  add_words (argv, wish->agent_argv + 1);
}

char **
slurm_make_argv (const SlurmStepWish *wish, GError **error)
{
  const char *const shell[] = { "sh", "-c", script, "dvm-agent", NULL };
  g_auto (GStrv) more = NULL;
  g_autoptr (GError) local = NULL;
  GPtrArray *argv;

  if (!g_shell_parse_argv (wish->options != NULL ? wish->options : "", NULL, &more, &local)
      && !g_error_matches (local, G_SHELL_ERROR, G_SHELL_ERROR_EMPTY_STRING))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "The options for srun, \"%s\", are no words: %s",
                   wish->options, local->message);
      return NULL;
    }
  argv = begin_argv (SLURM_STEP_NAME, wish->job, wish->nodes);
  add_words (argv, (const char *const *)more);
  add_words (argv, shell);
  for (gsize i = 0; wish->environ[i] != NULL; i++)
    if (slurm_is_own_variable (wish->environ[i]))
      g_ptr_array_add (argv, g_strdup (wish->environ[i]));
  g_ptr_array_add (argv, g_strdup ("--"));
  add_agent (argv, wish);
  return end_argv (argv);
}

char **
slurm_make_kill_argv (const char *job, const char *node, int pid, gboolean at_once)
{
  const char *const nodes[] = { node, NULL };
  const char *const shell[] = { "sh", "-c", NULL };
  GPtrArray *argv = begin_argv (SLURM_KILL_NAME, job, nodes);

  add_words (argv, shell);
  g_ptr_array_add (argv, at_once ? g_strdup_printf ("kill -KILL %d", pid) : dvmd_launch_make_kill_script (pid));
  return end_argv (argv);
}

GBytes *
slurm_make_input (const char *const *nodes, GBytes *const *inputs)
{
  GByteArray *table = g_byte_array_new ();

  for (gsize i = 0; nodes[i] != NULL; i++)
    {
      gsize size;
      const guint8 *input = g_bytes_get_data (inputs[i], &size);

      g_byte_array_append (table, (const guint8 *)nodes[i], (guint)strlen (nodes[i]));
      g_byte_array_append (table, (const guint8 *)"\n", 1);
      g_byte_array_append (table, input, (guint)size);
    }
  g_byte_array_append (table, (const guint8 *)".\n", 2);
  return g_byte_array_free_to_bytes (table);
}

gboolean
slurm_parse_label (const char *line, guint *task, const char **text)
{
  gsize length = strspn (line, " 0123456789");
  g_autofree char *number = g_strstrip (g_strndup (line, length));
  guint64 value;

  if (!g_str_has_prefix (line + length, ": ") || !g_ascii_string_to_unsigned (number, 10, 0, G_MAXUINT, &value, NULL))
    return FALSE;
  *task = (guint)value;
  *text = line + length + 2;
  return TRUE;
}

/* "srun: error: n[1-2]: tasks 0-1: Exited with exit code 1" */
char **
slurm_parse_task_end (const char *line, char **words)
{
  const char *hosts = strstr (line, "error: ");
  const char *end = hosts != NULL ? strstr (hosts, ": task") : NULL;
  const char *rest = end != NULL ? strstr (end + 1, ": ") : NULL;
  g_autofree char *list = NULL;

  if (rest == NULL)
    return NULL;
  hosts += strlen ("error: ");
  list = g_strndup (hosts, end > hosts ? (gsize)(end - hosts) : 0);
  *words = g_strdup (rest + 2);
  return dvm_host_list_expand (list, "", NULL);
}

/* "srun: error: Task launch for StepId=7.0 failed on node n2: Socket timed out on send/recv operation" */
char *
slurm_parse_refusal (const char *line, char **words)
{
  static const char before[] = " failed on node ";
  const char *begin = strstr (line, "error: Task launch for ");
  const char *node = begin != NULL ? strstr (begin, before) : NULL;
  gsize length = node != NULL ? strcspn (node + strlen (before), ": ") : 0;

  if (length == 0)
    return NULL;
  *words = g_strdup (begin + strlen ("error: "));
  return g_strndup (node + strlen (before), length);
}

/* "slurmstepd-n1: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-28T00:33:28 DUE TO TIME LIMIT ***" */
char *
slurm_parse_step_end (const char *line)
{
  const char *begin = strstr (line, "error: *** STEP ");
  const char *end = begin != NULL ? strstr (begin + strlen ("error: *** "), " ***") : NULL;

  if (end == NULL || strstr (begin, " CANCELLED AT ") == NULL || strstr (begin, "NODE FAILURE") != NULL)
    return NULL;
  begin += strlen ("error: *** ");
  return g_strndup (begin, (gsize)(end - begin));
}

char *
slurm_find_words (const char *messages)
{
  g_auto (GStrv) lines = g_strsplit (messages, "\n", -1);
  const char *last = "";

  for (gsize i = 0; lines[i] != NULL; i++)
    {
      const char *error = strstr (g_strstrip (lines[i]), "error: ");

      if (error != NULL)
        return g_strdup (error + strlen ("error: "));
      if (lines[i][0] != '\0')
        last = lines[i];
    }
  return g_strdup (g_str_has_prefix (last, "srun: ") ? last + strlen ("srun: ") : last);
}
