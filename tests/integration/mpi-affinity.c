/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Each rank says where it runs and which cpus it may use, as the kernel says; ranks of one node share a window, in
 * which each finds what the others have written. "RANK HOST CPUS n SUM": n ranks share it. With an argument they stay.
 */

#define _GNU_SOURCE

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

static void
list_cpus (char *text, size_t size)
{
  cpu_set_t set;
  size_t used = 0;

  text[0] = '\0';
  sched_getaffinity (0, sizeof set, &set);
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET (cpu, &set))
      used += (size_t)snprintf (text + used, size - used, "%s%d", used > 0 ? "," : "", cpu);
}

/* The sum of what all ranks of this node have written. */
static long
share (int rank, int *n)
{
  MPI_Comm node;
  MPI_Win window;
  int *mine;
  long sum = 0;

  MPI_Comm_split_type (MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size (node, n);
  MPI_Win_allocate_shared (sizeof (int), sizeof (int), MPI_INFO_NULL, node, &mine, &window);
  MPI_Win_fence (0, window);
  *mine = rank + 1;
  MPI_Win_fence (0, window);
  for (int i = 0; i < *n; i++)
    {
      MPI_Aint size;
      int unit;
      int *theirs;

      MPI_Win_shared_query (window, i, &size, &unit, &theirs);
      sum += *theirs;
    }
  MPI_Win_fence (0, window);
  MPI_Win_free (&window);
  MPI_Comm_free (&node);
  return sum;
}

int
main (int argc, char **argv)
{
  char cpus[4096];
  char host[256];
  int rank;
  int n;
  long sum;

  MPI_Init (&argc, &argv);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  list_cpus (cpus, sizeof cpus);
  gethostname (host, sizeof host);
  sum = share (rank, &n);
  printf ("%d %s %s %d %ld\n", rank, host, cpus, n, sum);
  fflush (stdout);
  if (argc > 1)
    pause ();
  MPI_Finalize ();
  return 0;
}
