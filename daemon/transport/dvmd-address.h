/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/*
 * Addresses of daemons as text: "tcp:10.0.0.1:4711", "tcp:[fd00::1]:4711", "unix:/path". And which of this machine's
 * addresses a listener uses.
 */

typedef enum
{
  DVMD_FAMILY_ANY,
  DVMD_FAMILY_IPV4,
  DVMD_FAMILY_IPV6,
} DvmdFamily;

typedef struct
{
  char *where; /* "" for all; an address, a network as in 10.1.0.0/16, or an interface; several with blanks between */
  DvmdFamily family;
  guint16 first_port; /* 0: any */
  guint16 last_port;
} DvmdTcpOptions;

void dvmd_tcp_options_clear (DvmdTcpOptions *options);
/* The texts of the settings listen-address, listen-family and port-range; DVM_ERROR_BAD_PARAM names the setting. */
gboolean dvmd_tcp_options_parse (const char *address, const char *family, const char *ports, DvmdTcpOptions *options,
                                 GError **error);

/*
 * GInetAddress of interfaces that are up and that options choose. Loopback only if it is named or there is nothing
 * else; never link-local ones. DVM_ERROR_NOT_FOUND: there is none.
 */
GPtrArray *dvmd_address_find_local (const DvmdTcpOptions *options, GError **error);
/* (transfer full): the texts of all addresses of this machine that are not link-local, "127.0.0.1"; none on errors */
GStrv dvmd_address_list_own (void);
/* Whether the text is one of these, or another loopback address */
gboolean dvmd_address_is_own (const char *text);
char *dvmd_address_to_text (GInetAddress *address, guint16 port);
/* "10.0.0.1:4711" of the other end of a socket; "a unix socket" */
char *dvmd_address_dup_peer (int fd);

/* Of a unix path or numbers; (nullable) result without error: a name, that somebody has to look up: host, port. */
gboolean dvmd_address_parse (const char *text, GSocketAddress **address, char **host, guint16 *port, GError **error);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (DvmdTcpOptions, dvmd_tcp_options_clear)

G_END_DECLS
