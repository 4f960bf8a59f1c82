/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "client-fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A test that fails must not leave a daemon behind. */
static void
inherit_fd (gpointer data)
{
  prctl (PR_SET_PDEATHSIG, SIGTERM);
  fcntl (GPOINTER_TO_INT (data), F_SETFD, 0);
}

static void
start_daemon (Fixture *fixture)
{
  g_auto (GStrv) environment = g_environ_setenv (g_get_environ (), "XDG_RUNTIME_DIR", fixture->dir, TRUE);
  g_autofree char *socket = g_strconcat ("--socket=", fixture->socket, NULL);
  g_autofree char *ready = NULL;
  g_autoptr (GError) error = NULL;
  char text[64];
  ssize_t n;
  int fds[2];

  g_assert_true (g_unix_open_pipe (fds, FD_CLOEXEC, &error));
  ready = g_strdup_printf ("--ready-fd=%d", fds[1]);
  {
    const char *const argv[] = { g_getenv ("DVM_DVMD"),
                                 "--bus=none",
                                 "--set=nodes=1",
                                 "--set=slots=2",
                                 "--set=elastic=true",
                                 "--set=kill-grace=1",
                                 socket,
                                 ready,
                                 NULL };

    g_spawn_async (NULL, (char **)argv, environment, G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_LEAVE_DESCRIPTORS_OPEN,
                   inherit_fd, GINT_TO_POINTER (fds[1]), &fixture->pid, &error);
  }
  g_assert_no_error (error);
  close (fds[1]);
  do
    n = read (fds[0], text, sizeof text);
  while (n < 0 && errno == EINTR);
  g_assert_cmpint (n, >, 0);
  close (fds[0]);
}

static void
on_ready (DvmClient *client, const char *alloc_id, const char *req_id, GVariant *details, gpointer user_data)
{
  Fixture *fixture = user_data;
  g_autofree char *text = g_variant_print (details, FALSE);

  g_ptr_array_add (fixture->events, g_strdup_printf ("ready %s %s %s", alloc_id, req_id, text));
}

static void
on_failed (DvmClient *client, const char *alloc_id, const char *req_id, int status, const char *reason,
           GVariant *details, gpointer user_data)
{
  Fixture *fixture = user_data;
  const char *cause = "";

  g_assert_cmpint (status, !=, 0);
  g_assert_cmpstr (reason, !=, "");
  g_assert_true (g_variant_lookup (details, "cause", "&s", &cause));
  g_ptr_array_add (fixture->events, g_strdup_printf ("failed %s %s %s", alloc_id, req_id, cause));
}

static void
on_warning (DvmClient *client, const char *alloc_id, const char *req_id, guint seconds_left, gpointer user_data)
{
  Fixture *fixture = user_data;

  g_ptr_array_add (fixture->events, g_strdup_printf ("warning %s %s %u", alloc_id, req_id, seconds_left));
}

void
fixture_listen (Fixture *fixture, DvmClient *client)
{
  g_signal_connect (client, "dvm-is-ready", G_CALLBACK (on_ready), fixture);
  g_signal_connect (client, "dvm-mod-failed", G_CALLBACK (on_failed), fixture);
  g_signal_connect (client, "alloc-timeout-warning", G_CALLBACK (on_warning), fixture);
}

void
fixture_set_up (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  fixture->dir = g_dir_make_tmp ("dvm-test-XXXXXX", NULL);
  fixture->socket = g_build_filename (fixture->dir, "socket", NULL);
  fixture->events = g_ptr_array_new_with_free_func (g_free);
  start_daemon (fixture);
  fixture->client = dvm_client_new_for_address (fixture->socket);
  fixture_listen (fixture, fixture->client);
  g_assert_true (dvm_client_connect (fixture->client, NULL, &error));
  g_assert_no_error (error);
}

static void
remove_dir (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *child = g_build_filename (path, name, NULL);

      if (g_file_test (child, G_FILE_TEST_IS_DIR))
        remove_dir (child);
      else
        g_unlink (child);
    }
  g_rmdir (path);
}

void
fixture_tear_down (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  int status;

  g_assert_true (dvm_client_shutdown (fixture->client, TRUE, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpint (waitpid (fixture->pid, &status, 0), ==, fixture->pid);
  g_assert_true (WIFEXITED (status));
  g_assert_cmpint (WEXITSTATUS (status), ==, 0);
  g_object_unref (fixture->client);
  g_ptr_array_unref (fixture->events);
  remove_dir (fixture->dir);
  g_free (fixture->socket);
  g_free (fixture->dir);
}

const char *
fixture_get_event (Fixture *fixture, guint index)
{
  wait_until (fixture->events->len > index);
  return fixture->events->pdata[index];
}
