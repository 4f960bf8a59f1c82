/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* The first shared library that the program in the file fd is linked with and whose name begins with prefix
 * (transfer full); NULL if there is none, or the file is no program of this machine's kind. Only what the program
 * itself names (DT_NEEDED) counts. A file with wrong numbers in it is read within bounds. Source: the gABI, "Dynamic
 * Section". */
char *dvmd_elf_find_library (int fd, const char *prefix);

G_END_DECLS
