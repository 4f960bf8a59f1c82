/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <dvm.h>

G_BEGIN_DECLS

/*
 * A DVM that has no DVM behind it: it answers by script, in a thread of its own, on a private socket or on a bus. What
 * a job does follows from its program:
 *
 *   "steps"    its states come as signals, then it has ended
 *   "refused"  Submit answers BadParam
 *   "garbage"  Submit answers a path that is none of a job
 *   "leave"    the connection is closed instead of an answer
 *   others     Wait answers at once: NON_ZERO_TERM with exit code 3
 *
 * Job 1 to 4 can be asked for; Wait of job 4 never answers, and its processes are not known any more; job 3 is
 * forgotten between its processes and their devices.
 */

typedef struct _DvmTestServer DvmTestServer;

DvmTestServer *dvm_test_server_new (const char *path);
DvmTestServer *dvm_test_server_new_for_bus (const char *address, const char *name);
/* The peer of a socket pair. */
DvmTestServer *dvm_test_server_new_for_fd (int fd);
void dvm_test_server_free (DvmTestServer *self);
/* The text is the last call that came, printed: "SubmitApps ([{...}], {...})"; (transfer full) */
char *dvm_test_server_get_last_call (DvmTestServer *self);
/* Lists whose rest never changes. */
void dvm_test_server_set_stuck (DvmTestServer *self, gboolean stuck);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmTestServer, dvm_test_server_free)

G_END_DECLS
