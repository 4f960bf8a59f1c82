/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/*
 * MPI programs that find each other while they run, for the tests:
 *   spawn N [HOSTS]   starts N children and talks to them; twice with "spawn-twice"
 *   multiple N M      starts N and M in one go
 *   accept NAME       publishes a port and waits for connect NAME, from another job
 *   info [KEY VALUE]  what MPI_INFO_ENV has; with a key also what that of a child has that is started with this key
 *   die-in-spawn      the last child kills itself before it has connected
 * Each rank prints what it has found. Children are this program, too.
 */

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *self;
static int rank, size;

/* Both sides of an intercommunicator find the same: the sum of all ranks, and how many there are. */
static void
talk (MPI_Comm inter, int high, const char *who)
{
  MPI_Comm all;
  int n, sum, mine, token = -1, remote;

  MPI_Comm_remote_size (inter, &remote);
  MPI_Intercomm_merge (inter, high, &all);
  MPI_Comm_rank (all, &mine);
  MPI_Comm_size (all, &n);
  MPI_Allreduce (&mine, &sum, 1, MPI_INT, MPI_SUM, all);
  /* Directly, from the first to the last: across the two worlds, and often across nodes. */
  if (mine == 0)
    MPI_Send (&n, 1, MPI_INT, n - 1, 7, all);
  if (mine == n - 1)
    MPI_Recv (&token, 1, MPI_INT, 0, 7, all, MPI_STATUS_IGNORE);
  printf ("%s %d of %d: %d others, together %d, sum %d%s\n", who, rank, size, remote, n, sum,
          mine != n - 1 || token == n ? "" : ", wrong token");
  fflush (stdout);
  MPI_Comm_free (&all);
}

static void
spawn (int n, const char *hosts, char *verb)
{
  char *argv[] = { verb, NULL };
  MPI_Info info = MPI_INFO_NULL;
  MPI_Comm inter;
  int *errors = calloc (n, sizeof *errors);

  if (hosts != NULL)
    {
      MPI_Info_create (&info);
      MPI_Info_set (info, "host", hosts);
    }
  MPI_Comm_spawn (self, argv, n, info, 0, MPI_COMM_WORLD, &inter, errors);
  talk (inter, 0, "parent");
  MPI_Comm_disconnect (&inter);
  free (errors);
  if (info != MPI_INFO_NULL)
    MPI_Info_free (&info);
}

static void
show_info (void)
{
  static const char *const keys[] = { "command",      "argv",          "maxprocs",        "soft",   "arch", "wdir",
                                      "thread_level", "ompi_num_apps", "ompi_first_rank", "ompi_np" };
  char value[1024];
  int found;

  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
    {
      MPI_Info_get (MPI_INFO_ENV, keys[i], sizeof value - 1, value, &found);
      printf ("%d %s %s\n", rank, keys[i], found ? value : "(none)");
    }
  fflush (stdout);
}

static void
spawn_with (char *key, char *value)
{
  char *argv[] = { "info-child", NULL };
  MPI_Comm inter;
  MPI_Info info;

  MPI_Info_create (&info);
  MPI_Info_set (info, key, value);
  MPI_Comm_spawn (self, argv, 1, info, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
  MPI_Comm_disconnect (&inter);
  MPI_Info_free (&info);
}

static void
be_child_with_info (void)
{
  MPI_Comm parent;

  MPI_Comm_get_parent (&parent);
  show_info ();
  MPI_Comm_disconnect (&parent);
}

static void
spawn_multiple (int n, int m)
{
  char *commands[] = { self, self };
  char *first[] = { "child", NULL };
  char *second[] = { "child", "second", NULL };
  char **argvs[] = { first, second };
  int counts[] = { n, m };
  MPI_Info infos[] = { MPI_INFO_NULL, MPI_INFO_NULL };
  MPI_Comm inter;

  MPI_Comm_spawn_multiple (2, commands, argvs, counts, infos, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
  talk (inter, 0, "parent");
  MPI_Comm_disconnect (&inter);
}

static void
be_child (void)
{
  MPI_Comm parent;

  MPI_Comm_get_parent (&parent);
  if (parent == MPI_COMM_NULL)
    {
      printf ("child %d has no parent\n", rank);
      return;
    }
  talk (parent, 1, "child");
  MPI_Comm_disconnect (&parent);
}

static void
accept_one (const char *name)
{
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm inter;

  if (rank == 0)
    {
      MPI_Open_port (MPI_INFO_NULL, port);
      MPI_Publish_name (name, MPI_INFO_NULL, port);
      printf ("published\n");
      fflush (stdout);
    }
  MPI_Comm_accept (port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
  talk (inter, 0, "server");
  MPI_Comm_disconnect (&inter);
  if (rank == 0)
    {
      MPI_Unpublish_name (name, MPI_INFO_NULL, port);
      MPI_Close_port (port);
    }
}

static void
connect_one (const char *name)
{
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm inter;
  int rc = MPI_SUCCESS;

  MPI_Comm_set_errhandler (MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank == 0)
    rc = MPI_Lookup_name (name, MPI_INFO_NULL, port);
  MPI_Bcast (&rc, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rc != MPI_SUCCESS)
    {
      printf ("no such name\n");
      return;
    }
  MPI_Comm_connect (port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
  talk (inter, 1, "client");
  MPI_Comm_disconnect (&inter);
}

int
main (int argc, char **argv)
{
  const char *verb = argc > 1 ? argv[1] : "";

  self = argv[0];
  if (strcmp (verb, "dying-child") == 0 && getenv ("PMIX_RANK") != NULL && strcmp (getenv ("PMIX_RANK"), "0") == 0)
    raise (SIGKILL);
  MPI_Init (&argc, &argv);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  MPI_Comm_size (MPI_COMM_WORLD, &size);
  if (strcmp (verb, "spawn") == 0 || strcmp (verb, "spawn-twice") == 0)
    spawn (atoi (argv[2]), argc > 3 ? argv[3] : NULL, "child");
  if (strcmp (verb, "spawn-twice") == 0)
    spawn (atoi (argv[2]), argc > 3 ? argv[3] : NULL, "child");
  if (strcmp (verb, "die-in-spawn") == 0)
    spawn (2, NULL, "dying-child");
  if (strcmp (verb, "multiple") == 0)
    spawn_multiple (atoi (argv[2]), atoi (argv[3]));
  if (strcmp (verb, "accept") == 0)
    accept_one (argv[2]);
  if (strcmp (verb, "connect") == 0)
    connect_one (argv[2]);
  if (strcmp (verb, "info") == 0)
    show_info ();
  if (strcmp (verb, "info") == 0 && argc > 3)
    spawn_with (argv[2], argv[3]);
  if (strcmp (verb, "info-child") == 0)
    be_child_with_info ();
  else if (strstr (verb, "child") != NULL)
    be_child ();
  MPI_Finalize ();
  return 0;
}
