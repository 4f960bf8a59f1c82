/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-pmix: the process that has libpmix in it, below an agent. Its standard input is the link to the agent; it lives
 * no longer than that.
 */

#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fcntl.h>
#include <glib-unix.h>

#include <dvm.h>

#include "dvmd-log.h"
#include "dvmd-pmix-counter.h"
#include "dvmd-pmix-messages.h"
#include "dvmd-pmix-server.h"
#include "dvmd-pmix-stub.h"
#include "dvmd-topology.h"

/* As many clients as there may be. */
static void
raise_nofile (void)
{
  struct rlimit limit;

  if (getrlimit (RLIMIT_NOFILE, &limit) != 0)
    return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit (RLIMIT_NOFILE, &limit);
}

/* Nothing that the library starts or prints to is to be the link. -1: there is none. */
static int
take_link (void)
{
  int type;
  socklen_t size = sizeof type;
  int fd;
  int none;

  if (getsockopt (STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &size) != 0)
    return -1;
  fd = fcntl (STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  none = open ("/dev/null", O_RDWR | O_CLOEXEC);
  if (fd < 0 || none < 0 || dup2 (none, STDIN_FILENO) < 0)
    return -1;
  close (none);
  return fd;
}

/* Another build of the same messages is as good as ours. */
static gboolean
speaks_as (const char *agent)
{
  g_autofree char *digest = dvmd_pmix_messages_dup_digest ();

  return strcmp (agent, digest) == 0;
}

/* The library's thread may stand still: it is not waited for. */
static void
on_ended (DvmdPmixStub *stub, gpointer user_data)
{
  _exit (EXIT_SUCCESS);
}

/* Without the counter the agent asks. */
static void
count_connections (const char *dir)
{
  DvmdPmixCounter *counter = dvmd_pmix_counter_new (dir);

  dvmd_pmix_door_set_counter (counter);
  dvmd_pmix_upcall_set_counter (counter);
}

int
main (int argc, char **argv)
{
  const int ignored[] = { SIGPIPE, SIGXFSZ, SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2 };
  g_autoptr (DvmdClock) clock = NULL;
  g_autoptr (DvmdPmixServer) server = NULL;
  g_autoptr (DvmdPmixStub) stub = NULL;
  g_autoptr (GMainLoop) loop = NULL;
  int fd;

  if (argc == 2 && strcmp (argv[1], "--version") == 0)
    {
      printf ("dvm-pmix %s\n%s\n", DVM_VERSION_STRING, dvmd_pmix_server_get_library ());
      return EXIT_SUCCESS;
    }
  /* A stopped server cannot see that its agent has gone. */
  prctl (PR_SET_PDEATHSIG, SIGKILL);
  /* A scheduler tells all that it has started to end: its agent ends it, when the processes have. */
  for (gsize i = 0; i < G_N_ELEMENTS (ignored); i++)
    signal (ignored[i], SIG_IGN);
  fd = take_link ();
  if (argc != 2 || fd < 0)
    {
      fprintf (stderr, "dvm-pmix: it is started by dvm-agent, not by hand\n");
      return 2;
    }
  if (!speaks_as (argv[1]))
    return DVMD_PMIX_EXIT_OTHER;
  dvmd_log_install ("dvm-pmix");
  raise_nofile ();
  dvmd_topology_prepare_environment ();
  loop = g_main_loop_new (NULL, FALSE);
  clock = dvmd_clock_new_real (NULL);
  server = dvmd_pmix_server_new ();
  stub = dvmd_pmix_stub_new (fd, DVMD_PMIX (server), clock, count_connections);
  g_signal_connect (stub, "ended", G_CALLBACK (on_ended), NULL);
  g_main_loop_run (loop);
  return EXIT_SUCCESS;
}
