/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "pmix-session.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef HAVE_SESSION_CALL

#define MAX_INFO 8
#define LIMIT_MS 60000

static pmix_status_t answer;
static bool answered;
static char text[512];

static void
on_answer (pmix_status_t status, pmix_info_t *info, size_t n_info, void *data, pmix_release_cbfunc_t release,
           void *release_data)
{
  for (size_t i = 0; i < n_info; i++)
    {
      size_t length = strlen (text);

      if (info[i].value.type == PMIX_STRING)
        snprintf (text + length, sizeof text - length, " %s=%s", info[i].key, info[i].value.data.string);
      else if (info[i].value.type == PMIX_UINT32)
        snprintf (text + length, sizeof text - length, " %s=%u", info[i].key, info[i].value.data.uint32);
    }
  if (release != NULL)
    release (release_data);
  answer = status;
  __atomic_store_n (&answered, true, __ATOMIC_RELEASE);
}

/* Nodes stand in an array of their own. */
static void
add_resource (pmix_info_t *info, const char *key, const char *value)
{
  pmix_data_array_t array;

  PMIX_DATA_ARRAY_CONSTRUCT (&array, 1, PMIX_INFO);
  PMIX_INFO_LOAD (array.array, key, value, PMIX_STRING);
  PMIX_INFO_LOAD (info, PMIX_SESSION_RESOURCES, &array, PMIX_DATA_ARRAY);
  PMIX_DATA_ARRAY_DESTRUCT (&array);
}

static void
add (pmix_info_t *info, const char *word)
{
  static const struct
  {
    const char *word;
    const char *key;
  } flags[] = {
    { "instantiate", PMIX_SESSION_INSTANTIATE },
    { "extend", PMIX_SESSION_EXTEND },
    { "pause", PMIX_SESSION_PAUSE },
    { "resume", PMIX_SESSION_RESUME },
    { "preempt", PMIX_SESSION_PREEMPT },
    { "restore", PMIX_SESSION_RESTORE },
    { "terminate", PMIX_SESSION_TERMINATE },
    { "separate", PMIX_SESSION_SEP },
    { "complete", PMIX_SESSION_COMPLETE },
  };
  const char *value = strchr (word, '=');
  int number = value != NULL ? atoi (value + 1) : 0;

  for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
    if (strcmp (flags[i].word, word) == 0)
      {
        PMIX_INFO_LOAD (info, flags[i].key, NULL, PMIX_BOOL);
        return;
      }
  if (value == NULL)
    exit (3);
  if (strncmp (word, "signal=", 7) == 0)
    PMIX_INFO_LOAD (info, PMIX_SESSION_SIGNAL, &number, PMIX_INT);
  else if (strncmp (word, "hosts=", 6) == 0)
    add_resource (info, PMIX_ALLOC_NODE_LIST, value + 1);
  else if (strncmp (word, "req=", 4) == 0)
    PMIX_INFO_LOAD (info, PMIX_ALLOC_REQ_ID, value + 1, PMIX_STRING);
  else if (strncmp (word, "nspace=", 7) == 0)
    PMIX_INFO_LOAD (info, PMIX_NSPACE, value + 1, PMIX_STRING);
  else if (strncmp (word, "image=", 6) == 0)
    PMIX_INFO_LOAD (info, PMIX_SESSION_PROVISION_IMAGE, value + 1, PMIX_STRING);
  else
    exit (3);
}

static void
do_session (const pmix_proc_t *self, uint32_t number, char *words)
{
  pmix_info_t info[MAX_INFO];
  char *rest = words;
  size_t n = 0;
  pmix_status_t status;

  for (char *word = strtok_r (rest, "+", &rest); word != NULL && n < MAX_INFO; word = strtok_r (NULL, "+", &rest))
    add (&info[n++], word);
  text[0] = '\0';
  answered = false;
  status = PMIx_Session_control (number, info, n, on_answer, NULL);
  for (int ms = 0; status == PMIX_SUCCESS && !__atomic_load_n (&answered, __ATOMIC_ACQUIRE); ms++)
    {
      if (ms == LIMIT_MS)
        exit (53);
      usleep (1000);
    }
  printf ("%u session %d%s\n", self->rank, status == PMIX_SUCCESS ? answer : status, text);
  for (size_t i = 0; i < n; i++)
    PMIX_INFO_DESTRUCT (&info[i]);
}

#else

static void
do_session (const pmix_proc_t *self, uint32_t number, char *words)
{
  printf ("%u session missing\n", self->rank);
}

#endif

int
pmix_session_command (const pmix_proc_t *proc, char **argv)
{
  if (strcmp (argv[0], "session") != 0 || argv[1] == NULL || argv[2] == NULL)
    return -1;
  do_session (proc, (uint32_t)strtoul (argv[1], NULL, 10), argv[2]);
  fflush (stdout);
  return 3;
}
