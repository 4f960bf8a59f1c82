/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Code compiled with -fsanitize-coverage=trace-pc calls this before each of its straight pieces.
 */

#include "config.h"

#include "sim-meter.h"

void __sanitizer_cov_trace_pc (void);

static guint64 n_steps;

void
__sanitizer_cov_trace_pc (void)
{
  n_steps++;
}

static guint64
read_steps (void)
{
  return n_steps;
}

const SimMeter sim_meter = { read_steps, "thousand steps", 1e3 };
