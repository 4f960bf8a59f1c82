/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Readers of the page of `web` are let in or refused: tokens, cookies, and the names that a server may be called by.
 * No function here needs the network.
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/* host: an address, or "localhost"; port 0: one that is free; (transfer full) (nullable) */
GSocketAddress *dvm_cli_web_make_address (const char *host, guint16 port, GError **error);
gboolean dvm_cli_web_is_loopback (GSocketAddress *address);

/* host: (nullable): the header of that name. An address cannot be bound to another server by a name service, a name
 * can: only "localhost", this machine's and those of names (nullable) are taken. */
gboolean dvm_cli_web_knows_host (const char *host, const char *const *names);

/* (transfer full): 256 random bits; NULL with error: the machine gives none */
char *dvm_cli_web_make_token (GError **error);
/* (transfer full) (nullable): the token of the file, which is made, for its user alone, where there is none */
char *dvm_cli_web_read_token (const char *path, GError **error);

/* Takes as long for one that is nearly right. */
gboolean dvm_cli_web_is_same (const char *given, const char *wanted);
/* (transfer full): what a browser that has shown the token is known by; nobody gets the token from it */
char *dvm_cli_web_make_cookie (const char *token);
/* header: (nullable): "a=1; b=2"; (transfer full) (nullable): the value of that name */
char *dvm_cli_web_find_cookie (const char *header, const char *name);
/* header: (nullable): "Bearer TOKEN"; (transfer none) (nullable): TOKEN */
const char *dvm_cli_web_find_bearer (const char *header);

G_END_DECLS
