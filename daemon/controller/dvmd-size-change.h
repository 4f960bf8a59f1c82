/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A change of the DVM's size on its way to the core, for the controller's own files.
 */

#pragma once

#include "dvmd-core-elastic.h"
#include "dvmd-services.h"
#include "dvmd-size-request.h"

G_BEGIN_DECLS

/* The data of its task, whose source is the controller. */
typedef struct
{
  DvmdController *controller; /* unowned */
  GTask *task;                /* unowned: has this */
  char *directive;
  GVariant *given;
  DvmdSizeRequest *request;
  DvmdRequester *requester; /* (nullable) */
  gboolean scheduler;
  gboolean granted;       /* nobody else decides of it */
  gboolean detached;      /* what it makes outlives its owner */
  gboolean instantiated;  /* and is a session with its jobs, which end with it */
  GCancellable *stop;     /* nobody wants it any more */
  GList link;             /* in the controller's size_changes, while others are asked */
  gboolean waits;         /* it is there */
  DvmdAllocator *decider; /* (nullable): who has decided, or asks for it itself */
  char *decided_id;       /* (nullable): of a new allocation */
  guint decided_session;  /* likewise; 0: any */
  guint decided_time;     /* s; 0: no limit */
  DvmHosts *hosts;        /* (nullable): what comes in the end, by the decider */
  const char **names;     /* (nullable): of the hosts that are asked for */
  GPtrArray *lent; /* (nullable) (element-type utf8): the same, of an allocation that takes all of its own back */
  GArray *known;   /* (nullable): DvmdPluginNode, of each of names */
} DvmdSizeChange;

/* Each of them takes the task. */
void dvmd_size_change_fail (DvmdSizeChange *self, GError *error);
/* Clears the answer. */
void dvmd_size_change_answer (DvmdSizeChange *self, DvmdSizeAnswer *given);

/* The allocator's scheduler asks for it: dvmd_controller_change_size_finish(). */
void dvmd_controller_push_size (DvmdController *self, DvmdAllocator *allocator, const char *directive,
                                GVariant *request, GAsyncReadyCallback callback, gpointer user_data);

/* dvmd-controller-grow.c */
/* The members that do not depend on which nodes come are filled in; they borrow from self. */
void dvmd_size_change_fill_grow (DvmdSizeChange *self, DvmdGrowRequest *request);
/* Finds the nodes, if they have not been found, and hands them to the core. */
void dvmd_size_change_begin_grow (DvmdSizeChange *self);

G_END_DECLS
