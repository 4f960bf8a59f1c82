/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The standard streams have numbers and names.
 */

#include "config.h"

#include "dvmd-stream.h"

const char *
dvmd_stream_name (DvmdStream stream)
{
  switch (stream)
    {
    case DVMD_STREAM_STDIN:
      return "stdin";
    case DVMD_STREAM_STDOUT:
      return "stdout";
    case DVMD_STREAM_STDERR:
      return "stderr";
    }
  return "unknown";
}
