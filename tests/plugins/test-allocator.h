/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "test-script.h"

G_BEGIN_DECLS

/* There are two of them, so that nodes can come from several: "test" and "other", with steps of their own. */
#define DVMD_TYPE_TEST_ALLOCATOR (dvmd_test_allocator_get_type ())
G_DECLARE_DERIVABLE_TYPE (DvmdTestAllocator, dvmd_test_allocator, DVMD, TEST_ALLOCATOR, DvmdAllocator)

struct _DvmdTestAllocatorClass
{
  DvmdAllocatorClass parent_class;

  const char *kinds[4]; /* of its steps, by TestKind */
};

typedef enum
{
  TEST_ALLOCATE,
  TEST_GIVE_BACK,
  TEST_DECIDE,
  TEST_PUSH,
} TestKind;

/* The next step of that kind in the script of the allocator */
TestAction dvmd_test_allocator_next (DvmdTestAllocator *self, TestKind kind, TestStep *step, GError **error);
/* A task whose answer is given as often as the step says */
GTask *dvmd_test_allocator_new_task (DvmdTestAllocator *self, const TestStep *step, GCancellable *cancellable,
                                     GAsyncReadyCallback callback, gpointer user_data);

/* test-decide.c */
void dvmd_test_allocator_decide_async (DvmdAllocator *allocator, const DvmdDecisionRequest *request,
                                       GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);

/* test-push.c */
void dvmd_test_allocator_start_pushing (DvmdTestAllocator *self);
/* "KEY=VALUE KEY=VALUE" */
GVariant *dvmd_test_allocator_parse_keys (const char *words);

G_END_DECLS
