/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/* One call of launch_async() or terminate_async(): over when all of its nodes are. */
typedef struct
{
  GTask *task;
  guint n_left;
  gulong cancel_id; /* 0: nobody hears of that */
} DvmdLaunchCall;

/* With one that is left: of the function which makes it. */
DvmdLaunchCall *dvmd_launch_call_new (DvmdLauncher *launcher, GCancellable *cancellable, GAsyncReadyCallback callback,
                                      gpointer user_data);

/* One of those that are left is over. After the last one the call answers, and is freed. */
void dvmd_launch_call_unref (DvmdLaunchCall *call);

/* Answers instead that it was declined, and frees it. */
void dvmd_launch_call_decline (DvmdLaunchCall *call);

G_END_DECLS
