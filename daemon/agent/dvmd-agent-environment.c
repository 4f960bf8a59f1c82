/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The environment of a process, in this order: the daemon's own or nothing, the application's variables and
 * what is done to them, what helps the
 * MPI libraries and the user did not set, the PMIx server's, and what says to scripts who they are.
 */

#include "config.h"

#include "dvmd-agent-environment.h"

#include "dvmd-agent-binding.h"
#include "dvmd-agent-devices.h"
#include "dvmd-agent-pmi-calls.h"
#include "dvmd-agent-pmi.h"
#include "dvmd-agent-stage.h"

#include "dvmd-call-kind.h"

#include <string.h>
#include <unistd.h>

/* Variables that made our own start or debugging possible are no business of the jobs. */
static gboolean
is_ours (const char *name, gsize length)
{
  static const char *const names[] = {
    "G_DEBUG",
    "G_MESSAGES_DEBUG",
    "G_SLICE",
    "MALLOC_CHECK_",
    "DVM_PLUGIN_PATH",
    "DVM_LIBEXEC_DIR",
    "DVM_DVMD",
    "DVM_SOCKET",
    "DVM_OWN_VARIABLES",
    /* of a service, and of one that a message bus has started */
    "NOTIFY_SOCKET",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "MANAGERPID",
    "SYSTEMD_EXEC_PID",
    "DBUS_STARTER_ADDRESS",
    "DBUS_STARTER_BUS_TYPE",
  };

  if (g_str_has_prefix (name, "HWLOC_PLUGINS_PATH="))
    return g_str_equal (name + length + 1, DVMD_TOPOLOGY_NO_PLUGINS);
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    if (strlen (names[i]) == length && strncmp (names[i], name, length) == 0)
      return TRUE;
  return g_str_has_prefix (name, "PMIX_") || g_str_has_prefix (name, "PMI_");
}

/* Names and values of those variables that a DVM itself has given a process, quoted as for a shell: what a job around
 * this one has is not for this one. */
#define OWN_VARIABLES "DVM_OWN_VARIABLES"

/* The struct of the service is the environment that all processes begin with. */
static gpointer
create (DvmdAgent *agent, const DvmdAgentSettings *settings)
{
  g_autoptr (GPtrArray) kept = g_ptr_array_new ();
  const char *own = g_getenv (OWN_VARIABLES);
  g_auto (GStrv) around = NULL;

  if (own != NULL)
    g_shell_parse_argv (own, NULL, &around, NULL);
  for (char **entry = environ; *entry != NULL; entry++)
    if (!is_ours (*entry, strcspn (*entry, "="))
        && (around == NULL || !g_strv_contains ((const char *const *)around, *entry)))
      g_ptr_array_add (kept, g_strdup (*entry));
  g_ptr_array_add (kept, NULL);
  return g_ptr_array_free (g_steal_pointer (&kept), FALSE);
}

/* put: those that were wanted */
static void
put_defaults (DvmdVariables *self, const char *const *entries, GPtrArray *put)
{
  for (gsize i = 0; entries != NULL && entries[i] != NULL; i++)
    if (dvmd_variables_get (self, entries[i]) == NULL)
      {
        dvmd_variables_put (self, entries[i]);
        g_ptr_array_add (put, g_strdup (entries[i]));
      }
}

/* Without the elements of the list that are so. */
static char *
remove_element (const char *list, const char *element, char separator)
{
  const char divider[] = { separator, '\0' };
  g_auto (GStrv) parts = g_strsplit (list, divider, -1);
  g_autoptr (GPtrArray) left = g_ptr_array_new ();

  for (gsize i = 0; parts[i] != NULL; i++)
    if (strcmp (parts[i], element) != 0)
      g_ptr_array_add (left, parts[i]);
  g_ptr_array_add (left, NULL);
  return g_strjoinv (divider, (char **)left->pdata);
}

/* entry: "NAME=value" */
static void
edit_variable (DvmdVariables *self, DvmdEdit edit, const char *entry, char separator)
{
  const char *value = strchr (entry, '=') + 1;
  int length = (int)(value - entry);
  g_autofree char *old = g_strdup (dvmd_variables_get (self, entry));

  if (old != NULL && edit == DVMD_EDIT_FIRST)
    {
      g_autofree char *whole = g_steal_pointer (&old);

      old = remove_element (whole, value, separator);
    }
  if (old == NULL || (old[0] == '\0' && edit != DVMD_EDIT_ADD))
    dvmd_variables_put (self, entry);
  else if (edit == DVMD_EDIT_APPEND)
    dvmd_variables_printf (self, "%.*s%s%c%s", length, entry, old, separator, value);
  else if (edit != DVMD_EDIT_ADD)
    dvmd_variables_printf (self, "%s%c%s", entry, separator, old);
}

static void
apply_edits (DvmdVariables *environment, DvmdAgentJob *job, const DvmdAgentApp *app)
{
  GVariant *edits = job->options.env_edits;

  for (gsize i = 0; edits != NULL && i < g_variant_n_children (edits); i++)
    {
      const char *entry;
      guint32 number;
      guint32 edit;
      guint8 separator;

      g_variant_get_child (edits, i, "(uu^&ayy)", &number, &edit, &entry, &separator);
      if (number < job->apps->len && g_ptr_array_index (job->apps, number) == app)
        edit_variable (environment, edit, entry, (char)separator);
    }
}

/* A list of all programs in the environment of each of them is too much for more than these. */
#define MAX_LISTED_APPS 1000

/* Open MPI puts these into MPI_INFO_ENV: wdir, ompi_num_apps, ompi_first_rank, ompi_np, ompi_positioned_file_dir. */
static void
add_info_env (DvmdVariables *environment, DvmdAgentJob *job, const DvmdAgentApp *app)
{
  g_autoptr (GString) first_ranks = g_string_new (NULL);
  g_autoptr (GString) sizes = g_string_new (NULL);

  dvmd_variables_printf (environment, "OMPI_MCA_initial_wdir=%s", app->cwd);
  dvmd_variables_printf (environment, "OMPI_NUM_APP_CTX=%u", job->apps->len);
  if (job->session_dir != NULL)
    dvmd_variables_printf (environment, "OMPI_FILE_LOCATION=%s", job->session_dir);
  else
    dvmd_variables_remove (environment, "OMPI_FILE_LOCATION");
  if (job->apps->len > MAX_LISTED_APPS)
    return;
  for (guint i = 0; i < job->apps->len; i++)
    {
      const DvmdAgentApp *one = g_ptr_array_index (job->apps, i);

      g_string_append_printf (first_ranks, "%s%u", i > 0 ? " " : "", one->first_rank);
      g_string_append_printf (sizes, "%s%u", i > 0 ? " " : "", one->size);
    }
  dvmd_variables_printf (environment, "OMPI_FIRST_RANKS=%s", first_ranks->str);
  dvmd_variables_printf (environment, "OMPI_APP_CTX_NUM_PROCS=%s", sizes->str);
}

static void
add_job_marks (DvmdVariables *environment, DvmdAgentJob *job)
{
  g_autofree char *session_dir = dvmd_agent_dup_session_dir (job);

  dvmd_variables_printf (environment, "DVM_JOBID=%s", job->local->nspace);
  dvmd_variables_printf (environment, "DVM_NODE=%s", dvmd_agent_get_parts (job->agent)->name);
  dvmd_variables_printf (environment, "DVM_SIZE=%u", job->map->num_procs);
  dvmd_variables_printf (environment, "DVM_LOCAL_SIZE=%u", job->local->procs->len);
  if (session_dir != NULL)
    dvmd_variables_printf (environment, "DVM_SESSION_DIR=%s", session_dir);
  /* Names that scripts written for mpirun look for. */
  dvmd_variables_printf (environment, "OMPI_COMM_WORLD_SIZE=%u", job->map->num_procs);
  dvmd_variables_printf (environment, "OMPI_COMM_WORLD_LOCAL_SIZE=%u", job->local->procs->len);
  dvmd_variables_printf (environment, "OMPI_UNIVERSE_SIZE=%u", job->universe);
}

/* put: those of a job of an array; no job that this one starts is in it */
static void
add_array_marks (DvmdVariables *environment, DvmdAgentJob *job, GPtrArray *put)
{
  static const char *const names[] = { "ID", "INDEX", "COUNT", "MIN", "MAX" };
  gsize n = 0;
  const guint32 *numbers = job->options.array != NULL ? g_variant_get_fixed_array (job->options.array, &n, 4) : NULL;

  for (gsize i = 0; i < MIN (n, G_N_ELEMENTS (names)); i++)
    {
      char *entry = g_strdup_printf ("DVM_ARRAY_%s=%u", names[i], numbers[i]);

      dvmd_variables_put (environment, entry);
      g_ptr_array_add (put, entry);
    }
}

/* Nodes that are parts of one machine share its threads and reach each other by its loopback, whatever else it has. */
static void
add_logical_defaults (DvmdVariables *environment, DvmdAgentJob *job, GPtrArray *put)
{
  static const char *const interface[] = { "OMPI_MCA_btl_tcp_if_include=lo", NULL };
  static const char *const yield[] = { "OMPI_MCA_mpi_yield_when_idle=1", NULL };

  if (!dvmd_agent_is_logical (job->agent))
    return;
  /* Open MPI refuses to be told both. */
  if (dvmd_variables_get (environment, "OMPI_MCA_btl_tcp_if_exclude") == NULL)
    put_defaults (environment, interface, put);
  if (job->map->num_procs > dvmd_topology_get_n_pus (dvmd_agent_get_parts (job->agent)->topology))
    put_defaults (environment, yield, put);
}

/* Both lists (nullable) go into one variable, the devices last. */
static void
add_own_variables (DvmdVariables *environment, const char *const *defaults, const char *const *devices)
{
  const char *const *const lists[] = { defaults, devices };
  g_autoptr (GString) text = g_string_new (NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (lists); i++)
    for (gsize k = 0; lists[i] != NULL && lists[i][k] != NULL; k++)
      {
        g_autofree char *quoted = g_shell_quote (lists[i][k]);

        g_string_append_printf (text, "%s%s", text->len > 0 ? " " : "", quoted);
      }
  if (text->len > 0)
    dvmd_variables_printf (environment, OWN_VARIABLES "=%s", text->str);
  else
    dvmd_variables_remove (environment, OWN_VARIABLES);
}

void
dvmd_agent_prepare_app_environment (DvmdAgentJob *job, DvmdAgentApp *app)
{
  static const char *const pmi[] = { "PMI_FD", "PMI_PORT", "PMI_RANK", "PMI_SIZE", "PMI_SPAWNED" };
  /* MPICH 4.3 and later end where they find PMI and PMIx, unless they are told one; earlier ones take this by default.
   */
  static const char *const version[] = { "MPIR_CVAR_PMI_VERSION=1", NULL };
  DvmdVariables *environment = dvmd_variables_new (NULL);
  g_auto (GStrv) defaults = NULL;
  g_auto (GStrv) binding = dvmd_agent_dup_binding_variables (job, app);
  GPtrArray *put = g_ptr_array_new ();

  if (!app->clear_env)
    dvmd_variables_put_all (environment, dvmd_agent_services_get (job->agent, &dvmd_agent_environment_service));
  for (gsize i = 0; app->unset_env != NULL && app->unset_env[i] != NULL; i++)
    dvmd_variables_remove (environment, app->unset_env[i]);
  dvmd_variables_put_all (environment, (const char *const *)app->environment->strings);
  /* A user who is in another job has them from there. */
  for (gsize i = 0; i < G_N_ELEMENTS (pmi); i++)
    dvmd_variables_remove (environment, pmi[i]);
  apply_edits (environment, job, app);
  if (job->registered)
    defaults = dvmd_pmix_dup_default_environment (dvmd_agent_get_pmix (job->agent), job->local->nspace,
                                                  dvmd_topology_get_n_pus (dvmd_agent_get_parts (job->agent)->topology),
                                                  NULL);
  put_defaults (environment, (const char *const *)defaults, put);
  if (job->registered)
    add_logical_defaults (environment, job, put);
  put_defaults (environment, (const char *const *)binding, put);
  if (dvmd_agent_offers_pmi (job))
    put_defaults (environment, version, put);
  add_array_marks (environment, job, put);
  g_ptr_array_add (put, NULL);
  g_strfreev (app->defaults);
  app->defaults = (char **)g_ptr_array_free (put, FALSE);
  add_own_variables (environment, (const char *const *)app->defaults, NULL);
  add_job_marks (environment, job);
  add_info_env (environment, job, app);
  /* The user's is that of the directory it would have been. */
  if (job->session_dir != NULL && strcmp (app->cwd, job->session_dir) == 0)
    dvmd_variables_printf (environment, "PWD=%s", app->cwd);
  if (dvmd_agent_offers_pmi (job))
    {
      dvmd_variables_printf (environment, "PMI_FD=%d", DVMD_SPAWN_EXTRA_FD);
      dvmd_variables_printf (environment, "PMI_SIZE=%u", job->map->num_procs);
      if (dvmd_agent_was_spawned_by_pmi (job))
        dvmd_variables_put (environment, "PMI_SPAWNED=1");
    }
  g_clear_pointer (&app->base, dvmd_variables_free);
  app->base = environment;
}

/* (transfer full) (nullable) */
static GStrv
dup_device_variables (DvmdAgentJob *job, const DvmdLocalProc *proc, GError **error)
{
  const DvmdAgentApp *app = g_ptr_array_index (job->apps, proc->app);

  return dvmd_agent_dup_device_variables (job, proc->local_rank, (const char *const *)app->environment->strings, error);
}

DvmdVariables *
dvmd_agent_build_environment (DvmdAgentJob *job, DvmdLocalProc *proc, GError **error)
{
  DvmdAgentApp *app = g_ptr_array_index (job->apps, proc->app);
  g_auto (GStrv) pmix = NULL;
  g_auto (GStrv) devices = dup_device_variables (job, proc, error);
  DvmdVariables *environment;

  if (devices == NULL)
    return NULL;
  if (job->registered)
    {
      pmix = dvmd_pmix_dup_environment (dvmd_agent_get_pmix (job->agent), job->local->nspace, proc->rank, error);
      if (pmix == NULL)
        return NULL;
    }
  environment = dvmd_variables_new (app->base);
  /* A daemon that was started with some of these has all devices of its node. */
  dvmd_variables_put_all (environment, (const char *const *)devices);
  if (devices[0] != NULL)
    add_own_variables (environment, (const char *const *)app->defaults, (const char *const *)devices);
  dvmd_variables_take_all (environment, g_steal_pointer (&pmix));
  if (dvmd_agent_offers_pmi (job))
    dvmd_variables_printf (environment, "PMI_RANK=%u", proc->rank);
  dvmd_variables_printf (environment, "DVM_RANK=%u", proc->rank);
  dvmd_variables_printf (environment, "DVM_LOCAL_RANK=%u", proc->local_rank);
  if (job->options.max_restarts > 0)
    dvmd_variables_printf (environment, "DVM_RESTART=%u", proc->n_before + proc->n_restarts);
  dvmd_variables_printf (environment, "OMPI_COMM_WORLD_RANK=%u", proc->rank);
  dvmd_variables_printf (environment, "OMPI_COMM_WORLD_LOCAL_RANK=%u", proc->local_rank);
  dvmd_variables_printf (environment, "OMPI_COMM_WORLD_NODE_RANK=%u", proc->local_rank);
  return environment;
}

static GVariant *
strip_app (GVariant *app, const char *const *entries, const char *const *devices)
{
  g_autoptr (GVariant) env = g_variant_lookup_value (app, "env-bytes", G_VARIANT_TYPE_BYTESTRING_ARRAY);
  g_autofree const char **strings = env != NULL ? g_variant_get_bytestring_array (env, NULL) : NULL;
  g_autoptr (GPtrArray) left = g_ptr_array_new ();
  g_auto (GVariantDict) dict;

  for (gsize i = 0; strings != NULL && strings[i] != NULL; i++)
    if (!g_strv_contains (entries, strings[i]) && !g_strv_contains (devices, strings[i]))
      g_ptr_array_add (left, (gpointer)strings[i]);
  g_variant_dict_init (&dict, app);
  if (left->len > 0)
    g_variant_dict_insert_value (&dict, "env-bytes",
                                 g_variant_new_bytestring_array ((const char *const *)left->pdata, (gssize)left->len));
  else
    g_variant_dict_remove (&dict, "env-bytes");
  return g_variant_dict_end (&dict);
}

GVariant *
dvmd_agent_strip_defaults (DvmdAgentJob *job, const DvmdLocalProc *proc, GVariant *apps)
{
  const DvmdAgentApp *app = g_ptr_array_index (job->apps, proc->app);
  g_auto (GStrv) devices = dup_device_variables (job, proc, NULL);
  GVariantBuilder builder;

  if (app->defaults == NULL || devices == NULL)
    return g_variant_ref (apps);
  g_variant_builder_init (&builder, G_VARIANT_TYPE ("aa{sv}"));
  for (gsize i = 0; i < g_variant_n_children (apps); i++)
    {
      g_autoptr (GVariant) one = g_variant_get_child_value (apps, i);

      g_variant_builder_add_value (&builder,
                                   strip_app (one, (const char *const *)app->defaults, (const char *const *)devices));
    }
  return g_variant_ref_sink (g_variant_builder_end (&builder));
}

static void
environment_free (gpointer service)
{
  g_strfreev (service);
}

const DvmdAgentService dvmd_agent_environment_service = {
  .name = "environment",
  .create = create,
  .free = environment_free,
};
