/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What libFuzzer calls: the target that $DVM_FUZZ_TARGET names. tests/fuzz/run starts it.
 */

#include "config.h"

#include "dvmd-agent.h"
#include "fuzz.h"

int LLVMFuzzerInitialize (int *argc, char ***argv);
int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static const FuzzTarget *target;

int
LLVMFuzzerInitialize (int *argc, char ***argv)
{
  target = fuzz_find_target (g_getenv ("DVM_FUZZ_TARGET"));
  if (target == NULL)
    g_error ("DVM_FUZZ_TARGET names no target: those of fuzz-targets.c are there");
  fuzz_watch_log (target);
  if ((target->flags & FUZZ_CONFINED) != 0)
    {
      dvmd_agent_prepare_process (1 << 20);
      if (!fuzz_confine (g_get_tmp_dir ()))
        g_error ("The kernel has no Landlock: “%s” would write and start what it likes", target->name);
    }
  return 0;
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  target->run (data, size);
  return 0;
}
