/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Options that only another launcher has, srun or prte: they become options of the verb before it looks at them.
 */

#pragma once

#include "dvm-cli-options.h"

G_BEGIN_DECLS

typedef struct _DvmCliForeign DvmCliForeign;

/* One word of a value, between commas, as an option of the verb. */
typedef struct
{
  const char *option;
  const char *word;
  const char *name;  /* (nullable): NULL where nothing has to be done */
  const char *value; /* (nullable): of a flag */
} DvmCliForeignWord;

/* Says of a value what a table of words cannot say. done (out): whether it had anything to say */
typedef gboolean (*DvmCliForeignFunc) (DvmCliForeign *self, const DvmCliOption *option, const char *value,
                                       gboolean *done, GError **error);

/*
 * A row of options that has a `help` is refused with that sentence; one that has an `instead` is that option, or not
 * needed. finish (nullable): for options that mean something together
 */
typedef struct
{
  const char *title; /* marked for translation */
  const DvmCliOption *options;
  const DvmCliForeignWord *words;
  gsize n_words;
  DvmCliForeignFunc convert;
  gboolean (*finish) (DvmCliForeign *self, GError **error);
} DvmCliDialect;

extern const DvmCliDialect dvm_cli_srun;
extern const DvmCliDialect dvm_cli_prte;

struct _DvmCliForeign
{
  const DvmCliDialect *dialect;
  DvmCliArgs *args;
  DvmCliOptionLists lists; /* of the verb alone */
  const char *nodes;       /* (nullable): of srun --nodes */
  const char *nodes_shown; /* (nullable): that option as it was typed */
  const char *shown;       /* the option at hand as it was typed */
  GPtrArray *spellings;    /* of all options so far */
  gboolean is_caller;      /* the program was called by the name of that launcher */
  gboolean is_deferred;    /* finish has to say what the option at hand is */
  gboolean has_output;     /* of srun: --output */
  gboolean has_error;      /* of srun: --error */
  GString *typed;
  GString *here;
  GString *needless;
};

/* Adds an option of the verb, as if it had been typed. value (nullable): of a flag. The notice tells of it. */
gboolean dvm_cli_foreign_add (DvmCliForeign *self, const char *name, const char *value, GError **error);

/*
 * All options of the dialect that args has become options of the verb. notices (out) (transfer full): what the user
 * may want to know, a line each
 */
gboolean dvm_cli_foreign_apply (const DvmCliDialect *dialect, gboolean is_caller, DvmCliArgs *args,
                                DvmCliOptionLists lists, char ***notices, GError **error);

G_END_DECLS
