/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What `top` shows, without a screen: rows of jobs, nodes and campaigns, their order, and the numbers of the DVM.
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef enum
{
  DVM_CLI_TOP_JOBS,
  DVM_CLI_TOP_NODES,
  DVM_CLI_TOP_CAMPAIGNS,
  DVM_CLI_TOP_N_PANELS
} DvmCliTopPanel;

typedef enum
{
  DVM_CLI_TOP_TEXT,
  DVM_CLI_TOP_STATE,  /* text, coloured */
  DVM_CLI_TOP_NUMBER, /* below 0: not known */
  DVM_CLI_TOP_SPAN,   /* number: µs since the epoch when it began, 0: it has not */
  DVM_CLI_TOP_LOAD,   /* number: hundredths, below 0: not known */
  DVM_CLI_TOP_BYTES,  /* below 0: not known */
} DvmCliTopKind;

#define DVM_CLI_TOP_MAX_COLUMNS 9

typedef struct
{
  const char *key;   /* in JSON, and for --sort */
  const char *title; /* marked for translation */
  DvmCliTopKind kind;
  guint8 drop; /* when the screen is too narrow: 0 stays, 1 is the first to go */
} DvmCliTopColumn;

typedef struct
{
  guint id; /* a node's rank */
  gboolean seen;
  gint64 ended_at; /* where a span ends; 0: now */
  char *texts[DVM_CLI_TOP_MAX_COLUMNS];
  gint64 numbers[DVM_CLI_TOP_MAX_COLUMNS];
} DvmCliTopRow;

typedef struct _DvmCliTopModel DvmCliTopModel;

DvmCliTopModel *dvm_cli_top_model_new (void);
void dvm_cli_top_model_free (DvmCliTopModel *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmCliTopModel, dvm_cli_top_model_free)

/* (array zero-terminated=1): the last one has no key */
const DvmCliTopColumn *dvm_cli_top_columns (DvmCliTopPanel panel);
/* "jobs", "nodes", "campaigns" */
const char *dvm_cli_top_panel_name (DvmCliTopPanel panel);
/* FALSE: none is called so */
gboolean dvm_cli_top_panel_parse (const char *name, DvmCliTopPanel *panel);
/* (array zero-terminated=1): names of the properties that rows are made of */
const char *const *dvm_cli_top_properties (DvmCliTopPanel panel);

/* all: ended jobs and campaigns too; else one that ends leaves the model. */
void dvm_cli_top_model_set_all (DvmCliTopModel *self, gboolean all);
gboolean dvm_cli_top_model_get_all (DvmCliTopModel *self);
/* A reading of these rows (nullable: of all) begins, and ends: those that were not put in between have gone. */
void dvm_cli_top_model_begin (DvmCliTopModel *self, DvmCliTopPanel panel, const GArray *ids);
void dvm_cli_top_model_end (DvmCliTopModel *self, DvmCliTopPanel panel, const GArray *ids);
/* row: a{sv} of these properties */
void dvm_cli_top_model_put (DvmCliTopModel *self, DvmCliTopPanel panel, GVariant *row);
void dvm_cli_top_model_clear (DvmCliTopModel *self);
/* usage: (nullable): a{sv} of node-usage; NULL: its agent does not tell */
void dvm_cli_top_model_set_usage (DvmCliTopModel *self, guint rank, GVariant *usage);
/* info: a{sv}, the properties of org.dvm.Manager; now: µs since the epoch */
void dvm_cli_top_model_set_info (DvmCliTopModel *self, GVariant *info, gint64 now);
/* So many ended jobs does the DVM remember at most. */
guint dvm_cli_top_model_get_history_limit (DvmCliTopModel *self);
/* (transfer full): two lines about the DVM of that name */
char *dvm_cli_top_model_describe (DvmCliTopModel *self, const char *name, gint64 now);
/* (transfer full): the same and all rows as one JSON object on one line */
char *dvm_cli_top_model_to_json (DvmCliTopModel *self, const char *name, gint64 now);

/* FALSE: the panel has no such column */
gboolean dvm_cli_top_model_sort_by (DvmCliTopModel *self, DvmCliTopPanel panel, const char *key);
void dvm_cli_top_model_set_sort (DvmCliTopModel *self, DvmCliTopPanel panel, guint column, gboolean descending);
guint dvm_cli_top_model_get_sort (DvmCliTopModel *self, DvmCliTopPanel panel, gboolean *descending);
/* text: rows that have it somewhere are shown, in either case; "": all */
void dvm_cli_top_model_set_filter (DvmCliTopModel *self, DvmCliTopPanel panel, const char *text);
const char *dvm_cli_top_model_get_filter (DvmCliTopModel *self, DvmCliTopPanel panel);

/* Rows that there are, and those that are shown, in their order */
guint dvm_cli_top_model_count (DvmCliTopModel *self, DvmCliTopPanel panel);
guint dvm_cli_top_model_count_shown (DvmCliTopModel *self, DvmCliTopPanel panel);
/* (nullable) (transfer none): until the model changes */
const DvmCliTopRow *dvm_cli_top_model_get (DvmCliTopModel *self, DvmCliTopPanel panel, guint index);
/* -1: it is not shown */
gint dvm_cli_top_model_find (DvmCliTopModel *self, DvmCliTopPanel panel, guint id);
/* (transfer full): a cell as people read it; "-": nothing is known */
char *dvm_cli_top_format (DvmCliTopPanel panel, guint column, const DvmCliTopRow *row, gint64 now);

G_END_DECLS
