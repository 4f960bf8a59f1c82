/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli doctor: whether a DVM works here and on its nodes, and what would help. A DVM is asked that is there; else a
 * private one is started over the hosts that are named, so that what is looked at is the real way to them.
 */

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <glib/gi18n-lib.h>
#include <string.h>
#include <unistd.h>

#include "dvm-cli-await.h"
#include "dvm-cli-connect.h"
#include "dvm-cli-daemon.h"
#include "dvm-cli-findings.h"
#include "dvm-cli-output.h"
#include "dvm-cli-private.h"
#include "dvm-cli-records.h"

/* A node that has not answered by then does not. */
#define PATIENCE_S 60

static const DvmCliOption options[] = {
  { "host", 'H', "-host", DVM_CLI_ARG_STRING, N_ ("HOST,..."), NULL,
    N_ ("look at these hosts, by a private DVM over them") },
  { "hostfile", 0, "--machinefile -hostfile -machinefile", DVM_CLI_ARG_STRING, N_ ("FILE"), NULL,
    N_ ("look at the hosts of the file") },
  { "fix", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL,
    N_ ("mend what is safe to mend: leftovers of killed DVMs, the mode of the runtime directory") },
  { NULL },
};

typedef struct
{
  DvmCli *cli;
  DvmCliFindings *findings;
  DvmCliEmbedded *embedded; /* NULL when a DVM was there */
  DvmClient *client;        /* (nullable): there is no DVM, and none can be started */
  guint64 port;             /* where the controller listens; 0: not for other machines */
} Doctor;

/* The job that looks at the nodes */
typedef struct
{
  int input;  /* our end: it ends when this is closed */
  int output; /* our end */
  DvmJob *job;
  GPtrArray *nodes; /* (element-type DvmNode): while it ran */
  char *lines;      /* what it has printed */
} Asked;

static void
check_dvmd (Doctor *self)
{
  static const char *const asked[] = { "--version", NULL };
  g_autoptr (GError) error = NULL;
  g_autofree char *version = dvm_cli_ask_dvmd (asked, &error);

  if (version == NULL)
    dvm_cli_findings_add (self->findings, NULL, "dvmd", DVM_CLI_VERDICT_BAD, error->message,
                          _ ("install all of dvm here, in the same version"));
  else if (strcmp (g_strstrip (version), "dvmd " DVM_VERSION_STRING) != 0)
    dvm_cli_findings_add (self->findings, NULL, "dvmd", DVM_CLI_VERDICT_BAD, version,
                          _ ("the version of dvm-cli, which is another one: see PATH and DVM_DVMD"));
  else
    dvm_cli_findings_add (self->findings, NULL, "dvmd", DVM_CLI_VERDICT_OK, version, NULL);
}

static void
check_bus (Doctor *self)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GDBusConnection) bus = NULL;

  if (g_strcmp0 (self->cli->bus, "none") == 0)
    return;
  bus = g_bus_get_sync (g_strcmp0 (self->cli->bus, "system") == 0 ? G_BUS_TYPE_SYSTEM : G_BUS_TYPE_SESSION, NULL,
                        &error);
  if (bus != NULL)
    dvm_cli_findings_add (self->findings, NULL, "bus", DVM_CLI_VERDICT_OK, _ ("the message bus answers"), NULL);
  else
    dvm_cli_findings_add (self->findings, NULL, "bus", DVM_CLI_VERDICT_NOTE, error->message,
                          _ ("busctl, desktop programs and D-Bus activation want one: log in by systemd, or begin with "
                             "dbus-run-session; dvm-cli does without"));
}

static void
check_ssh (Doctor *self)
{
  g_autofree char *path = g_find_program_in_path ("ssh");

  if (path != NULL)
    dvm_cli_findings_add (self->findings, NULL, "ssh", DVM_CLI_VERDICT_OK, path, NULL);
  else
    dvm_cli_findings_add (self->findings, NULL, "ssh", DVM_CLI_VERDICT_NOTE, _ ("ssh is not in PATH"),
                          _ ("other hosts are reached by it, outside of a scheduler (Debian: openssh-client)"));
}

/* Over the hosts that are named, or on this machine: those that do not come are told, and do not stop the others. */
static gboolean
start_private (Doctor *self, GError **error)
{
  DvmCliArgs *args = self->cli->args;
  g_autoptr (GPtrArray) words = g_ptr_array_new_with_free_func (g_free);
  const char *hosts = dvm_cli_args_get (args, "host");
  const char *file = dvm_cli_args_get (args, "hostfile");
  const char *launcher = dvm_cli_args_get (args, "launcher");
  g_autofree const char **settings = dvm_cli_args_get_all (args, "set");
  int fd;

  g_ptr_array_add (words, g_strdup ("--allow-missing"));
  if (hosts != NULL)
    g_ptr_array_add (words, g_strconcat ("--host=", hosts, NULL));
  if (file != NULL)
    g_ptr_array_add (words, g_strconcat ("--hostfile=", file, NULL));
  if (launcher != NULL)
    g_ptr_array_add (words, g_strconcat ("--launcher=", launcher, NULL));
  for (gsize i = 0; settings[i] != NULL; i++)
    g_ptr_array_add (words, g_strconcat ("--set=", settings[i], NULL));
  if (dvm_cli_args_has (args, "max-vm-size"))
    g_ptr_array_add (words, g_strconcat ("--set=max-nodes=", dvm_cli_args_get (args, "max-vm-size"), NULL));
  g_ptr_array_add (words, g_strdup ("--set=pmix-tools=none"));
  g_ptr_array_add (words, NULL);
  self->embedded = dvm_cli_embedded_new ((const char *const *)words->pdata, DVM_CLI_EMBEDDED_QUIET, &fd, error);
  if (self->embedded == NULL)
    return FALSE;
  self->client = dvm_client_new_for_fd (fd);
  if (dvm_client_connect (self->client, NULL, error))
    return TRUE;
  dvm_cli_embedded_explain (self->embedded, error);
  return FALSE;
}

static gboolean
asks_for_private (DvmCli *cli)
{
  return dvm_cli_args_has (cli->args, "host") || dvm_cli_args_has (cli->args, "hostfile")
         || dvm_cli_args_has (cli->args, "launcher") || dvm_cli_args_has (cli->args, "set")
         || dvm_cli_args_has (cli->args, "max-vm-size");
}

static void
check_version (Doctor *self)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) info = dvm_client_get_info (self->client, NULL, &error);
  g_autoptr (GVariant) statistics = NULL;
  const char *version = "";
  g_autofree char *text = NULL;
  g_auto (GStrv) losses = info != NULL ? dvm_cli_list_losses (info) : NULL;

  if (info == NULL)
    {
      dvm_cli_findings_add (self->findings, NULL, "dvm", DVM_CLI_VERDICT_BAD, error->message, NULL);
      return;
    }
  g_variant_lookup (info, "Version", "&s", &version);
  statistics = g_variant_lookup_value (info, "Statistics", G_VARIANT_TYPE_VARDICT);
  if (statistics != NULL)
    g_variant_lookup (statistics, "listen-port", "t", &self->port);
  text = g_strdup_printf (self->embedded != NULL ? _ ("a private DVM of version %s was started")
                                                 : _ ("a DVM of version %s is running"),
                          version);
  if (strcmp (version, DVM_VERSION_STRING) == 0)
    dvm_cli_findings_add (self->findings, NULL, "dvm", DVM_CLI_VERDICT_OK, text, NULL);
  else
    dvm_cli_findings_add (self->findings, NULL, "dvm", DVM_CLI_VERDICT_NOTE, text,
                          _ ("start it again when its jobs have ended, in the version of dvm-cli"));
  for (gsize i = 0; losses[i] != NULL; i++)
    dvm_cli_findings_add (self->findings, NULL, "disk", DVM_CLI_VERDICT_BAD, losses[i],
                          _ ("make room where the log and the archive of the DVM are"));
}

/* FALSE with an error: the DVM that was named is not there. */
static gboolean
reach_dvm (Doctor *self, GError **error)
{
  g_autoptr (GError) local_error = NULL;

  if (!asks_for_private (self->cli))
    {
      self->client = dvm_cli_reach (self->cli, NULL, &local_error);
      if (self->client != NULL)
        {
          check_version (self);
          return TRUE;
        }
      if (dvm_cli_is_chosen (self->cli) || !g_error_matches (local_error, DVM_ERROR, DVM_ERROR_NOT_FOUND))
        {
          g_propagate_error (error, g_steal_pointer (&local_error));
          dvm_cli_explain_connect (self->cli, error);
          return FALSE;
        }
      g_clear_error (&local_error);
    }
  if (start_private (self, &local_error))
    {
      check_version (self);
      return TRUE;
    }
  g_clear_object (&self->client);
  if (local_error->domain == DVM_CLI_USAGE_ERROR)
    {
      g_propagate_error (error, g_steal_pointer (&local_error));
      return FALSE;
    }
  dvm_cli_findings_add (self->findings, NULL, "dvm", DVM_CLI_VERDICT_BAD, local_error->message, NULL);
  return TRUE;
}

/* Returns how many nodes there are that jobs may run on. */
static guint
check_nodes (Doctor *self, GPtrArray *nodes)
{
  guint n_usable = 0;

  for (guint i = 0; i < nodes->len; i++)
    {
      DvmNode *node = g_ptr_array_index (nodes, i);
      DvmNodeState state = dvm_node_get_state (node);
      g_autofree char *text = NULL;

      /* The controller's own, where no jobs run */
      if (state == DVM_NODE_STATE_NOT_INCLUDED || (state != DVM_NODE_STATE_DOWN && dvm_node_get_slots (node) == 0))
        continue;
      if (state == DVM_NODE_STATE_UP)
        {
          n_usable += dvm_node_get_slots (node) > 0 ? 1 : 0;
          continue;
        }
      text = dvm_node_get_reason (node)[0] != '\0'
                 ? g_strdup_printf ("%s: %s", dvm_node_get_state_name (node), dvm_node_get_reason (node))
                 : g_strdup (dvm_node_get_state_name (node));
      if (state == DVM_NODE_STATE_DO_NOT_USE)
        dvm_cli_findings_add (self->findings, dvm_node_get_name (node), "node", DVM_CLI_VERDICT_NOTE, text,
                              _ ("dvm-cli node resume NODE, when it may have jobs again"));
      else
        dvm_cli_findings_add (self->findings, dvm_node_get_name (node), "node", DVM_CLI_VERDICT_BAD, text, NULL);
    }
  return n_usable;
}

/* Addresses of an agent are parted by blanks, and each ends with its port; FALSE: other machines cannot reach it. */
static gboolean
find_port (const char *addresses, guint64 *port)
{
  g_auto (GStrv) all = g_strsplit (addresses, " ", -1);

  for (gsize i = 0; all[i] != NULL; i++)
    if (g_str_has_prefix (all[i], "tcp:")
        && g_ascii_string_to_unsigned (strrchr (all[i], ':') + 1, 10, 1, G_MAXUINT16, port, NULL))
      return TRUE;
  return FALSE;
}

/* A firewall has to let these through. Of a private DVM the links have just been made. */
static void
tell_ports (Doctor *self, GPtrArray *nodes)
{
  guint64 first = G_MAXUINT64;
  guint64 last = 0;
  guint64 port;
  g_autofree char *text = NULL;

  for (guint i = 0; i < nodes->len; i++)
    if (find_port (dvm_node_get_address (nodes->pdata[i]), &port))
      {
        first = MIN (first, port);
        last = MAX (last, port);
      }
  if (self->port == 0)
    text = g_strdup (_ ("none: all daemons are on this machine, and speak through sockets of its file system"));
  else if (last == 0)
    text = g_strdup_printf (_ ("the controller listens at port %u"), (guint)self->port);
  else
    text = g_strdup_printf (_ ("the controller listens at port %u, agents at ports from %u to %u"), (guint)self->port,
                            (guint)first, (guint)last);
  dvm_cli_findings_add (self->findings, NULL, "ports", DVM_CLI_VERDICT_OK, text, NULL);
}

/* (transfer full): all that the job writes; it closes its end when it has ended, however that is. */
static char *
read_all (int fd)
{
  g_autoptr (GString) text = g_string_new (NULL);
  char buffer[4096];
  gssize n;

  while ((n = read (fd, buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR))
    if (n > 0)
      g_string_append_len (text, buffer, n);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* (transfer full): one process on each node, beside what runs there */
static DvmJobSpec *
describe_job (const char *agent, gboolean fix)
{
  /* They stay until all nodes are known: a private DVM leaves with its job. */
  const char *const argv[] = { "sh",  "-c",      "\"$@\"; exec cat >/dev/null", "sh",
                               agent, "--check", fix ? "--fix" : NULL,          NULL };
  DvmJobSpec *spec = dvm_job_spec_new_for_argv (argv);

  dvm_job_spec_set_name (spec, "doctor");
  dvm_job_spec_set_personality (spec, "plain");
  dvm_job_spec_set_map_by (spec, "ppr:1:node:oversubscribe");
  dvm_job_spec_set_when_full (spec, "oversubscribe");
  dvm_job_spec_set_bind_to (spec, "none");
  dvm_job_spec_set_stdin_target (spec, "all");
  dvm_job_spec_set_timeout (spec, PATIENCE_S);
  return spec;
}

/* Returns when the job runs, or will not any more. */
static gboolean
await_start (Doctor *self, DvmJob *job, GError **error)
{
  g_autoptr (GAsyncResult) result = NULL;

  dvm_client_watch_job_async (self->client, job, NULL, dvm_cli_ready, &result);
  if (!dvm_client_watch_job_finish (self->client, dvm_cli_await (&result), error))
    return FALSE;
  while (dvm_client_get_connected (self->client) && !dvm_job_get_ended (job)
         && dvm_job_get_state (job) < DVM_JOB_STATE_RUNNING)
    g_main_context_iteration (NULL, TRUE);
  return TRUE;
}

/* The job is submitted with a pipe for its input, which ends it, and one for its output. */
static gboolean
start_job (Doctor *self, DvmJobSpec *spec, Asked *asked, GError **error)
{
  int in[2];
  int out[2];

  dvm_client_set_jobs_end_with_client (self->client, TRUE);
  if (!g_unix_open_pipe (in, FD_CLOEXEC, error))
    return FALSE;
  asked->input = in[1];
  if (g_unix_open_pipe (out, FD_CLOEXEC, error))
    {
      asked->output = out[0];
      asked->job = dvm_client_submit_with_fds (self->client, spec, in[0], out[1], -1, NULL, error);
      close (out[1]);
    }
  close (in[0]);
  return asked->job != NULL;
}

static void
close_end (int *fd)
{
  if (*fd >= 0)
    close (*fd);
  *fd = -1;
}

/* A private DVM to which no node has come leaves: then the job's reason says all that there is to say. */
static GPtrArray *
list_nodes (Doctor *self, DvmJob *job, GError **error)
{
  g_autoptr (GError) local_error = NULL;
  GPtrArray *nodes = dvm_client_list_nodes (self->client, NULL, &local_error);

  if (nodes != NULL)
    return nodes;
  if (dvm_job_get_ended (job) && dvm_job_get_reason (job)[0] != '\0')
    return g_ptr_array_new ();
  g_propagate_error (error, g_steal_pointer (&local_error));
  return NULL;
}

/* A job waits until a private DVM is ready: which nodes have not come is known when it runs. */
static gboolean
run_on_nodes (Doctor *self, DvmJobSpec *spec, Asked *asked, GError **error)
{
  if (!start_job (self, spec, asked, error) || !await_start (self, asked->job, error))
    return FALSE;
  asked->nodes = list_nodes (self, asked->job, error);
  close_end (&asked->input);
  asked->lines = read_all (asked->output);
  return asked->nodes != NULL
         && (dvm_job_get_ended (asked->job) || dvm_client_wait (self->client, asked->job, 0, NULL, error));
}

static void
asked_clear (Asked *asked)
{
  close_end (&asked->input);
  close_end (&asked->output);
  g_clear_object (&asked->job);
  g_clear_pointer (&asked->nodes, g_ptr_array_unref);
  g_clear_pointer (&asked->lines, g_free);
}

static char *
find_agent (GError **error)
{
  g_autofree char *dvmd = dvm_cli_find_dvmd (error);
  g_autofree char *directory = dvmd != NULL ? g_path_get_dirname (dvmd) : NULL;

  return directory != NULL ? g_build_filename (directory, "dvm-agent", NULL) : NULL;
}

static void
tell_answers (Doctor *self, Asked *asked, gint64 before, gint64 after)
{
  guint n_nodes = check_nodes (self, asked->nodes);
  guint n_answers = dvm_cli_findings_add_lines (self->findings, asked->lines, before, after);
  const char *reason = dvm_job_get_reason (asked->job);
  g_autofree char *text = NULL;

  if (self->embedded == NULL)
    tell_ports (self, asked->nodes);
  if (n_nodes > 0 && n_answers >= n_nodes)
    return;
  if (reason[0] == '\0')
    reason = dvm_job_get_state_name (asked->job);
  /* A private DVM to which no node has come lists none: "0 of 0" would be no number of those that were asked for. */
  text = n_nodes == 0 ? g_strdup_printf (_ ("no node has answered: %s"), reason)
                      : g_strdup_printf (_ ("%u of %u nodes have answered: %s"), n_answers, n_nodes, reason);
  dvm_cli_findings_add (self->findings, NULL, "nodes", DVM_CLI_VERDICT_BAD, text, NULL);
}

/* A private DVM to which no node has come may be ending before the job does. */
static void
tell_refusal (Doctor *self, const GError *error)
{
  g_autoptr (GPtrArray) nodes = dvm_client_list_nodes (self->client, NULL, NULL);
  g_autofree char *text = NULL;

  if (nodes != NULL)
    check_nodes (self, nodes);
  if (self->embedded != NULL && g_error_matches (error, DVM_ERROR, DVM_ERROR_SHUTTING_DOWN))
    text = g_strdup_printf (_ ("no node has answered: %s"), error->message);
  dvm_cli_findings_add (self->findings, NULL, "nodes", DVM_CLI_VERDICT_BAD, text != NULL ? text : error->message, NULL);
}

static void
ask_nodes (Doctor *self)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *agent = find_agent (&error);
  g_autoptr (DvmJobSpec) spec = agent != NULL ? describe_job (agent, dvm_cli_args_has (self->cli->args, "fix")) : NULL;
  Asked asked = { .input = -1, .output = -1 };
  gint64 before = g_get_real_time ();

  if (spec != NULL && run_on_nodes (self, spec, &asked, &error))
    tell_answers (self, &asked, before, g_get_real_time ());
  else if (asked.job == NULL && spec != NULL)
    tell_refusal (self, error);
  else
    dvm_cli_findings_add (self->findings, NULL, "nodes", DVM_CLI_VERDICT_BAD, error->message, NULL);
  asked_clear (&asked);
}

/* Without any DVM at least this machine can be looked at. */
static void
ask_here (Doctor *self)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *agent = find_agent (&error);
  const char *const argv[] = { agent, "--check", dvm_cli_args_has (self->cli->args, "fix") ? "--fix" : NULL, NULL };
  g_autofree char *lines = NULL;
  gint64 before = g_get_real_time ();

  if (agent != NULL
      && g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &lines, NULL, NULL, &error))
    dvm_cli_findings_add_lines (self->findings, lines, before, g_get_real_time ());
  else
    dvm_cli_findings_add (self->findings, NULL, "nodes", DVM_CLI_VERDICT_BAD, error->message, NULL);
}

static gboolean
look (Doctor *self, GError **error)
{
  check_dvmd (self);
  check_bus (self);
  check_ssh (self);
  if (!reach_dvm (self, error))
    return FALSE;
  if (self->client != NULL)
    ask_nodes (self);
  else
    ask_here (self);
  return TRUE;
}

static int
run_doctor (DvmCli *cli, GError **error)
{
  Doctor self = { .cli = cli, .findings = dvm_cli_findings_new () };
  g_autoptr (GError) local_error = NULL;
  int status = DVM_CLI_EXIT_FAILED;

  if (!look (&self, &local_error))
    g_propagate_error (error, g_steal_pointer (&local_error));
  else if (dvm_cli_findings_print (self.findings, cli, error) && !dvm_cli_findings_has_bad (self.findings))
    status = DVM_CLI_EXIT_OK;
  g_clear_object (&self.client);
  g_clear_pointer (&self.embedded, dvm_cli_embedded_free);
  dvm_cli_findings_free (self.findings);
  return status;
}

const DvmCliVerb dvm_cli_verb_doctor = {
  .name = "doctor",
  .synopsis = "[OPTION...]",
  .summary = N_ ("look whether a DVM works here and on its nodes, and say how to mend what does not"),
  .options = { options, dvm_cli_private_options },
  .failure = DVM_CLI_EXIT_FAILED,
  .run = run_doctor,
};
