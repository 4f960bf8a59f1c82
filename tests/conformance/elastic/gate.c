/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Stands for dvm-guard, above each agent: those of nodes that the test holds wait for its word. See elastic.py, Gates.
 * Its directory has "real", the guard itself, and for each node that is held "hold-NODE" and the FIFO "word-NODE". Like
 * an agent it ends with its standard input, from which it takes nothing. The words: go          it goes on as the guard
 *   exit N      it exits
 *   mute        it stays, and does nothing
 *   astray      the agent is told to go where nobody is
 *   stranger    the agent has a token that nobody knows
 *   late        it stays; an agent of which the launcher knows nothing comes at a word in "late-NODE", and may live
 * until "end" has one
 */

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char place[256];

static char *
make_path (const char *kind, const char *node)
{
  char *path = NULL;

  if (asprintf (&path, "%s/%s%s%s", place, kind, node != NULL ? "-" : "", node != NULL ? node : "") < 0)
    exit (99);
  return path;
}

static void
become_guard (char **argv)
{
  argv[0] = make_path ("real", NULL);
  execv (argv[0], argv);
  exit (98);
}

/* The next line of a FIFO. It ends with standard input, unless that is not to be heeded. */
static void
read_word (const char *path, int heed, char *word, size_t size)
{
  int fd = open (path, O_RDWR);
  struct pollfd fds[] = { { .fd = fd, .events = POLLIN }, { .fd = heed ? 0 : -1 } };
  ssize_t n;

  if (fd < 0)
    exit (97);
  while (poll (fds, 2, -1) < 0 || fds[0].revents == 0)
    if (fds[1].revents != 0)
      exit (0);
  n = read (fd, word, size - 1);
  word[n > 0 ? n : 0] = '\0';
  word[strcspn (word, "\n")] = '\0';
  close (fd);
}

static void
stay (void)
{
  struct pollfd input = { .fd = 0 };

  while (poll (&input, 1, -1) <= 0)
    ;
  exit (0);
}

/* The token, without its last letter if it is to be a wrong one. */
static void
pass_token (int fd, int wrong)
{
  char token[1024];
  ssize_t n = read (0, token, sizeof token);

  if (wrong && n > 1)
    token[n - 2] = token[n - 2] == '0' ? '1' : '0';
  if (n <= 0 || write (fd, token, (size_t)n) != n)
    exit (96);
}

/* A standard input of its own, which somebody else keeps open: until ours ends, or "end" has a word. */
static void
change_input (int wrong, int until_end)
{
  int fds[2];
  char word[16];

  if (pipe (fds) != 0)
    exit (95);
  pass_token (fds[1], wrong);
  if (fork () == 0)
    {
      close (fds[0]);
      close (1);
      close (2);
      if (until_end)
        read_word (make_path ("end", NULL), 0, word, sizeof word);
      else
        stay ();
      exit (0);
    }
  close (fds[1]);
  dup2 (fds[0], 0);
  close (fds[0]);
}

static void
come_late (const char *node, char **argv)
{
  char word[16];

  if (fork () != 0)
    stay ();
  setsid ();
  /* From now on whoever ends the one above does not reach us. */
  close (open (make_path ("away", node), O_CREAT | O_WRONLY, 0600));
  read_word (make_path ("late", node), 0, word, sizeof word);
  change_input (0, 1);
  become_guard (argv);
}

static void
obey (const char *word, const char *node, char **argv)
{
  if (strncmp (word, "exit ", 5) == 0)
    {
      fprintf (stderr, "the test says: %s\n", word);
      exit (atoi (word + 5));
    }
  if (strcmp (word, "mute") == 0)
    stay ();
  if (strcmp (word, "late") == 0)
    come_late (node, argv);
  if (strcmp (word, "stranger") == 0)
    change_input (1, 0);
  for (int i = 1; strcmp (word, "astray") == 0 && argv[i] != NULL; i++)
    if (strncmp (argv[i], "--controller=", 13) == 0)
      argv[i] = "--controller=unix:/nowhere/at/all";
  become_guard (argv);
}

int
main (int argc, char **argv)
{
  const char *node = argc > 2 && strcmp (argv[argc - 2], "--node") == 0 ? argv[argc - 1] : NULL;
  const char *given = getenv ("DVM_LIBEXEC_DIR");
  char word[64];
  int here;

  snprintf (place, sizeof place, "%s", given != NULL ? given : ".");
  if (node == NULL || access (make_path ("hold", node), F_OK) != 0)
    become_guard (argv);
  here = open (make_path ("here", node), O_CREAT | O_WRONLY, 0600);
  close (here);
  read_word (make_path ("word", node), 1, word, sizeof word);
  obey (word, node, argv);
  return 94;
}
