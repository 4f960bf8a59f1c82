/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Signals: their names, and those that come to us as events of the main loop.
 */

#pragma once

#include "dvm-cli-options.h"

G_BEGIN_DECLS

/* "TERM", "SIGTERM", "term", "15"; 0 when there is none of that name */
int dvm_cli_signal_from_name (const char *name);
/* (transfer full): "SIGTERM", "SIGRTMIN+3", or "signal 99" */
char *dvm_cli_signal_name (int signum);
/* (transfer full): what `kill -l` shows */
char *dvm_cli_signal_list (void);
/* (transfer full): an array of {"number", "name"} */
char *dvm_cli_signal_list_json (void);

/* (transfer full): "-9" and "-KILL", as kill(1) has them, made --signal=9 and --signal=KILL; lists: what options there
 * are */
char **dvm_cli_signal_rewrite (const char *const *argv, DvmCliOptionLists lists);

/* (transfer full) (nullable): of "USR1,SIGUSR2,10" or "none" the numbers, and 0 behind them; wrong usage is an error */
int *dvm_cli_signal_read_list (const char *option, const char *list, GError **error);

typedef struct _DvmCliSignals DvmCliSignals;

typedef void (*DvmCliSignalFunc) (int signum, gpointer user_data);

/*
 * Takes SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT, SIGTTIN and SIGWINCH as events, and those of also (nullable: none
 * more), which ends with 0. To be called before any thread is started (threads inherit the mask). Signals that our
 * parent has set to be ignored stay so.
 */
DvmCliSignals *dvm_cli_signals_new (const int *also, DvmCliSignalFunc func, gpointer user_data);
/* Stops this process, to whose group SIGTSTP came, as a program stops that knows of no signals: the shell sees SIGTSTP.
 */
void dvm_cli_signals_stop (void);
void dvm_cli_signals_free (DvmCliSignals *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmCliSignals, dvm_cli_signals_free)

G_END_DECLS
