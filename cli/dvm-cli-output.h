/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The two ways out: standard output for what was asked for, standard error for messages.
 */

#pragma once

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

/* 0, or errno of what went wrong; waits when the descriptor does not block */
int dvm_cli_write_all (int fd, const char *bytes, gsize length);

/* Everything or an error; a reader that has closed its end has had enough, which is no error. */
gboolean dvm_cli_print (const char *text, GError **error);

/* For those who go on printing: FALSE with reader_gone set when nobody reads any more, or with an error */
gboolean dvm_cli_print_line (const char *line, gboolean *reader_gone, GError **error);
/* whether a reader can go away: a pipe or a socket */
gboolean dvm_cli_is_pipe (int fd);

/* A place that the user names: "-" is standard output, "+" standard error, and all else a file. */
gboolean dvm_cli_is_stream (const char *where);
/* Before the job is there: a place where no file can be is told while nothing has been done. */
gboolean dvm_cli_check_place (const char *option, const char *where, GError **error);
/* Why a file, or a stream, cannot be written: an errno, or 0 */
int dvm_cli_find_place_fault (const char *where);
gboolean dvm_cli_write_to (const char *where, const char *text, GError **error);

void dvm_cli_complain (const char *format, ...) G_GNUC_PRINTF (1, 2);
/* not with --quiet */
void dvm_cli_note (DvmCli *cli, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* with --verbose alone */
void dvm_cli_tell (DvmCli *cli, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* (transfer full): text for a screen: bytes that are no UTF-8, control characters and the like are escaped */
char *dvm_cli_escape (const char *text);
/* number: not below 0; in at least so many digits; of thousands of cells each would be a format that is read anew */
void dvm_cli_append_number (GString *text, gint64 number, guint n_digits);
/* columns that text takes on a screen */
guint dvm_cli_width (const char *text);
/* (transfer full): cut at the end, with an ellipsis, to what fits into so many columns, at least one */
char *dvm_cli_cut (const char *text, guint width);

/* The message behind "apps[1]: ", and the number that stands there, else 0 */
const char *dvm_cli_skip_app (const char *message, guint *app);
/* (transfer full): the message, with the option that was given where it speaks of the hosts of an application */
char *dvm_cli_name_option (DvmCli *cli, const char *message);

G_END_DECLS
