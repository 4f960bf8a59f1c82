/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <glib.h>

#include "dvmd-elf.h"

static void
test_own (void)
{
  int fd = open ("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  g_autofree char *library = dvmd_elf_find_library (fd, "libglib-2");
  g_autofree char *none = dvmd_elf_find_library (fd, "libmpi");

  g_assert_cmpstr (library, ==, "libglib-2.0.so.0");
  g_assert_null (none);
  close (fd);
}

static void
check_copy (const char *data, gsize size, const char *expected)
{
  int fd = memfd_create ("program", MFD_CLOEXEC);
  g_autofree char *library = NULL;

  g_assert_true (fd >= 0 && write (fd, data, size) == (gssize)size);
  library = dvmd_elf_find_library (fd, "libglib-2");
  g_assert_cmpstr (library, ==, expected);
  close (fd);
}

/* A script, nothing at all, the beginning of a program, one of another class and of the other byte order. */
static void
test_others (void)
{
  g_autofree char *data = NULL;
  gsize size;

  g_assert_true (g_file_get_contents ("/proc/self/exe", &data, &size, NULL));
  check_copy (data, size, "libglib-2.0.so.0");
  check_copy ("#!/bin/sh\n", 10, NULL);
  check_copy ("", 0, NULL);
  for (gsize cut = 1; cut < 600; cut++)
    check_copy (data, cut, NULL);
  for (gsize i = 4; i < 6; i++)
    {
      data[i] ^= 3;
      check_copy (data, size, NULL);
      data[i] ^= 3;
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/elf/own", test_own);
  g_test_add_func ("/elf/others", test_others);
  return g_test_run ();
}
