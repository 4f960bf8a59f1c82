/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-stream.h"

G_BEGIN_DECLS

/*
 * The output options of a job: how lines are marked and which files are written. The reader of the job’s description
 * fills them in.
 */

typedef enum
{
  DVMD_OUTPUT_TAG_NONE,
  DVMD_OUTPUT_TAG_SHORT,    /* [job,rank]<stream>: */
  DVMD_OUTPUT_TAG_DETAILED, /* [nspace,rank][host:pid]<stream>: */
  DVMD_OUTPUT_TAG_FULLNAME, /* [nspace,rank]<stream>: */
  DVMD_OUTPUT_TAG_RANK,     /* [rank]<stream>: */
} DvmdOutputTag;

typedef struct
{
  DvmdOutputTag tag;
  gboolean timestamp;
  gboolean xml;     /* each line is an element, with its end in it */
  gboolean merge;   /* stderr comes on stdout */
  gboolean copy;    /* to the readers too, not only to files */
  gboolean raw;     /* pieces as they come, not whole lines */
  gboolean pattern; /* file is a pattern */
  char *dir;        /* (nullable): DIR/NSPACE/rank.RANK/stdout, stderr */
  char *file;       /* (nullable): FILE.RANK.out, FILE.RANK.err */
} DvmdOutputFormat;

/* Bytes pass as they are. */
DvmdOutputFormat *dvmd_output_format_new (void);
/* (transfer full): for another job; files that are not named after their job get its number */
DvmdOutputFormat *dvmd_output_format_copy_for (const DvmdOutputFormat *self, guint job);
void dvmd_output_format_free (DvmdOutputFormat *self);
/* TRUE when bytes pass as they are. */
gboolean dvmd_output_format_is_plain (const DvmdOutputFormat *self);

/* The process that has written a line. */
typedef struct
{
  const char *nspace;
  guint job;
  guint rank;
  guint n_ranks;    /* for zero padded ranks */
  const char *host; /* (nullable) */
  gint64 pid;
  DvmdStream stream;
  gint64 time; /* µs since the epoch */
} DvmdOutputSource;

/* Appends what stands before a line; nothing for a plain format. Not for XML */
void dvmd_output_format_append_tag (const DvmdOutputFormat *self, const DvmdOutputSource *source, GString *text);
/* Appends the bytes as an element of XML, and a newline. Bytes that XML cannot have become U+FFFD. */
void dvmd_output_format_append_element (const DvmdOutputFormat *self, const DvmdOutputSource *source, const char *data,
                                        gsize size, GString *text);
/* (nullable): the file of that stream, NULL if the format names none */
char *dvmd_output_format_get_path (const DvmdOutputFormat *self, const DvmdOutputSource *source);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdOutputFormat, dvmd_output_format_free)

G_END_DECLS
