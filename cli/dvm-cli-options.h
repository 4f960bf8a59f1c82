/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Options as tables: one row serves the parser, --help and the check that manual and completion agree. GOption is not
 * used: it takes part in locale and allocation work at every start, has no aliases such as -np, cannot stop at the
 * program of `run`, and cannot name the nearest match.
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef enum
{
  DVM_CLI_ARG_NONE,     /* a flag */
  DVM_CLI_ARG_STRING,   /* any text but the empty one */
  DVM_CLI_ARG_OPTIONAL, /* the same behind "=", or nothing: never the next word */
  DVM_CLI_ARG_COUNT,    /* a number of at least 1 */
  DVM_CLI_ARG_NUMBER,   /* a number of at least 0 */
  DVM_CLI_ARG_TIME,     /* seconds, or a time such as 90s, 10m, 2h, 1d or 1:30:00; 0 is allowed */
  DVM_CLI_ARG_PAIR,     /* two words, a name and any text; kept as NAME=TEXT */
  DVM_CLI_ARG_CHOICE,   /* one of choices */
} DvmCliArg;

#define DVM_CLI_NOT_NEEDED "-"

typedef struct
{
  const char *name;    /* "np" for --np */
  char letter;         /* 'n' for -n, 0 for none */
  const char *aliases; /* other spellings with their dashes, separated by spaces, or NULL */
  DvmCliArg arg;
  const char *value;   /* what --help calls the value, marked for translation */
  const char *choices; /* "a|b|c" of DVM_CLI_ARG_CHOICE; of COUNT and NUMBER the most, of TIME the least, or NULL */
  const char *help;    /* one line, marked for translation; NULL where instead is */
  const char *instead; /* of a spelling of before: what it is today, "--map-by ppr:%:node" with its value at "%";
                          DVM_CLI_NOT_NEEDED: nothing, what it asks for is so in any case */
  gboolean once;       /* it has one value; two that differ are refused, as are those of a spelling of before */
} DvmCliOption;

/* Some lists of options, each ended by a row without name; the list of lists ends with NULL. */
typedef const DvmCliOption *const *DvmCliOptionLists;

typedef struct _DvmCliArgs DvmCliArgs;

typedef enum
{
  DVM_CLI_PARSE_DEFAULT = 0,
  DVM_CLI_PARSE_STOP_AT_WORD = 1 << 0, /* what follows the first word is not ours */
} DvmCliParseFlags;

#define DVM_CLI_USAGE_ERROR (dvm_cli_usage_error_quark ())

GQuark dvm_cli_usage_error_quark (void);

DvmCliArgs *dvm_cli_args_new (void);
void dvm_cli_args_free (DvmCliArgs *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmCliArgs, dvm_cli_args_free)

/* Reads argv (without the program's name); adds to what self has. Errors are DVM_CLI_USAGE_ERROR sentences. */
gboolean dvm_cli_args_parse (DvmCliArgs *self, DvmCliOptionLists lists, const char *const *argv, DvmCliParseFlags flags,
                             GError **error);
/* Adds the options of other, without its words. */
void dvm_cli_args_take_options (DvmCliArgs *self, DvmCliArgs *other);
/* words: (transfer full): they stay as long as self */
const char *const *dvm_cli_args_keep (DvmCliArgs *self, char **words);
/* The words that are no options; borrowed from argv */
const char *const *dvm_cli_args_get_words (DvmCliArgs *self);
guint dvm_cli_args_get_n_words (DvmCliArgs *self);

/* By the long name, without dashes. The last one given counts. */
gboolean dvm_cli_args_has (DvmCliArgs *self, const char *name);
const char *dvm_cli_args_get (DvmCliArgs *self, const char *name);
guint dvm_cli_args_get_uint (DvmCliArgs *self, const char *name, guint fallback);
/* Seconds of an option that takes a time */
/* A flag that may have a value, yes or no: whether it is on; fallback: where it is not given */
gboolean dvm_cli_args_get_flag (DvmCliArgs *self, const char *name, gboolean fallback, gboolean *on, GError **error);
guint dvm_cli_args_get_seconds (DvmCliArgs *self, const char *name, guint fallback);
/* (transfer container): every value given, in order, NULL-terminated */
const char **dvm_cli_args_get_all (DvmCliArgs *self, const char *name);

/* Adds an option as if it had been typed, with its value checked. value (nullable): of a flag */
gboolean dvm_cli_args_add (DvmCliArgs *self, DvmCliOptionLists lists, const char *name, const char *value,
                           GError **error);
/* A word of the list from that is the name of the option to, "output-proctable=FILE", is that option from now on. */
gboolean dvm_cli_args_move_words (DvmCliArgs *self, const char *from, const DvmCliOption *to, GError **error);

/* (transfer full) (nullable): the option as it was typed last, "-N 2" */
char *dvm_cli_args_show (DvmCliArgs *self, const char *name);

/* (nullable): the first option given that is a row of list; by the row, for a name may be in several lists */
const DvmCliOption *dvm_cli_args_find_of (DvmCliArgs *self, const DvmCliOption *list);
const char *dvm_cli_args_get_of (DvmCliArgs *self, const DvmCliOption *row);
char *dvm_cli_args_show_of (DvmCliArgs *self, const DvmCliOption *row);
/* The first one given of that row is the option to, as it was typed. to (nullable): NULL takes it away. */
void dvm_cli_args_turn (DvmCliArgs *self, const DvmCliOption *row, const DvmCliOption *to);

/* (transfer full): what it is for, in one line */
char *dvm_cli_option_explain (const DvmCliOption *self);
/* spelling: with its dashes */
const DvmCliOption *dvm_cli_option_find_spelling (DvmCliOptionLists lists, const char *spelling);
const DvmCliOption *dvm_cli_option_find (DvmCliOptionLists lists, const char *name);

G_END_DECLS
