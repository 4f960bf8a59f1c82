/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents that nobody starts: the secret of the site, nodes that are expected, and all who must stay outside.
 */

#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include <dvm.h>

#include "dvmd-bootstrap.h"
#include "dvmd-hello-io.h"
#include "dvmd-munge-key.h"
#include "dvmd-munge.h"
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
  GPid munged;  /* 0: there is none */
  char *socket; /* (nullable): where it is, or would be */
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
end_munged (Site *site)
{
  int status;

  if (site->munged == 0)
    return;
  kill (site->munged, SIGCONT);
  kill (site->munged, SIGKILL);
  g_assert_cmpint (waitpid (site->munged, &status, 0), ==, site->munged);
  site->munged = 0;
}

static void
remove_file (Site *site, const char *name)
{
  g_autofree char *path = g_build_filename (site->directory, name, NULL);

  g_unlink (path);
}

static void
tear_down (Site *site, gconstpointer data)
{
  static const char *const files[] = { "key", "log", "pid", "seed", "socket", "socket.lock", "payload" };

  end_munged (site);
  for (gsize i = 0; i < G_N_ELEMENTS (files); i++)
    remove_file (site, files[i]);
  g_free (site->socket);
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
        g_assert_cmpint (send (fd, "dvmhello\004\000\001\002\377\377\377\377garbage", 23, 0), ==, 23);
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

/* ---- munge ---- */

#define PLACE "node0:7817"

/* The door of one whose agents prove by munge who they are. */
static void
set_up_closed_munge (Site *site, gconstpointer data)
{
  set_up (site, data);
  g_clear_object (&site->host.listener);
  g_assert_cmpint (g_chmod (site->directory, 0711), ==, 0);
  site->socket = g_build_filename (site->directory, "socket", NULL);
  dvmd_tokens_set_munge (site->host.tokens, dvmd_munge_keys_new (site->socket, PLACE));
}

static void
set_up_munge (Site *site, gconstpointer data)
{
  set_up_closed_munge (site, data);
  test_host_listen (&site->host, "tcp");
}

/* It ends with a test that fails, too. */
static void
tie_child (gpointer user_data)
{
  prctl (PR_SET_PDEATHSIG, SIGKILL);
}

/* FALSE: there is none on this machine. */
static gboolean
start_munged (Site *site)
{
  g_autofree char *program = g_file_test ("/usr/sbin/munged", G_FILE_TEST_IS_EXECUTABLE)
                                 ? g_strdup ("/usr/sbin/munged")
                                 : g_find_program_in_path ("munged");
  g_autofree char *key = g_build_filename (site->directory, "key", NULL);
  g_autofree char *script = NULL;
  const char *argv[] = { "sh", "-c", NULL, program, site->directory, NULL };
  g_autofree char *text = g_strnfill (1024, 'k');
  GError *error = NULL;

  if (program == NULL)
    {
      g_test_skip ("munged is not here");
      return FALSE;
    }
  g_assert_true (g_file_set_contents_full (key, text, -1, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
  script = g_strdup ("exec \"$0\" --foreground --force --socket=\"$1/socket\" --key-file=\"$1/key\" "
                     "--pid-file=\"$1/pid\" --seed-file=\"$1/seed\" --log-file=\"$1/log\" >/dev/null 2>&1");
  argv[2] = script;
  g_spawn_async (NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD, tie_child, NULL,
                 &site->munged, &error);
  g_assert_no_error (error);
  wait_until (g_file_test (site->socket, G_FILE_TEST_EXISTS));
  return TRUE;
}

static void
on_sealed (GObject *object, GAsyncResult *result, gpointer user_data)
{
  g_set_object ((GAsyncResult **)user_data, result);
}

/* (transfer full): of an agent that looks for its controller at the place */
static char *
seal (Site *site, const char *place, DvmdToken *secret)
{
  DvmdMungeKeys *keys = dvmd_munge_keys_new (site->socket, place);
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;
  char *credential;

  dvmd_munge_keys_seal_async (keys, NULL, on_sealed, &result);
  wait_until (result != NULL);
  credential = dvmd_munge_keys_seal_finish (result, secret, &error);
  g_assert_no_error (error);
  dvmd_munge_keys_unref (keys);
  return credential;
}

/* (nullable) result: error says why not. */
static DvmdWire *
come_by_munge (Site *site, const char *name, const char *credential, const DvmdToken *secret, GError **error)
{
  g_autoptr (DvmdIdentity) identity = dvmd_identity_new (NULL);
  DvmdConnectOptions options;

  test_connect_options (&site->host, identity, secret, &options);
  options.name = name;
  options.credential = credential;
  return test_connect_full (dvmd_listener_get_addresses (site->host.listener), &options, error);
}

static void
check_refused (Site *site, const char *credential, const DvmdToken *secret, int code, const char *words)
{
  guint before = site->host.n_joined;
  g_autoptr (GError) error = NULL;

  g_assert_null (come_by_munge (site, "n7", credential, secret, &error));
  g_assert_error (error, DVMD_TRANSPORT_ERROR, code);
  if (strstr (error->message, words) == NULL)
    g_error ("no “%s” in: %s", words, error->message);
  g_assert_cmpuint (site->host.n_joined, ==, before);
  g_assert_cmpuint (site->n_knocks, ==, 0);
}

/* No file, and both ends know each other: certificates, arguments and places are as with a secret. */
static void
test_munge (Site *site, gconstpointer data)
{
  DvmdToken secret = { 0 };
  DvmdToken other = { 0 };
  g_autofree char *credential = NULL;
  g_autofree char *second = NULL;
  g_autoptr (DvmdWire) wire = NULL;
  g_autoptr (GError) error = NULL;

  if (!start_munged (site))
    return;
  dvmd_tokens_expect (site->host.tokens, 7, "n7", "--node=n7");
  credential = seal (site, PLACE, &secret);
  second = seal (site, PLACE, &other);
  g_assert_cmpuint (strlen (credential), <, DVMD_HELLO_MAX_CREDENTIAL / 2);
  g_assert_true (memcmp (secret.key, other.key, sizeof secret.key) != 0);
  wire = come_by_munge (site, "n7", credential, &secret, &error);
  g_assert_no_error (error);
  wait_until (site->host.n_joined == 1);
  g_assert_cmpuint (site->host.rank, ==, 7);
  g_assert_true (dvmd_wire_is_encrypted (wire));
  g_assert_null (come_by_munge (site, "n7", second, &other, &error));
  g_assert_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_NOT_WANTED);
  g_assert_cmpuint (site->n_knocks, ==, 1);
}

/* Used before, with another key than the one that is in it, for another DVM, of another purpose, and none at all. */
static void
test_munge_wrong (Site *site, gconstpointer data)
{
  DvmdToken secret = { 0 };
  DvmdToken other = { 0 };
  g_autofree char *stolen = NULL;
  g_autofree char *elsewhere = NULL;
  g_autofree char *longer = NULL;
  g_autofree char *purpose = NULL;

  if (!start_munged (site))
    return;
  dvmd_tokens_expect (site->host.tokens, 7, "n7", "");
  stolen = seal (site, PLACE, &secret);
  check_refused (site, stolen, &other, DVMD_TRANSPORT_ERROR_AUTHENTICATION, "does not have the key");
  check_refused (site, stolen, &secret, DVMD_TRANSPORT_ERROR_AUTHENTICATION, "Replayed credential");
  elsewhere = seal (site, "node1:7817", &secret);
  check_refused (site, elsewhere, &secret, DVMD_TRANSPORT_ERROR_AUTHENTICATION, "is for another DVM");
  longer = seal (site, PLACE "0", &secret);
  check_refused (site, longer, &secret, DVMD_TRANSPORT_ERROR_AUTHENTICATION, "is for another DVM");
  purpose = dvmd_munge_seal (site->socket, (const guint8 *)"a job's own data, long enough to have a key in it, " PLACE,
                             sizeof "a job's own data, long enough to have a key in it, " PLACE - 1, NULL);
  check_refused (site, purpose, &secret, DVMD_TRANSPORT_ERROR_AUTHENTICATION, "made for another purpose");
  check_refused (site, "MUNGE:bm90aGluZyBvZiBtdW5nZQ==:", &secret, DVMD_TRANSPORT_ERROR_AUTHENTICATION,
                 "munge does not take its credential");
  /* A socket that is there still is tried for two seconds. */
  end_munged (site);
  remove_file (site, "socket");
  check_refused (site, stolen, &secret, DVMD_TRANSPORT_ERROR_REFUSED,
                 "munge of the controller's machine does not work");
}

/* (transfer full): what another user makes with munge's own program, for whom he likes, to be valid for ttl seconds */
static char *
seal_as (Site *site, const char *user, const char *reader, const char *ttl)
{
  g_autofree char *path = g_build_filename (site->directory, "payload", NULL);
  const char *argv[] = { "setpriv",  "--clear-groups", "--reuid", user, "munge",
                         "--socket", site->socket,     "--input", path, "--ttl",
                         ttl,        "--restrict-uid", reader,    NULL };
  g_autofree char *credential = NULL;
  g_autoptr (GByteArray) payload = g_byte_array_new ();
  const guint8 key[DVMD_TOKEN_KEY_SIZE] = { 0 };
  GError *error = NULL;
  int status;

  g_byte_array_append (payload, (const guint8 *)"dvm bootstrap 1\n", 16);
  g_byte_array_append (payload, key, sizeof key);
  g_byte_array_append (payload, (const guint8 *)PLACE, strlen (PLACE));
  g_assert_true (g_file_set_contents (path, (const char *)payload->data, payload->len, NULL));
  g_assert_cmpint (g_chmod (path, 0644), ==, 0);
  g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &credential, NULL, &status, &error);
  g_assert_no_error (error);
  g_assert_true (g_spawn_check_wait_status (status, &error));
  return g_strdup (g_strstrip (credential));
}

/* (transfer full): all that munge's own program says of a credential to a user */
static char *
read_as (Site *site, const char *user, const char *credential)
{
  g_autofree char *path = g_build_filename (site->directory, "payload", NULL);
  const char *argv[] = { "setpriv",
                         "--clear-groups",
                         "--reuid",
                         user,
                         "sh",
                         "-c",
                         "exec unmunge --socket \"$0\" --input \"$1\" 2>&1",
                         site->socket,
                         path,
                         NULL };
  char *said = NULL;
  GError *error = NULL;

  g_assert_true (g_file_set_contents (path, credential, -1, NULL));
  g_assert_cmpint (g_chmod (path, 0644), ==, 0);
  g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &said, NULL, NULL, &error);
  g_assert_no_error (error);
  return said;
}

/* Another user gets nothing of what an agent has put into its credential. */
static void
check_sealed (Site *site, const char *own)
{
  DvmdToken secret = { 0 };
  g_autofree char *credential = seal (site, PLACE, &secret);
  g_autofree char *to_another = read_as (site, "12345", credential);
  g_autofree char *to_own = read_as (site, own, credential);

  g_assert_nonnull (strstr (to_another, "Unauthorized credential"));
  g_assert_null (strstr (to_another, PLACE));
  g_assert_nonnull (strstr (to_own, "aes128"));
  g_assert_nonnull (strstr (to_own, "dvm bootstrap 1"));
}

/* All is right but the user, or but the reader. What a node's own user makes in the same way is taken. */
static void
test_munge_user (Site *site, gconstpointer data)
{
  g_autofree char *own = g_strdup_printf ("%u", geteuid ());
  DvmdToken secret = { 0 };
  guint8 key[DVMD_TOKEN_KEY_SIZE] = { 0 };
  g_autofree char *of_another = NULL;
  g_autofree char *for_another = NULL;
  g_autofree char *right = NULL;
  g_autoptr (DvmdWire) wire = NULL;
  g_autoptr (GError) error = NULL;

  if (geteuid () != 0)
    {
      g_test_skip ("only root can be another user");
      return;
    }
  if (!start_munged (site))
    return;
  check_sealed (site, own);
  dvmd_token_set_standing (&secret, key);
  dvmd_tokens_expect (site->host.tokens, 7, "n7", "");
  of_another = seal_as (site, "12345", own, "60");
  check_refused (site, of_another, &secret, DVMD_TRANSPORT_ERROR_AUTHENTICATION,
                 "Its credential of munge is that of uid 12345, and all daemons of this DVM run as uid 0");
  for_another = seal_as (site, own, "12345", "60");
  check_refused (site, for_another, &secret, DVMD_TRANSPORT_ERROR_AUTHENTICATION, "Unauthorized credential");
  right = seal_as (site, own, own, "60");
  wire = come_by_munge (site, "n7", right, &secret, &error);
  g_assert_no_error (error);
}

/* A credential that is older than it says it may be. */
static void
test_munge_expired (Site *site, gconstpointer data)
{
  g_autofree char *own = g_strdup_printf ("%u", geteuid ());
  gint64 end = g_get_real_time () / G_USEC_PER_SEC + 4;
  DvmdToken secret = { 0 };
  guint8 key[DVMD_TOKEN_KEY_SIZE] = { 0 };
  g_autofree char *old = NULL;

  if (g_getenv ("DVM_TEST_SOAK") == NULL)
    {
      g_test_skip ("munge counts in seconds: DVM_TEST_SOAK waits for them");
      return;
    }
  if (geteuid () != 0 || !start_munged (site))
    return;
  dvmd_token_set_standing (&secret, key);
  dvmd_tokens_expect (site->host.tokens, 7, "n7", "");
  old = seal_as (site, own, own, "1");
  wait_until (g_get_real_time () / G_USEC_PER_SEC > end);
  check_refused (site, old, &secret, DVMD_TRANSPORT_ERROR_AUTHENTICATION, "Expired credential");
}

/* Both ends have to be of one mind. */
static void
test_munge_or_secret (Site *site, gconstpointer data)
{
  DvmdToken drawn = { 0 };
  g_autofree char *credential = NULL;
  g_autoptr (GError) error = NULL;

  if (!start_munged (site))
    return;
  dvmd_tokens_expect (site->host.tokens, 7, "n7", "");
  credential = seal (site, PLACE, &drawn);
  check_refused (site, NULL, &site->secret, DVMD_TRANSPORT_ERROR_AUTHENTICATION, "join this DVM by munge alone");
  dvmd_tokens_set_munge (site->host.tokens, NULL);
  check_refused (site, credential, &drawn, DVMD_TRANSPORT_ERROR_AUTHENTICATION, "No agent joins this DVM by munge");
  dvmd_tokens_remove (site->host.tokens, DVMD_LAUNCH_STANDING);
  check_refused (site, credential, &drawn, DVMD_TRANSPORT_ERROR_AUTHENTICATION, "No agent joins this DVM by munge");
}

static DvmdHello *
make_join_munge (const char *credential)
{
  DvmdHello *hello = dvmd_hello_new (DVMD_HELLO_JOIN_MUNGE);
  guint8 bytes[DVMD_HELLO_PROOF_SIZE] = { 0 };

  dvmd_hello_set_text (hello, DVMD_HELLO_VERSION, DVM_VERSION_STRING);
  dvmd_hello_set_nonce (hello);
  dvmd_hello_set_text (hello, DVMD_HELLO_NAME, "n7");
  dvmd_hello_set (hello, DVMD_HELLO_PUBLIC_KEY, bytes, sizeof bytes);
  dvmd_hello_set_text (hello, DVMD_HELLO_CREDENTIAL, credential);
  dvmd_hello_set (hello, DVMD_HELLO_PROOF, bytes, sizeof bytes);
  return hello;
}

/* Strangers with credentials that are none, more of them than may be silent at a time. (element-type DvmdHelloIo) */
static GArray *
make_crowd (Site *site, guint n)
{
  GArray *crowd = g_array_new (FALSE, TRUE, sizeof (DvmdHelloIo));

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (DvmdHello) hello = make_join_munge ("MUNGE:c3RyYW5nZXJz:");
      g_autoptr (GBytes) greeting = NULL;
      g_autoptr (GBytes) said = NULL;
      DvmdHelloIo io;

      call (site, &io, &greeting);
      said = dvmd_hello_io_send (&io, hello);
      g_assert_true (dvmd_hello_io_flush (&io, NULL));
      g_array_append_val (crowd, io);
    }
  return crowd;
}

static void
disperse_crowd (GArray *crowd)
{
  for (guint i = 0; i < crowd->len; i++)
    dvmd_hello_io_clear (&g_array_index (crowd, DvmdHelloIo, i));
  g_array_unref (crowd);
}

static gboolean
is_cut_off (DvmdHelloIo *io)
{
  char byte;

  return recv (dvmd_socket_get_fd (io->stream), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static guint
count_threads (void)
{
  g_autoptr (GDir) dir = g_dir_open ("/proc/self/task", 0, NULL);
  guint n = 0;

  while (g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

static void
listen_again (Site *site, gint64 deadline)
{
  g_clear_object (&site->host.listener);
  site->host.options.deadline = deadline;
  test_host_listen (&site->host, "tcp");
}

/* A munged that hangs is asked by few threads, for few peers, who are told; a crowd goes on its own account. */
static void
test_munge_hangs (Site *site, gconstpointer data)
{
  DvmdToken secret = { 0 };
  g_autofree char *credential = NULL;
  g_autoptr (DvmdWire) wire = NULL;
  g_autoptr (GError) error = NULL;
  guint n_threads;
  GArray *crowd;

  if (!start_munged (site))
    return;
  dvmd_tokens_expect (site->host.tokens, 7, "n7", "");
  credential = seal (site, PLACE, &secret);
  g_assert_cmpint (kill (site->munged, SIGSTOP), ==, 0);
  n_threads = count_threads ();
  test_host_listen (&site->host, "tcp");
  crowd = make_crowd (site, 100);
  g_assert_cmpuint (count_threads (), <=, n_threads + 4);
  g_assert_cmpuint (dvmd_listener_get_n_unauthenticated (site->host.listener), <=, 64 + 1);
  /* The peers that have waited longest are cut off, and not the newest ones. */
  g_assert_true (is_cut_off (&g_array_index (crowd, DvmdHelloIo, 0)));
  g_assert_false (is_cut_off (&g_array_index (crowd, DvmdHelloIo, 99)));
  listen_again (site, G_TIME_SPAN_SECOND / 2);
  check_refused (site, credential, &secret, DVMD_TRANSPORT_ERROR_REFUSED, "has not answered within 0.5 seconds");
  disperse_crowd (crowd);
  g_assert_cmpint (kill (site->munged, SIGCONT), ==, 0);
  /* That credential has waited, and munged was not asked for one who had gone. */
  listen_again (site, 30 * G_TIME_SPAN_SECOND);
  wire = come_by_munge (site, "n7", credential, &secret, &error);
  g_assert_no_error (error);
}

/* Strangers by the hundred, and among them the agent of a node. */
static void
test_munge_crowd (Site *site, gconstpointer data)
{
  DvmdToken secret = { 0 };
  g_autofree char *credential = NULL;
  g_autoptr (DvmdWire) wire = NULL;
  g_autoptr (GError) error = NULL;
  GArray *crowd;

  if (!start_munged (site))
    return;
  dvmd_tokens_expect (site->host.tokens, 7, "n7", "");
  crowd = make_crowd (site, 300);
  credential = seal (site, PLACE, &secret);
  wire = come_by_munge (site, "n7", credential, &secret, &error);
  g_assert_no_error (error);
  disperse_crowd (crowd);
  wait_until (dvmd_listener_get_n_unauthenticated (site->host.listener) == 0);
  g_assert_cmpuint (site->host.n_joined, ==, 1);
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

static void
check_means (Site *site, const char *name, const char *value, const char *words)
{
  g_autoptr (DvmdConfig) config = dvmd_config_new ();
  DvmdToken secret = { 0 };
  DvmdMungeKeys *munge = NULL;
  g_autoptr (GError) error = NULL;

  dvmd_config_set (config, "bootstrap-auth", "munge", DVMD_CONFIG_ORIGIN_COMMAND_LINE, &error);
  dvmd_config_set (config, name, value, DVMD_CONFIG_ORIGIN_COMMAND_LINE, &error);
  g_assert_no_error (error);
  if (dvmd_bootstrap_choose_means (config, &secret, &munge, &error))
    {
      g_assert_null (words);
      g_assert_true ((munge != NULL) == !g_str_equal (name, "bootstrap-auth"));
      g_assert_true ((memcmp (secret.key, site->secret.key, sizeof secret.key) == 0) == (munge == NULL));
      g_clear_pointer (&munge, dvmd_munge_keys_unref);
      return;
    }
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_assert_null (munge);
  if (words == NULL || strstr (error->message, words) == NULL)
    g_error ("%s=%s: %s", name, value, error->message);
}

static void
test_means (Site *site, gconstpointer data)
{
  g_autofree char *long_name = g_strnfill (DVMD_MUNGE_MAX_PLACE + 1, 'n');

  if (!dvmd_munge_is_there (NULL))
    {
      check_means (site, "bootstrap-controller", PLACE, "there is no library of munge here");
      return;
    }
  check_means (site, "bootstrap-controller", PLACE, NULL);
  check_means (site, "bootstrap-munge-socket", "/run/munge/socket", NULL);
  check_means (site, "bootstrap-munge-socket", "munge.socket", "the whole path of the socket");
  check_means (site, "bootstrap-controller", long_name, "longer than 300 characters");
  check_means (site, "bootstrap-auth", "secret", "the whole path of the file with the secret");
}

#define ADD(path, func)        g_test_add ("/bootstrap/" path, Site, NULL, set_up, func, tear_down)
#define ADD_MUNGE(path, func)  g_test_add ("/bootstrap/" path, Site, NULL, set_up_munge, func, tear_down)
#define ADD_CLOSED(path, func) g_test_add ("/bootstrap/" path, Site, NULL, set_up_closed_munge, func, tear_down)

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
  ADD_MUNGE ("munge", test_munge);
  ADD_MUNGE ("munge/wrong", test_munge_wrong);
  ADD_MUNGE ("munge/user", test_munge_user);
  ADD_MUNGE ("munge/expired", test_munge_expired);
  ADD_MUNGE ("munge/or-secret", test_munge_or_secret);
  ADD_CLOSED ("munge/hangs", test_munge_hangs);
  ADD_MUNGE ("munge/crowd", test_munge_crowd);
  ADD ("means", test_means);
  ADD ("file", test_file);
  ADD ("owner", test_owner);
  ADD ("place", test_place);
  return g_test_run ();
}
