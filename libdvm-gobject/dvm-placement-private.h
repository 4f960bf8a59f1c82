/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvm-job-spec-private.h"
#include "dvm-words-private.h"

G_BEGIN_DECLS

/* A cpu is one of these. */
typedef enum
{
  DVM_CPUS_DEFAULT, /* cores, unless the word or the binding speaks of hardware threads */
  DVM_CPUS_CORE,
  DVM_CPUS_HWTHREAD,
} DvmCpus;

/* map-by, rank-by and bind-to of a job, read and found without contradictions. */
typedef struct
{
  char *word;      /* (nullable): whole and in lower case; one that is not of the grammar may be a mapper's own */
  char *value;     /* (nullable): behind the "=" of the word. device: a class by its name, a device as written;
                      colocate: "JOB:RANKS+JOB" */
  GStrv arguments; /* ppr: { "2", "l3cache" } or { "2", "device=gpu" }; else none */
  GStrv rest; /* "span", "ordered", "file=/x", "interleave=numa", "shared=true", "ndev=2", "npernode=1"; behind a word
                 that is not of the grammar every part that is not one of those below, as written */
  guint pe;   /* 0: not given */
  DvmCpus cpus;
  gint8 oversubscribe; /* -1: not given */
  gint8 inherit;       /* likewise */
  gboolean nolocal;
  DvmRankBy rank_by;
  gboolean rank_given;
  DvmBindTo bind_to;
  gboolean bind_given;
  gboolean overload;
  gboolean no_overload;
  gboolean if_supported;
  gboolean report;
  guint bind_limit; /* 0: not given */
} DvmPlacement;

/*
 * The one parser of the words of placement. All texts are nullable. place: what messages begin with, an empty string or
 * such as "$.". Errors are DVM_ERROR_BAD_PARAM.
 */
DvmPlacement *_dvm_placement_parse (const char *map_by, const char *rank_by, const char *bind_to, const char *place,
                                    GError **error);
void _dvm_placement_free (DvmPlacement *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmPlacement, _dvm_placement_free)

/* The words of one application: its own, and of the job where it has none. All texts are nullable. */
typedef struct
{
  const char *map_by;
  const char *rank_by;
  const char *bind_to;
  const char *file; /* the text of the file that map_by names */
  const char *file_name;
} DvmPlacementWords;

DvmPlacementWords _dvm_job_spec_get_placement (DvmJobSpec *self, guint app);
/*
 * Whether the words of the job and of each application go together, and those of several applications.
 * oversubscribe (out): what any of them says of it for the whole job, -1: nothing
 */
gboolean _dvm_job_spec_check_placement (DvmJobSpec *self, const char *place, gint8 *oversubscribe, GError **error);
/* With when-full, which says a part of it, too. */
gboolean _dvm_job_spec_check_policies (DvmJobSpec *self, const char *place, GError **error);
/* The same for a spec that has been validated. */
gint8 _dvm_job_spec_get_oversubscribe (DvmJobSpec *self);
/* Whether jobs that its processes spawn are placed as it is; -1: nothing is said */
gint8 _dvm_job_spec_get_inherit (DvmJobSpec *self);

/* Reads the files that map-by of the job and of its applications name; called by _dvm_job_spec_load_hosts(). */
gboolean _dvm_job_spec_load_map_files (DvmJobSpec *self, const char *place, DvmHostsRead *read, GError **error);
/* (transfer none) (nullable): the text of that which the job, or an application, names. path (out) (nullable): how
 * messages call it */
const char *_dvm_placement_get_map_file (gpointer spec, const char **path);

/* ---- the parser itself ---- */

/* Words of map-by. The objects have the numbers of DvmBindTo, a larger one contains a smaller one. */
typedef enum
{
  DVM_MAP_WORD_NONE, /* qualifiers alone, or nothing */
  DVM_MAP_WORD_HWTHREAD,
  DVM_MAP_WORD_CORE,
  DVM_MAP_WORD_L1CACHE,
  DVM_MAP_WORD_L2CACHE,
  DVM_MAP_WORD_L3CACHE,
  DVM_MAP_WORD_NUMA,
  DVM_MAP_WORD_PACKAGE,
  DVM_MAP_WORD_NODE,
  DVM_MAP_WORD_SLOT,
  DVM_MAP_WORD_PPR,
  DVM_MAP_WORD_SEQ,
  DVM_MAP_WORD_RANKFILE,
  DVM_MAP_WORD_PE_LIST,
  DVM_MAP_WORD_DEVICE,
  DVM_MAP_WORD_COLOCATE,
  DVM_MAP_WORD_FOREIGN,
} DvmMapWord;

/* Qualifiers of map-by. */
typedef enum
{
  DVM_MAP_PE,
  DVM_MAP_OVERSUBSCRIBE,
  DVM_MAP_NOOVERSUBSCRIBE,
  DVM_MAP_NOLOCAL,
  DVM_MAP_HWTCPUS,
  DVM_MAP_CORECPUS,
  DVM_MAP_INHERIT,
  DVM_MAP_NOINHERIT,
  DVM_MAP_SPAN,
  DVM_MAP_ORDERED,
  DVM_MAP_FILE,
  DVM_MAP_INTERLEAVE,
  DVM_MAP_SHARED,
  DVM_MAP_NDEV,
  DVM_MAP_NPERPROC,
  DVM_MAP_NPERNODE,
  DVM_N_MAP_QUALIFIERS,
} DvmMapQualifier;

typedef struct
{
  DvmPlacement *placement;
  const char *place;
  DvmMapWord word;
  DvmMapWord object; /* of ppr, else the word itself; DVM_MAP_WORD_DEVICE for ppr:N:device=CLASS */
  guint given;       /* bits of DvmMapQualifier: stands in the text */
  guint on;          /* likewise: and is not "=no" */
} DvmPlacementReader;

/* As _dvm_words_find(), and the error lists the words that there are. */
const DvmWord *_dvm_placement_find_word (const DvmWord *words, gsize n_words, const char *text, gsize length,
                                         const char *place, const char *what, GError **error);
gboolean _dvm_placement_read_map_by (DvmPlacementReader *self, const char *text, GError **error);
/* Whether the words go together. */
gboolean _dvm_placement_check (const DvmPlacementReader *self, GError **error);

G_END_DECLS
