/*
 * Read by test-code.py; never compiled. This file has no licence line.
 */

#include "config.h"

static int counter;
int shared = 3;
static const int fine = 3;
static GParamSpec *properties[N_PROPERTIES];

/* What is jumped over is not said. */
static void
jumps (void)
{
  static gboolean warned = FALSE;
  static const char *const names[] = { "goto nowhere;" };

  /* goto in a comment is no goto */
  if (counter > 0)
    goto out;
out:
  return;
}
