/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/*
 * A PMIx client or tool for the tests that tells others of events, and says which it gets: its arguments are done one
 * after another.
 *
 *   --tool FILE                   first: a tool that finds its server by this file
 *   --after FILE                  first: PMIx_Init when that file is there
 *   --end FILE                    first: after PMIx_Finalize makes FILE.finalized, and ends when FILE is there
 *   on CODE[,CODE]... | any       registers a handler
 *   tell CODE RANGE [WORD]...     RANGE: a number; WORD: to=NSPACE[:RANK], text=TEXT, size=BYTES, types, bad, private,
 *                                 not-cached, group
 *   flood N CODE RANGE [WORD]...  N times, and says how many were refused
 *   await CODE [N]                until N (1) such events have come
 *   fence, name                   of its job; says its namespace
 *   meet [--PATH]                 fences of its job until one succeeds; PATH.RANK is made when the server has the first
 *                                 one, and it says whether that was refused
 *   spawn PROGRAM [WORD]...       starts a job of one process; WORD: no-events, no-end
 *   watch PATH | beats            an alert when that file's size stays the same for 1 s, or no heartbeat comes for 1 s
 *   monitor KEY TEXT              a monitor of another kind, of a text or "none"; says both and the status
 *   use KEY [WORD]...             of resource usage; WORD: code=N, every=N, id=TEXT, to=NSPACE[:RANK], host=NAME,
 *                                 node=N, KEY=TEXT
 *   file PATH, touch PATH         until that file is there; makes it, with its namespace
 *   rank N | all                  what follows is for that rank alone, for all again
 *   die, leave N                  kills itself, ends without PMIx_Finalize
 *   abort N [to=NSPACE[:RANK]]... calls PMIx_Abort for these, says the status and goes on; for nobody: and ends
 *
 * "@" is the namespace in the file that the environment names as PEER_FILE, "." its own. Each event is a line on its
 * output, of one that comes from its own job without the namespace: "RANK: CODE from [NSPACE.]RANK KEY=VALUE ..."
 */

#include <pmix.h>
#include <pmix_tool.h>

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pmix-library.h"
#include "pmix-words.h"

#define MAX_INFO   16
#define MAX_EVENTS 4096

static pmix_proc_t self;
static bool is_tool;
static const char *end_file; /* (nullable) */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pmix_status_t events[MAX_EVENTS]; /* under mutex */
static int n_events;                     /* likewise */

static void
check (pmix_status_t status, const char *what, int code)
{
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED)
    return;
  fprintf (stderr, "%s.%u: %s: %s\n", self.nspace, self.rank, what, pmix_status_word (status));
  exit (code);
}

/* ---- events that come ---- */

static void
show_proc (const pmix_proc_t *proc)
{
  if (strcmp (proc->nspace, self.nspace) == 0)
    printf ("%d", (int)proc->rank);
  else
    printf ("%s.%d", proc->nspace, (int)proc->rank);
}

static bool
is_recent (const pmix_value_t *value)
{
  time_t now = time (NULL);

  return value->type == PMIX_TIME && value->data.time <= now && value->data.time > now - 600;
}

static void
show_info (const pmix_info_t *info)
{
  const pmix_value_t *value = &info->value;

  if (PMIX_CHECK_KEY (info, PMIX_EVENT_AFFECTED_PROC) && value->type == PMIX_PROC)
    {
      printf (" affected=");
      show_proc (value->data.proc);
    }
  else if (PMIX_CHECK_KEY (info, PMIX_PSET_NAME) && value->type == PMIX_STRING)
    printf (" pset=%s", value->data.string);
  else if (PMIX_CHECK_KEY (info, PMIX_PSET_MEMBERS) && value->type == PMIX_DATA_ARRAY)
    for (size_t i = 0; i < value->data.darray->size; i++)
      {
        printf (i == 0 ? " members=" : ",");
        show_proc (&((const pmix_proc_t *)value->data.darray->array)[i]);
      }
  else if (PMIX_CHECK_KEY (info, PMIX_EXIT_CODE) && value->type == PMIX_INT)
    printf (" exit=%d", value->data.integer);
  else if (PMIX_CHECK_KEY (info, PMIX_REINCARNATION) && value->type == PMIX_UINT32)
    printf (" again=%u", value->data.uint32);
  else if (PMIX_CHECK_KEY (info, PMIX_EVENT_TIMESTAMP))
    printf (is_recent (value) ? " timed" : " timed-wrong");
  else if (strncmp (info->key, "pmix.monitor.", 13) == 0 && value->type == PMIX_DATA_ARRAY)
    printf (" rows=%zu", value->data.darray->size);
  else if (PMIX_CHECK_KEY (info, PMIX_MONITOR_ID) && value->type == PMIX_STRING)
    printf (" id=%s", value->data.string);
  else if (PMIX_CHECK_KEY (info, PMIX_JOB_TERM_STATUS) && value->type == PMIX_STATUS)
    printf (" status=%d", value->data.status);
  else if (strncmp (info->key, "test.", 5) != 0)
    return;
  else if (value->type == PMIX_STRING)
    printf (" %s=%s", info->key + 5, value->data.string);
  else if (value->type == PMIX_DOUBLE)
    printf (" %s=%g", info->key + 5, value->data.dval);
  else if (value->type == PMIX_UINT64)
    printf (" %s=%llu", info->key + 5, (unsigned long long)value->data.uint64);
  else if (value->type == PMIX_BYTE_OBJECT)
    printf (" %s=%zu", info->key + 5, value->data.bo.size);
  else
    printf (" %s:%d", info->key + 5, value->type);
}

static void
on_event (size_t registration, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t n_info,
          pmix_info_t *results, size_t n_results, pmix_event_notification_cbfunc_fn_t callback, void *callback_data)
{
  pthread_mutex_lock (&mutex);
  printf ("%u: %d from ", self.rank, status);
  show_proc (source);
  for (size_t i = 0; i < n_info; i++)
    show_info (&info[i]);
  printf ("\n");
  fflush (stdout);
  if (n_events < MAX_EVENTS)
    events[n_events++] = status;
  pthread_cond_broadcast (&changed);
  pthread_mutex_unlock (&mutex);
  if (callback != NULL)
    callback (PMIX_SUCCESS, NULL, 0, NULL, NULL, callback_data);
}

static char **
register_handler (char **words)
{
  pmix_status_t codes[MAX_INFO];
  size_t n = 0;
  int id;

  if (strcmp (words[0], "any") != 0)
    for (char *code = strtok (words[0], ","); code != NULL && n < MAX_INFO; code = strtok (NULL, ","))
      codes[n++] = atoi (code);
  id = PMIx_Register_event_handler (n > 0 ? codes : NULL, n, NULL, 0, on_event, NULL, NULL);
  if (id < 0)
    check (id, "register", 20);
  return words + 1;
}

static int
count (pmix_status_t status)
{
  int n = 0;

  for (int i = 0; i < n_events; i++)
    n += events[i] == status;
  return n;
}

static char **
await_events (char **words)
{
  bool counted = words[1] != NULL && atoi (words[1]) > 0;
  int n = counted ? atoi (words[1]) : 1;

  pthread_mutex_lock (&mutex);
  while (count (atoi (words[0])) < n)
    pthread_cond_wait (&changed, &mutex);
  pthread_mutex_unlock (&mutex);
  return words + (counted ? 2 : 1);
}

/* ---- events that go ---- */

static const char *
find_nspace (const char *word)
{
  static char nspace[PMIX_MAX_NSLEN + 1];
  FILE *file;

  if (strcmp (word, ".") == 0)
    return self.nspace;
  if (strcmp (word, "@") != 0)
    return word;
  file = fopen (getenv ("PEER_FILE"), "r");
  if (file == NULL || fgets (nspace, sizeof nspace, file) == NULL)
    exit (30);
  fclose (file);
  return nspace;
}

static void
read_proc (pmix_proc_t *proc, char *word)
{
  char *colon = strrchr (word, ':');

  if (colon != NULL)
    *colon = '\0';
  PMIX_LOAD_PROCID (proc, find_nspace (word), colon != NULL ? (pmix_rank_t)atoi (colon + 1) : PMIX_RANK_WILDCARD);
}

static void
load_types (pmix_info_t *info, size_t *n)
{
  static const double number = 2.5;
  static const uint64_t large = UINT64_MAX - 1;
  static char bytes[] = { 0, 1, (char)0xff, 0 };
  pmix_byte_object_t object = { bytes, sizeof bytes };

  PMIX_INFO_LOAD (&info[(*n)++], "test.number", &number, PMIX_DOUBLE);
  PMIX_INFO_LOAD (&info[(*n)++], "test.large", &large, PMIX_UINT64);
  PMIX_INFO_LOAD (&info[(*n)++], "test.bytes", &object, PMIX_BYTE_OBJECT);
}

/* A number where a process has to be: here it is the address of one, which the client's own library follows. */
static void
load_bad (pmix_info_t *info)
{
  uint64_t address = (uint64_t)(uintptr_t)&self;

  PMIX_INFO_LOAD (info, PMIX_EVENT_AFFECTED_PROC, &address, PMIX_UINT64);
}

static void
load_bytes (pmix_info_t *info, size_t size)
{
  pmix_byte_object_t object = { calloc (1, size), size };

  PMIX_INFO_LOAD (info, "test.size", &object, PMIX_BYTE_OBJECT);
  free (object.bytes);
}

static char **
read_details (char **words, pmix_info_t *info, size_t *n)
{
  pmix_proc_t targets[MAX_INFO];
  pmix_data_array_t array = { .type = PMIX_PROC, .array = targets };

  for (; *words != NULL && *n < MAX_INFO - 4; words++)
    if (strncmp (*words, "to=", 3) == 0)
      read_proc (&targets[array.size++], *words + 3);
    else if (strncmp (*words, "text=", 5) == 0)
      PMIX_INFO_LOAD (&info[(*n)++], "test.text", *words + 5, PMIX_STRING);
    else if (strncmp (*words, "size=", 5) == 0)
      load_bytes (&info[(*n)++], (size_t)atol (*words + 5));
    else if (strcmp (*words, "types") == 0)
      load_types (info, n);
    else if (strcmp (*words, "bad") == 0)
      load_bad (&info[(*n)++]);
    else if (strcmp (*words, "private") == 0)
      PMIX_INFO_LOAD (&info[(*n)++], PMIX_EVENT_NON_DEFAULT, NULL, PMIX_BOOL);
    else if (strcmp (*words, "group") == 0)
      PMIX_INFO_LOAD (&info[(*n)++], PMIX_GROUP_ID, "group", PMIX_STRING);
    else if (strcmp (*words, "not-cached") == 0)
      PMIX_INFO_LOAD (&info[(*n)++], PMIX_EVENT_DO_NOT_CACHE, NULL, PMIX_BOOL);
    else
      break;
  if (array.size > 0)
    PMIX_INFO_LOAD (&info[(*n)++], PMIX_EVENT_CUSTOM_RANGE, &array, PMIX_DATA_ARRAY);
  return words;
}

/* Kept until the program ends: of a tool's event the library (4.2.2 to 6.0) calls back twice, for itself and for the
 * server. */
typedef struct _Answer Answer;
struct _Answer
{
  Answer *next;
  bool done; /* under mutex, as that below */
  pmix_status_t status;
};

static Answer *all_answers;

static Answer *
add_answer (void)
{
  Answer *answer = calloc (1, sizeof *answer);

  if (answer == NULL)
    exit (33);
  answer->next = all_answers;
  all_answers = answer;
  return answer;
}

static void
on_told (pmix_status_t status, void *data)
{
  Answer *answer = data;

  pthread_mutex_lock (&mutex);
  answer->done = true;
  answer->status = status;
  pthread_cond_broadcast (&changed);
  pthread_mutex_unlock (&mutex);
}

static char **
tell (char **words)
{
  pmix_info_t info[MAX_INFO];
  size_t n = 0;
  char **rest = read_details (words + 2, info, &n);
  Answer *answer = add_answer ();
  pmix_status_t rc = PMIx_Notify_event (atoi (words[0]), &self, (pmix_data_range_t)atoi (words[1]), n > 0 ? info : NULL,
                                        n, on_told, answer);

  pthread_mutex_lock (&mutex);
  while (rc == PMIX_SUCCESS && !answer->done)
    pthread_cond_wait (&changed, &mutex);
  printf ("%u: tell %s %s\n", self.rank, words[0], pmix_status_word (rc == PMIX_SUCCESS ? answer->status : rc));
  fflush (stdout);
  pthread_mutex_unlock (&mutex);
  return rest;
}

typedef struct
{
  int n_answered; /* under mutex, as those below */
  int n_refused;
} Answers;

static void
on_flood_told (pmix_status_t status, void *data)
{
  Answers *answers = data;

  pthread_mutex_lock (&mutex);
  answers->n_answered++;
  answers->n_refused += status == PMIX_ERR_OUT_OF_RESOURCE;
  pthread_cond_broadcast (&changed);
  pthread_mutex_unlock (&mutex);
}

static char **
flood (char **words)
{
  pmix_info_t info[MAX_INFO];
  size_t n_info = 0;
  char **rest = read_details (words + 3, info, &n_info);
  Answers answers = { 0, 0 };
  int n = atoi (words[0]);

  for (int i = 0; i < n; i++)
    check (PMIx_Notify_event (atoi (words[1]), &self, (pmix_data_range_t)atoi (words[2]), n_info > 0 ? info : NULL,
                              n_info, on_flood_told, &answers),
           "tell", 22);
  pthread_mutex_lock (&mutex);
  while (answers.n_answered < n)
    pthread_cond_wait (&changed, &mutex);
  printf ("%u: refused %d\n", self.rank, answers.n_refused);
  fflush (stdout);
  pthread_mutex_unlock (&mutex);
  return rest;
}

/* ---- the rest ---- */

static void
fence (void)
{
  pmix_proc_t all;

  PMIX_LOAD_PROCID (&all, self.nspace, PMIX_RANK_WILDCARD);
  check (PMIx_Fence (&all, 1, NULL, 0), "fence", 21);
}

/* path (nullable): NULL: heartbeats */
static void
watch (const char *path)
{
  const uint32_t one = 1;
  pmix_info_t monitor;
  pmix_info_t directives[3];
  pmix_info_t *results = NULL;
  size_t n_results = 0;

  if (path != NULL)
    PMIX_INFO_LOAD (&monitor, PMIX_MONITOR_FILE, path, PMIX_STRING);
  else
    PMIX_INFO_LOAD (&monitor, PMIX_MONITOR_HEARTBEAT, NULL, PMIX_POINTER);
  PMIX_INFO_LOAD (&directives[0], path != NULL ? PMIX_MONITOR_FILE_SIZE : PMIX_MONITOR_ID,
                  path != NULL ? NULL : "beats", path != NULL ? PMIX_BOOL : PMIX_STRING);
  PMIX_INFO_LOAD (&directives[1], path != NULL ? PMIX_MONITOR_FILE_CHECK_TIME : PMIX_MONITOR_HEARTBEAT_TIME, &one,
                  PMIX_UINT32);
  PMIX_INFO_LOAD (&directives[2], path != NULL ? PMIX_MONITOR_FILE_DROPS : PMIX_MONITOR_HEARTBEAT_DROPS, &one,
                  PMIX_UINT32);
  check (PMIx_Process_monitor (&monitor, path != NULL ? PMIX_MONITOR_FILE_ALERT : PMIX_MONITOR_HEARTBEAT_ALERT,
                               directives, 3, &results, &n_results),
         "monitor", 23);
}

/* A monitor of another kind, with a text or none; the status of the answer. */
static char **
monitor (char **words)
{
  pmix_info_t monitor;
  pmix_info_t *results = NULL;
  size_t n_results = 0;

  PMIX_INFO_LOAD (&monitor, words[0], strcmp (words[1], "none") == 0 ? NULL : words[1], PMIX_STRING);
  printf ("%u: monitor %s %s\n", self.rank, words[1],
          pmix_status_word (PMIx_Process_monitor (&monitor, PMIX_MONITOR_FILE_ALERT, NULL, 0, &results, &n_results)));
  fflush (stdout);
  return words + 2;
}

/* The words of a use make its directives and its code. */
static size_t
read_use (char ***words, pmix_info_t *directives, pmix_status_t *code)
{
  size_t n = 0;

  for (; **words != NULL && strchr (**words, '=') != NULL && n < MAX_INFO; (*words)++)
    {
      char *word = **words;
      char *text = strchr (word, '=') + 1;
      pmix_data_array_t array;
      pmix_proc_t proc;
      uint32_t number = (uint32_t)strtoul (text, NULL, 10);

      if (strncmp (word, "code=", 5) == 0)
        *code = atoi (text);
      else if (strncmp (word, "every=", 6) == 0)
        PMIX_INFO_LOAD (&directives[n++], "pmix.monitor.resrate", &number, PMIX_UINT32);
      else if (strncmp (word, "id=", 3) == 0)
        PMIX_INFO_LOAD (&directives[n++], PMIX_MONITOR_ID, text, PMIX_STRING);
      else if (strncmp (word, "to=", 3) == 0)
        {
          read_proc (&proc, text);
          array = (pmix_data_array_t){ .type = PMIX_PROC, .size = 1, .array = &proc };
          PMIX_INFO_LOAD (&directives[n++], "pmix.monitor.tgtproc", &array, PMIX_DATA_ARRAY);
        }
      else if (strncmp (word, "host=", 5) == 0)
        {
          array = (pmix_data_array_t){ .type = PMIX_STRING, .size = 1, .array = &text };
          PMIX_INFO_LOAD (&directives[n++], "pmix.monitor.tgtnode", &array, PMIX_DATA_ARRAY);
        }
      else if (strncmp (word, "node=", 5) == 0)
        {
          array = (pmix_data_array_t){ .type = PMIX_UINT32, .size = 1, .array = &number };
          PMIX_INFO_LOAD (&directives[n++], "pmix.monitor.tgtndids", &array, PMIX_DATA_ARRAY);
        }
      else
        PMIX_INFO_LOAD (&directives[n++], word, text, PMIX_STRING);
    }
  return n;
}

/* Asks for the use of processes or nodes, and says the status and how many there were. */
static char **
use (char **words)
{
  char *key = words[0];
  char **rest = words + 1;
  pmix_info_t directives[MAX_INFO];
  pmix_status_t code = PMIX_SUCCESS;
  size_t n = read_use (&rest, directives, &code);
  pmix_info_t monitor;
  pmix_info_t *results = NULL;
  size_t n_results = 0;
  pmix_status_t rc;

  PMIX_INFO_LOAD (&monitor, key, NULL, PMIX_STRING);
  rc = PMIx_Process_monitor (&monitor, code, directives, n, &results, &n_results);
  printf ("%u: use %s rows=%zu\n", self.rank, pmix_status_word (rc), n_results);
  fflush (stdout);
  return rest;
}

static void
await_file (const char *path)
{
  while (access (path, F_OK) != 0)
    usleep (10000);
}

static void
touch (const char *path)
{
  char other[4096];
  FILE *file;

  snprintf (other, sizeof other, "%s.%u.new", path, self.rank);
  file = fopen (other, "w");
  if (file == NULL)
    exit (32);
  fprintf (file, "%s", self.nspace);
  fclose (file);
  rename (other, path);
}

/* The server answers in the order in which it was asked: when it has answered the lookup it has the fence. */
static pmix_status_t
fence_and_touch (pmix_proc_t *all, const char *path)
{
  Answer *answer = add_answer ();
  char own[4096];
  pmix_pdata_t nothing;
  pmix_status_t rc = PMIx_Fence_nb (all, 1, NULL, 0, on_told, answer);

  PMIX_PDATA_CONSTRUCT (&nothing);
  PMIX_LOAD_KEY (nothing.key, "nothing");
  PMIx_Lookup (&nothing, 1, NULL, 0);
  snprintf (own, sizeof own, "%s.%u", path, self.rank);
  touch (own);
  pthread_mutex_lock (&mutex);
  while (rc == PMIX_SUCCESS && !answer->done)
    pthread_cond_wait (&changed, &mutex);
  pthread_mutex_unlock (&mutex);
  return rc == PMIX_SUCCESS ? answer->status : rc;
}

static char **
meet (char **words)
{
  const char *path = *words != NULL && strncmp (*words, "--", 2) == 0 ? *words + 2 : NULL;
  pmix_proc_t all;
  pmix_status_t rc;

  PMIX_LOAD_PROCID (&all, self.nspace, PMIX_RANK_WILDCARD);
  rc = path != NULL ? fence_and_touch (&all, path) : PMIx_Fence (&all, 1, NULL, 0);
  if (path != NULL)
    {
      printf ("%u: %s\n", self.rank, rc == PMIX_SUCCESS ? "met at once" : "met later");
      fflush (stdout);
    }
  while (rc != PMIX_SUCCESS)
    {
      usleep (10000);
      rc = PMIx_Fence (&all, 1, NULL, 0);
    }
  return path != NULL ? words + 1 : words;
}

static char **
abort_procs (char **words)
{
  pmix_proc_t procs[MAX_INFO];
  size_t n = 0;
  int code = atoi (*words++);
  pmix_status_t rc;

  for (; *words != NULL && n < MAX_INFO && strncmp (*words, "to=", 3) == 0; words++)
    read_proc (&procs[n++], *words + 3);
  rc = PMIx_Abort (code, "as told", n > 0 ? procs : NULL, n);
  if (n == 0)
    _exit (code);
  printf ("%u: abort %s\n", self.rank, pmix_status_word (rc));
  fflush (stdout);
  return words;
}

static char **
spawn (char **words)
{
  const bool no = false;
  pmix_info_t info[2];
  size_t n = 0;
  char **rest = words + 1;
  pmix_app_t app;
  pmix_nspace_t nspace;
  pmix_status_t rc;

  PMIX_APP_CONSTRUCT (&app);
  app.cmd = strdup (words[0]);
  app.maxprocs = 1;
  PMIX_ARGV_APPEND (rc, app.argv, words[0]);
  check (rc, "argv", 24);
  for (; *rest != NULL && strncmp (*rest, "no-", 3) == 0 && n < 2; rest++)
    PMIX_INFO_LOAD (&info[n++], strcmp (*rest, "no-end") == 0 ? PMIX_NOTIFY_COMPLETION : PMIX_NOTIFY_JOB_EVENTS, &no,
                    PMIX_BOOL);
  check (PMIx_Spawn (n > 0 ? info : NULL, n, &app, 1, nspace), "spawn", 24);
  PMIX_APP_DESTRUCT (&app);
  return rest;
}

static char **
run_one (char **words)
{
  if (strcmp (words[0], "on") == 0)
    return register_handler (words + 1);
  if (strcmp (words[0], "tell") == 0)
    return tell (words + 1);
  if (strcmp (words[0], "flood") == 0)
    return flood (words + 1);
  if (strcmp (words[0], "await") == 0)
    return await_events (words + 1);
  if (strcmp (words[0], "spawn") == 0)
    return spawn (words + 1);
  if (strcmp (words[0], "abort") == 0)
    return abort_procs (words + 1);
  if (strcmp (words[0], "meet") == 0)
    return meet (words + 1);
  if (strcmp (words[0], "monitor") == 0)
    return monitor (words + 1);
  if (strcmp (words[0], "use") == 0)
    return use (words + 1);
  if (strcmp (words[0], "fence") == 0)
    fence ();
  else if (strcmp (words[0], "name") == 0)
    printf ("%s\n", self.nspace);
  else if (strcmp (words[0], "watch") == 0)
    watch (*++words);
  else if (strcmp (words[0], "beats") == 0)
    watch (NULL);
  else if (strcmp (words[0], "die") == 0)
    raise (SIGKILL);
  else if (strcmp (words[0], "leave") == 0)
    _exit (atoi (words[1]));
  else if (strcmp (words[0], "file") == 0)
    await_file (*++words);
  else if (strcmp (words[0], "touch") == 0)
    touch (*++words);
  else
    exit (33);
  return words + 1;
}

/* The words of what another rank is to do are passed over. */
static char **
pass_over (char **words)
{
  while (*words != NULL && strcmp (*words, "all") != 0 && strcmp (*words, "rank") != 0)
    words++;
  return words;
}

static void
stay (void)
{
  char path[4096];

  snprintf (path, sizeof path, "%s.finalized", end_file);
  touch (path);
  await_file (end_file);
}

static char **
start (char **words)
{
  pmix_info_t info;

  if (*words != NULL && strcmp (*words, "--after") == 0)
    {
      await_file (words[1]);
      words += 2;
    }
  if (*words != NULL && strcmp (*words, "--end") == 0)
    {
      end_file = words[1];
      words += 2;
    }
  if (*words == NULL || strcmp (*words, "--tool") != 0)
    {
      check (PMIx_Init (&self, NULL, 0), "init", 10);
      return words;
    }
  is_tool = true;
  pmix_begin_tool ();
  PMIX_INFO_LOAD (&info, PMIX_TOOL_ATTACHMENT_FILE, words[1], PMIX_STRING);
  check (PMIx_tool_init (&self, &info, 1), "init", 10);
  return words + 2;
}

int
main (int argc, char **argv)
{
  char **words = start (argv + 1);

  while (*words != NULL)
    {
      if (strcmp (*words, "rank") == 0 && words[1] != NULL)
        words = (pmix_rank_t)atoi (words[1]) == self.rank ? words + 2 : pass_over (words + 2);
      else if (strcmp (*words, "all") == 0)
        words++;
      else
        words = run_one (words);
    }
  check (is_tool ? PMIx_tool_finalize () : PMIx_Finalize (NULL, 0), "finalize", 16);
  if (end_file != NULL)
    stay ();
  return 0;
}
