/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/*
 * An MPI program for the tests: a ring, an allreduce, messages too large for one fragment and a window in shared
 * memory with those of the same node. "die": the last rank kills itself after the window is there, with everything in
 * use.
 */

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGE (1 << 20)

static int rank, size;

static int
ring (void)
{
  int token = rank == 0 ? 1000 : 0;

  if (size == 1)
    return 1000;
  if (rank == 0)
    MPI_Send (&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  MPI_Recv (&token, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  token += rank != 0;
  if (rank != 0)
    MPI_Send (&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
  return token;
}

static int
exchange_large (void)
{
  char *out = malloc (LARGE);
  char *in = malloc (LARGE);
  int peer = rank ^ 1;
  int right = 1;

  memset (out, 'a' + rank, LARGE);
  if (peer < size)
    {
      MPI_Sendrecv (out, LARGE, MPI_CHAR, peer, 1, in, LARGE, MPI_CHAR, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      right = in[0] == 'a' + peer && in[LARGE - 1] == 'a' + peer;
    }
  free (out);
  free (in);
  return right;
}

int
main (int argc, char **argv)
{
  int token, sum, right;
  int *memory;
  MPI_Win window;
  MPI_Comm node;

  MPI_Init (&argc, &argv);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  MPI_Comm_size (MPI_COMM_WORLD, &size);
  token = ring ();
  MPI_Allreduce (&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  right = exchange_large ();
  MPI_Comm_split_type (MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Win_allocate_shared (sizeof (int), sizeof (int), MPI_INFO_NULL, node, &memory, &window);
  MPI_Win_fence (0, window);
  *memory = rank;
  MPI_Win_fence (0, window);
  if (argc > 1 && strcmp (argv[1], "die") == 0 && rank == size - 1)
    raise (SIGKILL);
  if (argc > 1 && strcmp (argv[1], "die") == 0)
    MPI_Barrier (MPI_COMM_WORLD);
  MPI_Win_free (&window);
  MPI_Comm_free (&node);
  printf ("%d of %d: token %d sum %d large %s\n", rank, size, rank == 0 ? token : token - rank, sum,
          right ? "right" : "wrong");
  MPI_Finalize ();
  return 0;
}
