/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A program that hangs in functions that have names, and says so there; with an argument a second thread does, too.
 */

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static __attribute__ ((noinline)) void
wait_for_nothing (void)
{
  puts ("hanging");
  fflush (stdout);
  for (;;)
    pause ();
}

static __attribute__ ((noinline)) void *
wait_in_a_thread (void *data)
{
  puts ("hanging");
  fflush (stdout);
  for (;;)
    pause ();
  return NULL;
}

int
main (int argc, char **argv)
{
  pthread_t thread;

  if (argc > 1)
    pthread_create (&thread, NULL, wait_in_a_thread, NULL);
  wait_for_nothing ();
}
