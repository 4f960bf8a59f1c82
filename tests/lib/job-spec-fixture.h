/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <dvm.h>

G_BEGIN_DECLS

/* apps, options: in the text form of GVariant, aa{sv} and a{sv}. (transfer full) (nullable): NULL with an error */
DvmJobSpec *test_job_spec_from_text (const char *apps, const char *options, GError **error);

/* There is no spec, and the message has all these words in it. */
void test_job_spec_assert_refused (DvmJobSpec *spec, GError *error, int code, const char *const *words);

G_END_DECLS
