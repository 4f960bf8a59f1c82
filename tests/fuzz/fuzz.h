/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/*
 * A target of the fuzzer is a function that takes any bytes and returns. Under libFuzzer (-Dfuzzing=true, clang) one of
 * them is called with bytes that libFuzzer makes up; else fuzz-replay.c calls all with the files of their corpora.
 */

typedef enum
{
  FUZZ_CONFINED = 1 << 0, /* it would write files and start programs: see fuzz_confine() */
  FUZZ_WARNS = 1 << 1,    /* it says with a warning that its peer, which it trusts, talks nonsense */
} FuzzFlags;

typedef struct
{
  const char *name; /* its corpus are the files NAME.* in corpus/ */
  void (*run) (const guint8 *data, gsize size);
  FuzzFlags flags;
} FuzzTarget;

extern const FuzzTarget fuzz_targets[]; /* the last one has no name */
const FuzzTarget *fuzz_find_target (const char *name);

/*
 * From now on this process can write below this directory alone, and execute no programs but true and sleep. FALSE: the
 * kernel has no Landlock.
 */
gboolean fuzz_confine (const char *directory);

typedef struct
{
  const char *name;
  const char *type;
} FuzzKey;

/* Takes an input apart. At its end it gives zeros and empty texts. */
typedef struct
{
  const guint8 *data;
  gsize size;
  const char *const *words; /* (nullable): texts that are right at many places */
  const FuzzKey *keys;      /* (nullable): what dictionaries have, mostly; the last one has no name */
} FuzzReader;

guint8 fuzz_read_byte (FuzzReader *self);
/* Numbers are mostly small, or at the edges of their types. */
guint64 fuzz_read_number (FuzzReader *self);
/* The text is one of words, or UTF-8 of the input. */
char *fuzz_read_text (FuzzReader *self);
/* A value of any definite type, in normal form. (transfer floating) */
GVariant *fuzz_read_variant (FuzzReader *self, const GVariantType *type);

/* Messages below warnings are not wanted; a warning, and an assertion that fails in any library, is a crash. */
void fuzz_watch_log (const FuzzTarget *target);
/* The bytes as a text with a zero at its end, without others. */
char *fuzz_dup_text (const guint8 *data, gsize size);

/* fuzz-texts.c */
void fuzz_hostfile (const guint8 *data, gsize size);
void fuzz_host_list (const guint8 *data, gsize size);
void fuzz_id_set (const guint8 *data, gsize size);
void fuzz_job_file (const guint8 *data, gsize size);
void fuzz_settings (const guint8 *data, gsize size);
void fuzz_placement (const guint8 *data, gsize size);
void fuzz_spec_words (const guint8 *data, gsize size);
void fuzz_address (const guint8 *data, gsize size);
void fuzz_resource_set (const guint8 *data, gsize size);

/* fuzz-command-line.c */
void fuzz_command_line (const guint8 *data, gsize size);

/* fuzz-requests.c */
void fuzz_size_request (const guint8 *data, gsize size);
void fuzz_session_request (const guint8 *data, gsize size);
void fuzz_submit (const guint8 *data, gsize size);
void fuzz_data_store (const guint8 *data, gsize size);
void fuzz_map (const guint8 *data, gsize size);
void fuzz_routes (const guint8 *data, gsize size);
extern const FuzzKey fuzz_request_keys[];
extern const char *const fuzz_request_words[];

/* fuzz-frames.c */
void fuzz_elf (const guint8 *data, gsize size);
void fuzz_frame (const guint8 *data, gsize size);
void fuzz_hello (const guint8 *data, gsize size);
void fuzz_normal_form (const guint8 *data, gsize size);

/* fuzz-tree.c */
void fuzz_tree (const guint8 *data, gsize size);

/* fuzz-pmi.c */
void fuzz_pmi (const guint8 *data, gsize size);

/* fuzz-messages.c */
void fuzz_messages (const guint8 *data, gsize size);
void fuzz_stage (const guint8 *data, gsize size);

G_END_DECLS
