/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/*
 * A PMIx client for the tests; the first argument says what it does. It prints one line of what it found and exits with
 * 0, or with a number that says where it failed.
 */

#include <pmix.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pmix-library.h"
#include "pmix-words.h"

static pmix_proc_t self;
static uint32_t job_size;

static void
check (pmix_status_t status, const char *what, int code)
{
  if (status == PMIX_SUCCESS)
    return;
  fprintf (stderr, "%u: %s: %s\n", self.rank, what, pmix_status_word (status));
  exit (code);
}

static pmix_status_t
fence (bool collect)
{
  pmix_proc_t all;
  pmix_info_t info;
  pmix_status_t status;

  PMIX_LOAD_PROCID (&all, self.nspace, PMIX_RANK_WILDCARD);
  PMIX_INFO_LOAD (&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
  status = PMIx_Fence (&all, 1, &info, 1);
  PMIX_INFO_DESTRUCT (&info);
  return status;
}

static void
put (const char *key, const char *text)
{
  pmix_value_t value;

  PMIX_VALUE_LOAD (&value, text, PMIX_STRING);
  check (PMIx_Put (PMIX_GLOBAL, key, &value), "put", 11);
  PMIX_VALUE_DESTRUCT (&value);
}

/* A value as text; the string is the caller's. */
static char *
get_with (const char *key, pmix_rank_t rank, const pmix_info_t *info, size_t n_info)
{
  pmix_proc_t proc;
  pmix_value_t *value = NULL;
  char *text = NULL;

  PMIX_LOAD_PROCID (&proc, self.nspace, rank);
  if (PMIx_Get (&proc, key, info, n_info, &value) != PMIX_SUCCESS)
    return strdup ("-");
  if (value->type == PMIX_STRING)
    text = strdup (value->data.string);
  else
    {
      text = malloc (32);
      if (value->type == PMIX_UINT16)
        snprintf (text, 32, "%u", value->data.uint16);
      else if (value->type == PMIX_UINT64)
        snprintf (text, 32, "%llu", (unsigned long long)value->data.uint64);
      else if (value->type == PMIX_BOOL)
        snprintf (text, 32, "%s", value->data.flag ? "true" : "false");
      else
        snprintf (text, 32, "%u", value->data.uint32);
    }
  PMIX_VALUE_RELEASE (value);
  return text;
}

static char *
get (const char *key, pmix_rank_t rank)
{
  return get_with (key, rank, NULL, 0);
}

static char *
get_of_app (const char *key, uint32_t app)
{
  pmix_info_t info[2];

  PMIX_INFO_LOAD (&info[0], PMIX_APP_INFO, NULL, PMIX_BOOL);
  PMIX_INFO_LOAD (&info[1], PMIX_APPNUM, &app, PMIX_UINT32);
  return get_with (key, PMIX_RANK_WILDCARD, info, 2);
}

/* Everybody gets what everybody has put. */
static int
do_data (bool collect)
{
  char text[64];

  snprintf (text, sizeof text, "data of %u", self.rank);
  put ("test-key", text);
  check (PMIx_Commit (), "commit", 12);
  check (fence (collect), "fence", 13);
  for (uint32_t rank = 0; rank < job_size; rank++)
    {
      char *got = get ("test-key", rank);

      snprintf (text, sizeof text, "data of %u", rank);
      if (strcmp (got, text) != 0)
        {
          fprintf (stderr, "%u: rank %u has put “%s”\n", self.rank, rank, got);
          return 14;
        }
      free (got);
    }
  check (fence (false), "second fence", 15);
  printf ("%u ok\n", self.rank);
  return 0;
}

/* argv: keys, one ending in "!" is the job's, one in "@1" that of application 1. */
static int
do_keys (char **argv)
{
  for (; *argv != NULL; argv++)
    {
      size_t length = strlen (*argv);
      int wildcard = length > 0 && (*argv)[length - 1] == '!';
      const char *app = strchr (*argv, '@');
      char *key = strndup (*argv, app != NULL ? (size_t)(app - *argv) : length - (wildcard ? 1 : 0));
      char *text = app != NULL ? get_of_app (key, (uint32_t)atoi (app + 1))
                               : get (key, wildcard ? PMIX_RANK_WILDCARD : self.rank);

      printf ("%s%s=%s\n", key, app != NULL ? app : "", text);
      free (key);
      free (text);
    }
  return 0;
}

/* The last rank dies while the others wait for it. */
static int
do_die (bool before)
{
  pmix_status_t status;

  if (before)
    check (fence (false), "fence before", 21);
  if (self.rank == job_size - 1)
    {
      usleep (100000);
      raise (SIGKILL);
    }
  status = fence (true);
  if (!PMIX_LIBRARY_TELLS_ALL && status == PMIX_SUCCESS)
    {
      printf ("%u: not told\n", self.rank);
      return 0;
    }
  printf ("%u: %s\n", self.rank, pmix_status_word (status));
  return status == PMIX_SUCCESS ? 22 : 0;
}

/* The last rank dies before the others come to the fence. */
static int
do_die_first (void)
{
  if (self.rank == job_size - 1)
    raise (SIGKILL);
  usleep (500000);
  printf ("%u: %s\n", self.rank, pmix_status_word (fence (true)));
  return 0;
}

/* Statuses of fences of the job, of which one rank never comes: the second begins when the first has failed. */
static int
do_fences (void)
{
  printf ("%u: ready\n", self.rank);
  for (int turn = 0; turn < 2; turn++)
    {
      pmix_status_t status;

      fflush (stdout);
      status = fence (true);

      if (!PMIX_LIBRARY_TELLS_ALL && status == PMIX_SUCCESS)
        status = PMIX_ERR_LOST_CONNECTION;
      printf ("%u: fence %s\n", self.rank, pmix_status_word (status));
    }
  return 0;
}

static int
do_abort (void)
{
  if (self.rank != 0)
    {
      pause ();
      return 31;
    }
  PMIx_Abort (7, "no more", NULL, 0);
  return 7;
}

/* The last rank is on another node, which is not there: what the fence and the get say. */
static int
do_remote (void)
{
  pmix_status_t status;
  pmix_value_t *value = NULL;
  pmix_proc_t proc;

  put ("test-key", self.rank == 0 ? "of 0" : "of another");
  check (PMIx_Commit (), "commit", 51);
  status = fence (true);
  printf ("fence %s\n", pmix_status_word (status));
  fflush (stdout);
  PMIX_LOAD_PROCID (&proc, self.nspace, job_size - 1);
  if (self.rank == 0)
    printf ("get %s\n", pmix_status_word (PMIx_Get (&proc, "test-key", NULL, 0, &value)));
  return 0;
}

/* Functions that the server does not have must come back as refused, and at once. */
static int
do_unsupported (void)
{
  pmix_info_t info;
  pmix_pdata_t data;
  pmix_query_t query;
  pmix_info_t *results = NULL;
  size_t n_results = 0;
  pmix_status_t published, looked_up;
  pmix_app_t app;
  char *argv[] = { "true", NULL };
  pmix_nspace_t child;

  PMIX_INFO_LOAD (&info, "name", "value", PMIX_STRING);
  published = PMIx_Publish (&info, 1);
  PMIX_PDATA_CONSTRUCT (&data);
  PMIX_LOAD_KEY (data.key, "name");
  looked_up = PMIx_Lookup (&data, 1, NULL, 0);
  PMIX_APP_CONSTRUCT (&app);
  app.cmd = "true";
  app.argv = argv;
  app.maxprocs = 1;
  printf ("publish %s\n", pmix_status_word (published));
  printf ("lookup %s\n", pmix_status_word (looked_up));
  printf ("spawn %s\n", pmix_status_word (PMIx_Spawn (NULL, 0, &app, 1, child)));
  PMIX_QUERY_CONSTRUCT (&query);
  PMIX_ARGV_APPEND (published, query.keys, PMIX_QUERY_NAMESPACES);
  printf ("query %s\n", pmix_status_word (PMIx_Query_info (&query, 1, &results, &n_results)));
  printf ("allocate %s\n",
          pmix_status_word (PMIx_Allocation_request (PMIX_ALLOC_EXTERNAL, &info, 1, &results, &n_results)));
  PMIX_QUERY_DESTRUCT (&query);
  PMIX_INFO_DESTRUCT (&info);
  return 0;
}

static volatile int got_event;

static void
on_event (size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t n_info,
          pmix_info_t *results, size_t n_results, pmix_event_notification_cbfunc_fn_t callback, void *data)
{
  for (size_t i = 0; i < n_info; i++)
    if (strcmp (info[i].key, "test-detail") == 0 || strcmp (info[i].key, PMIX_HOSTNAME) == 0)
      printf ("%u: event %d, %s\n", self.rank, status, info[i].value.data.string);
    else if (strcmp (info[i].key, PMIX_EVENT_AFFECTED_PROCS) == 0)
      for (size_t k = 0; k < info[i].value.data.darray->size; k++)
        printf ("%u: without %u\n", self.rank, ((pmix_proc_t *)info[i].value.data.darray->array)[k].rank);
  got_event++;
  if (callback != NULL)
    callback (PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static int
do_event (pmix_status_t code)
{
  if (PMIx_Register_event_handler (&code, 1, NULL, 0, on_event, NULL, NULL) < 0)
    return 41;
  check (fence (false), "fence", 42);
  printf ("%u: ready\n", self.rank);
  fflush (stdout);
  while (!got_event)
    usleep (1000);
  usleep (50000);
  return got_event == 1 ? 0 : 43;
}

/* Rank 1 is lost with its node while the others wait for it; then they go on among themselves. */
static int
do_survive (void)
{
  pmix_status_t code = PMIX_EVENT_NODE_DOWN;
  pmix_proc_t others[2];

  PMIX_LOAD_PROCID (&others[0], self.nspace, 0);
  PMIX_LOAD_PROCID (&others[1], self.nspace, 2);
  if (PMIx_Register_event_handler (&code, 1, NULL, 0, on_event, NULL, NULL) < 0)
    return 41;
  check (fence (false), "fence", 42);
  printf ("%u: ready\n", self.rank);
  fflush (stdout);
  while (self.rank == 1)
    pause ();
  printf ("%u: all %s\n", self.rank, pmix_status_word (fence (true)));
  while (!got_event)
    usleep (1000);
  printf ("%u: others %s\n", self.rank, pmix_status_word (PMIx_Fence (others, 2, NULL, 0)));
  return 0;
}

/* Of all ranks, one, or some. */
static bool
is_told_to_stop (void)
{
  pmix_value_t *value = NULL;
  pmix_proc_t job = self;
  bool told;

  job.rank = PMIX_RANK_WILDCARD;
  if (PMIx_Get (&job, PMIX_DEBUG_STOP_IN_APP, NULL, 0, &value) != PMIX_SUCCESS)
    return false;
  if (value->type == PMIX_DATA_ARRAY)
    told = value->data.darray->type == PMIX_PROC_RANK && value->data.darray->size > 0;
  else
    told = value->type == PMIX_PROC_RANK || (value->type == PMIX_BOOL && value->data.flag);
  PMIX_VALUE_RELEASE (value);
  return told;
}

/* Waits for a debugger at a place of its own, as the job's stop-in-app says, whoever is meant. */
static int
do_stop (void)
{
  pmix_status_t code = PMIX_DEBUGGER_RELEASE;
  pmix_info_t info[2];
  bool yes = true;

  if (!is_told_to_stop () || PMIx_Register_event_handler (&code, 1, NULL, 0, on_event, NULL, NULL) < 0)
    return 61;
  PMIX_INFO_LOAD (&info[0], PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL);
  PMIX_INFO_LOAD (&info[1], PMIX_BREAKPOINT, "after-init", PMIX_STRING);
  check (PMIx_Notify_event (PMIX_READY_FOR_DEBUG, &self, PMIX_RANGE_RM, info, 2, NULL, NULL), "notify", 62);
  while (!got_event)
    usleep (1000);
  printf ("%u gone on\n", self.rank);
  return 0;
}

static void
on_server_gone (size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t n_info,
                pmix_info_t *results, size_t n_results, pmix_event_notification_cbfunc_fn_t callback, void *data)
{
  _exit (74);
}

static void
on_signal (int number)
{
  _exit (74);
}

/* Ends by itself as soon as its server does, or by SIGUSR1. */
static int
do_follow (void)
{
  pmix_status_t code = PMIX_ERR_LOST_CONNECTION;

  signal (SIGUSR1, on_signal);
  if (PMIx_Register_event_handler (&code, 1, NULL, 0, on_server_gone, NULL, NULL) < 0)
    return 41;
  printf ("%u: ready\n", self.rank);
  fflush (stdout);
  while (true)
    pause ();
}

/* The first n ranks never come to the fence. */
static int
do_fence_without (unsigned n)
{
  printf ("%u: ready\n", self.rank);
  fflush (stdout);
  while (self.rank < n)
    pause ();
  return fence (false) == PMIX_SUCCESS ? 0 : 71;
}

/* A fence that brings so many bytes of each rank to all. */
static int
do_fence_of (int size)
{
  char *text = malloc (size + 1);

  memset (text, 'x', size);
  text[size] = '\0';
  put ("much", text);
  free (text);
  return fence (true) == PMIX_SUCCESS ? 0 : 72;
}

static sem_t answered;
static pmix_status_t answer;

/* The library at hand may pass something else than what it was given as cbdata: its own side of the server's fault. */
static void
on_answer (pmix_status_t rc, pmix_info_t *info, size_t n_info, void *cbdata, pmix_release_cbfunc_t release,
           void *release_cbdata)
{
  answer = rc;
  if (release != NULL)
    release (release_cbdata);
  sem_post (&answered);
}

/* A question that some versions of the library die of. value (nullable) */
static int
do_ask (const char *key, const char *value)
{
  pmix_query_t query;
  pmix_status_t rc;

  sem_init (&answered, 0, 0);
  PMIX_QUERY_CONSTRUCT (&query);
  PMIX_ARGV_APPEND (rc, query.keys, PMIX_QUERY_ATTRIBUTE_SUPPORT);
  PMIX_QUERY_QUALIFIERS_CREATE (&query, 1);
  PMIX_INFO_LOAD (&query.qualifiers[0], key, value, value != NULL ? PMIX_STRING : PMIX_BOOL);
  rc = PMIx_Query_info_nb (&query, 1, on_answer, NULL);
  if (rc == PMIX_SUCCESS)
    {
      sem_wait (&answered);
      rc = answer;
    }
  PMIX_QUERY_DESTRUCT (&query);
  printf ("%s: %s\n", key, pmix_status_word (rc));
  return 0;
}

static int
run (int argc, char **argv)
{
  const char *verb = argc > 1 ? argv[1] : "data";

  if (strcmp (verb, "nothing") == 0)
    return 0;
  if (strcmp (verb, "wait") == 0)
    return pause ();
  if (strcmp (verb, "data") == 0)
    return do_data (true);
  if (strcmp (verb, "data-direct") == 0)
    return do_data (false);
  if (strcmp (verb, "keys") == 0)
    return do_keys (argv + 2);
  if (strcmp (verb, "die") == 0)
    return do_die (false);
  if (strcmp (verb, "die-later") == 0)
    return do_die (true);
  if (strcmp (verb, "die-first") == 0)
    return do_die_first ();
  if (strcmp (verb, "fences") == 0)
    return do_fences ();
  if (strcmp (verb, "remote") == 0)
    return do_remote ();
  if (strcmp (verb, "abort") == 0)
    return do_abort ();
  if (strcmp (verb, "unsupported") == 0)
    return do_unsupported ();
  if (strcmp (verb, "event") == 0)
    return do_event (PMIX_EVENT_JOB_END);
  if (strcmp (verb, "node-down") == 0)
    return do_event (PMIX_EVENT_NODE_DOWN);
  if (strcmp (verb, "survive") == 0)
    return do_survive ();
  if (strcmp (verb, "stop") == 0)
    return do_stop ();
  if (strcmp (verb, "follow") == 0)
    return do_follow ();
  if (strcmp (verb, "fence-without") == 0)
    return do_fence_without ((unsigned)atoi (argv[2]));
  if (strcmp (verb, "fence-of") == 0)
    return do_fence_of (atoi (argv[2]));
  if (strcmp (verb, "ask") == 0)
    return do_ask (argv[2], argv[3]);
  return 2;
}

int
main (int argc, char **argv)
{
  char *size;
  int code;

  check (PMIx_Init (&self, NULL, 0), "init", 10);
  size = get (PMIX_JOB_SIZE, PMIX_RANK_WILDCARD);
  job_size = (uint32_t)strtoul (size, NULL, 10);
  free (size);
  code = run (argc, argv);
  fflush (stdout);
  if (code == 0)
    check (PMIx_Finalize (NULL, 0), "finalize", 16);
  return code;
}
