/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The model of a live view: rows of jobs, nodes and campaigns, their order, and the numbers of the DVM itself.
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef enum
{
  DVM_CLI_WATCH_JOBS,
  DVM_CLI_WATCH_NODES,
  DVM_CLI_WATCH_CAMPAIGNS,
  DVM_CLI_WATCH_N_PANELS
} DvmCliWatchPanel;

typedef enum
{
  DVM_CLI_WATCH_TEXT,
  DVM_CLI_WATCH_STATE,  /* text, coloured */
  DVM_CLI_WATCH_NUMBER, /* below 0: not known */
  DVM_CLI_WATCH_SPAN,   /* number: µs since the epoch when it began, 0: it has not */
  DVM_CLI_WATCH_LOAD,   /* number: hundredths, below 0: not known */
  DVM_CLI_WATCH_BYTES,  /* below 0: not known */
  DVM_CLI_WATCH_RATE,   /* bytes in a second, below 0: not known */
} DvmCliWatchKind;

#define DVM_CLI_WATCH_MAX_COLUMNS 10

typedef struct
{
  const char *key;   /* in JSON, and for --sort */
  const char *title; /* marked for translation */
  DvmCliWatchKind kind;
  guint8 drop; /* when the screen is too narrow: 0 stays, 1 is the first to go */
} DvmCliWatchColumn;

/* How fast a sum grows, as two readings of it say that are not of one moment. */
typedef struct
{
  guint64 before;
  gint64 at;    /* of before, µs since the epoch; 0: it was never read */
  double speed; /* in a second; below 0: not known */
} DvmCliWatchRate;

typedef struct
{
  guint id; /* a node's rank */
  gboolean seen;
  guint64 revision; /* another one whenever anything of the row has changed, never used twice by a model */
  gint64 ended_at;  /* where a span ends; 0: now */
  char *texts[DVM_CLI_WATCH_MAX_COLUMNS];
  gint64 numbers[DVM_CLI_WATCH_MAX_COLUMNS];
  gint64 created_at;      /* of a job */
  gint64 output_bytes;    /* likewise */
  DvmCliWatchRate output; /* likewise */
  guint restarts;         /* likewise: of its processes */
  guint parent;           /* of a node: the rank above it in the tree */
} DvmCliWatchRow;

typedef struct _DvmCliWatchModel DvmCliWatchModel;

DvmCliWatchModel *dvm_cli_watch_model_new (void);
void dvm_cli_watch_model_free (DvmCliWatchModel *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmCliWatchModel, dvm_cli_watch_model_free)

/* (array zero-terminated=1): the last one has no key */
const DvmCliWatchColumn *dvm_cli_watch_columns (DvmCliWatchPanel panel);
/* -1: none is called so */
gint dvm_cli_watch_find_column (DvmCliWatchPanel panel, const char *key);
/* "jobs", "nodes", "campaigns" */
const char *dvm_cli_watch_panel_name (DvmCliWatchPanel panel);
/* FALSE: none is called so */
gboolean dvm_cli_watch_panel_parse (const char *name, DvmCliWatchPanel *panel);
/* (array zero-terminated=1): names of the properties that rows are made of */
const char *const *dvm_cli_watch_properties (DvmCliWatchPanel panel);

/* all: ended jobs and campaigns too; else one that ends leaves the model. */
void dvm_cli_watch_model_set_all (DvmCliWatchModel *self, gboolean all);
gboolean dvm_cli_watch_model_get_all (DvmCliWatchModel *self);
/* A reading of these rows (nullable: of all) begins, and ends: those that were not put in between have gone. */
void dvm_cli_watch_model_begin (DvmCliWatchModel *self, DvmCliWatchPanel panel, const GArray *ids);
void dvm_cli_watch_model_end (DvmCliWatchModel *self, DvmCliWatchPanel panel, const GArray *ids);
/* row: a{sv} of these properties, as they are now: µs since the epoch */
void dvm_cli_watch_model_put (DvmCliWatchModel *self, DvmCliWatchPanel panel, GVariant *row, gint64 now);
/* columns: a{sv} with an array of values of many rows for each property */
void dvm_cli_watch_model_put_columns (DvmCliWatchModel *self, DvmCliWatchPanel panel, GVariant *columns, gint64 now);
void dvm_cli_watch_model_clear (DvmCliWatchModel *self);
/* usage: (nullable): a{sv} of node-usage; NULL: its agent does not tell */
void dvm_cli_watch_model_set_usage (DvmCliWatchModel *self, guint rank, GVariant *usage);
/* load: of node-loads, < 0: not known; total: 0: not known */
void dvm_cli_watch_model_set_load (DvmCliWatchModel *self, guint rank, double load, guint64 total, guint64 unused);
/* info: a{sv}, the properties of org.dvm.Manager; now: µs since the epoch */
void dvm_cli_watch_model_set_info (DvmCliWatchModel *self, GVariant *info, gint64 now);
/* (nullable) (transfer none): the last one that was set */
GVariant *dvm_cli_watch_model_get_info (DvmCliWatchModel *self);
/* How many ended jobs the DVM remembers at most */
guint dvm_cli_watch_model_get_history_limit (DvmCliWatchModel *self);
/* (transfer full): two lines about the DVM of that name */
char *dvm_cli_watch_model_describe (DvmCliWatchModel *self, const char *name, gint64 now);
/* "state":..., "nodes-up":... and the like: members of a JSON object */
void dvm_cli_watch_model_append_dvm (DvmCliWatchModel *self, GString *json);
/* A row as a JSON object. now: spans end then; 0: instead of spans the times when they began and ended, and what a page
 * draws beside the columns: the state of a job as people read it, when it was submitted, and a node's place in the tree
 */
void dvm_cli_watch_append_row (GString *json, DvmCliWatchPanel panel, const DvmCliWatchRow *row, gint64 now);
/* (transfer full): the same and all rows as one JSON object on one line */
char *dvm_cli_watch_model_to_json (DvmCliWatchModel *self, const char *name, gint64 now);

/* FALSE: the panel has no such column */
gboolean dvm_cli_watch_model_sort_by (DvmCliWatchModel *self, DvmCliWatchPanel panel, const char *key);
void dvm_cli_watch_model_set_sort (DvmCliWatchModel *self, DvmCliWatchPanel panel, guint column, gboolean descending);
guint dvm_cli_watch_model_get_sort (DvmCliWatchModel *self, DvmCliWatchPanel panel, gboolean *descending);
/* text: rows that have it somewhere are shown, in either case; "": all */
void dvm_cli_watch_model_set_filter (DvmCliWatchModel *self, DvmCliWatchPanel panel, const char *text);
const char *dvm_cli_watch_model_get_filter (DvmCliWatchModel *self, DvmCliWatchPanel panel);

/* Rows that there are, and those that are shown, in their order */
guint dvm_cli_watch_model_count (DvmCliWatchModel *self, DvmCliWatchPanel panel);
guint dvm_cli_watch_model_count_shown (DvmCliWatchModel *self, DvmCliWatchPanel panel);
/* (nullable) (transfer none): until the model changes */
const DvmCliWatchRow *dvm_cli_watch_model_get (DvmCliWatchModel *self, DvmCliWatchPanel panel, guint index);
/* (nullable) (transfer none): one that there is, shown or not, found without putting the rows in order */
const DvmCliWatchRow *dvm_cli_watch_model_lookup (DvmCliWatchModel *self, DvmCliWatchPanel panel, guint id);
/* -1: it is not shown */
gint dvm_cli_watch_model_find (DvmCliWatchModel *self, DvmCliWatchPanel panel, guint id);
/* A cell as people read it; "-": nothing is known */
void dvm_cli_watch_append_cell (GString *text, DvmCliWatchPanel panel, guint column, const DvmCliWatchRow *row,
                                gint64 now);

G_END_DECLS
