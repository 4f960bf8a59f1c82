/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <stdio.h>
#include <string.h>

#include <pmix.h>

/* The name of a status in one spelling: libpmix 4 says "NOT-FOUND", "LOST_CONNECTION", "DUPLICATE KEY" or
 * "UNREACHABLE", 5 "PMIX_ERR_NOT_FOUND" and "PMIX_ERR_UNREACH". Until the next call. */
static inline const char *
pmix_status_word (pmix_status_t status)
{
  static char word[64];
  const char *name = PMIx_Error_string (status);

  if (strncmp (name, "PMIX_", 5) == 0)
    name += 5;
  if (strncmp (name, "ERR_", 4) == 0)
    name += 4;
  snprintf (word, sizeof word, "%s", name);
  for (char *c = word; *c != '\0'; c++)
    if (*c == '_' || *c == ' ')
      *c = '-';
  if (strcmp (word, "INVALID-CREDENTIAL") == 0)
    return "INVALID-CRED";
  return strcmp (word, "UNREACHABLE") == 0 ? "UNREACH" : word;
}
