/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core-elastic.h"

G_BEGIN_DECLS

/*
 * The statements of the contract that can be put so that they hold at every moment of an elastic DVM, each with its
 * number. sim-statements.c has the table.
 */
typedef enum
{
  SIM_CRASH, /* no statement: a warning, or worse */
  SIM_ONCE,
  SIM_E2,
  SIM_E5,
  SIM_E9,
  SIM_E10,
  SIM_E12,
  SIM_E13,
  SIM_E14,
  SIM_E15,
  SIM_E16,
  SIM_E20,
  SIM_E21,
  SIM_E22,
  SIM_E23,
  SIM_E25,
  SIM_E26,
  SIM_E27,
  SIM_E28,
  SIM_E29,
  SIM_E30,
  SIM_E32,
  SIM_E34,
  SIM_E36,
  SIM_E37,
  SIM_E38,
  SIM_E40,
  SIM_E42,
  SIM_E43,
  SIM_E44,
  SIM_E45,
  SIM_E47,
  SIM_E48,
  SIM_E49,
  SIM_E50,
  SIM_E56,
  SIM_E57,
  SIM_E58,
  SIM_E59,
  SIM_E62,
  SIM_E64,
  SIM_E66,
  SIM_E67,
  SIM_E68,
  SIM_E69,
  SIM_E70,
  SIM_D1_EXIT,
  SIM_D1_EXPELLED,
  SIM_D2_STAGED,
  SIM_D2_SLOTS,
  SIM_D3,
  SIM_D4_LIMIT,
  SIM_D4_ORDER,
  SIM_D4_REMAPPED,
  SIM_D7,
  SIM_D8,
  SIM_D10,
  SIM_D12_REPAIR,
  SIM_D12_SLOTS,
  SIM_D12_MEMBERS,
  SIM_D14_ORDERED,
  SIM_D14_OFFERED,
  SIM_D14_EXISTS,
  SIM_D14_LEAVING,
  SIM_D14_DOWN,
  SIM_D14_IN,
  SIM_D14_CANCELS,
  SIM_D15_DRAIN,
  SIM_D15_KILLED,
  SIM_D15_WARN,
  SIM_D16,
  SIM_D17_TICKET,
  SIM_D17_FENCE,
  SIM_D18,
  SIM_R35,
  SIM_S5,
  SIM_HEAL_LOST,
  SIM_HEAL_TRIES,
  SIM_HEAL_FREE,
  SIM_HEAL_BACK,
  SIM_REST,
  SIM_N_STATEMENTS
} SimStatement;

const char *sim_statement_get_number (SimStatement statement);
const char *sim_statement_get_text (SimStatement statement);

typedef enum
{
  SIM_COUNT_SCHEDULES,
  SIM_COUNT_ACTIONS,
  SIM_COUNT_FAULTS,
  SIM_COUNT_PACKETS,
  SIM_COUNT_JOBS,
  SIM_COUNT_PARKED,
  SIM_COUNT_REMAPPED,
  SIM_COUNT_GROWN,
  SIM_COUNT_ROLLED_BACK,
  SIM_COUNT_HEALED,
  SIM_COUNT_SHRUNK,
  SIM_COUNT_OVERLAPS,
  SIM_N_COUNTS
} SimCount;

const char *sim_count_to_string (SimCount count);

/* A tally says how often each statement was looked at, and which one failed. */
typedef struct
{
  guint64 held[SIM_N_STATEMENTS];
  guint64 counts[SIM_N_COUNTS];
  guint seed;      /* that runs */
  guint n_actions; /* that have begun */
  SimStatement failed;
  char where[256];
} SimTally;

struct _SimWorld;

#define sim_hold(world, statement, condition)                                                                          \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    (world)->tally->held[statement]++;                                                                                 \
    if (!(condition))                                                                                                  \
      sim_statement_failed (world, statement, #condition, __FILE__, __LINE__);                                         \
  }                                                                                                                    \
  G_STMT_END

/* Ends the process, unless DVM_SIM_STATEMENTS names others: tests/mutants asks for those that a mutant breaks. */
void sim_statement_failed (struct _SimWorld *world, SimStatement statement, const char *condition, const char *file,
                           int line);

/* Connects to the signals of the core. */
void sim_statements_watch (struct _SimWorld *world);
/* Begins to watch a job that was just submitted. */
void sim_statements_submitted (struct _SimWorld *world, DvmdJob *job);
/* Checks all statements that can be checked now. */
void sim_statements_check (struct _SimWorld *world);
/* Checks the statements about a DVM in which nothing moves any more. */
void sim_statements_check_rest (struct _SimWorld *world);
/* Checks the statements about a DVM that has ended. */
void sim_statements_check_end (struct _SimWorld *world);

/* ---- moments ---- */
void sim_statements_launched (struct _SimWorld *world, guint rank, const char *host);
void sim_statements_wire (struct _SimWorld *world, DvmdCampaign *campaign, DvmdNode *const *nodes, guint n_nodes);
void sim_statements_wired (struct _SimWorld *world, gpointer campaign);
/* campaign: (nullable) */
void sim_statements_remove (struct _SimWorld *world, DvmdCampaign *campaign, DvmdNode *const *nodes, guint n_nodes);
void sim_statements_offer (struct _SimWorld *world, DvmdCampaign *campaign, const DvmdOffer *nodes, guint n);
void sim_statements_event (struct _SimWorld *world, DvmdCampaign *campaign);
void sim_statements_places (struct _SimWorld *world, DvmdJob *job, const DvmdPlaces *places);
void sim_statements_send (struct _SimWorld *world, DvmdJob *job);

G_END_DECLS
