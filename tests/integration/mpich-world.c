/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * All ranks exchange numbers, in the world and in its halves, and say how many they are, there and on their nodes.
 * After that rank 1 does what the first argument says: "abort" with the status of the second one, "die", "exit" without
 * MPI_Finalize, or "spawn", and the others wait for it. With "names" it publishes one that all of them look up.
 */

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int
sum_up (MPI_Comm comm, int value)
{
  int sum;

  MPI_Allreduce (&value, &sum, 1, MPI_INT, MPI_SUM, comm);
  return sum;
}

static void
spawn (void)
{
  MPI_Comm children;
  int code;

  MPI_Comm_set_errhandler (MPI_COMM_SELF, MPI_ERRORS_RETURN);
  code = MPI_Comm_spawn ("true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children, MPI_ERRCODES_IGNORE);
  printf ("spawn %s\n", code == MPI_SUCCESS ? "succeeded" : "refused");
}

static void
look_up (int rank)
{
  char port[MPI_MAX_PORT_NAME] = "";

  if (MPI_Lookup_name ("my ocean", MPI_INFO_NULL, port) == MPI_SUCCESS)
    printf ("%d: %s\n", rank, port);
  else
    printf ("%d: none\n", rank);
}

static void
use_names (int rank)
{
  MPI_Comm_set_errhandler (MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler (MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (rank == 1 && MPI_Publish_name ("my ocean", MPI_INFO_NULL, "a#port$") == MPI_SUCCESS)
    printf ("published\n");
  MPI_Barrier (MPI_COMM_WORLD);
  look_up (rank);
  MPI_Barrier (MPI_COMM_WORLD);
  if (rank == 1 && MPI_Unpublish_name ("my ocean", MPI_INFO_NULL, "a#port$") == MPI_SUCCESS)
    printf ("unpublished\n");
  MPI_Barrier (MPI_COMM_WORLD);
  look_up (rank);
}

int
main (int argc, char **argv)
{
  static char line[BUFSIZ];
  const char *what = argc > 1 ? argv[1] : "";
  MPI_Comm half;
  MPI_Comm node;
  int *universe;
  int found;
  int rank;
  int size;
  int here;

  MPI_Init (&argc, &argv);
  /* PMI_Init() of MPICH takes the buffer away, and puts() then writes the end of a line by itself. */
  setvbuf (stdout, line, _IOLBF, sizeof line);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  MPI_Comm_size (MPI_COMM_WORLD, &size);
  MPI_Comm_split (MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Comm_split_type (MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Comm_size (node, &here);
  MPI_Comm_get_attr (MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &found);
  printf ("%d of %d: %d %d, %d here, %d in all\n", rank, size, sum_up (MPI_COMM_WORLD, rank), sum_up (half, rank), here,
          found ? *universe : -1);
  fflush (stdout);
  if (rank == 1 && strcmp (what, "abort") == 0)
    MPI_Abort (MPI_COMM_WORLD, atoi (argv[2]));
  if (rank == 1 && strcmp (what, "die") == 0)
    raise (SIGKILL);
  if (rank == 1 && strcmp (what, "exit") == 0)
    _exit (0);
  if (rank == 1 && strcmp (what, "spawn") == 0)
    spawn ();
  if (strcmp (what, "names") == 0)
    use_names (rank);
  MPI_Barrier (MPI_COMM_WORLD);
  MPI_Finalize ();
  return 0;
}
