/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents that nobody starts: the secret of the site, nodes that are expected, and all who must stay outside.
 */

#include "config.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include <dvm.h>

#include "dvmd-bootstrap.h"
#include "dvmd-hello-io.h"
#include "dvmd-transport-error.h"
#include "transport-fixture.h"

#define SECRET "a secret that the nodes of a site share"

typedef struct
{
  TestHost host;
  DvmdToken secret;
  char *directory;
  char *file;
  guint n_knocks;
} Site;

static void
write_file (Site *site, const char *text, int mode)
{
  g_assert_true (g_file_set_contents (site->file, text, -1, NULL));
  g_assert_cmpint (g_chmod (site->file, mode), ==, 0);
}

static void
on_knock (const char *name, gpointer user_data, GError **error)
{
  ((Site *)user_data)->n_knocks++;
  g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_NOT_WANTED, "%s is not wanted", name);
}

static void
set_up (Site *site, gconstpointer data)
{
  GError *error = NULL;

  test_host_init (&site->host);
  site->directory = g_dir_make_tmp ("test-bootstrap-XXXXXX", NULL);
  site->file = g_build_filename (site->directory, "secret", NULL);
  write_file (site, SECRET "\n", 0600);
  dvmd_bootstrap_read_secret (site->file, &site->secret, &error);
  g_assert_no_error (error);
  g_assert_false (dvmd_tokens_is_open (site->host.tokens));
  dvmd_tokens_open (site->host.tokens, &site->secret, on_knock, site);
  test_host_listen (&site->host, "tcp");
}

static void
tear_down (Site *site, gconstpointer data)
{
  test_host_clear (&site->host);
  g_unlink (site->file);
  g_assert_cmpint (g_rmdir (site->directory), ==, 0);
  g_free (site->file);
  g_free (site->directory);
}

static void
on_connected (GObject *object, GAsyncResult *result, gpointer user_data)
{
  g_set_object ((GAsyncResult **)user_data, result);
}

/* (nullable) result: error says why not. */
static DvmdWire *
come (Site *site, const char *name, const DvmdToken *secret, char **arguments, GError **error)
{
  g_autoptr (DvmdIdentity) identity = dvmd_identity_new (NULL);
  g_autoptr (GAsyncResult) result = NULL;
  DvmdConnectOptions options;
  DvmdWire *wire;

  test_connect_options (&site->host, identity, secret, &options);
  options.name = name;
  dvmd_connect_async (dvmd_listener_get_addresses (site->host.listener), &options, NULL, on_connected, &result);
  wait_until (result != NULL);
  wire = dvmd_connect_finish (result, error);
  if (wire != NULL && arguments != NULL)
    *arguments = dvmd_connect_dup_arguments (result);
  return wire;
}

static void
check_not_wanted (Site *site, const char *name)
{
  guint before = site->n_knocks;
  g_autoptr (GError) error = NULL;

  g_assert_null (come (site, name, &site->secret, NULL, &error));
  g_assert_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_NOT_WANTED);
  g_assert_nonnull (strstr (error->message, " is not wanted"));
  g_assert_cmpuint (site->n_knocks, ==, before + 1);
}

/* ---- the right ways ---- */

/* The name decides which rank it is, and what it is told; one that is not expected may come again. */
static void
test_expected (Site *site, gconstpointer data)
{
  g_autoptr (DvmdWire) wire = NULL;
  g_autofree char *arguments = NULL;
  g_autoptr (GError) error = NULL;

  check_not_wanted (site, "n8");
  dvmd_tokens_expect (site->host.tokens, 7, "n7", "--set=a=b\n--node=n7");
  dvmd_tokens_expect (site->host.tokens, 8, "n8", "--node=n8");
  g_assert_cmpuint (dvmd_tokens_count_expected (site->host.tokens), ==, 2);
  wire = come (site, "n8", &site->secret, &arguments, &error);
  g_assert_no_error (error);
  wait_until (site->host.n_joined == 1);
  g_assert_cmpuint (site->host.rank, ==, 8);
  g_assert_cmpstr (site->host.name, ==, "n8");
  g_assert_cmpstr (arguments, ==, "--node=n8");
  g_assert_true (dvmd_wire_is_encrypted (wire));
  g_assert_cmpuint (dvmd_tokens_count_expected (site->host.tokens), ==, 1);
  /* Waiting is no refusal that people need to hear of. */
  g_assert_cmpuint (dvmd_listener_get_n_refused (site->host.listener), ==, 0);
}

/* Two agents of one node, and one that comes back when the first has been given up. */
static void
test_second (Site *site, gconstpointer data)
{
  g_autoptr (DvmdWire) wire = NULL;
  g_autoptr (DvmdWire) again = NULL;
  g_autoptr (GError) error = NULL;

  dvmd_tokens_expect (site->host.tokens, 7, "n7", "");
  wire = come (site, "n7", &site->secret, NULL, &error);
  g_assert_no_error (error);
  check_not_wanted (site, "n7");
  dvmd_tokens_forget (site->host.tokens, 7);
  check_not_wanted (site, "n7");
  dvmd_tokens_expect (site->host.tokens, 9, "n7", "");
  again = come (site, "n7", &site->secret, NULL, &error);
  g_assert_no_error (error);
  wait_until (site->host.n_joined == 2);
  g_assert_cmpuint (site->host.rank, ==, 9);
}

/* A node is known by its own name before one that is short for it, and not at all if two would do. */
static void
test_names (Site *site, gconstpointer data)
{
  static const struct
  {
    const char *node;
    const char *host;
    gboolean match;
  } rows[] = {
    { "n1", "n1", TRUE },          { "n1", "N1", TRUE },    { "n1", "n1.site.org", TRUE },
    { "n1.site.org", "n1", TRUE }, { "n1", "n10", FALSE },  { "n1.a", "n1.b", FALSE },
    { "n10", "n1", FALSE },        { "n1.a", "n2", FALSE }, { "10.0.0.1", "10.0.0.2", FALSE },
  };
  g_autoptr (DvmdWire) wire = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    g_assert_true (dvmd_token_names_match (rows[i].node, rows[i].host, FALSE) == rows[i].match);
  g_assert_false (dvmd_token_names_match ("n1", "n1.site.org", TRUE));
  dvmd_tokens_expect (site->host.tokens, 3, "n1.a", "");
  dvmd_tokens_expect (site->host.tokens, 4, "n1.b", "");
  check_not_wanted (site, "n1");
  wire = come (site, "n1.b", &site->secret, NULL, NULL);
  wait_until (site->host.n_joined == 1);
  g_assert_cmpuint (site->host.rank, ==, 4);
  g_clear_object (&wire);
  wire = come (site, "n1", &site->secret, NULL, NULL);
  wait_until (site->host.n_joined == 2);
  g_assert_cmpuint (site->host.rank, ==, 3);
}

/* ---- who stays outside ---- */

static void
check_stranger (Site *site, const DvmdToken *secret)
{
  guint64 before = dvmd_listener_get_n_refused (site->host.listener);
  g_autoptr (GError) error = NULL;

  g_assert_null (come (site, "n7", secret, NULL, &error));
  g_assert_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_AUTHENTICATION);
  g_assert_cmpuint (site->n_knocks, ==, 0);
  g_assert_cmpuint (site->host.n_joined, ==, 0);
  wait_until (dvmd_listener_get_n_refused (site->host.listener) == before + 1);
}

/* Not even whether the node is expected is told to an agent that does not have the secret. */
static void
test_wrong_secret (Site *site, gconstpointer data)
{
  DvmdToken wrong;
  guint8 key[DVMD_TOKEN_KEY_SIZE] = { 0 };

  write_file (site, SECRET ", but another", 0600);
  g_assert_true (dvmd_bootstrap_read_secret (site->file, &wrong, NULL));
  check_stranger (site, &wrong);
  dvmd_tokens_expect (site->host.tokens, 7, "n7", "");
  check_stranger (site, &wrong);
  dvmd_token_set_standing (&wrong, key);
  check_stranger (site, &wrong);
}

/* Where no agents are awaited there is no standing launch. */
static void
test_closed (Site *site, gconstpointer data)
{
  dvmd_tokens_remove (site->host.tokens, DVMD_LAUNCH_STANDING);
  check_stranger (site, &site->secret);
}

static void
call (Site *site, DvmdHelloIo *io, GBytes **greeting)
{
  g_autoptr (GSocketAddress) address = NULL;
  g_autofree char *name = NULL;
  g_autoptr (DvmdHello) hello = NULL;
  struct sockaddr_storage native;
  guint16 port;
  int fd;

  g_assert_true (
      dvmd_address_parse (dvmd_listener_get_addresses (site->host.listener)[0], &address, &name, &port, NULL));
  g_assert_true (g_socket_address_to_native (address, &native, sizeof native, NULL));
  fd = socket (native.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  g_assert_cmpint (connect (fd, (struct sockaddr *)&native, (socklen_t)g_socket_address_get_native_size (address)), ==,
                   0);
  dvmd_hello_io_init (io, dvmd_socket_new (fd, "test"));
  wait_until ((hello = dvmd_hello_io_receive (io, greeting, NULL)) != NULL);
  g_assert_cmpint (hello->type, ==, DVMD_HELLO_GREETING);
}

static DvmdHello *
make_join (Site *site, GBytes *greeting)
{
  g_autoptr (DvmdIdentity) identity = dvmd_identity_new (NULL);
  DvmdHello *hello = dvmd_hello_new (DVMD_HELLO_JOIN);
  DvmdToken token;

  dvmd_token_derive (&site->secret, DVMD_RANK_ANY, &token);
  dvmd_hello_set_text (hello, DVMD_HELLO_VERSION, DVM_VERSION_STRING);
  dvmd_hello_set_nonce (hello);
  dvmd_hello_set_number (hello, DVMD_HELLO_RANK, 4, token.rank);
  dvmd_hello_set_number (hello, DVMD_HELLO_TOKEN, 8, token.launch);
  dvmd_hello_set_text (hello, DVMD_HELLO_NAME, "n7");
  dvmd_hello_set_bytes (hello, DVMD_HELLO_PUBLIC_KEY, dvmd_identity_get_public_key (identity));
  dvmd_hello_prove (hello, token.key, greeting, NULL);
  return hello;
}

static void
say (DvmdHelloIo *io, const DvmdHello *hello, DvmdHelloType expected)
{
  g_autoptr (GBytes) said = dvmd_hello_io_send (io, hello);
  g_autoptr (DvmdHello) answer = NULL;

  g_assert_true (dvmd_hello_io_flush (io, NULL));
  wait_until ((answer = dvmd_hello_io_receive (io, NULL, NULL)) != NULL);
  g_assert_cmpint (answer->type, ==, expected);
  if (expected == DVMD_HELLO_REFUSE)
    g_assert_cmpuint (dvmd_hello_get_number (answer, DVMD_HELLO_CODE), ==, DVMD_TRANSPORT_ERROR_AUTHENTICATION);
  dvmd_hello_io_clear (io);
}

/* A proof that was right on its own connection is none on another one; nor is it one under another name. */
static void
test_replay (Site *site, gconstpointer data)
{
  g_autoptr (GBytes) greeting = NULL;
  g_autoptr (GBytes) other_greeting = NULL;
  g_autoptr (GBytes) third_greeting = NULL;
  g_autoptr (DvmdHello) recorded = NULL;
  g_autoptr (DvmdHello) changed = NULL;
  DvmdHelloIo io;

  dvmd_tokens_expect (site->host.tokens, 7, "n7", "");
  dvmd_tokens_expect (site->host.tokens, 8, "n8", "");
  call (site, &io, &greeting);
  recorded = make_join (site, greeting);
  say (&io, recorded, DVMD_HELLO_ACCEPT_JOIN);
  call (site, &io, &other_greeting);
  say (&io, recorded, DVMD_HELLO_REFUSE);
  call (site, &io, &third_greeting);
  changed = make_join (site, third_greeting);
  dvmd_hello_set_text (changed, DVMD_HELLO_NAME, "n8");
  say (&io, changed, DVMD_HELLO_REFUSE);
  g_assert_cmpuint (site->host.n_joined, ==, 0);
}

/* Cut off at each step, and garbage in between: the node's agent gets in all the same, with another key. */
static void
test_cut (Site *site, gconstpointer data)
{
  g_autoptr (DvmdWire) wire = NULL;
  g_autoptr (GError) error = NULL;

  dvmd_tokens_expect (site->host.tokens, 7, "n7", "");
  for (guint step = 0; step < 4; step++)
    {
      g_autoptr (GBytes) greeting = NULL;
      g_autoptr (DvmdHello) hello = NULL;
      g_autoptr (GBytes) said = NULL;
      gsize size;
      DvmdHelloIo io;
      int fd;

      call (site, &io, &greeting);
      hello = make_join (site, greeting);
      said = dvmd_hello_encode (hello);
      size = g_bytes_get_size (said);
      fd = dvmd_socket_get_fd (io.stream);
      if (step == 1)
        g_assert_cmpint (send (fd, g_bytes_get_data (said, NULL), size / 2, 0), ==, size / 2);
      if (step == 2)
        g_assert_cmpint (send (fd, "dvmhello\003\000\001\002\377\377\377\377garbage", 23, 0), ==, 23);
      if (step == 3)
        say (&io, hello, DVMD_HELLO_ACCEPT_JOIN);
      else
        dvmd_hello_io_clear (&io);
    }
  wait_until (dvmd_listener_get_n_unauthenticated (site->host.listener) == 0);
  g_assert_cmpuint (site->host.n_joined, ==, 0);
  wire = come (site, "n7", &site->secret, NULL, &error);
  g_assert_no_error (error);
  wait_until (site->host.n_joined == 1);
}

/* ---- what both ends read ---- */

static void
check_refused_file (Site *site, const char *path, const char *words)
{
  DvmdToken secret = { 0 };
  g_autoptr (GError) error = NULL;

  g_assert_false (dvmd_bootstrap_read_secret (path, &secret, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_assert_nonnull (strstr (error->message, words));
  g_assert_null (strstr (error->message, "a secret that"));
}

static void
test_file (Site *site, gconstpointer data)
{
  g_autofree char *fifo = g_build_filename (site->directory, "fifo", NULL);
  g_autofree char *missing = g_build_filename (site->directory, "missing", NULL);
  g_autofree char *long_text = g_strnfill (5000, 'x');
  DvmdToken secret = { 0 };

  write_file (site, "  " SECRET "  \n\n", 0400);
  g_assert_true (dvmd_bootstrap_read_secret (site->file, &secret, NULL));
  g_assert_cmpmem (secret.key, sizeof secret.key, site->secret.key, sizeof site->secret.key);
  for (guint i = 0; i < 6; i++)
    {
      write_file (site, SECRET, 0600 | (1 << i));
      check_refused_file (site, site->file, "chmod 600");
    }
  write_file (site, "1234567890123456789012 ", 0600);
  g_assert_true (dvmd_bootstrap_read_secret (site->file, &secret, NULL));
  write_file (site, "123456789012345678901\n", 0600);
  check_refused_file (site, site->file, "22 characters");
  write_file (site, long_text, 0600);
  check_refused_file (site, site->file, "4096");
  check_refused_file (site, missing, "No such file");
  check_refused_file (site, site->directory, "no regular file");
  check_refused_file (site, "secret", "whole path");
  check_refused_file (site, "", "whole path");
  g_assert_cmpint (mkfifo (fifo, 0600), ==, 0);
  check_refused_file (site, fifo, "no regular file");
  g_unlink (fifo);
}

static void
test_owner (Site *site, gconstpointer data)
{
  if (geteuid () != 0)
    {
      g_test_skip ("only root can give a file to another user");
      return;
    }
  g_assert_cmpint (chown (site->file, 12345, (gid_t)-1), ==, 0);
  check_refused_file (site, site->file, "another user");
}

static void
test_place (Site *site, gconstpointer data)
{
  static const char *const wrong[] = { "", "node0", "node0:", ":7817", "node0:0", "node0:70000", "node0:x" };
  g_autofree char *address = NULL;
  guint16 port = 0;

  g_assert_true (dvmd_bootstrap_parse_place ("node0:7817", &address, &port, NULL));
  g_assert_cmpstr (address, ==, "tcp:node0:7817");
  g_assert_cmpuint (port, ==, 7817);
  g_assert_true (dvmd_bootstrap_parse_place ("[fd00::1]:7818", NULL, &port, NULL));
  g_assert_cmpuint (port, ==, 7818);
  for (gsize i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_false (dvmd_bootstrap_parse_place (wrong[i], NULL, &port, &error));
      g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
    }
}

#define ADD(path, func) g_test_add ("/bootstrap/" path, Site, NULL, set_up, func, tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("expected", test_expected);
  ADD ("second", test_second);
  ADD ("names", test_names);
  ADD ("wrong-secret", test_wrong_secret);
  ADD ("closed", test_closed);
  ADD ("replay", test_replay);
  ADD ("cut", test_cut);
  ADD ("file", test_file);
  ADD ("owner", test_owner);
  ADD ("place", test_place);
  return g_test_run ();
}
