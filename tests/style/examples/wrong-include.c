/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Read by test-include-rules.py as if it stood in daemon/core; never compiled.
 */

#include "config.h"

#include <string.h>
#include <unistd.h> /* wrong: core is pure */
#include <glib/gstdio.h> /* wrong: core is pure */
#include <pmix_server.h> /* wrong */
#include <hwloc.h> /* wrong */
#include <gio/gio.h>
#include <dvm.h>

#include "dvm-records-private.h"
#include "dvmd-clock.h"
#include "dvmd-controller.h" /* wrong: the core knows no engine */
/* #include "dvmd-controller.h" */
  #  include "dvmd-spawn.h" /* wrong */
