/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dvmd-pmix-ends.h"
#include "dvmd-pmix-peers.h"

#define STRANGER 65534

/* A connection within this process; with another user's client where that can be had. */
typedef struct
{
  int listening;
  int client;
  int server;
  guint port;
  DvmdPmixEndpoint near; /* of the server */
  DvmdPmixEndpoint far;
} Pair;

static void
fill (struct sockaddr_in6 *address, const char *text, guint port)
{
  memset (address, 0, sizeof *address);
  address->sin6_family = AF_INET6;
  address->sin6_port = htons ((guint16)port);
  g_assert_cmpint (inet_pton (AF_INET6, text, &address->sin6_addr), ==, 1);
}

static int
open_socket (const char *address, guint port)
{
  struct sockaddr_in6 own;
  int fd = socket (AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int one = 1;

  fill (&own, address, port);
  setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  g_assert_cmpint (bind (fd, (struct sockaddr *)&own, sizeof own), ==, 0);
  return fd;
}

/* from_port 0: any */
static void
pair_open (Pair *self, const char *address, const char *from, guint from_port, uid_t uid)
{
  struct sockaddr_in6 server;
  socklen_t length = sizeof server;

  self->listening = open_socket (address, 0);
  g_assert_cmpint (listen (self->listening, 8), ==, 0);
  g_assert_cmpint (getsockname (self->listening, (struct sockaddr *)&server, &length), ==, 0);
  self->port = ntohs (server.sin6_port);
  setfsuid (uid);
  self->client = open_socket (from, from_port);
  setfsuid (geteuid ());
  g_assert_cmpint (connect (self->client, (struct sockaddr *)&server, sizeof server), ==, 0);
  self->server = accept (self->listening, NULL, NULL);
  g_assert_true (dvmd_pmix_ends_read_socket (self->server, &self->near, &self->far));
}

static void
pair_close (Pair *self)
{
  close (self->client);
  close (self->server);
  close (self->listening);
}

static const char *const loopbacks[] = { "::1", "::ffff:127.0.0.1", "::ffff:127.9.8.7" };

static void
test_ours (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (loopbacks); i++)
    {
      Pair pair;
      DvmdPmixEnd asked;
      DvmdPmixEnd read;
      guint uid = 77;
      gboolean known = FALSE;

      pair_open (&pair, loopbacks[i], loopbacks[i], 0, geteuid ());
      g_assert_true (dvmd_pmix_ends_is_loopback (pair.server));
      g_assert_false (dvmd_pmix_ends_is_stranger (pair.server, &uid, &known));
      g_assert_true (known);
      g_assert_cmpuint (uid, ==, geteuid ());
      g_assert_true (dvmd_pmix_ends_find (&pair.far, &pair.near, &asked));
      g_assert_true (dvmd_pmix_ends_find_in_table (&pair.far, &pair.near, &read));
      g_assert_cmpuint (asked.inode, ==, read.inode);
      g_assert_cmpuint (asked.uid, ==, read.uid);
      g_assert_cmpuint (asked.state, ==, read.state);
      g_assert_false (dvmd_pmix_peers_find_stranger (pair.port, &uid));
      shutdown (pair.client, SHUT_WR);
      g_assert_false (dvmd_pmix_ends_is_stranger (pair.server, &uid, &known));
      pair_close (&pair);
    }
}

static void
test_gone (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (loopbacks); i++)
    {
      Pair pair;
      DvmdPmixEnd end;
      guint uid = 77;
      gboolean known = TRUE;

      pair_open (&pair, loopbacks[i], loopbacks[i], 0, geteuid ());
      close (pair.client);
      g_assert_true (dvmd_pmix_ends_is_stranger (pair.server, &uid, &known));
      g_assert_false (known);
      g_assert_false (dvmd_pmix_peers_find_stranger (pair.port, &uid));
      /* Where there is no such connection, the kernel answers with the socket that listens. */
      pair.far.port = 1;
      g_assert_false (dvmd_pmix_ends_find (&pair.near, &pair.far, &end));
      close (pair.server);
      close (pair.listening);
    }
}

static void
test_others (void)
{
  Pair plain = { 0 };
  int fds[2];

  g_assert_cmpint (socketpair (AF_UNIX, SOCK_STREAM, 0, fds), ==, 0);
  g_assert_false (dvmd_pmix_ends_is_loopback (fds[0]));
  plain.listening = open_socket ("::", 0);
  g_assert_false (dvmd_pmix_ends_is_loopback (plain.listening));
  close (plain.listening);
  close (fds[0]);
  close (fds[1]);
}

static void
check_stranger (Pair *pair)
{
  guint uid = 0;
  gboolean known = FALSE;

  g_assert_true (dvmd_pmix_ends_is_stranger (pair->server, &uid, &known));
  g_assert_true (known);
  g_assert_cmpuint (uid, ==, STRANGER);
  uid = 0;
  g_assert_true (dvmd_pmix_peers_find_stranger (pair->port, &uid));
  g_assert_cmpuint (uid, ==, STRANGER);
}

static void
test_strangers (void)
{
  if (geteuid () != 0)
    {
      g_test_skip ("only root can be somebody else");
      return;
    }
  for (gsize i = 0; i < G_N_ELEMENTS (loopbacks); i++)
    {
      Pair pair;

      pair_open (&pair, loopbacks[i], loopbacks[i], 0, STRANGER);
      check_stranger (&pair);
      shutdown (pair.client, SHUT_WR);
      check_stranger (&pair);
      shutdown (pair.client, SHUT_RD);
      check_stranger (&pair);
      g_test_expect_message ("dvmd-pmix", G_LOG_LEVEL_MESSAGE, "A process of user 65534 has connected*");
      g_assert_cmpuint (dvmd_pmix_peers_expel_strangers (pair.port), ==, 1);
      g_test_assert_expected_messages ();
      pair_close (&pair);
    }
}

/* Another address with the port of one of ours, or with our own. */
static void
test_same_ports (void)
{
  Pair ours;
  Pair theirs;
  guint uid;
  gboolean known;
  int fd;

  if (geteuid () != 0)
    {
      g_test_skip ("only root can be somebody else");
      return;
    }
  pair_open (&ours, "::ffff:127.0.0.1", "::ffff:127.0.0.1", 0, geteuid ());
  setfsuid (STRANGER);
  fd = open_socket ("::ffff:127.0.0.9", ours.far.port);
  setfsuid (geteuid ());
  {
    struct sockaddr_in6 server;

    fill (&server, "::ffff:127.0.0.1", ours.port);
    g_assert_cmpint (connect (fd, (struct sockaddr *)&server, sizeof server), ==, 0);
  }
  theirs = (Pair){ .listening = ours.listening, .client = fd, .port = ours.port };
  theirs.server = accept (ours.listening, NULL, NULL);
  check_stranger (&theirs);
  g_assert_false (dvmd_pmix_ends_is_stranger (ours.server, &uid, &known));
  close (theirs.server);
  close (fd);

  pair_open (&theirs, "::ffff:127.0.0.1", "::ffff:127.0.0.9", ours.port, STRANGER);
  g_assert_false (dvmd_pmix_peers_find_stranger (ours.port, &uid));
  pair_close (&theirs);
  pair_close (&ours);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pmix-ends/ours", test_ours);
  g_test_add_func ("/pmix-ends/gone", test_gone);
  g_test_add_func ("/pmix-ends/others", test_others);
  g_test_add_func ("/pmix-ends/strangers", test_strangers);
  g_test_add_func ("/pmix-ends/same-ports", test_same_ports);
  return g_test_run ();
}
