/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The command line of an agent that is a process.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-remote-argv.h"

#include "dvmd-programs.h"

/* The TCP addresses; an agent of this machine gets the socket first, and sees from the rest that other machines take
 * part. */
static char *
join_addresses (const char *const *addresses, gboolean local)
{
  g_autoptr (GPtrArray) chosen = g_ptr_array_new ();

  for (gsize i = 0; addresses[i] != NULL; i++)
    if (!g_str_has_prefix (addresses[i], "unix:"))
      g_ptr_array_add (chosen, (gpointer)addresses[i]);
    else if (local)
      g_ptr_array_insert (chosen, 0, (gpointer)addresses[i]);
  g_ptr_array_add (chosen, NULL);
  return g_strjoinv (",", (char **)chosen->pdata);
}

static gboolean
add_programs (GPtrArray *argv, gboolean local, GError **error)
{
  char *agent = dvmd_programs_find ("dvm-agent", error);
  char *guard = local && agent != NULL ? dvmd_programs_find ("dvm-guard", error) : NULL;

  if (guard != NULL)
    g_ptr_array_add (argv, guard);
  if (agent != NULL)
    g_ptr_array_add (argv, agent);
  if (guard != NULL)
    g_ptr_array_add (argv, g_strdup ("--guarded"));
  return agent != NULL && (guard != NULL || !local);
}

/* An address is that of one machine; networks and names of interfaces are for all of them. */
static char *
choose_listen_address (DvmdConfig *config, gboolean local)
{
  g_auto (GStrv) words = g_strsplit_set (dvmd_config_get_string (config, "listen-address"), " ,", -1);
  g_autoptr (GStrvBuilder) chosen = g_strv_builder_new ();
  g_auto (GStrv) list = NULL;

  for (gsize i = 0; words[i] != NULL; i++)
    if (words[i][0] != '\0' && (local || !g_hostname_is_ip_address (words[i])))
      g_strv_builder_add (chosen, words[i]);
  list = g_strv_builder_end (chosen);
  return g_strjoinv (",", list);
}

char **
dvmd_remote_make_argv (DvmdConfig *config, const char *const *addresses, const char *runtime_dir, const char *topology,
                       gboolean logical, GError **error)
{
  static const char *const passed_on[] = { "controller-grace", "elastic",    "heartbeat-timeout", "kill-grace",
                                           "listen-family",    "pmix",       "pmix-gds",          "pmix-security",
                                           "pmix-servers",     "pmix-tools", "port-range",        "security" };
  gboolean local = runtime_dir != NULL;
  g_autoptr (GPtrArray) argv = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *joined = join_addresses (addresses, local);
  g_autofree char *listen_address = choose_listen_address (config, local);

  if (!add_programs (argv, local, error))
    return NULL;
  g_ptr_array_add (argv, g_strdup_printf ("--controller=%s", joined));
  if (local)
    g_ptr_array_add (argv, g_strdup_printf ("--runtime-dir=%s", runtime_dir));
  if (topology != NULL)
    g_ptr_array_add (argv, g_strdup_printf ("--topology=%s", topology));
  if (logical)
    g_ptr_array_add (argv, g_strdup ("--logical"));
  if (listen_address[0] != '\0')
    g_ptr_array_add (argv, g_strdup_printf ("--set=listen-address=%s", listen_address));
  for (gsize i = 0; i < G_N_ELEMENTS (passed_on); i++)
    if (dvmd_config_get_origin (config, passed_on[i]) != DVMD_CONFIG_ORIGIN_BUILT_IN)
      g_ptr_array_add (argv,
                       g_strdup_printf ("--set=%s=%s", passed_on[i], dvmd_config_get_string (config, passed_on[i])));
  g_ptr_array_add (argv, NULL);
  return (char **)g_ptr_array_free (g_steal_pointer (&argv), FALSE);
}
