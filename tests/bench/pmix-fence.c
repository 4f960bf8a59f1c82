/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Fences in which each process has 1 KiB of new data (P15): pmix-fence [COUNT]. Rank 0 prints the milliseconds of one,
 * the median of all. Runs under any server of PMIx.
 */

#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DATA_SIZE 1024

static double
now (void)
{
  struct timespec time;

  clock_gettime (CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void
check (pmix_status_t status, const char *what)
{
  if (status == PMIX_SUCCESS)
    return;
  fprintf (stderr, "pmix-fence: %s: %s\n", what, PMIx_Error_string (status));
  exit (1);
}

static void
put (int i)
{
  char data[DATA_SIZE];
  char key[32];
  pmix_value_t value = { .type = PMIX_BYTE_OBJECT };

  memset (data, 'x', sizeof data);
  snprintf (key, sizeof key, "fence-%d", i);
  value.data.bo.bytes = data;
  value.data.bo.size = sizeof data;
  check (PMIx_Put (PMIX_GLOBAL, key, &value), "put");
  check (PMIx_Commit (), "commit");
}

static void
fence (const pmix_proc_t *self, bool collect)
{
  pmix_proc_t all;
  pmix_info_t info;

  PMIX_PROC_CONSTRUCT (&all);
  PMIX_LOAD_PROCID (&all, self->nspace, PMIX_RANK_WILDCARD);
  PMIX_INFO_CONSTRUCT (&info);
  PMIX_INFO_LOAD (&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
  check (PMIx_Fence (&all, 1, &info, 1), "fence");
  PMIX_INFO_DESTRUCT (&info);
}

static int
compare (const void *one, const void *other)
{
  return *(const double *)one < *(const double *)other ? -1 : 1;
}

int
main (int argc, char **argv)
{
  int count = argc > 1 ? atoi (argv[1]) : 15;
  double *times = calloc (count > 0 ? (size_t)count : 1, sizeof *times);
  pmix_proc_t self;

  if (times == NULL || count < 1)
    return 2;
  check (PMIx_Init (&self, NULL, 0), "init");
  fence (&self, false);
  for (int i = 0; i < count; i++)
    {
      double start;

      put (i);
      fence (&self, false);
      start = now ();
      fence (&self, true);
      times[i] = now () - start;
    }
  if (self.rank == 0)
    {
      qsort (times, (size_t)count, sizeof *times, compare);
      printf ("%.3f\n", times[count / 2]);
    }
  check (PMIx_Finalize (NULL, 0), "finalize");
  free (times);
  return 0;
}
