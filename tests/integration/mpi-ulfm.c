/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A program of an MPI with fault tolerance (ULFM), which goes on when processes fail: [RANK]... kill themselves, or
 * others are killed when all have said "ready". The others revoke the communicator, agree on one thing, and make a
 * smaller one, whose sum they say.
 */

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#ifdef MPIX_ERR_PROC_FAILED

static int rank;

/* It returns when a process has failed, here or elsewhere. */
static void
use_until_failure (MPI_Comm comm)
{
  int class = MPI_SUCCESS;

  while (class == MPI_SUCCESS)
    {
      int status = MPI_Barrier (comm);

      if (status != MPI_SUCCESS)
        MPI_Error_class (status, &class);
    }
  if (class != MPIX_ERR_PROC_FAILED && class != MPIX_ERR_REVOKED)
    {
      fprintf (stderr, "%d: the barrier has failed with class %d\n", rank, class);
      exit (1);
    }
}

static void
check (int status, const char *call)
{
  if (status == MPI_SUCCESS)
    return;
  fprintf (stderr, "%d: %s has failed with %d\n", rank, call, status);
  exit (1);
}

int
main (int argc, char *argv[])
{
  MPI_Comm all;
  MPI_Comm left;
  int n_left;
  int sum;
  int flag;

  MPI_Init (&argc, &argv);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  MPI_Comm_dup (MPI_COMM_WORLD, &all);
  MPI_Comm_set_errhandler (all, MPI_ERRORS_RETURN);
  printf ("%d: ready\n", rank);
  fflush (stdout);
  MPI_Barrier (all);
  for (int i = 1; i < argc; i++)
    if (atoi (argv[i]) == rank)
      raise (SIGKILL);
  use_until_failure (all);
  check (MPIX_Comm_revoke (all), "MPIX_Comm_revoke");
  check (MPIX_Comm_shrink (all, &left), "MPIX_Comm_shrink");
  MPI_Comm_set_errhandler (left, MPI_ERRORS_RETURN);
  MPI_Comm_size (left, &n_left);
  flag = rank == 0 ? 5 : 7;
  check (MPIX_Comm_agree (left, &flag), "MPIX_Comm_agree");
  check (MPI_Allreduce (&rank, &sum, 1, MPI_INT, MPI_SUM, left), "MPI_Allreduce");
  printf ("%d: %d left, agreed on %d, sum %d\n", rank, n_left, flag, sum);
  fflush (stdout);
  MPI_Comm_free (&left);
  MPI_Finalize ();
  return 0;
}

#else

int
main (void)
{
  fputs ("This MPI has no fault tolerance\n", stderr);
  return 1;
}

#endif
