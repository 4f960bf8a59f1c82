/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Several jobs of a scheduler may meet on one machine, such as that of their salloc: each has its own DVM.
 */

#include "config.h"

#include "dvm-cli-scheduler.h"

#include <glib/gi18n-lib.h>
#include <string.h>
#include <unistd.h>

#include "dvm-cli-sockets.h"

/* The name stays as long as the options. */
static const char *
keep (DvmCli *cli, char *text)
{
  char **words = g_new0 (char *, 2);

  words[0] = text;
  return dvm_cli_args_keep (cli->args, words)[0];
}

/* The process that has the DVM of that name; 0: there is none. name: (nullable) */
static pid_t
find_holder (const char *name)
{
  g_autofree char *directory = dvm_client_build_runtime_dir (name);
  g_autofree char *path = g_build_filename (directory, "bus", NULL);

  return dvm_cli_find_listener (path);
}

/* Likewise, or the process that has taken the name and does not listen yet, or not any more; it may have left that
 * behind. */
static pid_t
find_owner (const char *name)
{
  g_autofree char *directory = dvm_client_build_runtime_dir (name);
  g_autofree char *path = g_build_filename (directory, "lock", NULL);
  g_autofree char *text = NULL;
  pid_t holder = find_holder (name);
  gint64 pid = 0;

  if (holder == 0 && g_file_get_contents (path, &text, NULL, NULL))
    g_ascii_string_to_signed (g_strchomp (text), 10, 1, G_MAXINT, &pid, NULL);
  return holder > 0 ? holder : (pid_t)pid;
}

/* The environment that a process was started with. FALSE: it cannot be read; job (out) (transfer full) (nullable) */
static gboolean
read_job (pid_t pid, char **job)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/environ", (int)pid);
  g_autofree char *text = NULL;
  g_autoptr (GPtrArray) variables = g_ptr_array_new ();
  gsize length;

  if (!g_file_get_contents (path, &text, &length, NULL))
    return FALSE;
  for (gsize at = 0; at < length; at += strlen (text + at) + 1)
    g_ptr_array_add (variables, text + at);
  g_ptr_array_add (variables, NULL);
  *job = dvm_client_build_job_name ((const char *const *)variables->pdata);
  return TRUE;
}

/* theirs: (nullable): none */
static void
refuse_dvm (DvmCli *cli, const char *theirs)
{
  if (theirs != NULL && theirs[0] != '\0')
    cli->foreign = keep (
        cli, g_strdup_printf (_ ("no DVM of the job %s is running, and the one without a name is of the job %s; "
                                 "'dvm-cli start' starts one, and --name default takes the other one"),
                              cli->job, theirs));
  else
    cli->foreign = keep (
        cli, g_strdup_printf (_ ("no DVM of the job %s is running, and the one without a name is of no job; "
                                 "'dvm-cli start' starts one, and --name default takes the other one"),
                              cli->job));
}

static gboolean
is_named (DvmCli *cli)
{
  return cli->name != NULL || cli->socket != NULL || dvm_cli_args_has (cli->args, "dvm")
         || dvm_cli_args_has (cli->args, "system-server-first");
}

void
dvm_cli_scheduler_choose (DvmCli *cli)
{
  /* A bus that is named has the DVM that is meant. */
  g_autofree char *own = is_named (cli) || cli->bus != NULL ? NULL : dvm_client_build_job_name (NULL);
  pid_t holder = own != NULL ? find_holder (NULL) : 0;
  g_autofree char *theirs = NULL;
  gboolean is_read = holder > 0 && read_job (holder, &theirs);

  if (own == NULL || (is_read && g_strcmp0 (own, theirs) == 0))
    return;
  cli->job = keep (cli, g_steal_pointer (&own));
  if (find_holder (cli->job) > 0)
    {
      cli->name = cli->job;
      return;
    }
  if (is_read)
    refuse_dvm (cli, theirs);
}

gboolean
dvm_cli_scheduler_name (DvmCli *cli)
{
  g_autofree char *own = is_named (cli) ? NULL : dvm_client_build_job_name (NULL);
  pid_t owner = own != NULL ? find_owner (NULL) : 0;
  g_autofree char *theirs = NULL;

  if (own == NULL)
    return FALSE;
  /* A second one of the job is refused, whatever the first one is called. */
  if (find_holder (own) == 0 && (owner == 0 || !read_job (owner, &theirs) || g_strcmp0 (own, theirs) == 0))
    return FALSE;
  cli->job = keep (cli, g_steal_pointer (&own));
  cli->name = cli->job;
  return TRUE;
}

gboolean
dvm_cli_scheduler_find (DvmCli *cli, GError **error)
{
  if (cli->foreign != NULL)
    g_set_error_literal (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, cli->foreign);
  return cli->foreign == NULL;
}

gboolean
dvm_cli_scheduler_check (DvmCli *cli, DvmClient *client, GCancellable *cancellable)
{
  g_autoptr (GVariant) properties = NULL;
  const char *theirs = "";

  if (cli->job == NULL || cli->name != NULL)
    return TRUE;
  properties = dvm_client_get_info (client, cancellable, NULL);
  if (properties == NULL)
    return TRUE;
  g_variant_lookup (properties, "SchedulerJob", "&s", &theirs);
  if (strcmp (theirs, cli->job) == 0)
    return TRUE;
  refuse_dvm (cli, theirs);
  return FALSE;
}

gboolean
dvm_cli_scheduler_ends_with_us (void)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/comm", (int)getppid ());
  g_autofree char *text = NULL;

  return g_file_get_contents (path, &text, NULL, NULL) && strcmp (text, "salloc\n") == 0;
}
