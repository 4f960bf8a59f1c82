/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * P15, run by any launcher that has PMIx: each process puts SIZE bytes (default 1024) and fences with everybody, ROUNDS
 * times (default 20); then ROUNDS fences without data. Rank 0 prints the medians in ms: with data, without.
 */

#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pmix_proc_t self;

static void
check (pmix_status_t status, const char *what)
{
  if (status == PMIX_SUCCESS)
    return;
  fprintf (stderr, "%u: %s: %s\n", self.rank, what, PMIx_Error_string (status));
  exit (1);
}

static double
now (void)
{
  struct timespec time;

  clock_gettime (CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void
fence (bool collect)
{
  pmix_proc_t all;
  pmix_info_t info;

  PMIX_LOAD_PROCID (&all, self.nspace, PMIX_RANK_WILDCARD);
  PMIX_INFO_LOAD (&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
  check (PMIx_Fence (&all, 1, &info, 1), "fence");
  PMIX_INFO_DESTRUCT (&info);
}

static void
put (const char *bytes, size_t size)
{
  pmix_value_t value;

  value.type = PMIX_BYTE_OBJECT;
  value.data.bo.bytes = (char *)bytes;
  value.data.bo.size = size;
  check (PMIx_Put (PMIX_GLOBAL, "bench-fence", &value), "put");
  check (PMIx_Commit (), "commit");
}

static int
compare (const void *a, const void *b)
{
  const double *one = a;
  const double *other = b;

  return (*one > *other) - (*one < *other);
}

static double
measure (int rounds, char *bytes, size_t size)
{
  double *times = calloc ((size_t)rounds, sizeof *times);
  double median;

  for (int i = 0; i < rounds; i++)
    {
      double start;

      fence (false);
      if (bytes != NULL)
        {
          memset (bytes, 'a' + i % 26, size);
          put (bytes, size);
        }
      start = now ();
      fence (bytes != NULL);
      times[i] = now () - start;
    }
  qsort (times, (size_t)rounds, sizeof *times, compare);
  median = times[rounds / 2];
  free (times);
  return median;
}

int
main (int argc, char **argv)
{
  int rounds = argc > 1 ? atoi (argv[1]) : 20;
  size_t size = argc > 2 ? (size_t)atol (argv[2]) : 1024;
  char *bytes = malloc (size);
  double with_data;
  double without;

  check (PMIx_Init (&self, NULL, 0), "init");
  with_data = measure (rounds, bytes, size);
  without = measure (rounds, NULL, 0);
  if (self.rank == 0)
    printf ("%.2f %.2f\n", with_data, without);
  check (PMIx_Finalize (NULL, 0), "finalize");
  free (bytes);
  return 0;
}
