/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

/*
 * A guard is the ancestor of an agent and of all its processes, so that none of them is left when the agent ends, by
 * kill -9 too. The guard is the subreaper of all its descendants: what the agent leaves behind becomes its child, is
 * ended and reaped. It is two processes, one below the other, so that the death of either (together with the agent or
 * not) is survived by one that cleans up; it is plain C without libraries, because there is one on every node.
 *
 *   outer guard -> inner guard (session of its own) -> agent (process group of its own)
 *
 * A parent that has the outer guard killed when it ends itself (PR_SET_PDEATHSIG) has it told instead.
 * The agent gets SIGTERM when its guard is killed, and is to end its processes then; what still lives DVMD_GUARD_GRACE
 * seconds later is ended. Signals that the guard gets are passed on to the agent; with SIGQUIT and with SIGALRM it ends
 * the agent and all below it itself, at once. The launcher takes the latter: it may come while the guard is being
 * loaded, and SIGQUIT would leave a core dump then. The agent gets the signals as the guard has found them,
 * but SIGCHLD, which is not ignored.
 */

#define DVMD_GUARD_GRACE 5

/*
 * Runs the command, argv[0] looked for in PATH, and ends this process as the command has ended (exit status, signal)
 * when nothing of it lives any more. A command that cannot be started exits with 127 (there is none) or 126 as in a
 * shell, after a sentence on standard error. To be called by a process without threads and children; its descriptors 0
 * to 2 are given to the command.
 */
_Noreturn void dvmd_guard_run (char *const argv[]);
