/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * The meter measures work in milliseconds of this thread (sim-meter-time.c), or in steps of the code that is compiled
 * to count them (sim-meter-steps.c), which are the same on every machine and in every run.
 */
typedef struct
{
  guint64 (*read) (void);
  const char *unit;
  double size; /* of the unit, in what is read */
} SimMeter;

extern const SimMeter sim_meter;

G_END_DECLS
