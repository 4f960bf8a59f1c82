/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Numbers in memory that two processes share. A rank that ends while nobody has connected since its job came had
 * nothing to tell its server, and the agent need not wait for what the server would say of it. Of clients that have
 * connected the agent learns here what a server had no time to say before it ended.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-counter.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <glib/gstdio.h>

#define FILE_NAME "connections"

/* More than a server is behind with. */
#define N_CLIENTS 1024

typedef struct
{
  guint job;
  guint32 rank;
} Client;

struct _DvmdPmixCounter
{
  gint number;
  gint n_clients;
  Client clients[N_CLIENTS]; /* the last ones */
};

/* fd is taken. NULL: it cannot be mapped. */
static DvmdPmixCounter *
map_counter (int fd, int protection)
{
  void *memory = mmap (NULL, sizeof (DvmdPmixCounter), protection, MAP_SHARED, fd, 0);

  g_close (fd, NULL);
  return memory != MAP_FAILED ? memory : NULL;
}

DvmdPmixCounter *
dvmd_pmix_counter_new (const char *dir)
{
  g_autofree char *path = g_build_filename (dir, FILE_NAME, NULL);
  const DvmdPmixCounter none = { 0 };
  int fd = g_open (path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

  if (fd < 0)
    return NULL;
  /* Written and not only made long enough: a full file system shows now. */
  if (write (fd, &none, sizeof none) == sizeof none)
    return map_counter (fd, PROT_READ | PROT_WRITE);
  g_close (fd, NULL);
  g_unlink (path);
  return NULL;
}

DvmdPmixCounter *
dvmd_pmix_counter_open (const char *dir)
{
  g_autofree char *path = g_build_filename (dir, FILE_NAME, NULL);
  int fd = g_open (path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0);

  return fd >= 0 ? map_counter (fd, PROT_READ) : NULL;
}

void
dvmd_pmix_counter_free (DvmdPmixCounter *self)
{
  munmap (self, sizeof *self);
}

void
dvmd_pmix_counter_add (DvmdPmixCounter *self)
{
  g_atomic_int_inc (&self->number);
}

guint
dvmd_pmix_counter_get (const DvmdPmixCounter *self)
{
  return (guint)g_atomic_int_get (&self->number);
}

void
dvmd_pmix_counter_add_client (DvmdPmixCounter *self, const char *nspace, guint32 rank)
{
  guint n = (guint)g_atomic_int_get (&self->n_clients);

  self->clients[n % N_CLIENTS] = (Client){ g_str_hash (nspace), rank };
  g_atomic_int_inc (&self->n_clients);
}

gboolean
dvmd_pmix_counter_next_client (const DvmdPmixCounter *self, guint *number, guint *job, guint32 *rank)
{
  guint n = (guint)g_atomic_int_get (&self->n_clients);
  const Client *client;

  if (*number >= n)
    return FALSE;
  *number = MAX (*number, n > N_CLIENTS ? n - N_CLIENTS : 0);
  client = &self->clients[(*number)++ % N_CLIENTS];
  *job = client->job;
  *rank = client->rank;
  return TRUE;
}
