/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A session of MPI, without MPI_Init. In it communicators are made from groups: twice one of all processes, and at one
 * time, under one tag, one of those of even and one of those of odd rank.
 */

#include <mpi.h>
#include <stdio.h>

/* Open MPI 5 has them, and says that it is MPI 3.1. */
#ifdef MPI_SESSION_NULL

/* Rank and size, and the sum of what all of them have: the ranks in the world, which go around from one to the next. */
static void
use_group (const char *name, MPI_Group group, int world_rank)
{
  MPI_Comm comm;
  int rank;
  int size;
  int sum = 0;
  int passed = world_rank;

  MPI_Comm_create_from_group (group, "dvm/session", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Comm_rank (comm, &rank);
  MPI_Comm_size (comm, &size);
  for (int i = 0; i < size; i++)
    {
      MPI_Sendrecv_replace (&passed, 1, MPI_INT, (rank + 1) % size, 1, (rank + size - 1) % size, 1, comm,
                            MPI_STATUS_IGNORE);
      sum += passed;
    }
  MPI_Barrier (comm);
  printf ("%d: %s %d of %d: %d\n", world_rank, name, rank, size, sum);
  MPI_Comm_free (&comm);
}

int
main (void)
{
  MPI_Session session;
  MPI_Group world;
  MPI_Group half;
  int rank;
  int size;

  MPI_Session_init (MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset (session, "mpi://WORLD", &world);
  MPI_Group_rank (world, &rank);
  MPI_Group_size (world, &size);
  use_group ("world", world, rank);
  use_group ("world", world, rank);
  MPI_Group_range_incl (world, 1, (int[1][3]){ { rank % 2, size - 1, 2 } }, &half);
  use_group ("half", half, rank);
  MPI_Group_free (&half);
  MPI_Group_free (&world);
  MPI_Session_finalize (&session);
  return 0;
}

#else

int
main (void)
{
  fputs ("This MPI has no sessions\n", stderr);
  return 1;
}

#endif
