/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/*
 * A PMIx client or tool for the tests that publishes, looks up and connects: its arguments are done one after another.
 *
 *   --tool FILE                   first: a tool that finds its server by this file; or
 *   --tool WAY                    by pid=N, nspace=NAME, uri=ADDRESS, system-first, system; or session: as it may
 *   publish KEY VALUE [range=N] [persist=N] [no-items] [custom=NSPACE] [uids=N] [gids=N]
 *                                 [permitted-uids=N]
 *   lookup KEY[,KEY] [wait=N] [timeout=S] [range=N]
 *   unpublish KEY|all
 *   types                         publishes values of many types, and compares what it looks up
 *   connect NSPACE[.RANK] [timeout=S], disconnect ...   with all of its own job, and all (or that one) of that one
 *                                 of its own job alone for "."
 *   fence NSPACE [collect=1]      of both jobs, likewise
 *   get NSPACE RANK|job|all KEY [timeout=S] [node=NAME] [app=N] [session=N] [fresh=1]
 *                                 what that has put, or what is known of that job
 *   topology                      PMIx_Load_topology()
 *   distances                     PMIx_Compute_distances()
 *   put KEY VALUE                 and commits
 *   put-large KEY MIB             likewise, so many times 1,048,576 bytes
 *   publish-large KEY MIB
 *   query KEY[,KEY] [nspace=NAME] [host=NAME] [node=ID] [id=ALLOCATION] [rank=N] [pset=NAME] [req=REQUEST] [prop=KEY]
 *         [fresh=1]               PMIx_Query_info()
 *   log CHANNEL TEXT [DIRECTIVE]...
 *                                 CHANNEL: stdout, stderr, syslog, gsys, email; DIRECTIVE: once, tag, time, xml, pri=N,
 *                                 then=CHANNEL (the same text)
 *   credential PATH [types=LIST] [timeout=S]   of this process's user, is written there
 *   validate PATH [types=LIST] [timeout=S]     whose the credential is that stands there: UID GID
 *   file PATH                     until that file is there
 *   touch PATH                    makes it
 *   rank N | all                  what follows is for that rank alone, for all again
 *   die                           kills itself
 *
 * "@" is the namespace in the file that the environment names as PEER_FILE; "touch" writes its own there. "." is its
 * own. Each answer is one line on its output.
 */

#include <pmix.h>
#include <pmix_tool.h>

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pmix-library.h"
#include "pmix-words.h"

#define MAX_INFO 8
#define MAX_KEYS 8

static pmix_proc_t self;
static bool is_tool;

static void
check (pmix_status_t status, const char *what, int code)
{
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED)
    return;
  fprintf (stderr, "%s.%u: %s: %s\n", self.nspace, self.rank, what, pmix_status_word (status));
  exit (code);
}

static void
say (const char *what, pmix_status_t status)
{
  printf ("%s %s\n", what, pmix_status_word (status));
  fflush (stdout);
}

static const char *
find_nspace (const char *word)
{
  static char nspace[PMIX_MAX_NSLEN + 1];
  FILE *file;

  if (strcmp (word, ".") == 0)
    return self.nspace;
  if (strncmp (word, "@", 2) != 0)
    return word;
  file = fopen (getenv ("PEER_FILE"), "r");
  if (file == NULL || fgets (nspace, sizeof nspace, file) == NULL)
    exit (30);
  fclose (file);
  return nspace;
}

/* "uids" or "gids": one. within: as PMIX_ACCESS_PERMISSIONS has them */
static void
load_access (pmix_info_t *info, const char *key, uint32_t id, bool within)
{
  pmix_data_array_t ids = { .type = PMIX_UINT32, .size = 1, .array = &id };
  pmix_data_array_t permissions = { .type = PMIX_INFO, .size = 1 };
  pmix_info_t inner;

  PMIX_INFO_LOAD (within ? &inner : info, key, &ids, PMIX_DATA_ARRAY);
  permissions.array = &inner;
  if (within)
    PMIX_INFO_LOAD (info, PMIX_ACCESS_PERMISSIONS, &permissions, PMIX_DATA_ARRAY);
}

static void
load_custom (pmix_info_t *info, const char *nspace)
{
  pmix_proc_t proc;
  pmix_data_array_t procs = { .type = PMIX_PROC, .size = 1, .array = &proc };

  PMIX_LOAD_PROCID (&proc, find_nspace (nspace), PMIX_RANK_WILDCARD);
  PMIX_INFO_LOAD (info, PMIX_EVENT_CUSTOM_RANGE, &procs, PMIX_DATA_ARRAY);
}

/* Those of the words that are KEY=VALUE; the rest of the words is returned. */
static char **
read_options (char **words, pmix_info_t *info, size_t *n)
{
  for (; *words != NULL && strchr (*words, '=') != NULL; words++)
    {
      int number = atoi (strchr (*words, '=') + 1);
      pmix_data_range_t range = (pmix_data_range_t)number;
      pmix_persistence_t persistence = (pmix_persistence_t)number;

      if (strncmp (*words, "range=", 6) == 0)
        PMIX_INFO_LOAD (&info[*n], PMIX_RANGE, &range, PMIX_DATA_RANGE);
      else if (strncmp (*words, "persist=", 8) == 0)
        PMIX_INFO_LOAD (&info[*n], PMIX_PERSISTENCE, &persistence, PMIX_PERSIST);
      else if (strncmp (*words, "wait=", 5) == 0)
        PMIX_INFO_LOAD (&info[*n], PMIX_WAIT, &number, PMIX_INT);
      else if (strncmp (*words, "timeout=", 8) == 0)
        PMIX_INFO_LOAD (&info[*n], PMIX_TIMEOUT, &number, PMIX_INT);
      else if (strncmp (*words, "collect=", 8) == 0)
        PMIX_INFO_LOAD (&info[*n], PMIX_COLLECT_DATA, NULL, PMIX_BOOL);
      else if (strncmp (*words, "fresh=", 6) == 0)
        PMIX_INFO_LOAD (&info[*n], PMIX_GET_REFRESH_CACHE, NULL, PMIX_BOOL);
      else if (strncmp (*words, "types=", 6) == 0)
        PMIX_INFO_LOAD (&info[*n], PMIX_CRED_TYPE, *words + 6, PMIX_STRING);
      else if (strncmp (*words, "node=", 5) == 0)
        {
          PMIX_INFO_LOAD (&info[*n], PMIX_NODE_INFO, NULL, PMIX_BOOL);
          (*n)++;
          PMIX_INFO_LOAD (&info[*n], PMIX_HOSTNAME, *words + 5, PMIX_STRING);
        }
      else if (strncmp (*words, "app=", 4) == 0)
        {
          uint32_t app = (uint32_t)number;

          PMIX_INFO_LOAD (&info[*n], PMIX_APP_INFO, NULL, PMIX_BOOL);
          (*n)++;
          PMIX_INFO_LOAD (&info[*n], PMIX_APPNUM, &app, PMIX_UINT32);
        }
      else if (strncmp (*words, "session=", 8) == 0)
        {
          uint32_t session = (uint32_t)number;

          PMIX_INFO_LOAD (&info[*n], PMIX_SESSION_INFO, NULL, PMIX_BOOL);
          (*n)++;
          PMIX_INFO_LOAD (&info[*n], PMIX_SESSION_ID, &session, PMIX_UINT32);
        }
      else if (strncmp (*words, "custom=", 7) == 0)
        load_custom (&info[*n], *words + 7);
      else if (strncmp (*words, "uids=", 5) == 0)
        load_access (&info[*n], PMIX_ACCESS_USERIDS, (uint32_t)number, false);
      else if (strncmp (*words, "gids=", 5) == 0)
        load_access (&info[*n], PMIX_ACCESS_GRPIDS, (uint32_t)number, false);
      else if (strncmp (*words, "permitted-uids=", 15) == 0)
        load_access (&info[*n], PMIX_ACCESS_USERIDS, (uint32_t)number, true);
      else if (strncmp (*words, "bad-range=", 10) == 0)
        PMIX_INFO_LOAD (&info[*n], PMIX_RANGE, "wide", PMIX_STRING);
      else if (strncmp (*words, "required=", 9) == 0)
        {
          PMIX_INFO_LOAD (&info[*n], "pmix.never.heard", &number, PMIX_INT);
          PMIX_INFO_REQUIRED (&info[*n]);
        }
      (*n)++;
    }
  return words;
}

static char **
publish (char **words)
{
  pmix_info_t info[MAX_INFO];
  size_t n = 1;
  char **rest = read_options (words + 2, info, &n);

  PMIX_INFO_LOAD (&info[0], words[0], words[1], PMIX_STRING);
  say ("publish", PMIx_Publish (info, n));
  return rest;
}

static char **
look_up (char **words)
{
  pmix_info_t info[MAX_INFO];
  pmix_pdata_t data[MAX_KEYS];
  size_t n = 0, n_keys = 0;
  char **rest = read_options (words + 1, info, &n);
  pmix_status_t status;

  for (char *key = strtok (words[0], ","); key != NULL; key = strtok (NULL, ","))
    {
      PMIX_PDATA_CONSTRUCT (&data[n_keys]);
      PMIX_LOAD_KEY (data[n_keys].key, key);
      n_keys++;
    }
  status = PMIx_Lookup (data, n_keys, n > 0 ? info : NULL, n);
  printf ("lookup %s", pmix_status_word (status));
  for (size_t i = 0; status == PMIX_SUCCESS && i < n_keys; i++)
    if (data[i].value.type == PMIX_STRING)
      printf (" %s=%s:%u", data[i].key, data[i].value.data.string, data[i].proc.rank);
  printf ("\n");
  fflush (stdout);
  return rest;
}

static char **
unpublish (char **words)
{
  char *keys[] = { words[0], NULL };

  say ("unpublish", PMIx_Unpublish (strcmp (words[0], "all") == 0 ? NULL : keys, NULL, 0));
  return words + 1;
}

/* Values that go through an agent, the controller and another agent are what they were. */
static void
compare_types (void)
{
  static const double number = 2.5;
  static const uint64_t large = UINT64_MAX - 1;
  static char bytes[] = { 0, 1, (char)0xff, 0 };
  pmix_byte_object_t object = { bytes, sizeof bytes };
  pmix_info_t info[4];
  pmix_pdata_t data[4];
  bool same;

  PMIX_INFO_LOAD (&info[0], "a-text", "with, commas; \"and\" more\n", PMIX_STRING);
  PMIX_INFO_LOAD (&info[1], "a-number", &number, PMIX_DOUBLE);
  PMIX_INFO_LOAD (&info[2], "a-large-one", &large, PMIX_UINT64);
  PMIX_INFO_LOAD (&info[3], "some-bytes", &object, PMIX_BYTE_OBJECT);
  check (PMIx_Publish (info, 4), "publish", 20);
  for (int i = 0; i < 4; i++)
    {
      PMIX_PDATA_CONSTRUCT (&data[i]);
      PMIX_LOAD_KEY (data[i].key, info[3 - i].key);
    }
  check (PMIx_Lookup (data, 4, NULL, 0), "lookup", 21);
  same = data[3].value.type == PMIX_STRING && strcmp (data[3].value.data.string, info[0].value.data.string) == 0
         && data[2].value.type == PMIX_DOUBLE && data[2].value.data.dval == number && data[1].value.type == PMIX_UINT64
         && data[1].value.data.uint64 == large && data[0].value.type == PMIX_BYTE_OBJECT
         && data[0].value.data.bo.size == sizeof bytes
         && memcmp (data[0].value.data.bo.bytes, bytes, sizeof bytes) == 0;
  printf ("types %s\n", same ? "right" : "wrong");
  fflush (stdout);
}

/* Both jobs take part: all of this one, and all of the other one. */
static void
load_both (pmix_proc_t procs[2], const char *word)
{
  PMIX_LOAD_PROCID (&procs[0], self.nspace, PMIX_RANK_WILDCARD);
  PMIX_LOAD_PROCID (&procs[1], find_nspace (word), PMIX_RANK_WILDCARD);
}

static char **
meet (char **words)
{
  pmix_info_t info[MAX_INFO];
  pmix_proc_t procs[2];
  size_t n = 0;
  char **rest = read_options (words + 2, info, &n);
  const size_t n_procs = strcmp (words[1], ".") == 0 ? 1 : 2;

  load_both (procs, words[1]);
  if (strcmp (words[0], "connect") == 0)
    say ("connect", PMIx_Connect (procs, n_procs, n > 0 ? info : NULL, n));
  else if (strcmp (words[0], "disconnect") == 0)
    say ("disconnect", PMIx_Disconnect (procs, n_procs, n > 0 ? info : NULL, n));
  else
    say ("fence", PMIx_Fence (procs, n_procs, n > 0 ? info : NULL, n));
  return rest;
}

static void
show_value (const pmix_value_t *value)
{
  const pmix_data_array_t *array = value->type == PMIX_DATA_ARRAY ? value->data.darray : NULL;

  if (value->type == PMIX_STRING)
    printf (" %s", value->data.string);
  else if (value->type == PMIX_UINT32)
    printf (" %u", value->data.uint32);
  else if (value->type == PMIX_UINT16)
    printf (" %u", (unsigned int)value->data.uint16);
  else if (value->type == PMIX_UINT8)
    printf (" %u", (unsigned int)value->data.uint8);
  else if (value->type == PMIX_UINT64)
    printf (" %llu", (unsigned long long)value->data.uint64);
  else if (value->type == PMIX_INT32)
    printf (" %d", value->data.int32);
  else if (value->type == PMIX_PID)
    printf (" %d", (int)value->data.pid);
  else if (value->type == PMIX_FLOAT)
    printf (" %.3f", (double)value->data.fval);
  else if (value->type == PMIX_TIME)
    printf (" %lld", (long long)value->data.time);
  else if (value->type == PMIX_TIMEVAL)
    printf (" %lld.%06ld", (long long)value->data.tv.tv_sec, (long)value->data.tv.tv_usec);
  else if (value->type == PMIX_SIZE)
    printf (" %zu", value->data.size);
  else if (value->type == PMIX_PROC_RANK)
    printf (" %u", value->data.rank);
  else if (value->type == PMIX_BOOL)
    printf (" %s", value->data.flag ? "true" : "false");
  else if (value->type == PMIX_PROC)
    printf (" %s.%u", value->data.proc->nspace, value->data.proc->rank);
  else if (array != NULL && array->type == PMIX_PROC)
    for (size_t i = 0; i < array->size; i++)
      printf (" %u", ((const pmix_proc_t *)array->array)[i].rank);
  else
    printf (" (type %d)", value->type);
}

static char **
get (char **words)
{
  pmix_value_t *value = NULL;
  pmix_info_t info[MAX_INFO];
  size_t n = 0;
  char **rest = read_options (words + 3, info, &n);
  pmix_proc_t proc;
  pmix_status_t status;

  PMIX_LOAD_PROCID (&proc, find_nspace (words[0]),
                    strcmp (words[1], "all") == 0 || strcmp (words[1], "job") == 0 ? PMIX_RANK_WILDCARD
                                                                                   : (pmix_rank_t)atoi (words[1]));
  status = PMIx_Get (&proc, words[2], n > 0 ? info : NULL, n, &value);
  printf ("get %s", pmix_status_word (status));
  if (value != NULL)
    show_value (value);
  printf ("\n");
  fflush (stdout);
  return rest;
}

/* ---- queries ---- */

static void
show_row (const pmix_proc_info_t *row)
{
  printf (" %u:%s:%s:%d:%d:%d", row->proc.rank, row->hostname, row->executable_name, row->pid > 0, row->exit_code,
          row->state);
}

static void
show_found (const pmix_info_t *info)
{
  const pmix_data_array_t *array = info->value.type == PMIX_DATA_ARRAY ? info->value.data.darray : NULL;

  printf (" [%s", info->key);
  if (array != NULL && array->type == PMIX_PROC_INFO)
    for (size_t i = 0; i < array->size; i++)
      show_row ((const pmix_proc_info_t *)array->array + i);
  else if (array != NULL && array->type == PMIX_INFO)
    for (size_t i = 0; i < array->size; i++)
      show_found ((const pmix_info_t *)array->array + i);
  else
    show_value (&info->value);
  printf ("]");
}

/* A text, or a flag that is set: "KEY=1". */
static void
load_other (pmix_info_t *info, char *word)
{
  char *value = strchr (word, '=');

  *value = '\0';
  PMIX_INFO_LOAD (info, word, strcmp (value + 1, "1") == 0 ? NULL : value + 1,
                  strcmp (value + 1, "1") == 0 ? PMIX_BOOL : PMIX_STRING);
  *value = '=';
}

/* Reads the words KEY=VALUE that narrow a query, and returns the rest of the words. */
static char **
read_qualifiers (char **words, pmix_info_t *info, size_t *n)
{
  for (; *words != NULL && strchr (*words, '=') != NULL; words++)
    {
      pmix_rank_t rank = (pmix_rank_t)atoi (strchr (*words, '=') + 1);
      uint32_t node = rank;

      if (strncmp (*words, "nspace=", 7) == 0)
        PMIX_INFO_LOAD (&info[*n], PMIX_NSPACE, find_nspace (*words + 7), PMIX_STRING);
      else if (strncmp (*words, "host=", 5) == 0)
        PMIX_INFO_LOAD (&info[*n], PMIX_HOSTNAME, *words + 5, PMIX_STRING);
      else if (strncmp (*words, "node=", 5) == 0)
        PMIX_INFO_LOAD (&info[*n], PMIX_NODEID, &node, PMIX_UINT32);
      else if (strncmp (*words, "fresh=", 6) == 0)
        PMIX_INFO_LOAD (&info[*n], PMIX_QUERY_REFRESH_CACHE, NULL, PMIX_BOOL);
      else if (strncmp (*words, "id=", 3) == 0)
        PMIX_INFO_LOAD (&info[*n], PMIX_ALLOC_ID, *words + 3, PMIX_STRING);
      else if (strncmp (*words, "req=", 4) == 0)
        PMIX_INFO_LOAD (&info[*n], PMIX_ALLOC_REQ_ID, *words + 4, PMIX_STRING);
      else if (strncmp (*words, "prop=", 5) == 0)
        PMIX_INFO_LOAD (&info[*n], "pmix.alloc.property", *words + 5, PMIX_STRING);
      else if (strncmp (*words, "pset=", 5) == 0)
        PMIX_INFO_LOAD (&info[*n], PMIX_PSET_NAME, *words + 5, PMIX_STRING);
      else if (strncmp (*words, "rank=", 5) == 0)
        PMIX_INFO_LOAD (&info[*n], PMIX_RANK, &rank, PMIX_PROC_RANK);
      else
        load_other (&info[*n], *words);
      (*n)++;
    }
  return words;
}

static char **
query (char **words)
{
  pmix_query_t query;
  pmix_info_t *found = NULL;
  size_t n_found = 0;
  pmix_info_t info[MAX_INFO];
  size_t n = 0;
  char **rest = read_qualifiers (words + 1, info, &n);
  char *keys = strdup (words[0]);
  char *left = keys;
  pmix_status_t status;

  PMIX_QUERY_CONSTRUCT (&query);
  for (char *key = strtok_r (left, ",", &left); key != NULL; key = strtok_r (NULL, ",", &left))
    PMIX_ARGV_APPEND (status, query.keys, key);
  if (n > 0)
    {
      PMIX_QUERY_QUALIFIERS_CREATE (&query, n);
      for (size_t i = 0; i < n; i++)
        PMIX_INFO_XFER (&query.qualifiers[i], &info[i]);
    }
  status = PMIx_Query_info (&query, 1, &found, &n_found);
  printf ("query %s", pmix_status_word (status));
  for (size_t i = 0; i < n_found; i++)
    show_found (&found[i]);
  printf ("\n");
  fflush (stdout);
  PMIX_INFO_FREE (found, n_found);
  PMIX_QUERY_DESTRUCT (&query);
  free (keys);
  return rest;
}

static void
put (const char *key, const char *text)
{
  pmix_value_t value;

  PMIX_VALUE_LOAD (&value, text, PMIX_STRING);
  check (PMIx_Put (PMIX_GLOBAL, key, &value), "put", 22);
  check (PMIx_Commit (), "commit", 23);
}

static void
publish_text (const char *key, const char *text)
{
  pmix_info_t info;

  PMIX_INFO_LOAD (&info, key, text, PMIX_STRING);
  say ("publish", PMIx_Publish (&info, 1));
}

/* words: the function, a key, and a text, or, where the name of the function ends in "-large", how large one is. */
static char **
give (char **words)
{
  const size_t size = strstr (words[0], "-large") != NULL ? (size_t)atoi (words[2]) << 20 : 0;
  char *text = size > 0 ? malloc (size + 1) : NULL;

  if (text != NULL)
    {
      memset (text, 'x', size);
      text[size] = '\0';
    }
  (strcmp (words[0], "publish-large") == 0 ? publish_text : put) (words[1], text != NULL ? text : words[2]);
  free (text);
  return words + 3;
}

static bool
is_directive (const char *word)
{
  return strcmp (word, "once") == 0 || strcmp (word, "tag") == 0 || strcmp (word, "time") == 0
         || strcmp (word, "xml") == 0 || strncmp (word, "pri=", 4) == 0 || strncmp (word, "then=", 5) == 0;
}

static void
load_text (pmix_info_t *info, const char *channel, const char *text)
{
  char key[PMIX_MAX_KEYLEN];

  snprintf (key, sizeof key, "pmix.log.%s", channel);
  PMIX_INFO_LOAD (info, key, text, PMIX_STRING);
}

static char **
log_text (char **words)
{
  pmix_info_t data[MAX_INFO];
  pmix_info_t directives[MAX_INFO];
  size_t n_data = 1, n = 0;
  char **rest = words + 2;

  load_text (&data[0], words[0], words[1]);
  for (; *rest != NULL && is_directive (*rest); rest++)
    {
      int number = atoi (strchr (*rest, '=') != NULL ? strchr (*rest, '=') + 1 : "0");

      if (strcmp (*rest, "once") == 0)
        PMIX_INFO_LOAD (&directives[n++], PMIX_LOG_ONCE, NULL, PMIX_BOOL);
      else if (strcmp (*rest, "tag") == 0)
        PMIX_INFO_LOAD (&directives[n++], PMIX_LOG_TAG_OUTPUT, NULL, PMIX_BOOL);
      else if (strcmp (*rest, "time") == 0)
        PMIX_INFO_LOAD (&directives[n++], PMIX_LOG_TIMESTAMP_OUTPUT, NULL, PMIX_BOOL);
      else if (strcmp (*rest, "xml") == 0)
        PMIX_INFO_LOAD (&directives[n++], PMIX_LOG_XML_OUTPUT, NULL, PMIX_BOOL);
      else if (strncmp (*rest, "pri=", 4) == 0)
        PMIX_INFO_LOAD (&directives[n++], PMIX_LOG_SYSLOG_PRI, &number, PMIX_INT);
      else
        load_text (&data[n_data++], *rest + 5, words[1]);
    }
  say ("log", PMIx_Log (data, n_data, n > 0 ? directives : NULL, n));
  return rest;
}

static FILE *
open_file (const char *path, const char *mode)
{
  FILE *file = fopen (path, mode);

  if (file == NULL)
    exit (33);
  return file;
}

static char **
get_credential (char **words)
{
  pmix_info_t info[MAX_INFO];
  pmix_byte_object_t credential = { 0 };
  size_t n = 0;
  char **rest = read_options (words + 1, info, &n);
  pmix_status_t status = PMIx_Get_credential (n > 0 ? info : NULL, n, &credential);

  if (status == PMIX_SUCCESS)
    {
      FILE *file = open_file (words[0], "w");

      fwrite (credential.bytes, 1, credential.size, file);
      fclose (file);
    }
  free (credential.bytes);
  say ("credential", status);
  return rest;
}

static char **
validate (char **words)
{
  static char text[100 * 1024];
  pmix_info_t info[MAX_INFO];
  pmix_byte_object_t credential = { .bytes = text };
  pmix_info_t *results = NULL;
  size_t n_results = 0;
  size_t n = 0;
  char **rest = read_options (words + 1, info, &n);
  FILE *file = open_file (words[0], "r");
  pmix_status_t status;

  credential.size = fread (text, 1, sizeof text, file);
  fclose (file);
  status = PMIx_Validate_credential (&credential, n > 0 ? info : NULL, n, &results, &n_results);
  printf ("validate %s", pmix_status_word (status));
  for (size_t i = 0; i < n_results; i++)
    if (results[i].value.type == PMIX_UINT32)
      printf (" %u", results[i].value.data.uint32);
    else if (results[i].value.type == PMIX_STRING)
      printf (" %s", results[i].value.data.string);
  printf ("\n");
  fflush (stdout);
  return rest;
}

static char **
resolve_peers (char **words)
{
  char name[256] = "";
  pmix_proc_t *procs = NULL;
  size_t n = 0;
  pmix_status_t status;

  if (strcmp (words[0], "-") != 0)
    snprintf (name, sizeof name, "%s", words[0]);
  else if (gethostname (name, sizeof name - 1) != 0)
    exit (34);
  status = PMIx_Resolve_peers (name, find_nspace (words[1]), &procs, &n);
  printf ("peers %s", pmix_status_word (status));
  for (size_t i = 0; status == PMIX_SUCCESS && i < n; i++)
    printf (" %u", procs[i].rank);
  printf ("\n");
  fflush (stdout);
  PMIX_PROC_FREE (procs, n);
  return words + 2;
}

static void
load_topology (void)
{
  pmix_topology_t topology = { 0 };
  pmix_status_t status = PMIx_Load_topology (&topology);

  printf ("topology %s %.5s\n", pmix_status_word (status), topology.source != NULL ? topology.source : "none");
  fflush (stdout);
}

/* The names of the adapters, in the order in which the library has them. */
static void
compute_distances (void)
{
  pmix_cpuset_t cpus = { 0 };
  pmix_device_distance_t *distances = NULL;
  size_t n = 0;
  pmix_status_t status;

  check (PMIx_Get_cpuset (&cpus, PMIX_CPUBIND_PROCESS), "PMIx_Get_cpuset", 34);
  status = PMIx_Compute_distances (NULL, &cpus, NULL, 0, &distances, &n);
  printf ("distances %s", pmix_status_word (status));
  for (size_t i = 0; i < n; i++)
    printf (" %s=%s:%d", distances[i].osname, distances[i].uuid, distances[i].mindist > 0);
  printf ("\n");
  fflush (stdout);
}

static void
await_file (const char *path)
{
  for (int i = 0; access (path, F_OK) != 0; i++)
    {
      if (i > 6000)
        exit (31);
      usleep (10000);
    }
}

static void
touch (const char *path)
{
  char other[4096];
  FILE *file;

  snprintf (other, sizeof other, "%s.new", path);
  file = fopen (other, "w");
  if (file == NULL)
    exit (32);
  fprintf (file, "%s", self.nspace);
  fclose (file);
  rename (other, path);
}

static char **
run_one (char **words)
{
  if (strcmp (words[0], "publish") == 0)
    return publish (words + 1);
  if (strcmp (words[0], "lookup") == 0)
    return look_up (words + 1);
  if (strcmp (words[0], "unpublish") == 0)
    return unpublish (words + 1);
  if (strcmp (words[0], "connect") == 0 || strcmp (words[0], "disconnect") == 0 || strcmp (words[0], "fence") == 0)
    return meet (words);
  if (strcmp (words[0], "get") == 0)
    return get (words + 1);
  if (strcmp (words[0], "put") == 0 || strcmp (words[0], "put-large") == 0 || strcmp (words[0], "publish-large") == 0)
    return give (words);
  if (strcmp (words[0], "query") == 0)
    return query (words + 1);
  if (strcmp (words[0], "log") == 0)
    return log_text (words + 1);
  if (strcmp (words[0], "credential") == 0)
    return get_credential (words + 1);
  if (strcmp (words[0], "validate") == 0)
    return validate (words + 1);
  if (strcmp (words[0], "peers") == 0)
    return resolve_peers (words + 1);
  if (strcmp (words[0], "types") == 0)
    compare_types ();
  else if (strcmp (words[0], "topology") == 0)
    load_topology ();
  else if (strcmp (words[0], "distances") == 0)
    compute_distances ();
  else if (strcmp (words[0], "die") == 0)
    raise (SIGKILL);
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

static char **
start_tool (char **words)
{
  static const struct
  {
    const char *word;
    const char *key;
    pmix_data_type_t type;
  } ways[] = {
    { "pid=", PMIX_SERVER_PIDINFO, PMIX_PID },       { "nspace=", PMIX_SERVER_NSPACE, PMIX_STRING },
    { "uri=", PMIX_SERVER_URI, PMIX_STRING },        { "system-first", PMIX_CONNECT_SYSTEM_FIRST, PMIX_BOOL },
    { "system", PMIX_CONNECT_TO_SYSTEM, PMIX_BOOL }, { "/", PMIX_TOOL_ATTACHMENT_FILE, PMIX_STRING }
  };
  size_t way = 0;
  pmix_info_t info;

  while (way < sizeof ways / sizeof ways[0] && strncmp (words[1], ways[way].word, strlen (ways[way].word)) != 0)
    way++;
  if (way < sizeof ways / sizeof ways[0])
    {
      const char *value = ways[way].word[0] == '/' ? words[1] : words[1] + strlen (ways[way].word);
      pid_t pid = atoi (value);

      PMIX_INFO_LOAD (&info, ways[way].key, ways[way].type == PMIX_PID ? (const void *)&pid : value, ways[way].type);
      if (ways[way].type == PMIX_BOOL)
        info.value.data.flag = true;
    }
  is_tool = true;
  pmix_begin_tool ();
  check (PMIx_tool_init (&self, &info, way < sizeof ways / sizeof ways[0]), "init", 10);
  return words + 2;
}

int
main (int argc, char **argv)
{
  char **words = argv + 1;

  if (*words != NULL && strcmp (*words, "--tool") == 0 && words[1] != NULL)
    words = start_tool (words);
  else
    check (PMIx_Init (&self, NULL, 0), "init", 10);
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
  return 0;
}
