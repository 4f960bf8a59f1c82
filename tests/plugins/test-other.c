/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A second allocator for tests, with steps of its own.
 */

#include "config.h"

#include "test-allocator.h"

typedef DvmdTestAllocator DvmdOtherAllocator;
typedef DvmdTestAllocatorClass DvmdOtherAllocatorClass;

GType dvmd_other_allocator_get_type (void);

G_DEFINE_TYPE (DvmdOtherAllocator, dvmd_other_allocator, DVMD_TYPE_TEST_ALLOCATOR)

static void
dvmd_other_allocator_class_init (DvmdOtherAllocatorClass *klass)
{
  klass->kinds[TEST_ALLOCATE] = "other";
  klass->kinds[TEST_GIVE_BACK] = "other-give-back";
  klass->kinds[TEST_DECIDE] = "other-decide";
  klass->kinds[TEST_PUSH] = "other-push";
}

static void
dvmd_other_allocator_init (DvmdOtherAllocator *self)
{
}

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_ALLOCATOR,
  .name = "other",
  .description = "does what a script says, for tests of two",
  .get_type = dvmd_other_allocator_get_type,
};
