/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-state-machine.h"

G_BEGIN_DECLS

/* Events of a job. They lead through its states in the order of spec/000 (L4). */
typedef enum
{
  DVMD_JOB_CREATED,
  DVMD_JOB_SET_UP,
  DVMD_JOB_DISPATCHED, /* the DVM is ready */
  DVMD_JOB_ALLOCATED,  /* also: slots came free */
  DVMD_JOB_NEEDS_AGENTS,
  DVMD_JOB_NEEDS_NO_LAUNCH, /* donotlaunch */
  DVMD_JOB_AGENTS_LAUNCHED,
  DVMD_JOB_AGENTS_REPORTED,
  DVMD_JOB_VM_USABLE,
  DVMD_JOB_ADMITTED,
  DVMD_JOB_NO_ROOM,
  DVMD_JOB_HELD,        /* its session is paused, or it is */
  DVMD_JOB_UNHELD,      /* not any more */
  DVMD_JOB_PARKED,      /* a gate of the launch fence is closed */
  DVMD_JOB_LET_MAP,     /* the map gate is open again */
  DVMD_JOB_LET_LAUNCH,  /* the launch gate */
  DVMD_JOB_PLACED_ANEW, /* nodes of its map have left */
  DVMD_JOB_MAPPED,
  DVMD_JOB_MAP_ONLY,
  DVMD_JOB_TO_PREPARE,
  DVMD_JOB_PREPARED,
  DVMD_JOB_TO_SEND,
  DVMD_JOB_FIRST_STARTED,
  DVMD_JOB_LOCAL_LAUNCHED,
  DVMD_JOB_ALL_RUNNING,
  DVMD_JOB_ALL_REGISTERED,
  DVMD_JOB_ALL_READY_FOR_DEBUG,
  DVMD_JOB_ALL_TERMINATED,
  DVMD_JOB_TO_TELL,
  DVMD_JOB_CLEANED,
  DVMD_JOB_FAILED, /* carries the error state */
  DVMD_JOB_GONE,   /* nothing of a failed job is left anywhere */
  DVMD_JOB_N_EVENTS
} DvmdJobEvent;

extern const DvmdStateTable dvmd_job_table;

G_END_DECLS
