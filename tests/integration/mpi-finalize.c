/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The first N ranks never come to MPI_Finalize, in which the others wait for them. N is 0 unless given. ALONE: the MPI
 * library, that of MPICH, does not find the server that it would speak with.
 */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int
main (int argc, char **argv)
{
  int rank;

#ifdef ALONE
  unsetenv ("PMI_FD");
  unsetenv ("PMI_SIZE");
  unsetenv ("PMI_RANK");
  unsetenv ("PMIX_NAMESPACE");
#endif
  MPI_Init (&argc, &argv);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  printf ("%d: ready\n", rank);
  fflush (stdout);
  while (argc > 1 && rank < atoi (argv[1]))
    pause ();
  MPI_Finalize ();
  return 0;
}
