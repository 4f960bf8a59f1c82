/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/*
 * A PMIx client for the tests that gives an attribute a value that it must not have: its arguments are triples of a
 * function, a key and a kind of value.
 *
 * Functions: fence, get, publish, lookup, unpublish, spawn, connect, disconnect, query, log, alloc, control,
 * credential, validate, register, notify, monitor (the key is what is watched), watch (a directive of a file's
 * monitor), pull, push, group.
 *
 * Kinds: flag, text, none (a text that is not there), address (a number, at which this program has a process and the
 * server has nothing), large, negative, proc, procs, texts, empty (an array), =TEXT.
 *
 * Each is a line on its output: "FUNCTION KEY KIND STATUS".
 *
 * --killed TIME: the last word: it asks for everything that is answered later, and kills itself so many microseconds
 * after that.
 */

#include <pmix.h>
#include <pmix_tool.h>

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pmix-words.h"

/* Numbers have the address of this one: the client's own library can read there, whatever it takes it for. */
static struct
{
  pmix_proc_t proc;
  char rest[4096];
} object;

static pmix_proc_t self;

typedef struct
{
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  bool done;
  pmix_status_t status;
} Answer;

static void
answer_begin (Answer *answer)
{
  *answer = (Answer){ .done = false };
  pthread_mutex_init (&answer->mutex, NULL);
  pthread_cond_init (&answer->changed, NULL);
}

static void
answer_end (Answer *answer, pmix_status_t status)
{
  pthread_mutex_lock (&answer->mutex);
  answer->done = true;
  answer->status = status;
  pthread_cond_broadcast (&answer->changed);
  pthread_mutex_unlock (&answer->mutex);
}

static pmix_status_t
answer_wait (Answer *answer, pmix_status_t begun)
{
  if (begun != PMIX_SUCCESS)
    return begun;
  pthread_mutex_lock (&answer->mutex);
  while (!answer->done)
    pthread_cond_wait (&answer->changed, &answer->mutex);
  pthread_mutex_unlock (&answer->mutex);
  return answer->status;
}

/* ---- values ---- */

static bool
load_array (pmix_info_t *info, const char *key, const char *kind)
{
  char *texts[] = { "text" };
  pmix_data_array_t array = { .type = PMIX_STRING, .size = 1, .array = texts };

  if (strcmp (kind, "procs") == 0)
    array = (pmix_data_array_t){ .type = PMIX_PROC, .size = 1, .array = &self };
  else if (strcmp (kind, "empty") == 0)
    array = (pmix_data_array_t){ .type = PMIX_INFO, .size = 0, .array = NULL };
  else if (strcmp (kind, "texts") != 0)
    return false;
  PMIX_INFO_LOAD (info, key, &array, PMIX_DATA_ARRAY);
  return true;
}

static void
load (pmix_info_t *info, const char *key, const char *kind)
{
  const bool yes = true;
  const uint64_t address = (uint64_t)(uintptr_t)&object;
  const uint32_t large = UINT32_MAX;
  const int negative = -1;

  if (strcmp (kind, "flag") == 0 || strcmp (kind, "required") == 0)
    PMIX_INFO_LOAD (info, key, &yes, PMIX_BOOL);
  else if (strcmp (kind, "text") == 0)
    PMIX_INFO_LOAD (info, key, "text", PMIX_STRING);
  else if (kind[0] == '=')
    PMIX_INFO_LOAD (info, key, kind + 1, PMIX_STRING);
  else if (strcmp (kind, "none") == 0)
    PMIX_INFO_LOAD (info, key, NULL, PMIX_STRING);
  else if (strcmp (kind, "address") == 0)
    PMIX_INFO_LOAD (info, key, &address, PMIX_UINT64);
  else if (strcmp (kind, "large") == 0)
    PMIX_INFO_LOAD (info, key, &large, PMIX_UINT32);
  else if (strcmp (kind, "negative") == 0)
    PMIX_INFO_LOAD (info, key, &negative, PMIX_INT);
  else if (strcmp (kind, "proc") == 0)
    PMIX_INFO_LOAD (info, key, &self, PMIX_PROC);
  else if (!load_array (info, key, kind))
    exit (34);
  if (strcmp (kind, "required") == 0)
    PMIX_INFO_REQUIRED (info);
}

/* ---- functions ---- */

static pmix_status_t
fence (pmix_info_t *info)
{
  return PMIx_Fence (NULL, 0, info, 1);
}

/* Of a node, for which the server looks by the qualifier. */
static pmix_status_t
get (pmix_info_t *info)
{
  const bool yes = true;
  pmix_info_t qualifiers[2];
  pmix_value_t *value = NULL;
  pmix_proc_t job;
  pmix_status_t rc;

  PMIX_LOAD_PROCID (&job, self.nspace, PMIX_RANK_WILDCARD);
  qualifiers[0] = *info;
  PMIX_INFO_LOAD (&qualifiers[1], PMIX_NODE_INFO, &yes, PMIX_BOOL);
  rc = PMIx_Get (&job, "pmix.nothing", qualifiers, 2, &value);
  if (rc == PMIX_SUCCESS)
    PMIX_VALUE_RELEASE (value);
  return rc;
}

static pmix_status_t
publish (pmix_info_t *info)
{
  pmix_info_t all[2];

  PMIX_INFO_LOAD (&all[0], "wrong", "text", PMIX_STRING);
  all[1] = *info;
  return PMIx_Publish (all, 2);
}

static pmix_status_t
lookup (pmix_info_t *info)
{
  pmix_pdata_t data;

  PMIX_PDATA_CONSTRUCT (&data);
  PMIX_LOAD_KEY (data.key, "nothing");
  return PMIx_Lookup (&data, 1, info, 1);
}

static pmix_status_t
unpublish (pmix_info_t *info)
{
  char *keys[] = { "nothing", NULL };

  return PMIx_Unpublish (keys, info, 1);
}

static pmix_status_t
spawn (pmix_info_t *info)
{
  pmix_app_t app;
  pmix_nspace_t nspace;
  pmix_status_t rc;

  PMIX_APP_CONSTRUCT (&app);
  app.cmd = strdup ("true");
  app.maxprocs = 1;
  PMIX_ARGV_APPEND (rc, app.argv, "true");
  if (rc == PMIX_SUCCESS)
    rc = PMIx_Spawn (info, 1, &app, 1, nspace);
  PMIX_APP_DESTRUCT (&app);
  return rc;
}

static pmix_status_t
connect_procs (pmix_info_t *info)
{
  return PMIx_Connect (&self, 1, info, 1);
}

static pmix_status_t
disconnect_procs (pmix_info_t *info)
{
  return PMIx_Disconnect (&self, 1, info, 1);
}

static void
on_info (pmix_status_t status, pmix_info_t *info, size_t n_info, void *data, pmix_release_cbfunc_t release,
         void *release_data)
{
  answer_end (data, status);
  if (release != NULL)
    release (release_data);
}

static pmix_status_t
query (pmix_info_t *info)
{
  char *keys[] = { PMIX_QUERY_PROC_TABLE, NULL };
  pmix_query_t asked = { .keys = keys, .qualifiers = info, .nqual = 1 };
  Answer answer;

  answer_begin (&answer);
  return answer_wait (&answer, PMIx_Query_info_nb (&asked, 1, on_info, &answer));
}

static pmix_status_t
write_log (pmix_info_t *info)
{
  pmix_info_t text;

  PMIX_INFO_LOAD (&text, PMIX_LOG_STDERR, "text", PMIX_STRING);
  return PMIx_Log (strncmp (info->key, "pmix.log.std", 12) == 0 ? info : &text, 1, info, 1);
}

static pmix_status_t
allocate (pmix_info_t *info)
{
  pmix_info_t *results = NULL;
  size_t n_results = 0;

  return PMIx_Allocation_request (PMIX_ALLOC_EXTEND, info, 1, &results, &n_results);
}

static pmix_status_t
control (pmix_info_t *info)
{
  pmix_info_t *results = NULL;
  size_t n_results = 0;

  return PMIx_Job_control (&self, 1, info, 1, &results, &n_results);
}

static pmix_status_t
credential (pmix_info_t *info)
{
  pmix_byte_object_t bytes = { NULL, 0 };

  return PMIx_Get_credential (info, 1, &bytes);
}

static pmix_status_t
validate (pmix_info_t *info)
{
  pmix_byte_object_t bytes = { "none", 4 };
  pmix_info_t *results = NULL;
  size_t n_results = 0;

  return PMIx_Validate_credential (&bytes, info, 1, &results, &n_results);
}

static void
on_event (size_t registration, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t n_info,
          pmix_info_t *results, size_t n_results, pmix_event_notification_cbfunc_fn_t callback, void *callback_data)
{
  if (callback != NULL)
    callback (PMIX_SUCCESS, NULL, 0, NULL, NULL, callback_data);
}

static pmix_status_t
register_handler (pmix_info_t *info)
{
  pmix_status_t code = -3001;
  int id = PMIx_Register_event_handler (&code, 1, info, 1, on_event, NULL, NULL);

  return id < 0 ? id : PMIX_SUCCESS;
}

static void
on_done (pmix_status_t status, void *data)
{
  answer_end (data, status);
}

static pmix_status_t
notify (pmix_info_t *info)
{
  Answer answer;

  answer_begin (&answer);
  return answer_wait (&answer, PMIx_Notify_event (-3001, &self, PMIX_RANGE_GLOBAL, info, 1, on_done, &answer));
}

static pmix_status_t
monitor (pmix_info_t *info)
{
  const uint32_t one = 1;
  const bool yes = true;
  pmix_info_t directives[2];
  pmix_info_t *results = NULL;
  size_t n_results = 0;

  PMIX_INFO_LOAD (&directives[0], PMIX_MONITOR_FILE_SIZE, &yes, PMIX_BOOL);
  PMIX_INFO_LOAD (&directives[1], PMIX_MONITOR_FILE_CHECK_TIME, &one, PMIX_UINT32);
  return PMIx_Process_monitor (info, PMIX_MONITOR_FILE_ALERT, directives, 2, &results, &n_results);
}

static pmix_status_t
watch (pmix_info_t *info)
{
  const uint32_t one = 1;
  const bool yes = true;
  pmix_info_t file;
  pmix_info_t directives[3];
  pmix_info_t *results = NULL;
  size_t n_results = 0;

  PMIX_INFO_LOAD (&file, PMIX_MONITOR_FILE, "/dev/null", PMIX_STRING);
  PMIX_INFO_LOAD (&directives[0], PMIX_MONITOR_FILE_SIZE, &yes, PMIX_BOOL);
  PMIX_INFO_LOAD (&directives[1], PMIX_MONITOR_FILE_CHECK_TIME, &one, PMIX_UINT32);
  directives[2] = *info;
  return PMIx_Process_monitor (&file, PMIX_MONITOR_FILE_ALERT, directives, 3, &results, &n_results);
}

static void
on_output (size_t handler, pmix_iof_channel_t channel, pmix_proc_t *source, pmix_byte_object_t *payload,
           pmix_info_t info[], size_t n_info)
{
}

static pmix_status_t
pull (pmix_info_t *info)
{
  pmix_proc_t job;
  pmix_status_t rc;

  PMIX_LOAD_PROCID (&job, self.nspace, PMIX_RANK_WILDCARD);
  rc = PMIx_IOF_pull (&job, 1, info, 1, PMIX_FWD_STDOUT_CHANNEL, on_output, NULL, NULL);
  return rc < 0 ? rc : PMIX_SUCCESS;
}

static pmix_status_t
push (pmix_info_t *info)
{
  pmix_byte_object_t bytes = { "x", 1 };
  Answer answer;

  answer_begin (&answer);
  return answer_wait (&answer, PMIx_IOF_push (&self, 1, &bytes, info, 1, on_done, &answer));
}

static pmix_status_t
group (pmix_info_t *info)
{
  pmix_info_t *results = NULL;
  size_t n_results = 0;
  pmix_status_t rc = PMIx_Group_construct ("group", &self, 1, info, 1, &results, &n_results);

  if (rc == PMIX_SUCCESS)
    PMIx_Group_destruct ("group", NULL, 0);
  return rc;
}

static const struct
{
  const char *name;
  pmix_status_t (*call) (pmix_info_t *info);
} functions[] = {
  { "fence", fence },
  { "get", get },
  { "publish", publish },
  { "lookup", lookup },
  { "unpublish", unpublish },
  { "spawn", spawn },
  { "connect", connect_procs },
  { "disconnect", disconnect_procs },
  { "query", query },
  { "log", write_log },
  { "alloc", allocate },
  { "control", control },
  { "credential", credential },
  { "validate", validate },
  { "register", register_handler },
  { "notify", notify },
  { "monitor", monitor },
  { "watch", watch },
  { "pull", pull },
  { "push", push },
  { "group", group },
};

static void
run (const char *function, const char *key, const char *kind)
{
  pmix_info_t info;

  load (&info, key, kind);
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
    if (strcmp (functions[i].name, function) == 0)
      {
        printf ("%s %s %s %s\n", function, key, kind, pmix_status_word (functions[i].call (&info)));
        fflush (stdout);
        return;
      }
  exit (33);
}

/* ---- one that is killed ---- */

static void
on_modex (pmix_status_t status, pmix_value_t *value, void *data)
{
}

static void
on_lookup (pmix_status_t status, pmix_pdata_t data[], size_t n_data, void *user_data)
{
}

static void
on_spawned (pmix_status_t status, char *nspace, void *data)
{
}

static void
on_nothing (pmix_status_t status, void *data)
{
}

static void
on_pulled (pmix_status_t status, size_t handler, void *data)
{
}

static void
on_no_info (pmix_status_t status, pmix_info_t *info, size_t n_info, void *data, pmix_release_cbfunc_t release,
            void *release_data)
{
}

/* Collectives of processes of which one does not come. */
static void
begin_collectives (pmix_proc_t *job)
{
  PMIx_Fence_nb (job, 1, NULL, 0, on_nothing, NULL);
  PMIx_Connect_nb (job, 1, NULL, 0, on_nothing, NULL);
  PMIx_Group_construct_nb ("killed", job, 1, NULL, 0, on_no_info, NULL);
}

static void
begin_data (pmix_proc_t *other)
{
  static char *keys[] = { "never", NULL };
  const int all = 0;
  static pmix_info_t wait, value;

  PMIX_INFO_LOAD (&wait, PMIX_WAIT, &all, PMIX_INT);
  PMIX_INFO_LOAD (&value, "killed", "text", PMIX_STRING);
  PMIx_Get_nb (other, "never", NULL, 0, on_modex, NULL);
  PMIx_Lookup_nb (keys, &wait, 1, on_lookup, NULL);
  PMIx_Publish_nb (&value, 1, on_nothing, NULL);
  PMIx_Unpublish_nb (keys, NULL, 0, on_nothing, NULL);
}

static void
begin_questions (pmix_proc_t *job)
{
  static char *keys[] = { "pmix.qry.nres", NULL };
  static pmix_query_t asked = { .keys = keys };
  static pmix_info_t text, monitor, rate, pset;
  const uint32_t one = 1;

  PMIX_INFO_LOAD (&text, PMIX_LOG_STDERR, "text", PMIX_STRING);
  PMIX_INFO_LOAD (&monitor, "pmix.monitor.ndresuse", NULL, PMIX_STRING);
  PMIX_INFO_LOAD (&rate, "pmix.monitor.resrate", &one, PMIX_UINT32);
  PMIX_INFO_LOAD (&pset, "pmix.jctrl.defpset", "killed", PMIX_STRING);
  PMIx_Query_info_nb (&asked, 1, on_no_info, NULL);
  PMIx_Process_monitor_nb (&monitor, PMIX_SUCCESS, &rate, 1, on_no_info, NULL);
  PMIx_Log_nb (&text, 1, NULL, 0, on_nothing, NULL);
  PMIx_Job_control_nb (job, 1, &pset, 1, on_no_info, NULL);
  PMIx_Notify_event (-3001, &self, PMIX_RANGE_GLOBAL, NULL, 0, on_nothing, NULL);
}

static void
begin_jobs (pmix_proc_t *job)
{
  static pmix_app_t app;
  static pmix_info_t id;
  static pmix_byte_object_t bytes = { "x", 1 };
  pmix_status_t rc;

  PMIX_APP_CONSTRUCT (&app);
  app.cmd = strdup ("sleep");
  app.maxprocs = 1;
  PMIX_ARGV_APPEND (rc, app.argv, "sleep");
  PMIX_ARGV_APPEND (rc, app.argv, "1000");
  PMIX_INFO_LOAD (&id, PMIX_ALLOC_ID, "nothing", PMIX_STRING);
  if (rc == PMIX_SUCCESS)
    PMIx_Spawn_nb (NULL, 0, &app, 1, on_spawned, NULL);
  PMIx_Allocation_request_nb (PMIX_ALLOC_EXTEND, &id, 1, on_no_info, NULL);
  PMIx_IOF_push (job, 1, &bytes, NULL, 0, on_nothing, NULL);
  PMIx_IOF_pull (job, 1, NULL, 0, PMIX_FWD_STDOUT_CHANNEL, on_output, on_pulled, NULL);
}

static void
ask_and_go (useconds_t time)
{
  pmix_proc_t job;
  pmix_proc_t other;

  PMIX_LOAD_PROCID (&job, self.nspace, PMIX_RANK_WILDCARD);
  PMIX_LOAD_PROCID (&other, self.nspace, 1);
  begin_collectives (&job);
  begin_data (&other);
  begin_questions (&job);
  begin_jobs (&job);
  usleep (time);
  raise (SIGKILL);
}

/* The others end with their job. */
static void
wait_for_end (useconds_t time)
{
  /* The library is at a loss with those that are killed in PMIx_Init: that is not what is looked at here. */
  if (PMIx_Fence (NULL, 0, NULL, 0) == PMIX_SUCCESS && self.rank == 0)
    ask_and_go (time);
  for (;;)
    pause ();
}

int
main (int argc, char **argv)
{
  pmix_status_t rc = PMIx_Init (&self, NULL, 0);

  if (rc != PMIX_SUCCESS)
    return 10;
  object.proc = self;
  for (int i = 1; i + 1 < argc; i += 3)
    if (strcmp (argv[i], "--killed") == 0)
      wait_for_end ((useconds_t)atoi (argv[i + 1]));
    else if (i + 2 < argc)
      run (argv[i], argv[i + 1], argv[i + 2]);
  return PMIx_Finalize (NULL, 0) == PMIX_SUCCESS ? 0 : 16;
}
