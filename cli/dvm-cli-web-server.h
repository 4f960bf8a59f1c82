/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The server of the page: what it answers, and to whom.
 */

#pragma once

#include <dvm.h>
#include <gio/gio.h>

G_BEGIN_DECLS

typedef struct
{
  DvmClient *client; /* need not be connected */
  const char *name;  /* of the DVM, for people */
  GSocketAddress *address;
  const char *token;        /* (nullable): everybody may read */
  const char *const *names; /* (nullable): that it is called by, beside those of this machine */
} DvmCliWebSetup;

typedef struct _DvmCliWebServer DvmCliWebServer;

/* setup: outlives the server. NULL with error: nothing listens. */
DvmCliWebServer *dvm_cli_web_server_new (const DvmCliWebSetup *setup, GError **error);
void dvm_cli_web_server_free (DvmCliWebServer *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmCliWebServer, dvm_cli_web_server_free)

/* (transfer full): the page, without a token: "http://127.0.0.1:8080/" */
char *dvm_cli_web_server_get_url (DvmCliWebServer *self);

G_END_DECLS
