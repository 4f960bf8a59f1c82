/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "pmix-spawn.h"

#include "pmix-pull.h"

#include <pmix_tool.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_INFO  16
#define MAX_ENDED 64
#define LIMIT_MS  60000

/* Later headers name them. */
#define SPAWN_TARGET      "pmix.spwn.tgt"
#define SPAWN_CHILD_SEP   "pmix.spchildsep"
#define JOB_CTRL_SEP      "pmix.jctrl.sep"
#define JOB_CTRL_PSET     "pmix.jctrl.defpset"
#define COLOCATE_PROCS    "pmix.colproc"
#define COLOCATE_NPERPROC "pmix.colnum.proc"
#define COLOCATE_NPERNODE "pmix.colnum.node"

static const pmix_proc_t *self;
static char last_nspace[PMIX_MAX_NSLEN + 1];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char ended[MAX_ENDED][PMIX_MAX_NSLEN + 1];
static int n_ended;
static bool watching;

const char *
pmix_find_nspace (const char *word)
{
  return strcmp (word, "@@") == 0 ? last_nspace : word;
}

void
pmix_remember_nspace (const char *nspace)
{
  snprintf (last_nspace, sizeof last_nspace, "%s", nspace);
}

/* NSPACE, NSPACE.RANK, or "none" */
size_t
pmix_read_target (const char *word, pmix_proc_t *proc)
{
  const char *dot = strrchr (word, '.');
  char nspace[PMIX_MAX_NSLEN + 1];

  if (strcmp (word, "none") == 0)
    return 0;
  snprintf (nspace, sizeof nspace, "%.*s", dot != NULL ? (int)(dot - word) : (int)strlen (word), word);
  PMIX_LOAD_PROCID (proc, pmix_find_nspace (nspace), dot != NULL ? (pmix_rank_t)atoi (dot + 1) : PMIX_RANK_WILDCARD);
  return 1;
}

/* ---- spawn ---- */

typedef struct
{
  pmix_info_t info[MAX_INFO];
  size_t n_info;
  pmix_app_t app;
  pmix_app_t other;  /* behind "::" */
  const char *about; /* of that: KEY:VALUE */
} Spawn;

static void
add_text (Spawn *spawn, const char *key, const char *text)
{
  PMIX_INFO_LOAD (&spawn->info[spawn->n_info], key, text, PMIX_STRING);
  spawn->n_info++;
}

static void
add_number (Spawn *spawn, const char *key, const char *text, pmix_data_type_t type)
{
  uint32_t number = (uint32_t)strtoul (text, NULL, 10);

  PMIX_INFO_LOAD (&spawn->info[spawn->n_info], key, &number, type);
  spawn->n_info++;
}

static void
add_flag (Spawn *spawn, const char *key)
{
  PMIX_INFO_LOAD (&spawn->info[spawn->n_info], key, NULL, PMIX_BOOL);
  spawn->n_info++;
}

/* NAME:VALUE */
static void
add_variable (Spawn *spawn, const char *key, const char *text)
{
  pmix_envar_t variable = { .envar = strdup (text), .separator = ':' };
  char *value = strchr (variable.envar, ':');

  *value = '\0';
  variable.value = value + 1;
  PMIX_INFO_LOAD (&spawn->info[spawn->n_info], key, &variable, PMIX_ENVAR);
  spawn->n_info++;
  free (variable.envar);
}

/* OPERATION:NAME:VALUE */
static void
add_edit (Spawn *spawn, const char *text)
{
  char key[PMIX_MAX_KEYLEN + 1];

  snprintf (key, sizeof key, "pmix.envar.%.*s", (int)strcspn (text, ":"), text);
  add_variable (spawn, key, strchr (text, ':') + 1);
}

/* KEY:VALUE of any attribute: a text, a number behind #, or true, false */
static void
add_any (Spawn *spawn, const char *text)
{
  char key[PMIX_MAX_KEYLEN + 1];
  const char *value = strchr (text, ':') + 1;
  bool on = strcmp (value, "true") == 0;

  snprintf (key, sizeof key, "%.*s", (int)(value - 1 - text), text);
  if (value[0] == '#')
    add_number (spawn, key, value + 1, PMIX_UINT32);
  else if (on || strcmp (value, "false") == 0)
    {
      PMIX_INFO_LOAD (&spawn->info[spawn->n_info], key, &on, PMIX_BOOL);
      spawn->n_info++;
    }
  else
    add_text (spawn, key, value);
}

/* NSPACE or NSPACE.RANK, the next ones behind commas */
static void
add_beside (Spawn *spawn, const char *text)
{
  pmix_data_array_t array = { .type = PMIX_PROC };
  pmix_proc_t procs[8];
  char *copy = strdup (text);
  char *rest = copy;

  array.array = procs;
  for (char *word = strtok_r (rest, ",", &rest); word != NULL && array.size < 8; word = strtok_r (NULL, ",", &rest))
    array.size += pmix_read_target (word, &procs[array.size]);
  PMIX_INFO_LOAD (&spawn->info[spawn->n_info], COLOCATE_PROCS, &array, PMIX_DATA_ARRAY);
  spawn->n_info++;
  free (copy);
}

static void
add_count (Spawn *spawn, const char *key, const char *text)
{
  uint16_t number = (uint16_t)strtoul (text, NULL, 10);

  PMIX_INFO_LOAD (&spawn->info[spawn->n_info], key, &number, PMIX_UINT16);
  spawn->n_info++;
}

/* NSPACE or NSPACE.RANK */
static void
add_debugged (Spawn *spawn, const char *text)
{
  pmix_proc_t proc;

  pmix_read_target (text, &proc);
  PMIX_INFO_LOAD (&spawn->info[spawn->n_info], PMIX_DEBUG_TARGET, &proc, PMIX_PROC);
  spawn->n_info++;
  add_flag (spawn, PMIX_DEBUGGER_DAEMONS);
}

/* KEY:RANK of a stop for a debugger, or several of them with + between */
static void
add_stop (Spawn *spawn, const char *text)
{
  pmix_data_array_t array = { .type = PMIX_PROC_RANK };
  pmix_rank_t ranks[8];
  char key[PMIX_MAX_KEYLEN + 1];
  const char *word = strchr (text, ':');

  snprintf (key, sizeof key, "%.*s", (int)(word - text), text);
  array.array = ranks;
  for (; word != NULL && array.size < 8; word = strchr (word, '+'))
    ranks[array.size++] = (pmix_rank_t)strtoul (++word, NULL, 10);
  if (array.size == 1)
    PMIX_INFO_LOAD (&spawn->info[spawn->n_info], key, &ranks[0], PMIX_PROC_RANK);
  else
    PMIX_INFO_LOAD (&spawn->info[spawn->n_info], key, &array, PMIX_DATA_ARRAY);
  spawn->n_info++;
}

static void
add (Spawn *spawn, const char *pair, const char *id)
{
  const char *value = strchr (pair, '=') + 1;
  size_t length = (size_t)(value - 1 - pair);
  char name[32];

  snprintf (name, sizeof name, "%.*s", (int)length, pair);
  if (strcmp (name, "np") == 0)
    spawn->app.maxprocs = atoi (value);
  else if (strcmp (name, "id") == 0)
    add_text (spawn, PMIX_ALLOC_ID, strcmp (value, "@") == 0 ? id : value);
  else if (strcmp (name, "req") == 0)
    add_text (spawn, PMIX_ALLOC_REQ_ID, value);
  else if (strcmp (name, "session") == 0)
    add_number (spawn, PMIX_SESSION_ID, value, PMIX_UINT32);
  else if (strcmp (name, "target") == 0)
    add_text (spawn, SPAWN_TARGET, strcmp (value, "@") == 0 ? id : value);
  else if (strcmp (name, "host") == 0)
    add_text (spawn, PMIX_HOST, value);
  else if (strcmp (name, "add") == 0)
    add_text (spawn, PMIX_ADD_HOST, value);
  else if (strcmp (name, "map") == 0)
    add_text (spawn, PMIX_MAPBY, value);
  else if (strcmp (name, "beside") == 0)
    add_beside (spawn, value);
  else if (strcmp (name, "nperproc") == 0)
    add_count (spawn, COLOCATE_NPERPROC, value);
  else if (strcmp (name, "npernode") == 0)
    add_count (spawn, COLOCATE_NPERNODE, value);
  else if (strcmp (name, "debug") == 0)
    add_debugged (spawn, value);
  else if (strcmp (name, "daemons-per-proc") == 0)
    add_count (spawn, PMIX_DEBUG_DAEMONS_PER_PROC, value);
  else if (strcmp (name, "daemons-per-node") == 0)
    add_count (spawn, PMIX_DEBUG_DAEMONS_PER_NODE, value);
  else if (strcmp (name, "about") == 0)
    spawn->about = value;
  else if (strcmp (name, "stop") == 0)
    add_stop (spawn, value);
  else if (strcmp (name, "cwd") == 0)
    add_text (spawn, PMIX_WDIR, value);
  else if (strcmp (name, "env") == 0)
    add_variable (spawn, PMIX_SET_ENVAR, value);
  else if (strcmp (name, "edit") == 0)
    add_edit (spawn, value);
  else if (strcmp (name, "unset") == 0)
    add_text (spawn, PMIX_UNSET_ENVAR, value);
  else if (strcmp (name, "timeout") == 0)
    add_number (spawn, PMIX_TIMEOUT, value, PMIX_INT);
  else if (strcmp (name, "sep") == 0)
    add_flag (spawn, SPAWN_CHILD_SEP);
  else if (strcmp (name, "out") == 0)
    add_flag (spawn, PMIX_FWD_STDOUT);
  else if (strcmp (name, "tag") == 0)
    add_flag (spawn, PMIX_IOF_TAG_OUTPUT);
  else if (strcmp (name, "info") == 0)
    add_any (spawn, value);
  else if (strcmp (name, "require") == 0)
    {
      add_flag (spawn, value);
      PMIX_INFO_REQUIRED (&spawn->info[spawn->n_info - 1]);
    }
  else
    exit (3);
}

/* :: PROGRAM [ARGUMENT...], another application, of which "about" says something */
static int
read_other (Spawn *spawn, char **argv, int n)
{
  pmix_status_t status = PMIX_ERROR;

  if (argv[n] == NULL || strcmp (argv[n], "::") != 0)
    return n;
  spawn->other.cmd = strdup (argv[++n]);
  for (; argv[n] != NULL && strcmp (argv[n], ";") != 0; n++)
    PMIX_ARGV_APPEND (status, spawn->other.argv, argv[n]);
  if (status != PMIX_SUCCESS || spawn->about == NULL)
    exit (2);
  add_any (spawn, spawn->about);
  spawn->n_info--;
  PMIX_INFO_CREATE (spawn->other.info, 1);
  spawn->other.ninfo = 1;
  PMIX_INFO_XFER (spawn->other.info, &spawn->info[spawn->n_info]);
  return n;
}

/*
 * spawn [KEY=VALUE...] -- PROGRAM [ARGUMENT...] [:: PROGRAM [ARGUMENT...]] ;
 * of arguments of the first one a backslash in front is taken away
 */
static int
do_spawn (char **argv, const char *id)
{
  char nspace[PMIX_MAX_NSLEN + 1] = "";
  Spawn spawn = { .n_info = 0 };
  pmix_status_t status;
  int n = 1;

  PMIX_APP_CONSTRUCT (&spawn.app);
  spawn.app.maxprocs = 1;
  for (; argv[n] != NULL && strcmp (argv[n], "--") != 0 && spawn.n_info < MAX_INFO; n++)
    add (&spawn, argv[n], id);
  if (argv[n] == NULL || argv[n + 1] == NULL)
    exit (2);
  spawn.app.cmd = strdup (argv[++n]);
  for (; argv[n] != NULL && strcmp (argv[n], ";") != 0 && strcmp (argv[n], "::") != 0; n++)
    PMIX_ARGV_APPEND (status, spawn.app.argv, argv[n] + (argv[n][0] == '\\' ? 1 : 0));
  n = read_other (&spawn, argv, n);
  /* libpmix 5 refuses a list without an element. */
  {
    pmix_app_t apps[2] = { spawn.app, spawn.other };

    status = PMIx_Spawn (spawn.n_info > 0 ? spawn.info : NULL, spawn.n_info, apps, spawn.other.cmd != NULL ? 2 : 1,
                         nspace);
  }
  flockfile (stdout);
  printf ("%u spawn %d nspace=%s\n", self->rank, status, nspace);
  fflush (stdout);
  funlockfile (stdout);
  if (status == PMIX_SUCCESS)
    pmix_remember_nspace (nspace);
  for (size_t i = 0; i < spawn.n_info; i++)
    PMIX_INFO_DESTRUCT (&spawn.info[i]);
  PMIX_APP_DESTRUCT (&spawn.app);
  PMIX_APP_DESTRUCT (&spawn.other);
  return argv[n] != NULL ? n + 1 : n;
}

static uint32_t
get_number (const char *key)
{
  pmix_value_t *value = NULL;
  pmix_proc_t proc;
  uint32_t number = UINT32_MAX;

  PMIX_LOAD_PROCID (&proc, self->nspace, PMIX_RANK_WILDCARD);
  if (PMIx_Get (&proc, key, NULL, 0, &value) == PMIX_SUCCESS)
    number = value->type == PMIX_PROC_RANK ? value->data.rank : value->data.uint32;
  if (value != NULL)
    PMIX_VALUE_RELEASE (value);
  return number;
}

/* parent: what the job info says of it */
static int
do_parent (void)
{
  pmix_value_t *value = NULL;
  pmix_proc_t proc;
  pmix_status_t status;

  PMIX_LOAD_PROCID (&proc, self->nspace, PMIX_RANK_WILDCARD);
  status = PMIx_Get (&proc, PMIX_PARENT_ID, NULL, 0, &value);
  if (status == PMIX_SUCCESS && value->type == PMIX_PROC)
    printf ("%u parent %s.%u", self->rank, value->data.proc->nspace, value->data.proc->rank);
  else
    printf ("%u parent none", self->rank);
  if (value != NULL)
    PMIX_VALUE_RELEASE (value);
  printf (" offset=%u\n", get_number (PMIX_NPROC_OFFSET));
  fflush (stdout);
  return 1;
}

/* ---- the end of a job ---- */

static void
on_end (size_t number, pmix_status_t code, const pmix_proc_t *source, pmix_info_t info[], size_t n_info,
        pmix_info_t *results, size_t n_results, pmix_event_notification_cbfunc_fn_t callback, void *data)
{
  const char *nspace = "";
  int status = 0;
  int exit_code = 0;

  for (size_t i = 0; i < n_info; i++)
    if (strcmp (info[i].key, PMIX_NSPACE) == 0)
      nspace = info[i].value.data.string;
    else if (strcmp (info[i].key, PMIX_JOB_TERM_STATUS) == 0)
      status = info[i].value.data.status;
    else if (strcmp (info[i].key, PMIX_EXIT_CODE) == 0)
      exit_code = info[i].value.data.integer;
  flockfile (stdout);
  if (code == PMIX_EVENT_JOB_END)
    printf ("%u ended %s status=%d exit=%d\n", self->rank, nspace, status, exit_code);
  else
    printf ("%u started %s\n", self->rank, nspace);
  fflush (stdout);
  funlockfile (stdout);
  pthread_mutex_lock (&lock);
  if (code == PMIX_EVENT_JOB_END && n_ended < MAX_ENDED)
    snprintf (ended[n_ended++], sizeof ended[0], "%s", nspace);
  pthread_mutex_unlock (&lock);
  if (callback != NULL)
    callback (PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static bool
has_ended (const char *nspace)
{
  bool found = false;

  pthread_mutex_lock (&lock);
  for (int i = 0; i < n_ended; i++)
    found = found || strcmp (ended[i], nspace) == 0;
  pthread_mutex_unlock (&lock);
  return found;
}

/* jobs: from now on what becomes of them is told */
static int
do_watch (void)
{
  pmix_status_t codes[] = { PMIX_EVENT_JOB_START, PMIX_EVENT_JOB_END };

  if (!watching && PMIx_Register_event_handler (codes, 2, NULL, 0, on_end, NULL, NULL) < 0)
    exit (51);
  watching = true;
  return 1;
}

/* ended NSPACE */
static int
do_ended (const char *nspace)
{
  do_watch ();
  if (nspace[0] == '\0')
    exit (53);
  for (int ms = 0; !has_ended (nspace); ms++)
    {
      if (ms == LIMIT_MS)
        exit (52);
      usleep (1000);
    }
  return 2;
}

/* ---- what is done to jobs ---- */

void
pmix_print_status (const char *what, pmix_status_t status)
{
  flockfile (stdout);
  printf ("%u %s %d\n", self->rank, what, status);
  fflush (stdout);
  funlockfile (stdout);
}

#define MOST_TARGETS 8

static size_t
read_targets (const char *text, pmix_proc_t procs[MOST_TARGETS])
{
  char *copy = strdup (text);
  char *rest = copy;
  size_t n = 0;

  for (char *word = strtok_r (rest, ",", &rest); word != NULL && n < MOST_TARGETS; word = strtok_r (NULL, ",", &rest))
    n += pmix_read_target (word, &procs[n]);
  free (copy);
  return n;
}

/* control OPERATION[+OPERATION...] TARGET[,TARGET...] */
static int
do_control (const char *words, const char *target)
{
  static const struct
  {
    const char *word;
    const char *key;
  } keys[] = {
    { "kill", PMIX_JOB_CTRL_KILL },     { "term", PMIX_JOB_CTRL_TERMINATE }, { "pause", PMIX_JOB_CTRL_PAUSE },
    { "resume", PMIX_JOB_CTRL_RESUME }, { "separate", JOB_CTRL_SEP },        { "restart", PMIX_JOB_CTRL_RESTART },
  };
  char *copy = strdup (words);
  char *rest = copy;
  pmix_info_t info[4];
  pmix_info_t *results = NULL;
  size_t n_results = 0;
  size_t n = 0;
  pmix_proc_t procs[MOST_TARGETS];
  size_t n_targets = read_targets (target, procs);
  pmix_status_t status;

  for (char *word = strtok_r (rest, "+", &rest); word != NULL && n < 4; word = strtok_r (NULL, "+", &rest))
    {
      int number = strncmp (word, "signal=", 7) == 0 ? atoi (word + 7) : 0;

      if (number != 0)
        PMIX_INFO_LOAD (&info[n++], PMIX_JOB_CTRL_SIGNAL, &number, PMIX_INT);
      if (strncmp (word, "pset=", 5) == 0)
        PMIX_INFO_LOAD (&info[n++], JOB_CTRL_PSET, word + 5, PMIX_STRING);
      for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp (keys[i].word, word) == 0)
          PMIX_INFO_LOAD (&info[n++], keys[i].key, NULL, PMIX_BOOL);
    }
  status = PMIx_Job_control (n_targets > 0 ? procs : NULL, n_targets, info, n, &results, &n_results);
  /* A request that is done at once is as good. */
  pmix_print_status ("control", status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status);
  if (results != NULL)
    PMIX_INFO_FREE (results, n_results);
  free (copy);
  return 3;
}

typedef struct
{
  pthread_mutex_t lock;
  pthread_cond_t done;
  bool is_done;
  pmix_status_t status;
} Push;

static void
on_pushed (pmix_status_t status, void *data)
{
  Push *push = data;

  pthread_mutex_lock (&push->lock);
  push->status = status;
  push->is_done = true;
  pthread_cond_signal (&push->done);
  pthread_mutex_unlock (&push->lock);
}

/*
 * push TARGET[,TARGET...] TEXT COUNT: so often, each when the last one was taken; COUNT 0: the end. The call that waits
 * by itself frees what it waits for in libpmix 4.2.2.
 */
static int
do_push (const char *target, const char *text, int count)
{
  Push push = { .lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER };
  pmix_byte_object_t data = { .bytes = (char *)text, .size = count > 0 ? strlen (text) : 0 };
  pmix_proc_t procs[MOST_TARGETS];
  size_t n = read_targets (target, procs);

  for (int i = 0; i < (count > 0 ? count : 1) && push.status == PMIX_SUCCESS; i++)
    {
      pmix_status_t status;

      push.is_done = false;
      status = PMIx_IOF_push (procs, n, &data, NULL, 0, on_pushed, &push);
      pthread_mutex_lock (&push.lock);
      while (status == PMIX_SUCCESS && !push.is_done)
        pthread_cond_wait (&push.done, &push.lock);
      pthread_mutex_unlock (&push.lock);
      if (status != PMIX_SUCCESS)
        push.status = status;
    }
  pmix_print_status ("push", push.status);
  return 4;
}

/* abort TARGET */
static int
do_abort (const char *target)
{
  pmix_proc_t proc;
  size_t n = pmix_read_target (target, &proc);

  pmix_print_status ("abort", PMIx_Abort (7, "as the test has it", n > 0 ? &proc : NULL, n));
  return 2;
}

/* ---- commands ---- */

int
pmix_spawn_command (const pmix_proc_t *proc, char **argv, const char *id)
{
  self = proc;
  if (strcmp (argv[0], "spawn") == 0)
    return do_spawn (argv, id);
  if (strcmp (argv[0], "parent") == 0)
    return do_parent ();
  if (strcmp (argv[0], "jobs") == 0)
    return do_watch ();
  if (strcmp (argv[0], "ended") == 0 && argv[1] != NULL && strchr (argv[1], '@') != NULL)
    return do_ended (pmix_find_nspace (argv[1]));
  if (strcmp (argv[0], "control") == 0 && argv[1] != NULL && argv[2] != NULL)
    return do_control (argv[1], argv[2]);
  if (strcmp (argv[0], "push") == 0 && argv[1] != NULL && argv[2] != NULL && argv[3] != NULL)
    return do_push (argv[1], argv[2], atoi (argv[3]));
  if (strcmp (argv[0], "abort") == 0 && argv[1] != NULL)
    return do_abort (argv[1]);
  return -1;
}
