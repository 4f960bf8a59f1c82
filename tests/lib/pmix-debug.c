/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "pmix-debug.h"

#include "pmix-pull.h"
#include "pmix-spawn.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_READY 64
#define LIMIT_MS  60000

static const pmix_proc_t *self;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char ready[MAX_READY][PMIX_MAX_NSLEN + 1];
static int n_ready;
static bool is_told;
static pmix_status_t told_status;

static void
on_ready (size_t number, pmix_status_t code, const pmix_proc_t *source, pmix_info_t info[], size_t n_info,
          pmix_info_t *results, size_t n_results, pmix_event_notification_cbfunc_fn_t callback, void *data)
{
  const char *nspace = "";
  const char *point = NULL;

  for (size_t i = 0; i < n_info; i++)
    if (strcmp (info[i].key, PMIX_NSPACE) == 0)
      nspace = info[i].value.data.string;
    else if (strcmp (info[i].key, PMIX_BREAKPOINT) == 0)
      point = info[i].value.data.string;
  flockfile (stdout);
  printf ("%u ready %s\n", self->rank, nspace);
  if (point != NULL)
    printf ("%u at %s\n", self->rank, point);
  fflush (stdout);
  funlockfile (stdout);
  pthread_mutex_lock (&lock);
  if (n_ready < MAX_READY)
    snprintf (ready[n_ready++], sizeof ready[0], "%s", nspace);
  pthread_mutex_unlock (&lock);
  if (callback != NULL)
    callback (PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static int
do_watch (void)
{
  pmix_status_t code = PMIX_READY_FOR_DEBUG;

  if (PMIx_Register_event_handler (&code, 1, NULL, 0, on_ready, NULL, NULL) < 0)
    exit (61);
  return 1;
}

static bool
is_ready (const char *nspace)
{
  bool found = false;

  pthread_mutex_lock (&lock);
  for (int i = 0; i < n_ready; i++)
    found = found || strcmp (ready[i], nspace) == 0;
  pthread_mutex_unlock (&lock);
  return found;
}

static int
do_ready (const char *nspace)
{
  for (int ms = 0; !is_ready (nspace); ms++)
    {
      if (ms == LIMIT_MS)
        exit (62);
      usleep (1000);
    }
  return 2;
}

static int
do_debugged (void)
{
  pmix_value_t *value = NULL;
  pmix_proc_t job;

  PMIX_LOAD_PROCID (&job, self->nspace, PMIX_RANK_WILDCARD);
  if (PMIx_Get (&job, PMIX_DEBUG_TARGET, NULL, 0, &value) != PMIX_SUCCESS || value->type != PMIX_PROC)
    exit (63);
  printf ("%u debugged %s.%d\n", self->rank, value->data.proc->nspace, (int)value->data.proc->rank);
  fflush (stdout);
  pmix_remember_nspace (value->data.proc->nspace);
  PMIX_VALUE_RELEASE (value);
  return 1;
}

static int
do_table (const char *key, const char *nspace)
{
  pmix_info_t *results = NULL;
  size_t n_results = 0;
  pmix_query_t query;
  pmix_status_t status;

  PMIX_QUERY_CONSTRUCT (&query);
  PMIX_ARGV_APPEND (status, query.keys, key);
  PMIX_QUERY_QUALIFIERS_CREATE (&query, 1);
  PMIX_INFO_LOAD (&query.qualifiers[0], PMIX_NSPACE, nspace, PMIX_STRING);
  status = PMIx_Query_info (&query, 1, &results, &n_results);
  if (status != PMIX_SUCCESS)
    pmix_print_status ("table", status);
  for (size_t i = 0; i < n_results && results[i].value.type == PMIX_DATA_ARRAY; i++)
    {
      const pmix_data_array_t *array = results[i].value.data.darray;
      const pmix_proc_info_t *rows = array->array;

      for (size_t j = 0; j < array->size; j++)
        printf ("%u table %s.%u %s %s %d\n", self->rank, rows[j].proc.nspace, rows[j].proc.rank, rows[j].hostname,
                rows[j].executable_name, (int)rows[j].pid);
    }
  fflush (stdout);
  PMIX_QUERY_DESTRUCT (&query);
  if (results != NULL)
    PMIX_INFO_FREE (results, n_results);
  return 2;
}

static void
on_told (pmix_status_t status, void *data)
{
  pthread_mutex_lock (&lock);
  told_status = status;
  is_told = true;
  pthread_mutex_unlock (&lock);
}

static bool
get_told (pmix_status_t *status)
{
  bool told;

  pthread_mutex_lock (&lock);
  told = is_told;
  *status = told_status;
  pthread_mutex_unlock (&lock);
  return told;
}

/* That of a tool calls back before the server has answered, with PMIX_SUCCESS, and again when it has (4.2.2). */
static int
do_let_go (const char *target)
{
  pmix_info_t info[2];
  pmix_proc_t proc;
  pmix_status_t status;
  pmix_status_t told = PMIX_SUCCESS;

  pmix_read_target (target, &proc);
  PMIX_INFO_LOAD (&info[0], PMIX_EVENT_CUSTOM_RANGE, &proc, PMIX_PROC);
  PMIX_INFO_LOAD (&info[1], PMIX_EVENT_NON_DEFAULT, NULL, PMIX_BOOL);
  is_told = false;
  status = PMIx_Notify_event (PMIX_DEBUGGER_RELEASE, NULL, PMIX_RANGE_CUSTOM, info, 2, on_told, NULL);
  for (int ms = 0; status == PMIX_SUCCESS && !get_told (&told); ms++)
    {
      if (ms == LIMIT_MS)
        exit (64);
      usleep (1000);
    }
  pmix_print_status ("let-go", status == PMIX_SUCCESS ? told : status);
  return 2;
}

int
pmix_debug_command (const pmix_proc_t *proc, char **argv)
{
  self = proc;
  if (strcmp (argv[0], "watch") == 0)
    return do_watch ();
  if (strcmp (argv[0], "debugged") == 0)
    return do_debugged ();
  if (argv[1] == NULL)
    return -1;
  if (strcmp (argv[0], "ready") == 0)
    return do_ready (pmix_find_nspace (argv[1]));
  if (strcmp (argv[0], "table") == 0)
    return do_table (PMIX_QUERY_PROC_TABLE, pmix_find_nspace (argv[1]));
  if (strcmp (argv[0], "local-table") == 0)
    return do_table (PMIX_QUERY_LOCAL_PROC_TABLE, pmix_find_nspace (argv[1]));
  if (strcmp (argv[0], "let-go") == 0)
    return do_let_go (argv[1]);
  return -1;
}
