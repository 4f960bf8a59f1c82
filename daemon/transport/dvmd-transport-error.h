/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Why there is no link, or no longer one. The message says with whom. */
#define DVMD_TRANSPORT_ERROR (dvmd_transport_error_quark ())

typedef enum
{
  DVMD_TRANSPORT_ERROR_UNREACHABLE,    /* nobody answers there */
  DVMD_TRANSPORT_ERROR_REFUSED,        /* the other end says no; the message has its sentence */
  DVMD_TRANSPORT_ERROR_AUTHENTICATION, /* one of the two has not proved who it is */
  DVMD_TRANSPORT_ERROR_VERSION,        /* builds that do not fit; the message names both */
  DVMD_TRANSPORT_ERROR_TIMEOUT,        /* nothing was heard for too long */
  DVMD_TRANSPORT_ERROR_CLOSED,         /* the other end has closed the link, and said so */
  DVMD_TRANSPORT_ERROR_LOST,           /* the connection ended without a word */
  DVMD_TRANSPORT_ERROR_PROTOCOL,       /* what came makes no sense */
  DVMD_TRANSPORT_ERROR_RESOURCE,       /* a queue is full, or there are no descriptors left */
  DVMD_TRANSPORT_ERROR_NOT_WANTED,     /* it has proved who it is, and there is no place for it now */
} DvmdTransportError;

GQuark dvmd_transport_error_quark (void);

/* Text that a stranger has sent, fit for a log line: control characters escaped. */
char *dvmd_transport_escape (const char *text);

G_END_DECLS
