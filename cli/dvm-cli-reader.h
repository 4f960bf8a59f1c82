/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <dvm.h>

G_BEGIN_DECLS

/*
 * The reader of our standard output, seen from the command line: the DVM writes there itself, and drains output without
 * a reader. When the reader has left, the job may go on until it writes once more, as a program in a pipeline may.
 */
typedef struct _DvmCliReader DvmCliReader;

typedef void (*DvmCliReaderFunc) (gpointer user_data);

/* missed: the job has written to standard output after its reader had left; called once. */
DvmCliReader *dvm_cli_reader_new (DvmClient *client, DvmJob *job, DvmCliReaderFunc missed, gpointer user_data);
void dvm_cli_reader_free (DvmCliReader *self);

G_END_DECLS
