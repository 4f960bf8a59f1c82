/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An MPI program that talks over shared memory until it is ended: rank 0 says when all of it is in use.
 */

#include <mpi.h>
#include <stdio.h>

#define LENGTH 65536

int
main (int argc, char **argv)
{
  static int in[LENGTH], out[LENGTH];
  MPI_Win window;
  int *memory;
  int rank;

  MPI_Init (&argc, &argv);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  MPI_Win_allocate_shared (sizeof (int), sizeof (int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  for (int i = 0;; i++)
    {
      MPI_Allreduce (in, out, LENGTH, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      if (i == 0 && rank == 0)
        {
          printf ("talking\n");
          fflush (stdout);
        }
    }
}
