/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

/*
 * Clients of tests whose arguments are steps, done one after another:
 *
 *   file PATH        until that file is there
 *   touch PATH       makes it
 *   rank N | all     what follows is for that rank alone, for all again
 *   die              kills itself
 *
 * and those that the program has.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pmix.h>

/* words: the name of the step, and what is behind it. Returns: the rest */
typedef char **(*PmixStep) (char **words);

static inline void
pmix_step_check (pmix_status_t status, const char *what, int code)
{
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED)
    return;
  fprintf (stderr, "%s: %s\n", what, PMIx_Error_string (status));
  exit (code);
}

/* The words of what another rank is to do are passed over. */
static inline char **
pmix_steps_pass_over (char **words)
{
  while (*words != NULL && strcmp (*words, "all") != 0 && strcmp (*words, "rank") != 0)
    words++;
  return words;
}

static inline char **
pmix_steps_run_one (char **words, PmixStep step)
{
  if (strcmp (words[0], "die") == 0)
    kill (getpid (), SIGKILL);
  if (words[1] != NULL && strcmp (words[0], "file") == 0)
    {
      while (access (words[1], F_OK) != 0)
        usleep (10000);
      return words + 2;
    }
  if (words[1] != NULL && strcmp (words[0], "touch") == 0)
    {
      FILE *file = fopen (words[1], "w");

      if (file == NULL)
        exit (34);
      fclose (file);
      return words + 2;
    }
  return step (words);
}

static inline void
pmix_steps_run (char **words, pmix_rank_t rank, PmixStep step)
{
  while (*words != NULL)
    {
      if (strcmp (*words, "rank") == 0 && words[1] != NULL)
        words = (pmix_rank_t)atoi (words[1]) == rank ? words + 2 : pmix_steps_pass_over (words + 2);
      else if (strcmp (*words, "all") == 0)
        words++;
      else
        words = pmix_steps_run_one (words, step);
    }
}
