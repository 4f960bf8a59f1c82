/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Texts of agents are translated: these tell in English what they find on their nodes, and what helps.
 */

#include "config.h"

#include "dvm-cli-findings.h"

#include <glib/gi18n-lib.h>
#include <string.h>

/* As daemon/agent/dvmd-agent-checks.c has them; each %s is what differs from node to node. */
static const char *const words[] = {
  N_ ("dvm %s is complete"),
  N_ ("%s does not run: %s"),
  N_ ("HWLOC_XMLFILE names %s, which cannot be read: %s; the machine itself is described"),
  N_ ("%s cores, %s hardware threads"),
  N_ ("each job can have a cgroup of its own"),
  N_ ("%s; jobs are ended by their process groups, and their memory is not told"),
  N_ ("%s has the mode %s, others may look into it"),
  N_ ("%s has the mode 0700 now"),
  N_ ("the mode of %s cannot be changed: %s"),
  N_ ("%s has room"),
  N_ ("%s has %s left; MPI processes of one node speak through it"),
  N_ ("%s has %s left; jobs have their files there"),
  N_ ("a process may have %s open files; %s are enough for some thousand ranks"),
  N_ ("open files: enough"),
  N_ ("there is a fabric, and a process may lock %s bytes of memory alone"),
  N_ ("the name of the machine has an address"),
  N_ ("the name of the machine, %s, has no address: %s"),
  N_ ("munge proves who an agent of this machine is"),
  N_ ("the secret can be read, and by nobody else"),
  N_ ("%s is not used, for bootstrap-auth is %s"),
  N_ ("bootstrap-controller: with %s each machine looks for the controller on itself"),
  N_ ("what DVMs that were killed had left here is removed"),
  N_ ("install all of dvm on this node, in the same version"),
  N_ ("install the library that is missing (Debian: libpmix2)"),
  N_ ("the path of a file that lstopo has written, or no HWLOC_XMLFILE"),
  N_ ("see what lstopo (package hwloc) says; HWLOC_XMLFILE may name a description of the machine"),
  N_ ("start the DVM in a cgroup of yours: systemd-run --user --scope -p Delegate=yes dvm-cli start"),
  N_ ("chmod 0700 \"$XDG_RUNTIME_DIR\", or --fix"),
  N_ ("set XDG_RUNTIME_DIR to a directory of your own with the mode 0700, in which nothing else is"),
  N_ ("set XDG_RUNTIME_DIR to a directory of yours with the mode 0700, on a local disk"),
  N_ ("make room in %s"),
  N_ ("make it a directory that all may write to (mode 1777)"),
  N_ ("raise it: LimitNOFILE= of the unit, or nofile in /etc/security/limits.conf"),
  N_ ("LimitMEMLOCK=infinity of the unit, or memlock in /etc/security/limits.conf"),
  N_ ("a line with the name in /etc/hosts"),
  N_ ("start munged here, with the key of the controller's machine (Debian: munge), or set bootstrap-munge-socket to "
      "where it listens"),
  N_ ("remove it, or set bootstrap-auth to the other"),
  N_ ("a name or an address of the controller's machine that all nodes know"),
  N_ ("mend the setting or the file: agents do not start without"),
  N_ ("mend the file; an agent that starts by itself (dvm-agent.service) reads it"),
};

/* (transfer full) (nullable): what text has in the places of %s; NULL: it is not of this form */
static GPtrArray *
match (const char *form, const char *text)
{
  g_autoptr (GPtrArray) found = g_ptr_array_new_with_free_func (g_free);
  g_auto (GStrv) parts = g_strsplit (form, "%s", -1);
  guint n = g_strv_length (parts);

  if (!g_str_has_prefix (text, parts[0]))
    return NULL;
  text += strlen (parts[0]);
  for (guint i = 1; i < n; i++)
    {
      const char *end = i + 1 < n ? strstr (text, parts[i]) : text + strlen (text);

      if (i + 1 == n && g_str_has_suffix (text, parts[i]))
        end -= strlen (parts[i]);
      else if (i + 1 == n || end == NULL)
        return NULL;
      g_ptr_array_add (found, g_strndup (text, (gsize)(end - text)));
      text = end + strlen (parts[i]);
    }
  return text[0] == '\0' ? g_steal_pointer (&found) : NULL;
}

/* A translation has as many places as its original, in the same order (cli-translation). */
static char *
fill (const char *form, GPtrArray *values)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_auto (GStrv) parts = g_strsplit (form, "%s", -1);

  for (guint i = 0; parts[i] != NULL; i++)
    g_string_append_printf (text, "%s%s", parts[i], i < values->len ? (const char *)values->pdata[i] : "");
  return g_string_free (g_steal_pointer (&text), FALSE);
}

char *
dvm_cli_findings_translate (const char *text)
{
  for (gsize i = 0; i < G_N_ELEMENTS (words); i++)
    {
      g_autoptr (GPtrArray) values = match (words[i], text);

      if (values != NULL)
        return fill (_ (words[i]), values);
    }
  return g_strdup (text);
}
