/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A page of one's own machine is within reach of every page that a browser shows, and of every user of the machine.
 */

#include "config.h"

#include "dvm-cli-web-guard.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n-lib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dvm-cli-options.h"
#include "dvm-cli-output.h"

#define TOKEN_BYTES 32
/* Shorter ones are guessed. */
#define MIN_TOKEN 16
#define MAX_TOKEN 1024

/* ---- where to listen ---- */

GSocketAddress *
dvm_cli_web_make_address (const char *host, guint16 port, GError **error)
{
  const char *numbers = strcmp (host, "localhost") == 0 ? "127.0.0.1" : host;
  g_autofree char *shown = NULL;
  GSocketAddress *address = g_inet_socket_address_new_from_string (numbers, port);

  if (address != NULL)
    return address;
  shown = dvm_cli_escape (host);
  g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
               _ ("option --address: '%s' is no address such as 127.0.0.1, ::1 or 0.0.0.0"), shown);
  return NULL;
}

gboolean
dvm_cli_web_is_loopback (GSocketAddress *address)
{
  return g_inet_address_get_is_loopback (g_inet_socket_address_get_address (G_INET_SOCKET_ADDRESS (address)));
}

/* ---- names ---- */

static gboolean
is_port (const char *text)
{
  return g_ascii_string_to_unsigned (text, 10, 0, G_MAXUINT16, NULL, NULL);
}

/* (transfer full): "::1" of "[::1]", else the text */
static char *
strip_brackets (const char *text, gsize length)
{
  if (length > 2 && text[0] == '[' && text[length - 1] == ']')
    return g_strndup (text + 1, length - 2);
  return g_strndup (text, length);
}

/* (transfer full) (nullable): the host of "host:port", "[::1]:port" and the like */
static char *
split_host (const char *header)
{
  const char *end = header[0] == '[' ? strchr (header, ']') : strchr (header, ':');

  if (header[0] == '[' && end == NULL)
    return NULL;
  if (header[0] == '[')
    end++;
  if (end == NULL || *end == '\0')
    return strip_brackets (header, strlen (header));
  return *end == ':' && is_port (end + 1) ? strip_brackets (header, (gsize)(end - header)) : NULL;
}

gboolean
dvm_cli_web_knows_host (const char *host, const char *const *names)
{
  g_autofree char *name = host != NULL ? split_host (host) : NULL;

  if (name == NULL)
    return FALSE;
  if (g_hostname_is_ip_address (name) || g_ascii_strcasecmp (name, "localhost") == 0
      || g_ascii_strcasecmp (name, g_get_host_name ()) == 0)
    return TRUE;
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    if (g_ascii_strcasecmp (name, names[i]) == 0)
      return TRUE;
  return FALSE;
}

/* ---- tokens ---- */

char *
dvm_cli_web_make_token (GError **error)
{
  guint8 bytes[TOKEN_BYTES];
  GString *token;

  if (getrandom (bytes, sizeof bytes, 0) != sizeof bytes)
    {
      g_set_error (error, G_IO_ERROR, g_io_error_from_errno (errno), _ ("this machine gives no random numbers: %s"),
                   g_strerror (errno));
      return NULL;
    }
  token = g_string_new (NULL);
  for (guint i = 0; i < sizeof bytes; i++)
    g_string_append_printf (token, "%02x", bytes[i]);
  return g_string_free (token, FALSE);
}

static gboolean
write_token (const char *path, const char *token, GError **error)
{
  g_autofree char *line = g_strconcat (token, "\n", NULL);

  if (g_file_set_contents_full (path, line, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0600, error))
    return TRUE;
  g_prefix_error (error, "--token-file: ");
  return FALSE;
}

static gboolean
is_token (const char *text, gsize length)
{
  if (length < MIN_TOKEN || length > MAX_TOKEN)
    return FALSE;
  for (gsize i = 0; i < length; i++)
    if (!g_ascii_isalnum (text[i]) && strchr ("-._~", text[i]) == NULL)
      return FALSE;
  return TRUE;
}

/* (transfer full) (nullable): fd: of the file, which stays the caller's */
static char *
read_open_token (int fd, const char *path, GError **error)
{
  char text[MAX_TOKEN + 2] = { 0 };
  struct stat status = { 0 };
  gssize length;

  /* Also a FIFO, which nobody may ever write to */
  if (fstat (fd, &status) != 0 || !S_ISREG (status.st_mode))
    {
      g_set_error (error, G_IO_ERROR, G_IO_ERROR_NOT_REGULAR_FILE, _ ("option --token-file: %s is no ordinary file"),
                   path);
      return NULL;
    }
  if ((status.st_mode & (S_IROTH | S_IWOTH)) != 0)
    {
      g_set_error (error, G_IO_ERROR, G_IO_ERROR_PERMISSION_DENIED,
                   _ ("option --token-file: everybody can read or write %s; 'chmod o-rw' keeps it from others"), path);
      return NULL;
    }
  length = read (fd, text, sizeof text - 1);
  if (length > 0 && text[length - 1] == '\n')
    text[--length] = '\0';
  if (length > 0 && strlen (text) == (gsize)length && is_token (text, (gsize)length))
    return g_strdup (text);
  g_set_error (error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA,
               _ ("option --token-file: %s has no token: one line of %d to %d letters, digits, '-', '.', '_' and '~'"),
               path, MIN_TOKEN, MAX_TOKEN);
  return NULL;
}

char *
dvm_cli_web_read_token (const char *path, GError **error)
{
  g_autofree char *shown = dvm_cli_escape (path);
  g_autofree char *token = NULL;
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

  if (fd >= 0)
    {
      token = read_open_token (fd, shown, error);
      close (fd);
      return g_steal_pointer (&token);
    }
  if (errno != ENOENT)
    {
      g_set_error (error, G_IO_ERROR, g_io_error_from_errno (errno), "--token-file: %s: %s", shown, g_strerror (errno));
      return NULL;
    }
  token = dvm_cli_web_make_token (error);
  return token != NULL && write_token (path, token, error) ? g_steal_pointer (&token) : NULL;
}

gboolean
dvm_cli_web_is_same (const char *given, const char *wanted)
{
  g_autofree char *one = g_compute_hmac_for_string (G_CHECKSUM_SHA256, (const guchar *)wanted, strlen (wanted), given,
                                                    -1);
  g_autofree char *two = g_compute_hmac_for_string (G_CHECKSUM_SHA256, (const guchar *)wanted, strlen (wanted), wanted,
                                                    -1);
  volatile guint8 difference = 0;

  for (guint i = 0; one[i] != '\0'; i++)
    difference |= (guint8)(one[i] ^ two[i]);
  return difference == 0;
}

/* ---- headers ---- */

char *
dvm_cli_web_make_cookie (const char *token)
{
  return g_compute_hmac_for_string (G_CHECKSUM_SHA256, (const guchar *)token, strlen (token), "cookie of dvm-cli web",
                                    -1);
}

char *
dvm_cli_web_find_cookie (const char *header, const char *name)
{
  g_auto (GStrv) pairs = header != NULL ? g_strsplit (header, ";", -1) : NULL;

  for (guint i = 0; pairs != NULL && pairs[i] != NULL; i++)
    {
      const char *pair = g_strstrip (pairs[i]);

      if (g_str_has_prefix (pair, name) && pair[strlen (name)] == '=')
        return g_strdup (pair + strlen (name) + 1);
    }
  return NULL;
}

const char *
dvm_cli_web_find_bearer (const char *header)
{
  const char *const scheme = "Bearer ";

  if (header == NULL || g_ascii_strncasecmp (header, scheme, strlen (scheme)) != 0)
    return NULL;
  header += strlen (scheme);
  return header + strspn (header, " ");
}
