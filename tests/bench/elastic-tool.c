/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A PMIx tool that grows and shrinks a DVM, for any launcher that serves allocation requests: "elastic" builds it with
 * the PMIx of the peer. Each line of standard input is "grow LIST" or "shrink LIST"; the answer is a line with the
 * status of the request, that of the event, and the ms from the request to its answer and to the event.
 */

#include <pmix_tool.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Not every header has them. */
#define DVM_IS_READY (-195)
#define ERR_DVM_MOD  (-196)

#define LIMIT_SECONDS 60

static struct
{
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int n_events;
  pmix_status_t status;
  struct timespec time;
} seen = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, { 0, 0 } };

static void
on_event (size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t n_info,
          pmix_info_t results[], size_t n_results, pmix_event_notification_cbfunc_fn_t done, void *done_data)
{
  (void)id, (void)source, (void)info, (void)n_info, (void)results, (void)n_results;
  pthread_mutex_lock (&seen.lock);
  clock_gettime (CLOCK_MONOTONIC, &seen.time);
  seen.n_events++;
  seen.status = status;
  pthread_cond_signal (&seen.changed);
  pthread_mutex_unlock (&seen.lock);
  if (done != NULL)
    done (PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, done_data);
}

static double
ms_since (const struct timespec *start, const struct timespec *end)
{
  return (double)(end->tv_sec - start->tv_sec) * 1e3 + (double)(end->tv_nsec - start->tv_nsec) / 1e6;
}

/* 0 when no event came in time */
static pmix_status_t
await_event (int n_before, struct timespec *time)
{
  struct timespec limit;
  pmix_status_t status = 0;

  clock_gettime (CLOCK_REALTIME, &limit);
  limit.tv_sec += LIMIT_SECONDS;
  pthread_mutex_lock (&seen.lock);
  while (seen.n_events == n_before && pthread_cond_timedwait (&seen.changed, &seen.lock, &limit) == 0)
    ;
  if (seen.n_events > n_before)
    status = seen.status;
  *time = seen.time;
  pthread_mutex_unlock (&seen.lock);
  return status;
}

static void
change (const char *what, const char *list)
{
  pmix_alloc_directive_t directive = strcmp (what, "grow") == 0 ? PMIX_ALLOC_NEW : PMIX_ALLOC_RELEASE;
  struct timespec start, answered, event;
  pmix_info_t *results = NULL;
  pmix_status_t status, ended = 0;
  pmix_info_t request[1];
  size_t n_results = 0;
  int n_before;

  PMIX_INFO_LOAD (&request[0], PMIX_ALLOC_NODE_LIST, list, PMIX_STRING);
  pthread_mutex_lock (&seen.lock);
  n_before = seen.n_events;
  pthread_mutex_unlock (&seen.lock);
  clock_gettime (CLOCK_MONOTONIC, &start);
  status = PMIx_Allocation_request (directive, request, 1, &results, &n_results);
  clock_gettime (CLOCK_MONOTONIC, &answered);
  event = answered;
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED)
    ended = await_event (n_before, &event);
  printf ("%d %d %.3f %.3f\n", status, ended, ms_since (&start, &answered), ms_since (&start, &event));
  fflush (stdout);
  PMIX_INFO_DESTRUCT (&request[0]);
}

int
main (int argc, char **argv)
{
  pmix_status_t codes[] = { DVM_IS_READY, ERR_DVM_MOD };
  char line[65536], what[16], list[65000];
  pmix_info_t info[1];
  pmix_status_t status;
  pmix_proc_t self;

  if (argc != 2)
    return 2;
  PMIX_INFO_LOAD (&info[0], PMIX_SERVER_URI, argv[1], PMIX_STRING);
  status = PMIx_tool_init (&self, info, 1);
  if (status != PMIX_SUCCESS)
    {
      fprintf (stderr, "PMIx_tool_init: %s\n", PMIx_Error_string (status));
      return 1;
    }
  status = PMIx_Register_event_handler (codes, 2, NULL, 0, on_event, NULL, NULL);
  printf ("ready %d\n", status);
  fflush (stdout);
  while (fgets (line, sizeof line, stdin) != NULL)
    if (sscanf (line, "%15s %64999s", what, list) == 2)
      change (what, list);
  PMIx_tool_finalize ();
  return 0;
}
