/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Specifications of jobs as they come over the bus, and what is refused.
 */

#include "config.h"

#include <string.h>

#include "job-spec-fixture.h"

DvmJobSpec *
test_job_spec_from_text (const char *apps, const char *options, GError **error)
{
  g_autoptr (GVariant) a = g_variant_parse (G_VARIANT_TYPE ("aa{sv}"), apps, NULL, NULL, NULL);
  g_autoptr (GVariant) o = g_variant_parse (G_VARIANT_TYPE_VARDICT, options, NULL, NULL, NULL);

  g_assert_nonnull (a);
  g_assert_nonnull (o);
  return dvm_job_spec_new_from_variant (a, o, error);
}

void
test_job_spec_assert_refused (DvmJobSpec *spec, GError *error, int code, const char *const *words)
{
  g_assert_null (spec);
  g_assert_error (error, DVM_ERROR, code);
  g_assert_true (g_utf8_validate (error->message, -1, NULL));
  for (gsize i = 0; words[i] != NULL; i++)
    if (strstr (error->message, words[i]) == NULL)
      g_error ("“%s” does not name “%s”", error->message, words[i]);
}
