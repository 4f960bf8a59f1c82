/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Texts that people write: files and lists of hosts, sets of ids, job files, settings, and the words of options; and
 * what a scheduler prints.
 */

#include "config.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dvm-placement-private.h"
#include "dvmd-address.h"
#include "dvmd-config.h"
#include "dvmd-id-set.h"
#include "fuzz.h"
#include "launch-words.h"
#include "resource-set.h"
#include "ssh-words.h"

/* A parser either succeeds or says what is wrong. */
static void
check_error (gboolean ok, const GError *error)
{
  g_assert_true (ok == (error == NULL));
  g_assert_true (error == NULL || g_utf8_validate (error->message, -1, NULL));
}

static void
walk_hosts (DvmHosts *hosts)
{
  for (guint i = 0; i < _dvm_hosts_get_n (hosts); i++)
    {
      const DvmHost *host = _dvm_hosts_get (hosts, i);

      g_assert_true (host->kind != DVM_HOST_NAMED || _dvm_hosts_find (hosts, host->name) == host);
    }
}

void
fuzz_hostfile (const guint8 *data, gsize size)
{
  g_autofree char *text = fuzz_dup_text (data, size);
  g_autoptr (DvmHosts) hosts = _dvm_hosts_new ();
  g_autoptr (GError) error = NULL;
  gboolean ok = _dvm_hosts_add_text (hosts, text, size, "hosts", NULL, &error);

  check_error (ok, error);
  walk_hosts (hosts);
}

void
fuzz_host_list (const guint8 *data, gsize size)
{
  g_autofree char *text = fuzz_dup_text (data, size);
  g_auto (GStrv) lists = g_strsplit (text, "\n", 2);
  g_autoptr (DvmHosts) all = _dvm_hosts_new ();
  g_autoptr (DvmHosts) chosen = _dvm_hosts_new ();
  g_autoptr (DvmHosts) both = NULL;
  g_autoptr (GError) error = NULL;

  if (lists[0] == NULL || !_dvm_hosts_add_list (all, lists[0], "--host", NULL, NULL) || lists[1] == NULL
      || !_dvm_hosts_add_list (chosen, lists[1], "hosts", NULL, NULL))
    return;
  both = _dvm_hosts_filter (all, chosen, &error);
  check_error (both != NULL, error);
  if (both != NULL)
    walk_hosts (both);
}

void
fuzz_id_set (const guint8 *data, gsize size)
{
  g_autofree char *text = fuzz_dup_text (data, size);
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdIdSet) set = dvmd_id_set_parse (text, "ranks", &error);
  g_autoptr (DvmdIdSet) again = NULL;
  g_autofree char *written = NULL;

  check_error (set != NULL, error);
  if (set == NULL || dvmd_id_set_is_empty (set))
    return;
  written = dvmd_id_set_format (set);
  again = dvmd_id_set_parse (written, "ranks", &error);
  g_assert_no_error (error);
  g_assert_cmpuint (dvmd_id_set_count (set), ==, dvmd_id_set_count (again));
}

/* A job file that was read and is right is written, and read as the same. */
void
fuzz_job_file (const guint8 *data, gsize size)
{
  g_autofree char *text = fuzz_dup_text (data, size);
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_from_json (text, (gssize)size, &error);
  g_autoptr (DvmJobSpec) again = NULL;
  g_autofree char *json = NULL;
  g_autofree char *json_again = NULL;

  check_error (spec != NULL, error);
  if (spec == NULL || !dvm_job_spec_validate (spec, NULL))
    return;
  json = dvm_job_spec_to_json (spec);
  again = dvm_job_spec_new_from_json (json, -1, &error);
  g_assert_no_error (error);
  json_again = dvm_job_spec_to_json (again);
  g_assert_cmpstr (json, ==, json_again);
}

/* The input is a key file, and each of its lines is set as if it had been given to --set. */
void
fuzz_settings (const guint8 *data, gsize size)
{
  g_autoptr (DvmdConfig) config = dvmd_config_new ();
  g_autoptr (DvmdConfig) other = dvmd_config_new ();
  g_autoptr (GPtrArray) changed = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *text = fuzz_dup_text (data, size);
  g_auto (GStrv) lines = g_strsplit (text, "\n", 64);
  int fd = memfd_create ("settings", MFD_CLOEXEC);
  g_autofree char *path = g_strdup_printf ("/proc/self/fd/%d", fd);
  gboolean ok;

  g_assert_true (fd >= 0 && write (fd, data, size) == (gssize)size);
  ok = dvmd_config_load_file (config, path, DVMD_CONFIG_ORIGIN_USER_FILE, &error);
  check_error (ok, error);
  close (fd);
  for (guint i = 0; lines[i] != NULL; i++)
    {
      char *value = strchr (lines[i], '=');

      if (value != NULL)
        *value++ = '\0';
      dvmd_config_set (other, g_strstrip (lines[i]), value != NULL ? value : "", DVMD_CONFIG_ORIGIN_COMMAND_LINE, NULL);
    }
  changed = dvmd_config_take (config, other, NULL);
  g_variant_unref (g_variant_ref_sink (dvmd_config_to_dictionary (config)));
}

/* The lines of the input are map-by, rank-by and bind-to; what is right is so without the others, too. */
void
fuzz_placement (const guint8 *data, gsize size)
{
  g_autofree char *text = fuzz_dup_text (data, size);
  g_auto (GStrv) lines = g_strsplit (text, "\n", 3);
  const char *map_by = lines[0];
  const char *rank_by = map_by != NULL ? lines[1] : NULL;
  const char *bind_to = rank_by != NULL ? lines[2] : NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmPlacement) placement = _dvm_placement_parse (map_by, rank_by, bind_to, "", &error);
  g_autoptr (DvmPlacement) alone = NULL;

  check_error (placement != NULL, error);
  if (placement == NULL)
    return;
  alone = _dvm_placement_parse (map_by, NULL, NULL, "", &error);
  g_assert_no_error (error);
  g_assert_cmpstr (alone->word, ==, placement->word);
  g_assert_true (g_strv_equal ((const char *const *)alone->rest, (const char *const *)placement->rest));
  g_assert_true (placement->pe <= G_MAXUINT16 && placement->bind_limit <= G_MAXUINT16);
}

/* All parsers of one word get the same text. */
void
fuzz_spec_words (const guint8 *data, gsize size)
{
  g_autofree char *text = fuzz_dup_text (data, size);
  g_auto (DvmOutputOptions) output = { 0 };
  DvmRuntimeOptions runtime;
  DvmStdinTarget target;
  DvmWhenFull when_full;
  gboolean plain;

  _dvm_runtime_options_parse (text, "", &runtime, NULL);
  _dvm_when_full_parse (text, "", &when_full, NULL);
  _dvm_stdin_target_parse (text, "", &target, NULL);
  _dvm_personality_parse (text, "", &plain, NULL);
  _dvm_output_parse (text, "", &output, NULL);
}

/* The addresses where daemons listen and are found, the names that ssh is given, and the messages of ssh. */
void
fuzz_address (const guint8 *data, gsize size)
{
  g_autofree char *text = fuzz_dup_text (data, size);
  g_autofree char *quoted = dvmd_launch_quote (text);
  g_autoptr (GSocketAddress) address = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *host = NULL;
  g_auto (SshAddress) ssh = { 0 };
  g_auto (DvmdTcpOptions) options = { 0 };
  guint16 port;
  gboolean ok;

  ok = dvmd_address_parse (text, &address, &host, &port, &error);
  check_error (ok, error);
  dvmd_tcp_options_parse (text, "any", "0", &options, NULL);
  ssh_address_parse (text, &ssh, NULL);
  dvmd_launch_find_reason (text);
}

void
fuzz_resource_set (const guint8 *data, gsize size)
{
  g_autofree char *text = fuzz_dup_text (data, size);
  g_autoptr (DvmdNodeTable) table = dvmd_node_table_new ();
  g_autoptr (GHashTable) ranks = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_autoptr (DvmdAllocation) allocation = NULL;
  g_autoptr (GError) error = NULL;

  if (!dvmd_resource_set_read (text, "flux", table, ranks, size % 2 == 0, NULL, &error))
    {
      check_error (FALSE, error);
      return;
    }
  check_error (TRUE, error);
  allocation = dvmd_node_table_to_allocation (table, NULL, "flux", &error);
  check_error (allocation != NULL, error);
}
