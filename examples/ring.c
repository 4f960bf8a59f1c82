/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A token goes once around all ranks, then all add up their ranks. Each says who it is and what came out; a wrong
 * result ends the whole job with exit code 1. Nothing in here knows of dvm: any MPI will do.
 */

#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

/* The number of hops that the token has behind it when it is back at rank 0. */
static int
pass_token (int rank, int size)
{
  int token = 0;

  if (rank == 0)
    {
      token = 1;
      MPI_Send (&token, 1, MPI_INT, 1 % size, 0, MPI_COMM_WORLD);
      MPI_Recv (&token, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      return token;
    }
  MPI_Recv (&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  token++;
  MPI_Send (&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
  return token;
}

int
main (int argc, char **argv)
{
  char host[MPI_MAX_PROCESSOR_NAME];
  int length;
  int rank;
  int size;
  int token;
  int sum = 0;
  int right;

  MPI_Init (&argc, &argv);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  MPI_Comm_size (MPI_COMM_WORLD, &size);
  MPI_Get_processor_name (host, &length);

  /* A message to oneself needs a partner that is already receiving. */
  token = size > 1 ? pass_token (rank, size) : 1;
  MPI_Allreduce (&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);

  right = sum == size * (size - 1) / 2 && token == (rank == 0 ? size : rank + 1);
  printf ("rank %d of %d on %s, pid %d: token %d, sum of ranks %d: %s\n", rank, size, host, (int)getpid (), token, sum,
          right ? "right" : "WRONG");
  fflush (stdout);
  if (!right)
    MPI_Abort (MPI_COMM_WORLD, 1);
  MPI_Finalize ();
  return 0;
}
