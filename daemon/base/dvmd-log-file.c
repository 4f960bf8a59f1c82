/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The log file of a daemon, which is its standard error: so what libraries write there is in it, too.
 */

#include "config.h"

#include "dvmd-log-file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct _DvmdLogFile
{
  GMutex lock;
  char *path;
  guint64 size;
  guint n_old;
  guint64 n_lost;   /* lines that could not be written, since the start */
  guint64 n_untold; /* those of them that the log does not speak of yet */
};

DvmdLogFile *
dvmd_log_file_new (const char *path)
{
  DvmdLogFile *self = g_new0 (DvmdLogFile, 1);

  g_mutex_init (&self->lock);
  self->path = g_strdup (path);
  return self;
}

void
dvmd_log_file_free (DvmdLogFile *self)
{
  g_mutex_clear (&self->lock);
  g_free (self->path);
  g_free (self);
}

void
dvmd_log_file_set_limits (DvmdLogFile *self, guint64 size, guint n_old)
{
  g_mutex_lock (&self->lock);
  self->size = size;
  self->n_old = n_old;
  g_mutex_unlock (&self->lock);
}

/* PATH becomes PATH.1, and so on; the last one goes. */
static void
shift (DvmdLogFile *self)
{
  for (guint i = self->n_old; i > 0; i--)
    {
      g_autofree char *from = i > 1 ? g_strdup_printf ("%s.%u", self->path, i - 1) : g_strdup (self->path);
      g_autofree char *to = g_strdup_printf ("%s.%u", self->path, i);

      /* Those that are not there yet are not missed. */
      if (rename (from, to) != 0)
        continue;
    }
  if (self->n_old == 0)
    unlink (self->path);
}

/* One that somebody else has renamed is opened anew as well. Where that fails the old one is written on. */
static void
renew (DvmdLogFile *self, const struct stat *own)
{
  struct stat named;
  int fd;

  if (lstat (self->path, &named) == 0 && named.st_dev == own->st_dev && named.st_ino == own->st_ino)
    shift (self);
  fd = open (self->path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0)
    return;
  dup2 (fd, STDERR_FILENO);
  close (fd);
}

guint64
dvmd_log_file_get_n_lost (DvmdLogFile *self)
{
  guint64 n_lost;

  g_mutex_lock (&self->lock);
  n_lost = self->n_lost;
  g_mutex_unlock (&self->lock);
  return n_lost;
}

/* A full disk is no reason to end. The part of a line that had room is ended by the next one. */
static gboolean
write_line (DvmdLogFile *self, const char *line)
{
  g_autoptr (GDateTime) now = g_date_time_new_now_utc ();
  g_autofree char *time = g_date_time_format (now, "%Y-%m-%dT%H:%M:%S.%fZ");
  g_autofree char *lost = NULL;
  g_autofree char *text = NULL;
  gsize length;

  if (self->n_untold > 0)
    lost = g_strdup_printf ("\n%s %" G_GUINT64_FORMAT " lines before this one are lost: they could not be written\n",
                            time, self->n_untold);
  text = g_strdup_printf ("%s%s %s\n", lost != NULL ? lost : "", time, line);
  length = strlen (text);
  if (write (STDERR_FILENO, text, length) == (gssize)length)
    {
      self->n_untold = 0;
      return TRUE;
    }
  self->n_lost++;
  self->n_untold++;
  return FALSE;
}

void
dvmd_log_file_write (DvmdLogFile *self, const char *line)
{
  struct stat own;

  g_mutex_lock (&self->lock);
  if (write_line (self, line) && self->size > 0 && fstat (STDERR_FILENO, &own) == 0 && S_ISREG (own.st_mode)
      && (guint64)own.st_size >= self->size)
    renew (self, &own);
  g_mutex_unlock (&self->lock);
}
