/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The least that a PMIx server can do: one job of N local clients, registered, started, waited for. Prints the
 * milliseconds from the registration to the last exit (P17's floor). No DVM, no GLib main loop. With --told the clients
 * are told what a DVM tells them of each rank and of the node's topology, and each of them has to store it.
 */

#include <ftw.h>
#include <pmix.h>
#include <pmix_server.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int n_done;

static void
on_done (pmix_status_t status, void *data)
{
  pthread_mutex_lock (&lock);
  n_done++;
  pthread_cond_signal (&changed);
  pthread_mutex_unlock (&lock);
}

static void
wait_for (pmix_status_t status, int wanted)
{
  if (status == PMIX_OPERATION_SUCCEEDED)
    on_done (PMIX_SUCCESS, NULL);
  else if (status != PMIX_SUCCESS)
    {
      fprintf (stderr, "%s\n", PMIx_Error_string (status));
      exit (1);
    }
  pthread_mutex_lock (&lock);
  while (n_done < wanted)
    pthread_cond_wait (&changed, &lock);
  pthread_mutex_unlock (&lock);
}

static pmix_status_t
connected (const pmix_proc_t *proc, void *object, pmix_info_t info[], size_t n, pmix_op_cbfunc_t func, void *data)
{
  return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t
finalized (const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t func, void *data)
{
  return PMIX_OPERATION_SUCCEEDED;
}

static pmix_server_module_t module = { .client_connected2 = connected, .client_finalized = finalized };

static double
now (void)
{
  struct timespec time;

  clock_gettime (CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

/* The keys are those that dvmd-pmix-jobinfo.c gives to a local rank that is not bound, and their values as long. */
static void
tell_rank (pmix_info_t *row, uint32_t rank)
{
  uint16_t place = rank;
  uint32_t zero = 0;
  char dir[96];
  pmix_data_array_t array = { .type = PMIX_INFO, .size = 13 };
  pmix_info_t *keys;

  snprintf (dir, sizeof dir, "/run/user/1000/dvm/default/agent-01234567-1/sessions/dvm-01234567@1/%u", rank);
  PMIX_INFO_CREATE (keys, array.size);
  array.array = keys;
  PMIX_INFO_LOAD (&keys[0], PMIX_RANK, &rank, PMIX_PROC_RANK);
  PMIX_INFO_LOAD (&keys[1], PMIX_GLOBAL_RANK, &rank, PMIX_PROC_RANK);
  PMIX_INFO_LOAD (&keys[2], PMIX_APPNUM, &zero, PMIX_UINT32);
  PMIX_INFO_LOAD (&keys[3], PMIX_APP_RANK, &rank, PMIX_PROC_RANK);
  PMIX_INFO_LOAD (&keys[4], PMIX_LOCAL_RANK, &place, PMIX_UINT16);
  PMIX_INFO_LOAD (&keys[5], PMIX_NODE_RANK, &place, PMIX_UINT16);
  PMIX_INFO_LOAD (&keys[6], PMIX_NODEID, &zero, PMIX_UINT32);
  PMIX_INFO_LOAD (&keys[7], PMIX_HOSTNAME, "here", PMIX_STRING);
  PMIX_INFO_LOAD (&keys[8], PMIX_REINCARNATION, &zero, PMIX_UINT32);
  PMIX_INFO_LOAD (&keys[9], PMIX_PROCDIR, dir, PMIX_STRING);
  PMIX_INFO_LOAD (&keys[10], PMIX_CPUSET, "hwloc:0-1", PMIX_STRING);
  PMIX_INFO_LOAD (&keys[11], PMIX_LOCALITY_STRING, "hwloc:SK0:L30:L20-1:L10-1:CR0-1:HT0-1", PMIX_STRING);
  PMIX_INFO_LOAD (&keys[12], PMIX_PACKAGE_RANK, &place, PMIX_UINT16);
  PMIX_INFO_LOAD (row, PMIX_PROC_INFO_ARRAY, &array, PMIX_DATA_ARRAY);
  PMIX_INFO_FREE (keys, array.size);
}

static void
register_job (const pmix_nspace_t nspace, uint32_t n, int told)
{
  size_t n_info = told ? 4 + n : 4;
  pmix_info_t *info;
  char *text = malloc (8 * n + 1);
  char *map;
  size_t length = 0;

  PMIX_INFO_CREATE (info, n_info);
  for (uint32_t i = 0; i < n; i++)
    length += sprintf (text + length, "%s%u", i > 0 ? "," : "", i);
  PMIX_INFO_LOAD (&info[0], PMIX_JOB_SIZE, &n, PMIX_UINT32);
  PMIX_INFO_LOAD (&info[1], PMIX_LOCAL_PEERS, text, PMIX_STRING);
  PMIx_generate_regex ("here", &map);
  PMIX_INFO_LOAD (&info[2], PMIX_NODE_MAP, map, PMIX_REGEX);
  PMIx_generate_ppn (text, &map);
  PMIX_INFO_LOAD (&info[3], PMIX_PROC_MAP, map, PMIX_REGEX);
  for (uint32_t rank = 0; rank + 4 < n_info; rank++)
    tell_rank (&info[4 + rank], rank);
  wait_for (PMIx_server_register_nspace (nspace, n, info, n_info, on_done, NULL), 1);
  PMIX_INFO_FREE (info, n_info);
  free (text);
}

static void
start_client (const pmix_nspace_t nspace, uint32_t rank, char **argv)
{
  pmix_proc_t proc;
  char **env = NULL;
  pid_t pid;

  PMIX_LOAD_PROCID (&proc, nspace, rank);
  wait_for (PMIx_server_register_client (&proc, getuid (), getgid (), NULL, on_done, NULL), rank + 2);
  for (char **entry = environ; *entry != NULL; entry++)
    {
      pmix_status_t status;

      PMIX_ARGV_APPEND (status, env, *entry);
      if (status != PMIX_SUCCESS)
        exit (1);
    }
  PMIx_server_setup_fork (&proc, &env);
  if (posix_spawnp (&pid, argv[0], NULL, NULL, argv, env) != 0)
    exit (1);
}

static int
remove_entry (const char *path, const struct stat *status, int kind, struct FTW *place)
{
  return remove (path);
}

/* The library leaves some of its files behind. */
static void
remove_directory (const char *path)
{
  nftw (path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

int
main (int argc, char **argv)
{
  int told = argc > 1 && strcmp (argv[1], "--told") == 0;
  uint32_t n = argc > 2 + told ? (uint32_t)atoi (argv[1 + told]) : 0;
  char directory[] = "/tmp/bare-pmix-XXXXXX";
  pmix_info_t info[2];
  bool share = told;
  pmix_nspace_t nspace = "bare";
  double start;

  if (n == 0 || mkdtemp (directory) == NULL)
    {
      fprintf (stderr, "usage: bare-pmix [--told] N PROGRAM [ARGS]\n");
      return 2;
    }
  setenv ("PMIX_MCA_gds", "hash", 1);
  PMIX_INFO_LOAD (&info[0], PMIX_SERVER_TMPDIR, directory, PMIX_STRING);
  PMIX_INFO_LOAD (&info[1], PMIX_SERVER_SHARE_TOPOLOGY, &share, PMIX_BOOL);
  if (PMIx_server_init (&module, info, 2) != PMIX_SUCCESS)
    {
      remove_directory (directory);
      return 1;
    }
  start = now ();
  register_job (nspace, n, told);
  for (uint32_t rank = 0; rank < n; rank++)
    start_client (nspace, rank, argv + 2 + told);
  for (uint32_t i = 0; i < n; i++)
    wait (NULL);
  printf ("%.1f\n", now () - start);
  PMIx_server_finalize ();
  remove_directory (directory);
  return 0;
}
