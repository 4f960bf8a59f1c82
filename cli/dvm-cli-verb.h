/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a verb is, and what it is called with. One verb-NAME.c per verb.
 */

#pragma once

#include "dvm-cli-foreign.h"
#include "dvm-cli-options.h"

G_BEGIN_DECLS

/* Scripts may rely on these exit codes; between them lie the exit codes of jobs, and 128 + signal. */
typedef enum
{
  DVM_CLI_EXIT_OK = 0,
  DVM_CLI_EXIT_FAILED = 1,
  DVM_CLI_EXIT_USAGE = 2,
  DVM_CLI_EXIT_DVM_FAILED = 125,
  DVM_CLI_EXIT_NOT_EXECUTABLE = 126,
  DVM_CLI_EXIT_NOT_FOUND = 127,
} DvmCliExit;

typedef struct _DvmCliVerb DvmCliVerb;

typedef struct
{
  const DvmCliVerb *verb;
  DvmCliArgs *args;
  const char *name;    /* which DVM; NULL for the default one */
  const char *socket;  /* path of its private socket, or NULL */
  const char *bus;     /* "session", "system", "none" or NULL */
  const char *job;     /* (nullable): of a scheduler, whose DVM is meant, and the unnamed one is not known to be that */
  const char *foreign; /* (nullable): a sentence: the unnamed DVM is of another job */
  gboolean json;
  gboolean json_lines; /* and each row on a line of its own; json is set too */
  gboolean quiet;
  gboolean verbose;
  gboolean needs_dvm; /* none of our own is put in the place of one that is not there */
} DvmCli;

struct _DvmCliVerb
{
  const char *name;
  const char *synopsis; /* what stands behind the name in "Usage:"; several lines for several forms; not translated */
  const char *summary;  /* one line, marked for translation */
  const DvmCliOption *options[12]; /* own ones; the common ones are added */
  const DvmCliDialect *foreign;    /* (nullable): options of another launcher that it takes, too */
  guint min_words;
  guint max_words;
  DvmCliParseFlags flags;
  int failure; /* exit status when the work itself cannot be done */
  /* Ends with the exit status; or with an error, which is printed, and then `failure` or DVM_CLI_EXIT_USAGE counts. */
  int (*run) (DvmCli *cli, GError **error);
  /* (nullable): spellings of this verb alone, made ordinary before parsing; (transfer full) */
  char **(*rewrite) (const char *const *argv, DvmCliOptionLists lists);
  /* (nullable): which of its own options an action takes, parted by blanks; NULL for a word that is no action */
  const char *(*get_action_options) (const char *action);
};

extern const DvmCliOption dvm_cli_common_options[];

/* All that a verb takes, in the order in which a spelling is looked for; foreign ones may go first, or last. */
#define DVM_CLI_LISTS_MAX (G_N_ELEMENTS (((DvmCliVerb *)NULL)->options) + 3)

typedef enum
{
  DVM_CLI_FOREIGN_NONE,
  DVM_CLI_FOREIGN_FIRST,
  DVM_CLI_FOREIGN_LAST,
} DvmCliForeignPlace;

/* verb (nullable): the common ones alone; lists: of DVM_CLI_LISTS_MAX, ends with NULL */
void dvm_cli_verb_fill_lists (const DvmCliVerb *verb, DvmCliForeignPlace place, const DvmCliOption **lists);

/* (array zero-terminated=1): every verb, in the order of --help */
const DvmCliVerb *const *dvm_cli_verbs (void);
const DvmCliVerb *dvm_cli_verb_find (const char *name);
/* (nullable): the nearest verb of a name that is none */
const char *dvm_cli_verb_suggest (const char *name);

/* Whether the action has a use for that option of the verb's own; a verb without actions, and a word that is none: yes.
 */
gboolean dvm_cli_verb_takes (const DvmCliVerb *verb, const char *action, const char *option);
/* An option that this action has no use for is a mistake, and not passed over. */
gboolean dvm_cli_verb_check_options (const DvmCliVerb *verb, DvmCliArgs *args, const char *action, GError **error);

G_END_DECLS
