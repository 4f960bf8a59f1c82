/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Hosts that are named in files and lists, as users of mpirun and prte know them: docs/hostfile.md has the grammar.
 */

#pragma once

#include "dvm.h"

G_BEGIN_DECLS

typedef enum
{
  DVM_HOST_NAMED,
  DVM_HOST_INDEX, /* "+n2": the node at that place of the allocation, counted from 0 */
  DVM_HOST_EMPTY, /* "+e:3": so many nodes without a process, "+e": all of them */
} DvmHostKind;

typedef struct
{
  DvmHostKind kind;
  char *name;         /* (nullable): for messages and look-ups; NULL unless NAMED */
  char *address;      /* (nullable): how a launcher gets there, [USER@]NAME[:PORT]; NULL unless NAMED */
  guint number;       /* INDEX: which; EMPTY: how many, 0 for all */
  guint slots;        /* 0: not given */
  guint slots_max;    /* 0: not given */
  gboolean all_slots; /* "node7:*": as many as the node has; slots is 0 */
  gboolean more;      /* "node7:+2": slots beside those that it has; only where _dvm_hosts_allow_more() was called */
  gboolean excluded;  /* "^node7": not this one */
  gboolean was_named; /* it is excluded, and named elsewhere in the same list */
  guint n_mentions;   /* how often it is named, as long as nobody gives a number of slots; then 0 */
  char *place;        /* where it is named first: "hosts:3", "--host" */
} DvmHost;

/* Whether two names are those of one host: N9 is n9, as in the DNS. For tables, and for whoever else compares them. */
guint _dvm_host_name_hash (gconstpointer name);
gboolean _dvm_host_name_equal (gconstpointer a, gconstpointer b);

typedef struct _DvmHosts DvmHosts;

DvmHosts *_dvm_hosts_new (void);
void _dvm_hosts_free (DvmHosts *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmHosts, _dvm_hosts_free)

/* Slots may be added to those of a host, as in "node7:+2" and "node7 slots=+2". */
void _dvm_hosts_allow_more (DvmHosts *self);
gboolean _dvm_hosts_allows_more (DvmHosts *self);

#define DVM_HOSTS_MOST_BYTES (16 << 20)

/*
 * The sizes that one call has read so far: all its lists and files together have at most 16 MiB, and a million hosts.
 */
typedef struct
{
  gsize bytes;
  guint hosts;
} DvmHostsRead;

/* DVM_ERROR_OUT_OF_RESOURCE when it is more; place: what messages begin with. */
gboolean _dvm_hosts_count_bytes (DvmHostsRead *read, const char *place, gsize bytes, GError **error);
gboolean _dvm_hosts_count_one (DvmHostsRead *read, const char *place, GError **error);
/* How many there is room for. */
gsize _dvm_hosts_count_left (const DvmHostsRead *read);

/* As dvm_host_list_expand(), but no more names than that, whatever follows them in the list. */
char **_dvm_host_list_expand_first (const char *list, const char *place, gsize most, GError **error);

/*
 * Adds the hosts of a file to those that there are; several files are read as one. Errors name file and line:
 * DVM_ERROR_PARSE_FAILED, DVM_ERROR_NOT_SUPPORTED for keywords that need more than this version has,
 * DVM_ERROR_NOT_FOUND and DVM_ERROR_BAD_PARAM for files that cannot be read. DVM_ERROR_OUT_OF_RESOURCE
 * when it is more than read (nullable) has room for. self is worthless after an error.
 */
gboolean _dvm_hosts_add_file (DvmHosts *self, const char *path, DvmHostsRead *read, GError **error);
/* Likewise, what would stand in the file. path: what messages call it. */
gboolean _dvm_hosts_add_text (DvmHosts *self, const char *text, gsize length, const char *path, DvmHostsRead *read,
                              GError **error);
/* (transfer full): the text of the file that map-by names, with the same errors. */
char *_dvm_hosts_read_map_file (const char *path, DvmHostsRead *read, GError **error);
/* Adds "node3:4,node5,node7:*". what: what messages begin with, such as "--host". DVM_ERROR_BAD_PARAM. */
gboolean _dvm_hosts_add_list (DvmHosts *self, const char *list, const char *what, DvmHostsRead *read, GError **error);

/* In the order in which they are named first. A host stands there once; one that is excluded anywhere is excluded. */
guint _dvm_hosts_get_n (DvmHosts *self);
const DvmHost *_dvm_hosts_get (DvmHosts *self, guint i);
/* (nullable): case does not matter */
const DvmHost *_dvm_hosts_find (DvmHosts *self, const char *name);

/*
 * Of the hosts of self those that chosen names, with the slots that chosen gives them (at most slots_max). A host that
 * self does not have is DVM_ERROR_BAD_PARAM; so are relative ones. (transfer full)
 */
DvmHosts *_dvm_hosts_filter (DvmHosts *self, DvmHosts *chosen, GError **error);

/*
 * Nodes for a DVM: all that the lists and the file (both nullable) name; with both, those of the file that the lists
 * choose. Each is named, none is excluded, and there is one at least. what: what messages about the lists begin with,
 * such as "hosts". DVM_ERROR_BAD_PARAM for relative names, and for nothing at all. (transfer full)
 */
DvmHosts *_dvm_hosts_read_new (const char *const *lists, const char *hostfile, const char *what, DvmHostsRead *read,
                               GError **error);

/*
 * Whether ranges stand in text, one word of a list or file: a bracket that is not that of an address of IPv6, with
 * which a name, or what stands behind "@", begins.
 */
gboolean _dvm_hosts_has_ranges (const char *text);

/* For the parser of files: takes host, of which all is set. In files a host that is named again must be named alone. */
gboolean _dvm_hosts_take (DvmHosts *self, DvmHost *host, gboolean in_file, GError **error);
/* [USER@]NAME: name and address, or the sentence why it is none (static, translated). */
const char *_dvm_host_set_name (DvmHost *host, const char *text);
/* "+n2", "+e", "+e:3": kind and number, or FALSE */
gboolean _dvm_host_set_relative (DvmHost *host, const char *text);
/* Takes the place. */
DvmHost *_dvm_host_new (char *place);
void _dvm_host_free (DvmHost *host);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmHost, _dvm_host_free)

G_END_DECLS
