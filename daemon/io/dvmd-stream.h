/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* A stream of a process; the numbers are those of the descriptors. What comes from a pty is stdout. */
typedef enum
{
  DVMD_STREAM_STDIN = 0,
  DVMD_STREAM_STDOUT = 1,
  DVMD_STREAM_STDERR = 2,
} DvmdStream;

#define DVMD_N_STREAMS 3

/* The largest piece of a stream that is passed on at a time, in bytes. */
#define DVMD_STREAM_CHUNK 65536

/*
 * The number of bytes that a job may have on their way from one agent to its reader, or to one rank's stdin, before
 * credit comes back.
 */
#define DVMD_STREAM_WINDOW (256 * 1024)

/* "stdin", "stdout", "stderr" */
const char *dvmd_stream_name (DvmdStream stream);

G_END_DECLS
