/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/*
 * A PMIx client for the tests that is in groups: its arguments are done one after another, as pmix-steps.h says.
 *
 *   construct NAME MEMBERS [OPTION]...    OPTION: context, optional, tolerant, notify, local, add, required, bad,
 *                                         timeout=S, give=N (its own number for the others), ill (not an array)
 *   begin NAME MEMBERS [OPTION]...        the same, without waiting
 *   end                                   until that has come
 *   destruct NAME [OPTION]..., nameless    without a name
 *   leave NAME
 *   invite NAME MEMBERS                   waits until they have accepted
 *   begin-invite NAME MEMBERS             invites them
 *   join, decline                         the invitation that it has been told of
 *   declare NAME MEMBERS                  tells that the group is formed, as the library does behind an invitation
 *   given RANK                            the number that this rank has given in the last group
 *   fence MEMBERS
 *   put KEY VALUE, get NSPACE:RANK KEY
 *   watch failed | left | invited | formed   wants to be told of that
 *   await                                 until it has been
 *   query number | names | members NAME
 *
 * MEMBERS: "*", all of its job; or RANK, NAMESPACE:RANK and NAMESPACE:*, with commas between. "@" is the namespace in
 * the file that the environment names as PEER_FILE. Each answer is one line on its output, behind the rank.
 */

#include <pmix.h>

#include <pthread.h>
#include <stdbool.h>

#include "pmix-steps.h"
#include "pmix-words.h"

#define MAX_INFO    8
#define MAX_MEMBERS 256

static pmix_proc_t self;
static size_t context;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* Callbacks say this. */
static char line[512];
static pmix_proc_t leader;
static char invited[256];

static void
say (const char *what, const char *name, pmix_status_t status)
{
  printf ("%u: %s %s %s\n", self.rank, what, name, pmix_status_word (status));
  fflush (stdout);
}

/* ---- words ---- */

static void
read_nspace (char *nspace, const char *word, size_t length)
{
  char name[256] = "";

  snprintf (name, sizeof name, "%.*s", (int)length, word);
  if (strcmp (name, "@") == 0)
    {
      FILE *file = fopen (getenv ("PEER_FILE"), "r");

      if (file == NULL || fscanf (file, "%255s", name) != 1)
        exit (40);
      fclose (file);
    }
  PMIX_LOAD_NSPACE (nspace, name);
}

static void
read_proc (pmix_proc_t *proc, const char *word)
{
  const char *colon = strrchr (word, ':');
  const char *rank = colon != NULL ? colon + 1 : word;

  PMIX_LOAD_NSPACE (proc->nspace, self.nspace);
  if (colon != NULL)
    read_nspace (proc->nspace, word, (size_t)(colon - word));
  proc->rank = strcmp (rank, "*") == 0 ? PMIX_RANK_WILDCARD : (pmix_rank_t)atoi (rank);
}

static size_t
read_members (pmix_proc_t *procs, const char *words)
{
  char *list = strdup (words);
  size_t n = 0;

  for (char *word = strtok (list, ","); word != NULL && n < MAX_MEMBERS; word = strtok (NULL, ","))
    read_proc (&procs[n++], word);
  free (list);
  return n;
}

static void
load_given (pmix_info_t *info, const char *number)
{
  pmix_data_array_t array;
  size_t value = (size_t)atoi (number);

  PMIX_DATA_ARRAY_CONSTRUCT (&array, 1, PMIX_INFO);
  PMIX_INFO_LOAD ((pmix_info_t *)array.array, PMIX_GROUP_LOCAL_CID, &value, PMIX_SIZE);
  PMIX_INFO_LOAD (info, PMIX_GROUP_INFO, &array, PMIX_DATA_ARRAY);
  PMIX_DATA_ARRAY_DESTRUCT (&array);
}

static bool
read_option (const char *word, pmix_info_t *info)
{
  static const struct
  {
    const char *word;
    const char *key;
  } flags[] = {
    { "context", PMIX_GROUP_ASSIGN_CONTEXT_ID }, { "optional", PMIX_GROUP_OPTIONAL },
    { "tolerant", PMIX_GROUP_FT_COLLECTIVE },    { "notify", PMIX_GROUP_NOTIFY_TERMINATION },
    { "local", PMIX_GROUP_LOCAL_ONLY },          { "add", PMIX_GROUP_ADD_MEMBERS },
    { "required", "pmix.never.heard" },
  };
  int number = strchr (word, '=') != NULL ? atoi (strchr (word, '=') + 1) : 0;

  for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
    if (strcmp (word, flags[i].word) == 0)
      {
        PMIX_INFO_LOAD (info, flags[i].key, NULL, PMIX_BOOL);
        if (strcmp (word, "required") == 0)
          PMIX_INFO_REQUIRED (info);
        return true;
      }
  if (strncmp (word, "timeout=", 8) == 0)
    PMIX_INFO_LOAD (info, PMIX_TIMEOUT, &number, PMIX_INT);
  else if (strncmp (word, "give=", 5) == 0)
    load_given (info, word + 5);
  else if (strcmp (word, "ill") == 0)
    PMIX_INFO_LOAD (info, PMIX_GROUP_INFO, "no array", PMIX_STRING);
  else if (strcmp (word, "bad") == 0)
    PMIX_INFO_LOAD (info, PMIX_GROUP_ASSIGN_CONTEXT_ID, "true", PMIX_STRING);
  else
    return false;
  return true;
}

static char **
read_options (char **words, pmix_info_t *info, size_t *n)
{
  *n = 0;
  while (*words != NULL && *n < MAX_INFO && read_option (*words, &info[*n]))
    {
      (*n)++;
      words++;
    }
  return words;
}

/* ---- waiting ---- */

static void
tell (const char *text)
{
  pthread_mutex_lock (&mutex);
  snprintf (line, sizeof line, "%s", text);
  pthread_cond_broadcast (&changed);
  pthread_mutex_unlock (&mutex);
}

static void
await (const char *what)
{
  pthread_mutex_lock (&mutex);
  while (line[0] == '\0')
    pthread_cond_wait (&changed, &mutex);
  printf ("%u: %s %s\n", self.rank, what, line);
  fflush (stdout);
  line[0] = '\0';
  pthread_mutex_unlock (&mutex);
}

/* ---- groups ---- */

static void
read_results (const pmix_info_t *results, size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (PMIX_CHECK_KEY (&results[i], PMIX_GROUP_CONTEXT_ID) && results[i].value.data.size != SIZE_MAX)
      context = results[i].value.data.size;
}

static void
say_constructed (const char *name, pmix_status_t status)
{
  if (status != PMIX_SUCCESS || context == SIZE_MAX)
    {
      say ("construct", name, status);
      return;
    }
  printf ("%u: construct %s SUCCESS %zu\n", self.rank, name, context);
  fflush (stdout);
}

static char **
construct (char **words)
{
  pmix_proc_t procs[MAX_MEMBERS];
  pmix_info_t info[MAX_INFO];
  pmix_info_t *results = NULL;
  size_t n_results = 0;
  size_t n;
  size_t n_procs = read_members (procs, words[1]);
  char **rest = read_options (words + 2, info, &n);
  pmix_status_t status = PMIx_Group_construct (words[0], procs, n_procs, info, n, &results, &n_results);

  context = SIZE_MAX;
  if (status == PMIX_SUCCESS)
    read_results (results, n_results);
  say_constructed (words[0], status);
  return rest;
}

static void
on_constructed (pmix_status_t status, pmix_info_t *info, size_t n_info, void *data, pmix_release_cbfunc_t release,
                void *release_data)
{
  context = SIZE_MAX;
  if (status == PMIX_SUCCESS)
    read_results (info, n_info);
  if (release != NULL)
    release (release_data);
  tell (pmix_status_word (status));
}

static char **
begin (char **words)
{
  pmix_proc_t procs[MAX_MEMBERS];
  pmix_info_t info[MAX_INFO];
  size_t n;
  size_t n_procs = read_members (procs, words[1]);
  char **rest = read_options (words + 2, info, &n);

  pmix_step_check (PMIx_Group_construct_nb (words[0], procs, n_procs, info, n, on_constructed, NULL), "begin", 41);
  return rest;
}

static char **
destruct (char **words)
{
  pmix_info_t info[MAX_INFO];
  size_t n;
  char **rest = read_options (words + 1, info, &n);

  say ("destruct", words[0], PMIx_Group_destruct (words[0], info, n));
  return rest;
}

static char **
leave (char **words)
{
  say ("leave", words[0], PMIx_Group_leave (words[0], NULL, 0));
  return words + 1;
}

static char **
given (char **words)
{
  pmix_proc_t proc;
  pmix_info_t info;
  pmix_value_t *value = NULL;
  pmix_status_t status;

  read_proc (&proc, words[0]);
  PMIX_INFO_LOAD (&info, PMIX_GROUP_CONTEXT_ID, &context, PMIX_SIZE);
  PMIX_INFO_SET_QUALIFIER (&info);
  status = PMIx_Get (&proc, PMIX_GROUP_LOCAL_CID, &info, 1, &value);
  if (status == PMIX_SUCCESS)
    printf ("%u: given %s %zu\n", self.rank, words[0], value->data.size);
  else
    printf ("%u: given %s %s\n", self.rank, words[0], pmix_status_word (status));
  fflush (stdout);
  return words + 1;
}

/* ---- events ---- */

static void
on_event (size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t n_info,
          pmix_info_t *results, size_t n_results, pmix_event_notification_cbfunc_fn_t done, void *data)
{
  const char *group = "";
  const pmix_proc_t *affected = NULL;
  char text[400];

  for (size_t i = 0; i < n_info; i++)
    if (PMIX_CHECK_KEY (&info[i], PMIX_GROUP_ID))
      group = info[i].value.data.string;
    else if (PMIX_CHECK_KEY (&info[i], PMIX_EVENT_AFFECTED_PROC))
      affected = info[i].value.data.proc;
  if (status == PMIX_GROUP_INVITED)
    {
      leader = *source;
      snprintf (invited, sizeof invited, "%s", group);
      snprintf (text, sizeof text, "invited %s by %u", group, source->rank);
    }
  else if (status == PMIX_GROUP_CONSTRUCT_COMPLETE)
    snprintf (text, sizeof text, "formed %s", group);
  else
    snprintf (text, sizeof text, "%s %s %d", status == PMIX_GROUP_LEFT ? "left" : "failed", group,
              affected != NULL ? (int)affected->rank : -1);
  tell (text);
  done (PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static char **
watch (char **words)
{
  pmix_status_t code = strcmp (words[0], "failed") == 0    ? PMIX_GROUP_MEMBER_FAILED
                       : strcmp (words[0], "left") == 0    ? PMIX_GROUP_LEFT
                       : strcmp (words[0], "invited") == 0 ? PMIX_GROUP_INVITED
                                                           : PMIX_GROUP_CONSTRUCT_COMPLETE;

  pmix_step_check (PMIx_Register_event_handler (&code, 1, NULL, 0, on_event, NULL, NULL) < 0 ? PMIX_ERROR
                                                                                             : PMIX_SUCCESS,
                   "watch", 42);
  return words + 1;
}

static char **
invite (char **words)
{
  pmix_proc_t procs[MAX_MEMBERS];
  pmix_info_t *results = NULL;
  size_t n_results = 0;
  size_t n = read_members (procs, words[1]);

  say ("invite", words[0], PMIx_Group_invite (words[0], procs, n, NULL, 0, &results, &n_results));
  return words + 2;
}

static void
on_accepted (pmix_status_t status, pmix_info_t *info, size_t n_info, void *data, pmix_release_cbfunc_t release,
             void *release_data)
{
}

static char **
begin_invite (char **words)
{
  pmix_proc_t procs[MAX_MEMBERS];
  size_t n = read_members (procs, words[1]);

  say ("begin-invite", words[0], PMIx_Group_invite_nb (words[0], procs, n, NULL, 0, on_accepted, NULL));
  return words + 2;
}

static void
answer (const char *word, pmix_group_opt_t what)
{
  pmix_info_t *results = NULL;
  size_t n = 0;

  say (word, invited, PMIx_Group_join (invited, &leader, what, NULL, 0, &results, &n));
}

static void
on_declared (pmix_status_t status, void *data)
{
  pthread_mutex_lock (&mutex);
  *(pmix_status_t *)data = status;
  pthread_cond_broadcast (&changed);
  pthread_mutex_unlock (&mutex);
}

static char **
declare (char **words)
{
  static const pmix_status_t waiting = 1;
  pmix_status_t status = waiting;
  pmix_proc_t procs[MAX_MEMBERS];
  size_t n = read_members (procs, words[1]);
  pmix_data_array_t array = { .type = PMIX_PROC, .size = n, .array = procs };
  pmix_info_t info[2];

  PMIX_INFO_LOAD (&info[0], PMIX_EVENT_CUSTOM_RANGE, &array, PMIX_DATA_ARRAY);
  PMIX_INFO_LOAD (&info[1], PMIX_GROUP_ID, words[0], PMIX_STRING);
  pmix_step_check (
      PMIx_Notify_event (PMIX_GROUP_CONSTRUCT_COMPLETE, &self, PMIX_RANGE_CUSTOM, info, 2, on_declared, &status),
      "declare", 45);
  pthread_mutex_lock (&mutex);
  while (status == waiting)
    pthread_cond_wait (&changed, &mutex);
  pthread_mutex_unlock (&mutex);
  say ("declare", words[0], status);
  return words + 2;
}

/* ---- others ---- */

static char **
put (char **words)
{
  pmix_value_t value;

  PMIX_VALUE_LOAD (&value, words[1], PMIX_STRING);
  pmix_step_check (PMIx_Put (PMIX_GLOBAL, words[0], &value), "put", 43);
  pmix_step_check (PMIx_Commit (), "commit", 44);
  PMIX_VALUE_DESTRUCT (&value);
  return words + 2;
}

static char **
get (char **words)
{
  pmix_proc_t proc;
  pmix_value_t *value = NULL;
  pmix_status_t status;

  read_proc (&proc, words[0]);
  status = PMIx_Get (&proc, words[1], NULL, 0, &value);
  printf ("%u: get %s %s\n", self.rank, words[1],
          status == PMIX_SUCCESS ? value->data.string : pmix_status_word (status));
  fflush (stdout);
  return words + 2;
}

static char **
fence (char **words)
{
  pmix_proc_t procs[MAX_MEMBERS];
  size_t n = read_members (procs, words[0]);

  say ("fence", words[0], PMIx_Fence (procs, n, NULL, 0));
  return words + 1;
}

static void
say_value (const pmix_value_t *value)
{
  if (value->type == PMIX_SIZE)
    printf (" %zu", value->data.size);
  else if (value->type == PMIX_STRING)
    printf (" %s", value->data.string);
  else if (value->type == PMIX_DATA_ARRAY && value->data.darray->type == PMIX_PROC)
    for (size_t i = 0; i < value->data.darray->size; i++)
      printf (" %u", ((pmix_proc_t *)value->data.darray->array)[i].rank);
}

static char **
query (char **words)
{
  bool members = strcmp (words[0], "members") == 0;
  pmix_query_t question;
  pmix_info_t *results = NULL;
  size_t n = 0;
  pmix_status_t status;

  PMIX_QUERY_CONSTRUCT (&question);
  PMIX_ARGV_APPEND (status, question.keys,
                    members                            ? PMIX_QUERY_GROUP_MEMBERSHIP
                    : strcmp (words[0], "number") == 0 ? PMIX_QUERY_NUM_GROUPS
                                                       : PMIX_QUERY_GROUP_NAMES);
  if (members)
    {
      PMIX_QUERY_QUALIFIERS_CREATE (&question, 1);
      PMIX_INFO_LOAD (&question.qualifiers[0], PMIX_GROUP_ID, words[1], PMIX_STRING);
    }
  status = PMIx_Query_info (&question, 1, &results, &n);
  printf ("%u: %s %s", self.rank, words[0], pmix_status_word (status));
  if (status == PMIX_SUCCESS && n > 0)
    say_value (&results[0].value);
  printf ("\n");
  fflush (stdout);
  PMIX_INFO_FREE (results, n);
  PMIX_QUERY_DESTRUCT (&question);
  return words + (members ? 2 : 1);
}

static char **
run_pair (char **words)
{
  if (strcmp (words[0], "construct") == 0)
    return construct (words + 1);
  if (strcmp (words[0], "begin") == 0)
    return begin (words + 1);
  if (strcmp (words[0], "invite") == 0)
    return invite (words + 1);
  if (strcmp (words[0], "begin-invite") == 0)
    return begin_invite (words + 1);
  if (strcmp (words[0], "declare") == 0)
    return declare (words + 1);
  if (strcmp (words[0], "put") == 0)
    return put (words + 1);
  if (strcmp (words[0], "get") == 0)
    return get (words + 1);
  exit (33);
}

static char **
run_one (char **words)
{
  if (strcmp (words[0], "nameless") == 0)
    say ("destruct", "nothing", PMIx_Group_destruct (NULL, NULL, 0));
  else if (strcmp (words[0], "end") == 0)
    await ("end");
  else if (strcmp (words[0], "await") == 0)
    await ("told");
  else if (strcmp (words[0], "join") == 0)
    answer ("join", PMIX_GROUP_ACCEPT);
  else if (strcmp (words[0], "decline") == 0)
    answer ("decline", PMIX_GROUP_DECLINE);
  else if (words[1] == NULL)
    exit (33);
  else if (strcmp (words[0], "watch") == 0)
    return watch (words + 1);
  else if (strcmp (words[0], "leave") == 0)
    return leave (words + 1);
  else if (strcmp (words[0], "destruct") == 0)
    return destruct (words + 1);
  else if (strcmp (words[0], "given") == 0)
    return given (words + 1);
  else if (strcmp (words[0], "fence") == 0)
    return fence (words + 1);
  else if (strcmp (words[0], "query") == 0)
    return query (words + 1);
  else if (words[2] == NULL)
    exit (33);
  else
    return run_pair (words);
  return words + 1;
}

int
main (int argc, char **argv)
{
  if (argc < 2)
    return 32;
  pmix_step_check (PMIx_Init (&self, NULL, 0), "init", 10);
  pmix_steps_run (argv + 1, self.rank, run_one);
  pmix_step_check (PMIx_Finalize (NULL, 0), "finalize", 16);
  return 0;
}
