/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "pmix-pull.h"

#include "pmix-library.h"

#include <pmix_tool.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_SOURCES    64
#define MAX_TARGETS    64
#define MAX_PULLS      16
#define MAX_DIRECTIVES 8
#define LIMIT          600 /* s; who has started this ends it before */

/* One channel of a process. */
typedef struct
{
  pmix_proc_t proc;
  pmix_iof_channel_t channel;
  size_t n_bytes;
  uint32_t sum; /* FNV-1a of all bytes */
} Source;

static const pmix_proc_t *self;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static Source sources[MAX_SOURCES];
static bool is_shown; /* each piece */
static int n_sources;
static size_t n_bytes;
static size_t pulls[MAX_PULLS];
static int n_pulls;
static char *gate; /* (nullable): nothing is read until that file is there */

static Source *
find_source (const pmix_proc_t *proc, pmix_iof_channel_t channel)
{
  for (int i = 0; i < n_sources; i++)
    if (sources[i].channel == channel && strcmp (sources[i].proc.nspace, proc->nspace) == 0
        && sources[i].proc.rank == proc->rank)
      return &sources[i];
  if (n_sources == MAX_SOURCES)
    abort ();
  sources[n_sources].proc = *proc;
  sources[n_sources].channel = channel;
  sources[n_sources].sum = 2166136261u;
  return &sources[n_sources++];
}

/* For a line of ours: what is not printable, and spaces at the end, as octal numbers. */
static const char *
source_text (const pmix_byte_object_t *bytes)
{
  static char text[4096];
  size_t n = 0;

  for (size_t i = 0; i < bytes->size && n + 5 < sizeof text; i++)
    n += (size_t)snprintf (text + n, sizeof text - n, bytes->bytes[i] < 32 || bytes->bytes[i] == '\\' ? "\\%03o" : "%c",
                           bytes->bytes[i]);
  return text;
}

static void
on_output (size_t handler, pmix_iof_channel_t channel, pmix_proc_t *proc, pmix_byte_object_t *bytes, pmix_info_t *info,
           size_t n_info)
{
  Source *source;

  while (gate != NULL && access (gate, F_OK) != 0)
    usleep (10000);
  pthread_mutex_lock (&lock);
  source = find_source (proc, channel);
  for (size_t i = 0; i < bytes->size; i++)
    source->sum = (source->sum ^ (uint8_t)bytes->bytes[i]) * 16777619u;
  source->n_bytes += bytes->size;
  if (is_shown && bytes->size > 0)
    printf ("%u piece %u %s\n", self->rank, channel, source_text (bytes));
  n_bytes += bytes->size;
  pthread_cond_broadcast (&changed);
  pthread_mutex_unlock (&lock);
}

typedef struct
{
  bool is_done;
  pmix_status_t status;
  size_t handler;
} Answer;

static void
on_registered (pmix_status_t status, size_t handler, void *data)
{
  Answer *answer = data;

  pthread_mutex_lock (&lock);
  *answer = (Answer){ true, status, handler };
  pthread_cond_broadcast (&changed);
  pthread_mutex_unlock (&lock);
}

static void
on_deregistered (pmix_status_t status, void *data)
{
  on_registered (status, 0, data);
}

static pmix_status_t
wait_for (Answer *answer, pmix_status_t status)
{
  pthread_mutex_lock (&lock);
  while (status == PMIX_SUCCESS && !answer->is_done)
    pthread_cond_wait (&changed, &lock);
  pthread_mutex_unlock (&lock);
  return status == PMIX_SUCCESS ? answer->status : status;
}

static pmix_iof_channel_t
read_channels (const char *word)
{
  pmix_iof_channel_t channels = 0;

  if (strstr (word, "out") != NULL)
    channels |= PMIX_FWD_STDOUT_CHANNEL;
  if (strstr (word, "err") != NULL)
    channels |= PMIX_FWD_STDERR_CHANNEL;
  if (strstr (word, "diag") != NULL)
    channels |= PMIX_FWD_STDDIAG_CHANNEL;
  return channels;
}

/* pull CHANNELS[/DIRECTIVE[/DIRECTIVE...]] TARGET[,TARGET...]; a directive that begins with "=" has a text for value */
static int
do_pull (const char *words, const char *targets)
{
  pmix_proc_t procs[MAX_TARGETS];
  pmix_info_t info[MAX_DIRECTIVES];
  size_t n_info = 0;
  size_t n = 0;
  char *copy = strdup (targets);
  char *rest = copy;
  char *keys = strdup (words);
  char *key = keys;
  Answer answer = { false, 0, 0 };
  pmix_status_t status;

  for (char *word; n < MAX_TARGETS && (word = strsep (&rest, ",")) != NULL;)
    n += pmix_read_target (word, &procs[n]);
  strsep (&key, "/");
  for (char *word; n_info < MAX_DIRECTIVES && (word = strsep (&key, "/")) != NULL; n_info++)
    if (word[0] == '=')
      PMIX_INFO_LOAD (&info[n_info], word + 1, "text", PMIX_STRING);
    else
      PMIX_INFO_LOAD (&info[n_info], word, NULL, PMIX_BOOL);
  status = PMIx_IOF_pull (procs, n, n_info > 0 ? info : NULL, n_info, read_channels (keys), on_output, on_registered,
                          &answer);
  status = wait_for (&answer, status);
  if (status == PMIX_SUCCESS && n_pulls < MAX_PULLS)
    pulls[n_pulls++] = answer.handler;
  pmix_print_status ("pull", status);
  free (copy);
  free (keys);
  return 3;
}

/* drop: the pull that came last */
static int
do_drop (void)
{
  Answer answer = { false, 0, 0 };
  pmix_status_t status = PMIX_ERR_NOT_FOUND;

  if (n_pulls > 0)
    {
      status = PMIx_IOF_deregister (pulls[--n_pulls], NULL, 0, on_deregistered, &answer);
      answer.status = wait_for (&answer, status);
      if (PMIX_LIBRARY_MARKS)
        status = answer.status;
    }
  pmix_print_status ("drop", status);
  return 1;
}

/* pulled BYTES: until so many have come in all */
static int
do_pulled (const char *word)
{
  size_t wanted = strtoul (word, NULL, 10);
  struct timespec end;
  int error = 0;

  clock_gettime (CLOCK_REALTIME, &end);
  end.tv_sec += LIMIT;
  pthread_mutex_lock (&lock);
  while (n_bytes < wanted && error == 0)
    error = pthread_cond_timedwait (&changed, &lock, &end);
  pthread_mutex_unlock (&lock);
  if (error != 0)
    printf ("%u pulled too little\n", self->rank);
  return 2;
}

/* told: what each has said */
static int
do_told (void)
{
  pthread_mutex_lock (&lock);
  for (int i = 0; i < n_sources; i++)
    printf ("%u told %s.%u %u %zu %08x\n", self->rank, sources[i].proc.nspace, sources[i].proc.rank, sources[i].channel,
            sources[i].n_bytes, sources[i].sum);
  fflush (stdout);
  pthread_mutex_unlock (&lock);
  return 1;
}

int
pmix_pull_command (const pmix_proc_t *proc, char **argv)
{
  self = proc;
  if (strcmp (argv[0], "pull") == 0 && argv[1] != NULL && argv[2] != NULL)
    return do_pull (argv[1], argv[2]);
  if (strcmp (argv[0], "drop") == 0)
    return do_drop ();
  if (strcmp (argv[0], "pulled") == 0 && argv[1] != NULL)
    return do_pulled (argv[1]);
  if (strcmp (argv[0], "show") == 0)
    {
      is_shown = true;
      return 1;
    }
  if (strcmp (argv[0], "told") == 0)
    return do_told ();
  if (strcmp (argv[0], "gate") == 0 && argv[1] != NULL)
    {
      gate = strdup (argv[1]);
      return 2;
    }
  return -1;
}
