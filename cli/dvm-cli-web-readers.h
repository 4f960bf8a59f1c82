/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Readers follow by streams of server-sent events. One that does not read is told nothing more until it does, and then
 * all at once: for each there is one event at most.
 */

#pragma once

#include <libsoup/soup.h>

G_BEGIN_DECLS

#define DVM_CLI_WEB_MAX_READERS 64

typedef struct _DvmCliWebReaders DvmCliWebReaders;

/* (transfer full): the whole state of this moment */
typedef GBytes *(*DvmCliWebReadersFunc) (gpointer user_data);

DvmCliWebReaders *dvm_cli_web_readers_new (DvmCliWebReadersFunc get_whole, gpointer user_data);
void dvm_cli_web_readers_free (DvmCliWebReaders *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmCliWebReaders, dvm_cli_web_readers_free)

guint dvm_cli_web_readers_count (DvmCliWebReaders *self);
/* The answer to message is a stream from now on, which begins with the whole state. */
void dvm_cli_web_readers_add (DvmCliWebReaders *self, SoupServerMessage *message);
/* Whatever became of it; nothing, if it is none of these */
void dvm_cli_web_readers_remove (DvmCliWebReaders *self, SoupServerMessage *message);
/* change: a JSON object of what has changed */
void dvm_cli_web_readers_tell (DvmCliWebReaders *self, GBytes *change);

G_END_DECLS
