/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents that nobody starts and their controller find in their settings what both need to meet.
 */

#include "config.h"

#include "dvmd-bootstrap.h"

#include <dvm.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dvmd-address.h"
#include "dvmd-munge.h"
#include "dvmd-secret.h"

/* Fewer characters than 16 bytes have in base64 are no key, but a word that can be guessed. */
#define MIN_LENGTH 22
#define MAX_LENGTH 4096
/* The key is derived, so that the file may have any text; and is another one for another use of the same file. */
#define KEY_LABEL "dvm bootstrap"

static gboolean
refuse_file (GError **error, const char *path, const char *reason)
{
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "bootstrap-secret: %s: %s", path, reason);
  return FALSE;
}

static gboolean
check_file (int fd, const char *path, GError **error)
{
  struct stat info;

  if (fstat (fd, &info) < 0)
    return refuse_file (error, path, g_strerror (errno));
  if (!S_ISREG (info.st_mode))
    return refuse_file (error, path, "this is no regular file");
  if (info.st_uid != geteuid () && info.st_uid != 0)
    return refuse_file (error, path, "it belongs to another user: this process's own, or root, is to own it");
  if ((info.st_mode & 077) != 0)
    return refuse_file (error, path, "others than its owner can read or write it: chmod 600 makes it right");
  return TRUE;
}

/* Blanks around the text are none of it: editors end files with a newline. -1: it is too short or too long. */
static gssize
trim_text (guint8 *text, gssize n)
{
  gssize first = 0;

  while (n > 0 && g_ascii_isspace (text[n - 1]))
    n--;
  while (first < n && g_ascii_isspace (text[first]))
    first++;
  memmove (text, text + first, (gsize)(n - first));
  return n - first;
}

static gboolean
read_key (int fd, const char *path, guint8 *key, GError **error)
{
  guint8 text[MAX_LENGTH + 1];
  gssize n = 0;
  gssize got;

  while ((got = read (fd, text + n, sizeof text - (gsize)n)) != 0)
    {
      if (got < 0 && errno == EINTR)
        continue;
      if (got < 0)
        return refuse_file (error, path, g_strerror (errno));
      n += got;
    }
  if (n > MAX_LENGTH)
    n = -1;
  else
    n = trim_text (text, n);
  if (n >= MIN_LENGTH)
    dvmd_secret_hmac (text, (gsize)n, (const guint8 *)KEY_LABEL, strlen (KEY_LABEL), key);
  explicit_bzero (text, sizeof text);
  return n >= MIN_LENGTH
         || refuse_file (
             error, path,
             "a secret has 22 characters at least and 4096 at most, as those that “openssl rand -base64 32” "
             "prints");
}

gboolean
dvmd_bootstrap_read_secret (const char *path, DvmdToken *secret, GError **error)
{
  guint8 key[DVMD_TOKEN_KEY_SIZE];
  gboolean right;
  int fd;

  if (!g_path_is_absolute (path))
    return refuse_file (error, path[0] != '\0' ? path : "(empty)",
                        "the whole path of the file with the secret is needed, which starts with /");
  fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0)
    return refuse_file (error, path, g_strerror (errno));
  right = check_file (fd, path, error) && read_key (fd, path, key, error);
  close (fd);
  if (!right)
    return FALSE;
  dvmd_token_set_standing (secret, key);
  explicit_bzero (key, sizeof key);
  return TRUE;
}

static DvmdMungeKeys *
choose_munge (DvmdConfig *config, GError **error)
{
  const char *place = dvmd_config_get_string (config, "bootstrap-controller");
  const char *socket = dvmd_config_get_string (config, "bootstrap-munge-socket");
  g_autoptr (GError) reason = NULL;

  if (!dvmd_munge_is_there (&reason))
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "bootstrap-auth=munge: there is no library of munge here (Debian: libmunge2): %s", reason->message);
  else if (strlen (place) > DVMD_MUNGE_MAX_PLACE)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "bootstrap-controller: this is longer than %u characters",
                 DVMD_MUNGE_MAX_PLACE);
  else if (socket[0] != '\0' && !g_path_is_absolute (socket))
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "bootstrap-munge-socket: %s: the whole path of the socket is needed, which starts with /", socket);
  else
    return dvmd_munge_keys_new (socket, place);
  return NULL;
}

gboolean
dvmd_bootstrap_choose_means (DvmdConfig *config, DvmdToken *secret, DvmdMungeKeys **munge, GError **error)
{
  guint8 nobodys[DVMD_TOKEN_KEY_SIZE];

  if (g_str_equal (dvmd_config_get_string (config, "bootstrap-auth"), "secret"))
    return dvmd_bootstrap_read_secret (dvmd_config_get_string (config, "bootstrap-secret"), secret, error);
  *munge = choose_munge (config, error);
  if (*munge == NULL)
    return FALSE;
  dvmd_secret_draw (nobodys, sizeof nobodys);
  dvmd_token_set_standing (secret, nobodys);
  explicit_bzero (nobodys, sizeof nobodys);
  return TRUE;
}

gboolean
dvmd_bootstrap_parse_place (const char *text, char **address, guint16 *port, GError **error)
{
  g_autofree char *whole = g_strconcat ("tcp:", text, NULL);
  g_autofree char *host = NULL;
  g_autoptr (GSocketAddress) parsed = NULL;

  if (!dvmd_address_parse (whole, &parsed, &host, port, NULL))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   "bootstrap-controller: “%s” is no place where agents could find the controller: it takes HOST:PORT, "
                   "as in node0:7817",
                   text);
      return FALSE;
    }
  if (address != NULL)
    *address = g_steal_pointer (&whole);
  return TRUE;
}
