/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/*
 * This program tries on a PMIx server what another user of a node may try. Its environment is that of the rank that it
 * claims to be, or is a tool of.
 *
 *   pmix-stranger [--uid UID] [--from ADDRESS:PORT] [--half-close | --close] [--record FILE] rank|tool OPERATION
 *     --uid         who it says it is, also as a group
 *     --from        its own end of the connection
 *     --half-close  shuts its way out in the moment in which the request has been written; --close: both ways
 *     --record      all that it writes to the server goes to FILE, too
 *
 *   OPERATION is one of: spawn PROGRAM ARGUMENT..., kill NSPACE, abort NSPACE, alloc, publish KEY, lookup KEY,
 *   get NSPACE KEY, event NSPACE
 *
 *   pmix-stranger broken PORT FILE COUNT
 *     COUNT connections that send such a record: whole, cut, and reset after that, or with one bit changed
 *
 * "in" is printed when the server has let it in, and then what came of the operation; "out" when it has not, and the
 * status is 0 then. After twice 20 s "late" is printed, and where it waits.
 */

#include <pmix.h>
#include <pmix_tool.h>

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "pmix-words.h"

#define EXPORTED     __attribute__ ((visibility ("default")))
#define LIMIT        20
#define RECORD_LIMIT 65536

static struct
{
  uid_t uid; /* 0: its own */
  struct sockaddr_in from;
  int how;    /* of shutdown(); -1: not at all */
  int record; /* -1: none */
  bool is_asking;
  volatile sig_atomic_t n_alarms;
} options = { .how = -1, .record = -1 };

/* libpmix calls these functions. */

EXPORTED uid_t
geteuid (void)
{
  return options.uid != 0 ? options.uid : getuid ();
}

EXPORTED gid_t
getegid (void)
{
  return options.uid != 0 ? options.uid : getgid ();
}

EXPORTED int
connect (int fd, __CONST_SOCKADDR_ARG address, socklen_t length)
{
  int (*next) (int, __CONST_SOCKADDR_ARG, socklen_t) = dlsym (RTLD_NEXT, "connect");
  int one = 1;

  if (address.__sockaddr__->sa_family == AF_INET && options.from.sin_port != 0)
    {
      setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
      if (bind (fd, (struct sockaddr *)&options.from, sizeof options.from) != 0)
        perror ("bind");
    }
  return next (fd, address, length);
}

static void
keep (const void *data, size_t size)
{
  if (options.record >= 0 && write (options.record, data, size) != (ssize_t)size)
    perror ("record");
}

EXPORTED ssize_t
send (int fd, const void *data, size_t size, int flags)
{
  ssize_t (*next) (int, const void *, size_t, int) = dlsym (RTLD_NEXT, "send");

  keep (data, size);
  return next (fd, data, size, flags);
}

EXPORTED ssize_t
writev (int fd, const struct iovec *vectors, int n)
{
  ssize_t (*next) (int, const struct iovec *, int) = dlsym (RTLD_NEXT, "writev");
  ssize_t written = next (fd, vectors, n);

  if (options.is_asking && options.how >= 0)
    shutdown (fd, options.how);
  return written;
}

/* Operations */

static pmix_status_t
do_spawn (char **argv)
{
  pmix_app_t app;
  pmix_nspace_t nspace;

  PMIX_APP_CONSTRUCT (&app);
  app.cmd = argv[0];
  app.argv = argv;
  app.maxprocs = 1;
  return PMIx_Spawn (NULL, 0, &app, 1, nspace);
}

static pmix_status_t
do_kill (const char *nspace)
{
  pmix_proc_t target;
  pmix_info_t info;
  pmix_info_t *results = NULL;
  size_t n_results = 0;

  PMIX_LOAD_PROCID (&target, nspace, PMIX_RANK_WILDCARD);
  PMIX_INFO_LOAD (&info, PMIX_JOB_CTRL_KILL, NULL, PMIX_BOOL);
  return PMIx_Job_control (&target, 1, &info, 1, &results, &n_results);
}

static pmix_status_t
do_alloc (void)
{
  pmix_info_t info;
  pmix_info_t *results = NULL;
  size_t n_results = 0;
  uint64_t count = 1;

  PMIX_INFO_LOAD (&info, PMIX_ALLOC_NUM_NODES, &count, PMIX_UINT64);
  return PMIx_Allocation_request (PMIX_ALLOC_NEW, &info, 1, &results, &n_results);
}

static pmix_status_t
do_abort (const char *nspace)
{
  pmix_proc_t target;

  PMIX_LOAD_PROCID (&target, nspace, PMIX_RANK_WILDCARD);
  return PMIx_Abort (7, "a stranger", &target, 1);
}

static pmix_status_t
do_publish (const char *key)
{
  pmix_info_t info;

  PMIX_INFO_LOAD (&info, key, "a stranger's", PMIX_STRING);
  return PMIx_Publish (&info, 1);
}

static pmix_status_t
do_lookup (const char *key)
{
  pmix_pdata_t data;

  PMIX_PDATA_CONSTRUCT (&data);
  PMIX_LOAD_KEY (data.key, key);
  return PMIx_Lookup (&data, 1, NULL, 0);
}

static pmix_status_t
do_get (const char *nspace, const char *key)
{
  pmix_proc_t source;
  pmix_value_t *value = NULL;

  PMIX_LOAD_PROCID (&source, nspace, 0);
  return PMIx_Get (&source, key, NULL, 0, &value);
}

static pmix_status_t
do_event (const char *nspace)
{
  pmix_proc_t source;
  pmix_info_t info;

  PMIX_LOAD_PROCID (&source, nspace, 0);
  PMIX_INFO_LOAD (&info, PMIX_EVENT_AFFECTED_PROC, &source, PMIX_PROC);
  return PMIx_Notify_event (PMIX_ERR_PROC_ABORTED, &source, PMIX_RANGE_GLOBAL, &info, 1, NULL, NULL);
}

static pmix_status_t
do_operation (char **argv)
{
  const char *first = argv[1];

  if (strcmp (argv[0], "alloc") == 0)
    return do_alloc ();
  if (first == NULL)
    exit (2);
  if (strcmp (argv[0], "spawn") == 0)
    return do_spawn (argv + 1);
  if (strcmp (argv[0], "kill") == 0)
    return do_kill (first);
  if (strcmp (argv[0], "abort") == 0)
    return do_abort (first);
  if (strcmp (argv[0], "publish") == 0)
    return do_publish (first);
  if (strcmp (argv[0], "lookup") == 0)
    return do_lookup (first);
  if (strcmp (argv[0], "event") == 0)
    return do_event (first);
  if (strcmp (argv[0], "get") == 0 && argv[2] != NULL)
    return do_get (first, argv[2]);
  exit (2);
}

static int
ask (bool is_tool, char **argv)
{
  pmix_proc_t self;
  pmix_status_t status = is_tool ? PMIx_tool_init (&self, NULL, 0) : PMIx_Init (&self, NULL, 0);

  if (status != PMIX_SUCCESS)
    {
      printf ("out %s\n", pmix_status_word (status));
      return 0;
    }
  printf ("in as %s.%u\n", self.nspace, self.rank);
  fflush (stdout);
  options.is_asking = true;
  printf ("%s %s\n", argv[0], pmix_status_word (do_operation (argv)));
  return 1;
}

/* Broken handshakes */

static void
break_one (const struct sockaddr_in *server, const char *record, size_t size, unsigned kind)
{
  char copy[RECORD_LIMIT];
  struct linger reset = { .l_onoff = 1 };
  int fd = socket (AF_INET, SOCK_STREAM, 0);

  memcpy (copy, record, size);
  if (kind == 1)
    size = 1 + (size_t)random () % size;
  else if (kind == 2)
    setsockopt (fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  else if (kind == 3)
    copy[(size_t)random () % size] ^= (char)(1 << random () % 8);
  if (connect (fd, (const struct sockaddr *)server, sizeof *server) != 0)
    {
      printf ("gone %s\n", strerror (errno));
      exit (1);
    }
  /* The other end may have closed already. */
  if (send (fd, copy, size, MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET)
    perror ("send");
  close (fd);
}

static void
break_many (unsigned port, const char *path, unsigned count)
{
  struct sockaddr_in server = { .sin_family = AF_INET, .sin_port = htons ((in_port_t)port) };
  char record[RECORD_LIMIT];
  int fd = open (path, O_RDONLY);
  ssize_t size = fd >= 0 ? read (fd, record, sizeof record) : -1;

  if (size <= 0)
    exit (2);
  server.sin_addr.s_addr = htonl (INADDR_LOOPBACK);
  srandom (count);
  for (unsigned i = 0; i < count; i++)
    break_one (&server, record, (size_t)size, i % 4);
  printf ("%u broken\n", count);
}

static void
read_from (const char *text)
{
  const char *colon = strchr (text, ':');
  char *address = colon != NULL ? strndup (text, (size_t)(colon - text)) : NULL;

  options.from.sin_family = AF_INET;
  if (address == NULL || inet_aton (address, &options.from.sin_addr) == 0)
    exit (2);
  options.from.sin_port = htons ((in_port_t)atoi (colon + 1));
  free (address);
}

/* How many of the arguments belong to it; 0: it is none. */
static int
read_option (char **argv)
{
  if (strcmp (argv[0], "--from") == 0 && argv[1] != NULL)
    read_from (argv[1]);
  else if (strcmp (argv[0], "--uid") == 0 && argv[1] != NULL)
    options.uid = (uid_t)atoi (argv[1]);
  else if (strcmp (argv[0], "--record") == 0 && argv[1] != NULL)
    options.record = open (argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  else if (strcmp (argv[0], "--half-close") == 0 || strcmp (argv[0], "--close") == 0)
    {
      options.how = argv[0][2] == 'h' ? SHUT_WR : SHUT_RDWR;
      return 1;
    }
  else
    return 0;
  return 2;
}

static void
say_late (int number)
{
  void *frames[64];
  static const char word[] = "late\n";

  /* libpmix's own thread may have been interrupted. */
  if (gettid () != getpid ())
    {
      syscall (SYS_tgkill, getpid (), getpid (), number);
      return;
    }
  /* A machine that has stood still for that long lets it go on first. */
  if (++options.n_alarms < 2)
    {
      alarm (LIMIT);
      return;
    }
  if (write (STDOUT_FILENO, word, sizeof word - 1) > 0)
    backtrace_symbols_fd (frames, backtrace (frames, 64), STDOUT_FILENO);
  _exit (3);
}

int
main (int argc, char **argv)
{
  void *frame;
  int status = 0;
  int n;

  for (argv++; *argv != NULL && (n = read_option (argv)) > 0; argv += n)
    continue;
  if (argv[0] == NULL || argv[1] == NULL)
    return 2;
  /* One who is let in and not answered would wait for ever. The first backtrace() loads a library, which no handler
   * may. */
  backtrace (&frame, 1);
  signal (SIGALRM, say_late);
  alarm (LIMIT);
  if (strcmp (argv[0], "broken") == 0 && argv[2] != NULL && argv[3] != NULL)
    break_many ((unsigned)atoi (argv[1]), argv[2], (unsigned)atoi (argv[3]));
  else
    status = ask (strcmp (argv[0], "tool") == 0, argv + 1);
  fflush (stdout);
  /* PMIx_Finalize() would ask the server once more. */
  _exit (status);
}
