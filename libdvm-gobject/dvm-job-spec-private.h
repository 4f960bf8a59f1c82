/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Options of a job, parsed: for the daemon and for validation. All words may be shortened and case does not matter.
 */

#pragma once

#include "dvm-hosts-private.h"

G_BEGIN_DECLS

/* The longest "NAME=value" or argument that the kernel takes at exec. */
#define DVM_LONGEST_STRING 131071

/* The most urgent job that waits; the least urgent one has the same below 0. */
#define DVM_PRIORITY_MOST 1000

/* No session was given; on the bus the number means all of them, and no job is in all. */
#define DVM_SESSION_NONE G_MAXUINT32

typedef enum
{
  DVM_STOP_NONE, /* default */
  DVM_STOP_ON_EXEC,
  DVM_STOP_IN_INIT,
  DVM_STOP_IN_APP,
} DvmStop;

typedef struct
{
  gboolean error_nonzero_status;  /* a status other than zero is a failure of the job; default TRUE */
  gboolean recoverable;           /* default FALSE */
  guint32 max_restarts;           /* of each process; default 0 */
  gboolean do_not_launch;         /* default FALSE */
  int notify_errors;              /* the others are told of a rank that fails; -1: not said, as recoverable is */
  gboolean stack_traces;          /* at the time limit, before the job is ended; default FALSE */
  gboolean report_state;          /* likewise */
  DvmStop stop;                   /* where ranks wait for a debugger */
  guint timeout;                  /* seconds that the job may run; 0: for ever */
  guint spawn_timeout;            /* seconds in which all ranks must have been started; 0: no limit */
  gboolean report_children_apart; /* failures of jobs that it has spawned do not count for it; default FALSE */
  gboolean no_exec_agent;         /* it is said that there is none; default FALSE */
} DvmRuntimeOptions;

typedef enum
{
  DVM_RANK_BY_SLOT, /* default */
  DVM_RANK_BY_NODE,
  DVM_RANK_BY_FILL,
  DVM_RANK_BY_SPAN,
} DvmRankBy;

typedef enum
{
  DVM_BIND_TO_NONE, /* default */
  DVM_BIND_TO_HWTHREAD,
  DVM_BIND_TO_CORE,
  DVM_BIND_TO_L1CACHE,
  DVM_BIND_TO_L2CACHE,
  DVM_BIND_TO_L3CACHE,
  DVM_BIND_TO_NUMA,
  DVM_BIND_TO_PACKAGE,
} DvmBindTo;

typedef enum
{
  DVM_WHEN_FULL_WAIT, /* default */
  DVM_WHEN_FULL_REFUSE,
  DVM_WHEN_FULL_OVERSUBSCRIBE,
} DvmWhenFull;

typedef enum
{
  DVM_STDIN_RANK, /* default: rank 0 */
  DVM_STDIN_ALL,
  DVM_STDIN_NONE,
  DVM_STDIN_LIST, /* "0,2-4" */
} DvmStdinKind;

typedef struct
{
  DvmStdinKind kind;
  guint rank; /* the one, or the highest of the list */
} DvmStdinTarget;

typedef enum
{
  DVM_OUTPUT_TAG_NONE, /* default */
  DVM_OUTPUT_TAG_SHORT,
  DVM_OUTPUT_TAG_DETAILED,
  DVM_OUTPUT_TAG_FULLNAME,
  DVM_OUTPUT_TAG_RANK,
} DvmOutputTag;

/* "tag,timestamp,merge-stderr-to-stdout,dir=PATH:copy" */
typedef struct
{
  DvmOutputTag tag;
  gboolean timestamp;
  gboolean xml;     /* each line is an element */
  gboolean merge;   /* stderr comes on stdout */
  gboolean copy;    /* to the readers too, not only to files */
  gboolean raw;     /* pieces as they come, not whole lines */
  gboolean pattern; /* file is a pattern */
  char *dir;        /* (nullable) */
  char *file;       /* (nullable) */
} DvmOutputOptions;

/*
 * text (nullable): the default. place: what messages begin with, an empty string or such as "$.". Errors are
 * DVM_ERROR_BAD_PARAM and DVM_ERROR_NOT_SUPPORTED.
 */
gboolean _dvm_runtime_options_parse (const char *text, const char *place, DvmRuntimeOptions *options, GError **error);
/* (transfer full) (nullable): the words of the command that the option exec-agent names */
GStrv _dvm_runtime_options_dup_exec_agent (const char *text);
/* Its form alone: dvm-placement-private.h has the words. */
gboolean _dvm_map_by_check (const char *text, const char *place, GError **error);
gboolean _dvm_when_full_parse (const char *text, const char *place, DvmWhenFull *when_full, GError **error);
gboolean _dvm_stdin_target_parse (const char *text, const char *place, DvmStdinTarget *target, GError **error);
gboolean _dvm_personality_parse (const char *text, const char *place, gboolean *plain, GError **error);
/* options is empty after an error, else it is to be cleared. */
gboolean _dvm_output_parse (const char *text, const char *place, DvmOutputOptions *options, GError **error);
void _dvm_output_options_clear (DvmOutputOptions *options);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (DvmOutputOptions, _dvm_output_options_clear)

/*
 * Reads what hosts and hostfile of each application and add-hosts and add-hostfile of the job say. A file is read where
 * the job is submitted, once; it is what _dvm_app_spec_get_choice() and _dvm_job_spec_get_additions() answer from then
 * on.
 */
gboolean _dvm_job_spec_load_hosts (DvmJobSpec *self, const char *place, GError **error);
/* Likewise, for a call that is about several of them. */
gboolean _dvm_job_spec_load_hosts_counted (DvmJobSpec *self, const char *place, DvmHostsRead *read, GError **error);
/* Whether that has been done. */
gboolean _dvm_job_spec_has_loaded_hosts (DvmJobSpec *self);
gboolean _dvm_job_spec_load_additions (DvmJobSpec *self, const char *place, DvmHostsRead *read, GError **error);
/* Without the file. */
gboolean _dvm_job_spec_check_additions (DvmJobSpec *self, const char *place, DvmHostsRead *read, GError **error);
/*
 * a(usay), (nullable): the application, or G_MAXUINT32, the key and the packed value of what the processes are told
 * besides, of a job that PMIx_Spawn() has asked for.
 */
void _dvm_job_spec_set_pmix_info (DvmJobSpec *self, GVariant *info);
GVariant *_dvm_job_spec_get_pmix_info (DvmJobSpec *self);
/* a(uuayy), (nullable): likewise, what is to be done to variables; see DVMD_SPAWN_EDITS. */
void _dvm_job_spec_set_env_edits (DvmJobSpec *self, GVariant *edits);
GVariant *_dvm_job_spec_get_env_edits (DvmJobSpec *self);
/* Likewise, whether argv[0] of each process has its rank behind it. */
void _dvm_job_spec_set_index_argv (DvmJobSpec *self, gboolean index_argv);
gboolean _dvm_job_spec_get_index_argv (DvmJobSpec *self);
/* "0,3-4", (nullable): likewise, the ranks that wait for a debugger; NULL: all, if the job is to wait for one */
void _dvm_job_spec_set_stop_ranks (DvmJobSpec *self, const char *ranks);
const char *_dvm_job_spec_get_stop_ranks (DvmJobSpec *self);
/* "map,bindings:physical", (nullable): likewise, the tables of --display that come before the job's output */
void _dvm_job_spec_set_display (DvmJobSpec *self, const char *words);
const char *_dvm_job_spec_get_display (DvmJobSpec *self);
/* (transfer none) (nullable): the nodes that the job adds to the DVM, all of them named; NULL: none */
DvmHosts *_dvm_job_spec_get_additions (DvmJobSpec *self);
/* The list alone, without the file. hosts (nullable): (transfer full) */
gboolean _dvm_app_spec_read_hosts (DvmAppSpec *self, const char *place, DvmHosts **hosts, DvmHostsRead *read,
                                   GError **error);
/* (transfer none) (nullable): NULL: every node */
DvmHosts *_dvm_app_spec_get_choice (DvmAppSpec *self);

/* The place of one job in an array of them. */
typedef struct
{
  guint32 id; /* the number of the first one; 0: it has none yet */
  guint32 index;
  guint32 count; /* of them all */
  guint32 min;   /* index */
  guint32 max;
  guint32 most; /* that may run at once; 0: any number */
} DvmArrayPlace;

/* Jobs of one array. */
#define DVM_ARRAY_MOST 50000

/* (transfer full) (nullable): guint32, ascending; NULL: error says what is wrong. most: 0 for any number */
GArray *_dvm_array_parse (const char *text, const char *place, guint32 *most, GError **error);
/* (transfer full): one job of those that an array stands for; it has the same applications. */
DvmJobSpec *_dvm_job_spec_new_element (DvmJobSpec *self, const DvmArrayPlace *place);
/* (nullable): NULL: it is not in an array */
const DvmArrayPlace *_dvm_job_spec_get_place (DvmJobSpec *self);
/* Of one that has a place. */
void _dvm_job_spec_set_array_id (DvmJobSpec *self, guint32 id);
/* path (nullable): Whether it has %a or %A. */
gboolean _dvm_array_path_has_place (const char *path);
/* (transfer full) (nullable): with index and id for %a and %A. is_pattern: other words of it, and %%, stay */
char *_dvm_array_expand_path (const DvmArrayPlace *place, const char *path, gboolean is_pattern);

/* The effective options of the job, options and runtime-options together; for a spec that has been validated. */
gboolean _dvm_job_spec_is_recoverable (DvmJobSpec *self);
gboolean _dvm_job_spec_is_plain (DvmJobSpec *self);
/* That of (NO)OVERSUBSCRIBE in map-by, or else of when-full. */
DvmWhenFull _dvm_job_spec_get_when_full_policy (DvmJobSpec *self);
void _dvm_job_spec_get_runtime (DvmJobSpec *self, DvmRuntimeOptions *options);
guint _dvm_job_spec_get_time_limit (DvmJobSpec *self);
/* (transfer full) (nullable): the words before those of each program; NULL: there are none */
GStrv _dvm_job_spec_dup_exec_agent (DvmJobSpec *self);

/* The arguments of org.dvm.Manager.Submit: as, a{sv}. */
DvmJobSpec *_dvm_job_spec_new_from_submit (GVariant *argv, GVariant *options, GError **error);

/* place: "" or "$." before "apps[1].env" and the like. */
/* read: NULL: its hosts have been loaded, and are not read again. */
/* name (nullable): of a process set; place: what the message begins with */
gboolean _dvm_app_spec_check_pset (const char *name, const char *place, GError **error);
gboolean _dvm_app_spec_validate (DvmAppSpec *self, const char *place, DvmHostsRead *read, GError **error);
gboolean _dvm_job_spec_validate_at (DvmJobSpec *self, const char *place, GError **error);
DvmJobSpec *_dvm_job_spec_new_from_variant_at (GVariant *apps, GVariant *options, const char *place, GError **error);

/* Keys of Manager.Submit and SubmitApps. */
typedef struct
{
  const char *name;
  const char *type;     /* D-Bus type */
  const char *property; /* of DvmJobSpec; NULL for keys of an application */
} DvmSpecKey;

const DvmSpecKey *_dvm_spec_find_job_key (const char *name);
const DvmSpecKey *_dvm_spec_find_app_key (const char *name);
const DvmSpecKey *_dvm_spec_get_job_keys (gsize *n_keys);
/* Known but not yet supported, or unknown with the nearest known one. */
void _dvm_spec_set_key_error (const char *name, gboolean in_app, const char *place, GError **error);

G_END_DECLS
