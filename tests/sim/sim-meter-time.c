/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <time.h>

#include "sim-meter.h"

static guint64
read_time (void)
{
  struct timespec now = { 0 };

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
  return (guint64)now.tv_sec * 1000000000 + (guint64)now.tv_nsec;
}

const SimMeter sim_meter = { read_time, "ms", 1e6 };
