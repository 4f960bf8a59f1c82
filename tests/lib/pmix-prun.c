/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A launcher that is a PMIx tool, which makes the calls of prun of PRRTE 4.1 in its order: FILE [--late PATH] PROGRAM
 * ARGUMENT... Its status is that of the job, 90 if its input is said to have failed. --late: the end of the job is
 * asked for when that file is there.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pmix_tool.h>

#define STATUS_INPUT 90

typedef struct
{
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  bool is_done;
  int status;
} Lock;

static pmix_proc_t self;
static Lock ended = { .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void
check (pmix_status_t status, const char *what)
{
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED)
    return;
  fprintf (stderr, "%s: %s\n", what, PMIx_Error_string (status));
  exit (91);
}

static void
wake (Lock *lock, int status)
{
  pthread_mutex_lock (&lock->mutex);
  lock->is_done = true;
  lock->status = status;
  pthread_cond_broadcast (&lock->changed);
  pthread_mutex_unlock (&lock->mutex);
}

static int
wait_for (Lock *lock)
{
  pthread_mutex_lock (&lock->mutex);
  while (!lock->is_done)
    pthread_cond_wait (&lock->changed, &lock->mutex);
  pthread_mutex_unlock (&lock->mutex);
  return lock->status;
}

static void
on_registered (pmix_status_t status, size_t reference, void *data)
{
  wake (data, status == PMIX_SUCCESS ? (int)reference : -1);
}

static void
on_done (pmix_status_t status, void *data)
{
  wake (data, status);
}

static void
on_any (size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t n_info,
        pmix_info_t *results, size_t n_results, pmix_event_notification_cbfunc_fn_t callback, void *data)
{
  if (status == PMIX_ERR_IOF_FAILURE)
    _exit (STATUS_INPUT);
  if (callback != NULL)
    callback (PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void
on_end (size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t n_info,
        pmix_info_t *results, size_t n_results, pmix_event_notification_cbfunc_fn_t callback, void *data)
{
  int found = 92;
  Lock *lock = NULL;

  for (size_t i = 0; i < n_info; i++)
    if (PMIX_CHECK_KEY (&info[i], PMIX_JOB_TERM_STATUS))
      found = info[i].value.data.status;
    else if (PMIX_CHECK_KEY (&info[i], PMIX_EVENT_RETURN_OBJECT))
      lock = info[i].value.data.ptr;
  if (lock != NULL)
    wake (lock, found);
  callback (PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

/* Returns: its number */
static size_t
register_handler (pmix_status_t *code, pmix_info_t *info, size_t n_info, pmix_notification_fn_t handler)
{
  Lock lock = { .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

  PMIx_Register_event_handler (code, code != NULL ? 1 : 0, info, n_info, handler, on_registered, &lock);
  if (wait_for (&lock) < 0)
    exit (93);
  return (size_t)lock.status;
}

/* prun 4.0 and 4.1 take what the variable for it happens to have: here it is no. */
static void
spawn (char **argv, pmix_nspace_t nspace)
{
  const bool no = false;
  pmix_info_t info;
  pmix_app_t app;
  pmix_status_t rc;

  PMIX_APP_CONSTRUCT (&app);
  app.cmd = strdup (argv[0]);
  app.maxprocs = 1;
  for (; *argv != NULL; argv++)
    {
      PMIX_ARGV_APPEND (rc, app.argv, *argv);
      check (rc, "argv");
    }
  PMIX_INFO_LOAD (&info, PMIX_NOTIFY_COMPLETION, &no, PMIX_BOOL);
  check (PMIx_Spawn (&info, 1, &app, 1, nspace), "spawn");
  PMIX_APP_DESTRUCT (&app);
}

static void
push (const pmix_proc_t *target, const char *directive)
{
  Lock lock = { .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
  pmix_info_t info;
  pmix_status_t rc;

  PMIX_INFO_LOAD (&info, directive, NULL, PMIX_BOOL);
  rc = PMIx_IOF_push (target, target != NULL ? 1 : 0, NULL, &info, 1, on_done, &lock);
  check (rc, directive);
  if (rc == PMIX_SUCCESS)
    wait_for (&lock);
}

int
main (int argc, char **argv)
{
  char **words = argv + 2;
  const char *late = NULL;
  pmix_status_t code = PMIX_EVENT_JOB_END;
  pmix_info_t info[2];
  pmix_nspace_t nspace;
  pmix_proc_t target;
  size_t handler;
  void *object = &ended;
  Lock lock = { .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

  if (argc > 4 && strcmp (words[0], "--late") == 0)
    {
      late = words[1];
      words += 2;
    }
  PMIX_INFO_LOAD (&info[0], PMIX_TOOL_ATTACHMENT_FILE, argv[1], PMIX_STRING);
  check (PMIx_tool_init (&self, info, 1), "init");
  register_handler (NULL, NULL, 0, on_any);
  spawn (words, nspace);
  while (late != NULL && access (late, F_OK) != 0)
    usleep (10000);
  PMIX_LOAD_PROCID (&target, nspace, 0);
  push (&target, PMIX_IOF_PUSH_STDIN);
  target.rank = PMIX_RANK_WILDCARD;
  PMIX_INFO_LOAD (&info[0], PMIX_EVENT_AFFECTED_PROC, &target, PMIX_PROC);
  PMIX_INFO_LOAD (&info[1], PMIX_EVENT_RETURN_OBJECT, object, PMIX_POINTER);
  handler = register_handler (&code, info, 2, on_end);
  wait_for (&ended);
  PMIx_Deregister_event_handler (handler, on_done, &lock);
  wait_for (&lock);
  push (NULL, PMIX_IOF_COMPLETE);
  check (PMIx_tool_finalize (), "finalize");
  return ended.status;
}
