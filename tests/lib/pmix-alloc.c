/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/*
 * A PMIx client or tool for the tests that asks for nodes: its arguments are done one after another.
 *
 *   --stranger               first: its sockets are those of another user (root alone can do that), whatever it says
 *   --tool FILE              first: a tool, that finds its server by this file, or by its environment: -
 *   --tool-name NAME         then perhaps: what it calls itself
 *   --says KEY               then perhaps: a flag of a tool that is set
 *   register | register-all  for the events of changes of size and of limits; for everything
 *   warned | ended           for the event that the node leaves; for the one that its server ends
 *   new | extend | release | reaquire | cancel [KEY=VALUE...]   a request; "id=@" is the id that the last one answered
 *   wait N                   until so many events have come, at most 60 s
 *   settle MS                time for events that must not come
 *   file PATH                until that file is there, at most 10 minutes
 *   rank N | all             what follows is for that rank alone, for all again
 *   fence                    of the whole job
 *   spawn [KEY=VALUE...] -- PROGRAM [ARGUMENT...] ;   a job, answered when it runs; "@@" is the last one's namespace
 *   parent               who has spawned this one
 *   jobs                 from now on the start and the end of what it has spawned is told
 *   ended NSPACE         wait for the end of that one
 *   control OPERATION[+OPERATION...] TARGET[,TARGET...]   kill, term, signal=N, pause, resume, separate, pset=NAME;
 *                        NSPACE[.RANK] or none
 *   push TARGET[,TARGET...] TEXT COUNT   PMIx_IOF_push() so often; COUNT 0: the end
 *   pull out+err[/KEY] TARGET[,TARGET...]   PMIx_IOF_pull(), with that directive
 *   gate PATH            what comes of it is not read until that file is there
 *   pulled N             until so many bytes have come, at most 60 s
 *   told                 how many bytes each has said on each channel, and their FNV-1a
 *   drop                 the last pull is deregistered
 *   abort TARGET         PMIx_Abort of those
 *   watch                from now on it is told which jobs wait for a debugger
 *   ready NSPACE         wait for that of one
 *   debugged             what this job of a debugger is about, "@@" from now on
 *   table | local-table NSPACE   PMIX_QUERY_PROC_TABLE, PMIX_QUERY_LOCAL_PROC_TABLE
 *   let-go TARGET        PMIX_DEBUGGER_RELEASE for those
 *   stay                     until it is killed, or its server goes
 *
 * Each answer and each event is one line on its output. It ends with 0, or with a number that says where it failed.
 */

#include <pmix.h>
#include <pmix_tool.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include "pmix-debug.h"
#include "pmix-library.h"
#include "pmix-pull.h"
#include "pmix-session.h"
#include "pmix-spawn.h"
#include "pmix-words.h"

#define DVM_IS_READY          -195
#define ERR_DVM_MOD           -196
#define ALLOC_TIMEOUT_WARNING -194
#define MAX_INFO              16
#define LIMIT_MS              60000
#define FILE_LIMIT_MS         600000
#define STRANGER              65534

/* The library's headers may not have them. */
#define KEY_TARGET  "pmix.alloc.tgt"
#define KEY_SHARE   "pmix.alloc.share"
#define KEY_INHERIT "pmix.alloc.inhrt"
#define KEY_WARN    "pmix.alloc.wtmo"
#define KEY_SEP     "pmix.alloc.sep"
#define REQ_CANCEL  5

static pmix_proc_t self;
static bool is_tool;
static volatile int n_events;
static FILE *later; /* what comes while an answer is waited for, which is printed first; under the lock of stdout */
static char last_id[256];

static void
check (pmix_status_t status, const char *what, int code)
{
  if (status >= 0 || status == PMIX_OPERATION_SUCCEEDED)
    return;
  fprintf (stderr, "%s.%u: %s: %s\n", self.nspace, self.rank, what, pmix_status_word (status));
  exit (code);
}

static void
print_info (FILE *to, const pmix_info_t *info)
{
  const pmix_value_t *value = &info->value;

  if (strcmp (info->key, PMIX_ALLOC_ID) == 0)
    fprintf (to, " id=%s", value->data.string);
  else if (strcmp (info->key, PMIX_ALLOC_REQ_ID) == 0)
    fprintf (to, " req=%s", value->data.string);
  else if (strcmp (info->key, PMIX_SESSION_ID) == 0)
    fprintf (to, " session=%u", value->data.uint32);
  else if (strcmp (info->key, PMIX_JOB_TERM_STATUS) == 0 && value->type == PMIX_STATUS)
    fprintf (to, " status=%d", value->data.status);
  else if (strcmp (info->key, PMIX_HOSTNAME) == 0)
    fprintf (to, " host=%s", value->data.string);
  else if (strcmp (info->key, PMIX_EVENT_TERMINATE_NODE) == 0)
    fprintf (to, " terminate=%d", value->data.flag);
  else if (strcmp (info->key, PMIX_EVENT_ACTION_TIMEOUT) == 0)
    fprintf (to, " timeout=%d", value->data.integer);
  else if (strcmp (info->key, PMIX_EVENT_AFFECTED_PROC) == 0)
    fprintf (to, " affected=%s", value->data.proc->nspace);
  else if (strcmp (info->key, PMIX_TIME_REMAINING) == 0)
    fprintf (to, " left=%u", value->data.uint32);
}

static void
on_event (size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t n_info,
          pmix_info_t *results, size_t n_results, pmix_event_notification_cbfunc_fn_t callback, void *data)
{
  FILE *to;

  flockfile (stdout);
  to = later != NULL ? later : stdout;
  fprintf (to, "%u event %d", self.rank, status);
  for (size_t i = 0; i < n_info; i++)
    print_info (to, &info[i]);
  fprintf (to, "\n");
  fflush (to);
  funlockfile (stdout);
  n_events++;
  if (callback != NULL)
    callback (PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void
do_register (pmix_status_t *codes, size_t n)
{
  check (PMIx_Register_event_handler (codes, n, NULL, 0, on_event, NULL, NULL), "register", 41);
}

typedef struct
{
  const char *name;
  const char *key;
  pmix_data_type_t type;
} Key;

static const Key keys[] = {
  { "list", PMIX_ALLOC_NODE_LIST, PMIX_STRING },
  { "add", PMIX_ADD_HOST, PMIX_STRING },
  { "file", PMIX_ADD_HOSTFILE, PMIX_STRING },
  { "req", PMIX_ALLOC_REQ_ID, PMIX_STRING },
  { "id", PMIX_ALLOC_ID, PMIX_STRING },
  { "count", PMIX_ALLOC_NUM_NODES, PMIX_UINT64 },
  { "cpus", PMIX_ALLOC_NUM_CPUS, PMIX_UINT64 },
  { "session", PMIX_SESSION_ID, PMIX_UINT32 },
  { "target", KEY_TARGET, PMIX_STRING },
  { "share", KEY_SHARE, PMIX_BOOL },
  { "inherit", KEY_INHERIT, PMIX_UINT8 },
  { "time", PMIX_ALLOC_TIME, PMIX_UINT32 },
  { "limit", PMIX_ALLOC_TIME, PMIX_STRING }, /* as newer headers have it */
  { "warn", KEY_WARN, PMIX_UINT32 },
  { "sep", KEY_SEP, PMIX_BOOL },
};

static void
load (pmix_info_t *info, const Key *key, const char *text)
{
  uint64_t wide = strtoull (text, NULL, 10);
  uint32_t number = (uint32_t)wide;
  uint8_t byte = (uint8_t)wide;
  bool flag = wide != 0;

  if (key->type == PMIX_STRING)
    PMIX_INFO_LOAD (info, key->key, text, PMIX_STRING);
  else if (key->type == PMIX_UINT64)
    PMIX_INFO_LOAD (info, key->key, &wide, PMIX_UINT64);
  else if (key->type == PMIX_UINT32)
    PMIX_INFO_LOAD (info, key->key, &number, PMIX_UINT32);
  else if (key->type == PMIX_UINT8)
    PMIX_INFO_LOAD (info, key->key, &byte, PMIX_UINT8);
  else
    PMIX_INFO_LOAD (info, key->key, &flag, PMIX_BOOL);
}

/* "claim=NSPACE" says that it is somebody else who asks. */
static void
add (pmix_info_t *info, const char *pair)
{
  const char *value = strchr (pair, '=') + 1;
  size_t length = (size_t)(value - 1 - pair);
  pmix_proc_t other;

  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (strlen (keys[i].name) == length && strncmp (pair, keys[i].name, length) == 0)
      {
        load (info, &keys[i], strcmp (value, "@") == 0 ? last_id : value);
        return;
      }
  if (strncmp (pair, "claim=", 6) != 0)
    exit (3);
  PMIX_LOAD_PROCID (&other, value, 0);
  PMIX_INFO_LOAD (info, "pmix.requestor", &other, PMIX_PROC);
}

/* How many of the arguments belong to it. */
static int
do_request (pmix_alloc_directive_t directive, const char *name, char **argv)
{
  pmix_info_t info[MAX_INFO];
  pmix_info_t *results = NULL;
  size_t n_results = 0;
  pmix_status_t status;
  char *text = NULL;
  size_t size = 0;
  int n = 0;

  for (; argv[n] != NULL && strchr (argv[n], '=') != NULL && n < MAX_INFO; n++)
    add (&info[n], argv[n]);
  flockfile (stdout);
  later = open_memstream (&text, &size);
  funlockfile (stdout);
  status = PMIx_Allocation_request (directive, info, (size_t)n, &results, &n_results);
  flockfile (stdout);
  printf ("%u %s %d", self.rank, name, status);
  for (size_t i = 0; i < n_results; i++)
    {
      print_info (stdout, &results[i]);
      if (strcmp (results[i].key, PMIX_ALLOC_ID) == 0)
        snprintf (last_id, sizeof last_id, "%s", results[i].value.data.string);
    }
  fclose (later);
  later = NULL;
  printf ("\n%s", text);
  fflush (stdout);
  funlockfile (stdout);
  free (text);
  for (int i = 0; i < n; i++)
    PMIX_INFO_DESTRUCT (&info[i]);
  if (results != NULL)
    PMIX_INFO_FREE (results, n_results);
  return n;
}

static void
do_wait (int n)
{
  for (int ms = 0; n_events < n; ms++)
    {
      if (ms == LIMIT_MS)
        exit (42);
      usleep (1000);
    }
}

static void
do_file (const char *path)
{
  for (int ms = 0; access (path, F_OK) != 0; ms++)
    {
      if (ms == FILE_LIMIT_MS)
        exit (43);
      usleep (1000);
    }
}

static void
do_fence (void)
{
  pmix_proc_t all;

  PMIX_LOAD_PROCID (&all, self.nspace, PMIX_RANK_WILDCARD);
  check (PMIx_Fence (&all, 1, NULL, 0), "fence", 44);
}

static void
do_stay (void)
{
  printf ("%u stays\n", self.rank);
  fflush (stdout);
  for (;;)
    pause ();
}

/* How many of the arguments were for it; the first is its name. */
static int
do_command (char **argv)
{
  pmix_status_t codes[] = { DVM_IS_READY, ERR_DVM_MOD, ALLOC_TIMEOUT_WARNING };
  pmix_status_t warned = PMIX_EVENT_NODE_OFFLINE;
  pmix_status_t ended = PMIX_EVENT_JOB_END;
  int n = pmix_spawn_command (&self, argv, last_id);

  if (n < 0)
    n = pmix_pull_command (&self, argv);
  if (n < 0)
    n = pmix_debug_command (&self, argv);
  if (n < 0)
    n = pmix_session_command (&self, argv);
  if (n > 0)
    return n;
  if (strcmp (argv[0], "register") == 0)
    do_register (codes, 3);
  else if (strcmp (argv[0], "register-all") == 0)
    do_register (NULL, 0);
  else if (strcmp (argv[0], "warned") == 0)
    do_register (&warned, 1);
  else if (strcmp (argv[0], "ended") == 0)
    do_register (&ended, 1);
  else if (strcmp (argv[0], "new") == 0)
    return 1 + do_request (PMIX_ALLOC_NEW, argv[0], argv + 1);
  else if (strcmp (argv[0], "extend") == 0)
    return 1 + do_request (PMIX_ALLOC_EXTEND, argv[0], argv + 1);
  else if (strcmp (argv[0], "release") == 0)
    return 1 + do_request (PMIX_ALLOC_RELEASE, argv[0], argv + 1);
  else if (strcmp (argv[0], "reaquire") == 0)
    return 1 + do_request (PMIX_ALLOC_REAQUIRE, argv[0], argv + 1);
  else if (strcmp (argv[0], "cancel") == 0)
    return 1 + do_request (REQ_CANCEL, argv[0], argv + 1);
  else if (strcmp (argv[0], "fence") == 0)
    do_fence ();
  else if (strcmp (argv[0], "stay") == 0)
    do_stay ();
  else if (argv[1] == NULL)
    exit (2);
  else if (strcmp (argv[0], "wait") == 0)
    do_wait (atoi (argv[1]));
  else if (strcmp (argv[0], "settle") == 0)
    usleep ((useconds_t)atoi (argv[1]) * 1000);
  else if (strcmp (argv[0], "file") == 0)
    do_file (argv[1]);
  else
    exit (2);
  return strcmp (argv[0], "wait") == 0 || strcmp (argv[0], "settle") == 0 || strcmp (argv[0], "file") == 0 ? 2 : 1;
}

static void
run (char **argv)
{
  bool mine = true;

  while (*argv != NULL)
    if (strcmp (*argv, "all") == 0)
      {
        mine = true;
        argv++;
      }
    else if (strcmp (*argv, "rank") == 0 && argv[1] != NULL)
      {
        mine = (pmix_rank_t)atoi (argv[1]) == self.rank;
        argv += 2;
      }
    else if (mine)
      argv += do_command (argv);
    else
      argv++;
}

static char **
start_tool (char **argv)
{
  pmix_info_t info[MAX_INFO];
  pmix_rank_t rank = 0;
  size_t n = 0;

  if (strcmp (argv[1], "-") != 0)
    PMIX_INFO_LOAD (&info[n++], PMIX_TOOL_ATTACHMENT_FILE, argv[1], PMIX_STRING);
  argv += 2;
  if (*argv != NULL && strcmp (*argv, "--tool-name") == 0)
    {
      PMIX_INFO_LOAD (&info[n++], PMIX_TOOL_NSPACE, argv[1], PMIX_STRING);
      PMIX_INFO_LOAD (&info[n++], PMIX_TOOL_RANK, &rank, PMIX_PROC_RANK);
      argv += 2;
    }
  for (; *argv != NULL && strcmp (*argv, "--says") == 0 && n < MAX_INFO; argv += 2)
    PMIX_INFO_LOAD (&info[n++], argv[1], NULL, PMIX_BOOL);
  is_tool = true;
  pmix_begin_tool ();
  check (PMIx_tool_init (&self, info, n), "tool init", 10);
  printf ("%s.%u is a tool\n", self.nspace, self.rank);
  fflush (stdout);
  return argv;
}

int
main (int argc, char **argv)
{
  argv++;
  if (*argv != NULL && strcmp (*argv, "--stranger") == 0)
    {
      setfsuid (STRANGER);
      argv++;
    }
  if (*argv != NULL && strcmp (*argv, "--tool") == 0 && argv[1] != NULL)
    argv = start_tool (argv);
  else
    check (PMIx_Init (&self, NULL, 0), "init", 10);
  run (argv);
  fflush (stdout);
  check (is_tool ? PMIx_tool_finalize () : PMIx_Finalize (NULL, 0), "finalize", 16);
  return 0;
}
