/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The accept() that libpmix calls: connections of other users are closed before a byte of them has been read, and
 * those of ours send what there is at once.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include <dlfcn.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dvmd-pmix-counter.h"
#include "dvmd-pmix-ends.h"

#define EXPORTED __attribute__ ((visibility ("default")))

typedef int (*Accept) (int fd, __SOCKADDR_ARG address, socklen_t *restrict length);
typedef int (*Accept4) (int fd, __SOCKADDR_ARG address, socklen_t *restrict length, int flags);

/* libpmix calls from a thread of its own and without a user pointer: what has been said of strangers is kept here. */
static GMutex mutex;
static gint64 last_said;
static guint n_unsaid;
static DvmdPmixCounter *let_in; /* (nullable) */
static const void *watched;     /* (nullable): where libpmix calls from, once that is known */

void
dvmd_pmix_door_set_counter (DvmdPmixCounter *counter)
{
  g_atomic_pointer_set (&let_in, counter);
}

static void
say (guint uid, gboolean known)
{
  g_autofree char *who = known ? g_strdup_printf ("a process of user %u", uid)
                               : g_strdup ("a process that was gone before it could be looked at");
  g_autofree char *others = NULL;
  gint64 now = g_get_monotonic_time ();

  g_mutex_lock (&mutex);
  if (last_said != 0 && now - last_said < G_USEC_PER_SEC)
    n_unsaid++;
  else
    {
      others = n_unsaid > 0 ? g_strdup_printf (", and %u others before", n_unsaid) : g_strdup ("");
      last_said = now;
      n_unsaid = 0;
    }
  g_mutex_unlock (&mutex);
  if (others != NULL)
    g_message ("A connection of %s to the PMIx server of user %u is closed unread%s", who, (guint)geteuid (), others);
}

/* A socket that GIO accepts for blocks when it is told EAGAIN; the program's own listeners speak to anybody first. */
static gboolean
goes_by (const void *caller)
{
  Dl_info info;
  Dl_info own;
  const char *name;

  /* Each rank connects from one place in libpmix, and finding out whose a place is takes a walk through all symbols. */
  if (caller == g_atomic_pointer_get (&watched))
    return FALSE;
  if (dladdr (caller, &info) == 0 || dladdr ((const void *)say, &own) == 0)
    return FALSE;
  name = strrchr (info.dli_fname, '/');
  if (info.dli_fbase == own.dli_fbase || g_str_has_prefix (name != NULL ? name + 1 : info.dli_fname, "libgio-2.0."))
    return TRUE;
  g_atomic_pointer_set (&watched, caller);
  return FALSE;
}

/*
 * libpmix leaves it to the kernel when an answer goes: behind a small one the next waits until the peer has said that
 * it has that, up to 40 ms, and is lost when the server ends meanwhile.
 */
static void
send_at_once (int fd)
{
  int one = 1;

  setsockopt (fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

/* Closed, not shut down: libpmix falls over descriptors that were. EAGAIN is what it bears at its listening socket. */
static int
look_at (int fd, const void *caller)
{
  guint uid = 0;
  gboolean known;

  if (fd < 0 || goes_by (caller))
    return fd;
  if (!dvmd_pmix_ends_is_stranger (fd, &uid, &known))
    {
      DvmdPmixCounter *counter = g_atomic_pointer_get (&let_in);

      if (counter != NULL)
        dvmd_pmix_counter_add (counter);
      send_at_once (fd);
      return fd;
    }
  close (fd);
  say (uid, known);
  errno = EAGAIN;
  return -1;
}

EXPORTED int
accept (int fd, __SOCKADDR_ARG address, socklen_t *restrict length)
{
  Accept next = (Accept)dlsym (RTLD_NEXT, "accept");

  return look_at (next (fd, address, length), __builtin_return_address (0));
}

EXPORTED int
accept4 (int fd, __SOCKADDR_ARG address, socklen_t *restrict length, int flags)
{
  Accept4 next = (Accept4)dlsym (RTLD_NEXT, "accept4");

  return look_at (next (fd, address, length, flags), __builtin_return_address (0));
}
