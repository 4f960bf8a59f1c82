/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Hostfiles: a host a line, and what is to be known of it.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-hosts"

#include "dvm-hosts-private.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n-lib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dvm-host-list.h"
#include "dvm-words-private.h"

#define BLANKS " \t\r\f\v"

typedef enum
{
  KEY_SLOTS,
  KEY_SLOTS_MAX,
  KEY_PORT,
  KEY_USER,
  N_KEYS,
} Key;

static const struct
{
  const char *name;
  int key; /* -1: known to mpirun, where it has no effect any more */
} keys[] = {
  { "slots", KEY_SLOTS },         { "slot", KEY_SLOTS },
  { "count", KEY_SLOTS },         { "cpu", KEY_SLOTS },
  { "cpus", KEY_SLOTS },          { "max_slots", KEY_SLOTS_MAX },
  { "max-slots", KEY_SLOTS_MAX }, { "slots_max", KEY_SLOTS_MAX },
  { "slots-max", KEY_SLOTS_MAX }, { "cpu_max", KEY_SLOTS_MAX },
  { "cpu-max", KEY_SLOTS_MAX },   { "count_max", KEY_SLOTS_MAX },
  { "count-max", KEY_SLOTS_MAX }, { "max_cpu", KEY_SLOTS_MAX },
  { "max-cpu", KEY_SLOTS_MAX },   { "max_count", KEY_SLOTS_MAX },
  { "max-count", KEY_SLOTS_MAX }, { "port", KEY_PORT },
  { "username", KEY_USER },       { "user-name", KEY_USER },
  { "user_name", KEY_USER },      { "boards", -1 },
  { "sockets_per_board", -1 },    { "cores_per_socket", -1 },
};

/* One line */
typedef struct
{
  const char *at; /* what is still to be read */
  gboolean allows_more;
  gboolean has[N_KEYS];
  guint port;
  char *user; /* (nullable) */
  DvmHost *host;
} Line;

static void
line_clear (Line *line)
{
  g_free (line->user);
  g_clear_pointer (&line->host, _dvm_host_free);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Line, line_clear)

static gboolean
refuse_word (Line *line, const char *word, const char *why, GError **error)
{
  g_autofree char *shown = _dvm_words_show (word);

  g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED, "%s: “%s”: %s", line->host->place, shown, why);
  return FALSE;
}

/* ---- a line ---- */

static void
skip_blanks (Line *line)
{
  line->at += strspn (line->at, BLANKS);
}

/* Up to the next blank, or "=": (transfer full) */
static char *
read_word (Line *line, const char *end)
{
  gsize length = strcspn (line->at, end);
  char *word = g_strndup (line->at, length);

  line->at += length;
  skip_blanks (line);
  return word;
}

static void
refuse_key (Line *line, const char *word, GError **error)
{
  const char *names[G_N_ELEMENTS (keys) + 1] = { NULL };
  const char *nearest;

  for (gsize i = 0; i < G_N_ELEMENTS (keys); i++)
    names[i] = keys[i].name;
  nearest = _dvm_words_nearest (word, names);
  if (nearest != NULL)
    {
      g_autofree char *why = g_strdup_printf (_ ("unknown word; did you mean “%s”?"), nearest);

      refuse_word (line, word, why, error);
    }
  else
    refuse_word (line, word, _ ("unknown word; behind the host may stand slots=, max_slots=, port= and username="),
                 error);
}

static int
find_key (Line *line, const char *word, GError **error)
{
  for (gsize i = 0; i < G_N_ELEMENTS (keys); i++)
    {
      if (g_ascii_strcasecmp (word, keys[i].name) != 0)
        continue;
      if (keys[i].key < 0)
        g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                     _ ("%s: “%s” is not supported: a node tells itself what it has"), line->host->place, word);
      return keys[i].key;
    }
  refuse_key (line, word, error);
  return -1;
}

static gboolean
set_number (Line *line, const char *key, const char *value, guint64 most, guint *number, GError **error)
{
  g_autofree char *shown = NULL;
  guint64 read;

  if (g_ascii_string_to_unsigned (value, 10, 1, most, &read, NULL))
    {
      *number = read;
      return TRUE;
    }
  shown = _dvm_words_show (value);
  g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED, _ ("%s: %s is “%s”; it must be a number from 1 to %u"),
               line->host->place, key, shown, (guint)most);
  return FALSE;
}

static gboolean
set_key (Line *line, Key key, const char *word, const char *value, GError **error)
{
  switch (key)
    {
    case KEY_SLOTS:
      line->host->more = value[0] == '+' && line->allows_more;
      value += line->host->more;
      return set_number (line, word, value, G_MAXINT, &line->host->slots, error);
    case KEY_SLOTS_MAX:
      return set_number (line, word, value, G_MAXINT, &line->host->slots_max, error);
    case KEY_PORT:
      return set_number (line, word, value, G_MAXUINT16, &line->port, error);
    case KEY_USER:
      if (strchr (line->host->address, '@') != NULL)
        return refuse_word (line, word, _ ("the user stands before the host already"), error);
      line->user = g_strdup (value);
      return TRUE;
    case N_KEYS:
      break;
    }
  g_return_val_if_reached (FALSE);
}

/* "slots=4", "slots = 4" */
static gboolean
read_pair (Line *line, GError **error)
{
  g_autofree char *word = read_word (line, "=" BLANKS);
  g_autofree char *value = NULL;
  int key = find_key (line, word, error);

  if (key < 0)
    return FALSE;
  if (line->at[0] != '=')
    return refuse_word (line, word, _ ("expected is “=” and a value"), error);
  line->at++;
  skip_blanks (line);
  value = read_word (line, BLANKS);
  if (value[0] == '\0')
    return refuse_word (line, word, _ ("the value is missing"), error);
  if (line->has[key])
    return refuse_word (line, word, _ ("it is given twice for one host"), error);
  line->has[key] = TRUE;
  return set_key (line, key, word, value, error);
}

static gboolean
set_user (Line *line, GError **error)
{
  DvmHost *host = line->host;
  g_autofree char *address = g_strconcat (line->user, "@", host->address, NULL);
  g_autoptr (DvmHost) checked = _dvm_host_new (NULL);
  const char *why = _dvm_host_set_name (checked, address);

  if (why != NULL)
    return refuse_word (line, address, why, error);
  g_free (host->address);
  host->address = g_steal_pointer (&address);
  return TRUE;
}

/* Where a launcher finds it: as it was read, most lines have neither. */
static gboolean
set_address (Line *line, GError **error)
{
  DvmHost *host = line->host;

  if (line->user != NULL && !set_user (line, error))
    return FALSE;
  if (line->port > 0)
    {
      g_autofree char *bare = host->address;

      host->address = g_strdup_printf ("%s:%u", bare, line->port);
    }
  return TRUE;
}

static gboolean
check_line (Line *line, GError **error)
{
  DvmHost *host = line->host;

  if (host->slots_max > 0 && host->slots > host->slots_max)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED,
                   _ ("%s: “%s” has %u slots, which is more than its max_slots of %u"), host->place, host->name,
                   host->slots, host->slots_max);
      return FALSE;
    }
  return host->kind != DVM_HOST_NAMED || set_address (line, error);
}

static gboolean
read_host (Line *line, const char *word, GError **error)
{
  DvmHost *host = line->host;
  const char *why;

  host->excluded = word[0] == '^';
  if (strchr (word, '=') != NULL)
    return refuse_word (line, word, _ ("a line begins with the name of a host"), error);
  if (word[0] == '+')
    return _dvm_host_set_relative (host, word)
           || refuse_word (line, word, _ ("relative are +n2, +e and +e:2 alone"), error);
  why = _dvm_host_set_name (host, host->excluded ? word + 1 : word);
  if (why == NULL)
    return TRUE;
  /* In lists of hosts it would be slots, for ssh a port. */
  if (strchr (word, ':') != NULL && strchr (word, ':') == strrchr (word, ':'))
    why = _ ("a file gives slots as “slots=4”, and a port as “port=22”");
  return refuse_word (line, word, why, error);
}

/* "hosts:3", without the work that a format is: there are millions of lines. */
static char *
make_place (const char *path, gsize length, guint number)
{
  char digits[16];
  gsize at = sizeof digits;
  char *place;

  do
    digits[--at] = (char)('0' + number % 10);
  while ((number /= 10) > 0);
  place = g_malloc (length + 1 + sizeof digits - at + 1);
  memcpy (place, path, length);
  place[length] = ':';
  memcpy (place + length + 1, digits + at, sizeof digits - at);
  place[length + 1 + sizeof digits - at] = '\0';
  return place;
}

/* The names of "n[1-4]", which all have what the line says. (transfer full) (nullable) */
static GStrv
read_names (Line *line, const DvmHostsRead *read, GError **error)
{
  g_autofree char *word = read_word (line, BLANKS);
  char *alone[] = { word, NULL };
  GStrv names;

  if (!_dvm_hosts_has_ranges (word))
    return g_strdupv (alone);
  /* The first one has been counted with its line, and one too many is enough to be refused. */
  names = _dvm_host_list_expand_first (word, line->host->place, _dvm_hosts_count_left (read) + 2, error);
  if (names == NULL && error != NULL)
    (*error)->code = DVM_ERROR_PARSE_FAILED;
  return names;
}

static gboolean
read_pairs (Line *line, GError **error)
{
  if (line->at[0] != '\0' && (line->host->excluded || line->host->kind != DVM_HOST_NAMED))
    return refuse_word (line, line->at, _ ("nothing may stand behind a host that is excluded or relative"), error);
  while (line->at[0] != '\0')
    if (!read_pair (line, error))
      return FALSE;
  return TRUE;
}

/* The same line for another name: first is what the line made of its first one. */
static gboolean
take_again (DvmHosts *hosts, Line *line, const DvmHost *first, const char *name, DvmHostsRead *read, GError **error)
{
  line->host = _dvm_host_new (g_strdup (first->place));
  line->host->slots = first->slots;
  line->host->slots_max = first->slots_max;
  line->host->more = first->more;
  return _dvm_hosts_count_one (read, first->place, error) && read_host (line, name, error) && set_address (line, error)
         && _dvm_hosts_take (hosts, g_steal_pointer (&line->host), TRUE, error);
}

/* Takes the place. The line has more than blanks. */
static gboolean
read_line (DvmHosts *hosts, char *place, const char *text, DvmHostsRead *read, GError **error)
{
  g_auto (Line) line = { .at = text, .host = _dvm_host_new (place), .allows_more = _dvm_hosts_allows_more (hosts) };
  g_auto (GStrv) names = NULL;
  g_autofree char *same_place = NULL;
  DvmHost first;

  skip_blanks (&line);
  names = read_names (&line, read, error);
  if (names == NULL || !read_host (&line, names[0], error) || !read_pairs (&line, error) || !check_line (&line, error))
    return FALSE;
  first = *line.host;
  first.place = same_place = names[1] != NULL ? g_strdup (place) : NULL;
  if (!_dvm_hosts_take (hosts, g_steal_pointer (&line.host), TRUE, error))
    return FALSE;
  for (gsize i = 1; names[i] != NULL; i++)
    if (!take_again (hosts, &line, &first, names[i], read, error))
      return FALSE;
  return TRUE;
}

/* ---- a file ---- */

/* Comments become blanks; their lines stay. Returns the line of one that does not end, or 0. */
static guint
blank_comments (char *text)
{
  char end = '\0';
  guint line = 1;
  guint begun = 0;

  for (char *c = text; *c != '\0'; c++)
    {
      line += *c == '\n';
      if (end == '\0' && (*c == '#' || (c[0] == '/' && (c[1] == '/' || c[1] == '*'))))
        {
          end = c[0] == '/' && c[1] == '*' ? '*' : '\n';
          begun = line;
          if (end == '*')
            *c++ = ' ';
        }
      else if (end == '*' && c[0] == '*' && c[1] == '/')
        {
          end = '\0';
          *c++ = ' ';
          *c = ' ';
        }
      else if (end == '\n' && *c == '\n')
        end = '\0';
      if (end != '\0' && *c != '\n')
        *c = ' ';
    }
  return end == '*' ? begun : 0;
}

/* Takes the lines apart in place. */
static gboolean
read_lines (DvmHosts *self, char *text, const char *path, DvmHostsRead *read, GError **error)
{
  gsize length = strlen (path);
  const char *end = text + strlen (text);
  guint number = 1;

  for (char *line = text, *next; line != NULL; line = next, number++)
    {
      next = memchr (line, '\n', (gsize)(end - line));
      if (next != NULL)
        *next++ = '\0';
      if (line[strspn (line, BLANKS)] == '\0')
        continue;
      if (!_dvm_hosts_count_one (read, path, error)
          || !read_line (self, make_place (path, length, number), line, read, error))
        return FALSE;
    }
  return TRUE;
}

gboolean
_dvm_hosts_add_text (DvmHosts *self, const char *text, gsize length, const char *path, DvmHostsRead *read,
                     GError **error)
{
  DvmHostsRead own = { 0 };
  g_autofree char *copy = g_strndup (text, length);
  guint open;

  if (memchr (text, '\0', length) != NULL || !g_utf8_validate (copy, -1, NULL))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED, _ ("%s is no hostfile: it is not text in UTF-8"), path);
      return FALSE;
    }
  open = blank_comments (copy);
  if (open > 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED, _ ("%s:%u: the comment that begins here has no end"), path,
                   open);
      return FALSE;
    }
  return read_lines (self, copy, path, read != NULL ? read : &own, error);
}

/* The file that is read, as messages show it. */
typedef struct
{
  const char *shown;
  gboolean is_hostfile;
} File;

static gboolean
set_file_error (const File *file, const char *why, int code, GError **error)
{
  if (file->is_hostfile)
    g_set_error (error, DVM_ERROR, code, _ ("Cannot read the hostfile %s: %s"), file->shown, why);
  else
    g_set_error (error, DVM_ERROR, code, _ ("map-by: cannot read the file %s: %s"), file->shown, why);
  return FALSE;
}

/* A pipe that nobody writes to, or a device, would hold up who reads it. */
static gboolean
check_file (int fd, const File *file, GError **error)
{
  struct stat status;

  if (fstat (fd, &status) != 0)
    return set_file_error (file, g_strerror (errno), DVM_ERROR_BAD_PARAM, error);
  if (!S_ISREG (status.st_mode))
    return set_file_error (file, _ ("it is not a file"), DVM_ERROR_BAD_PARAM, error);
  if (status.st_size > DVM_HOSTS_MOST_BYTES)
    return set_file_error (file, _ ("it is larger than 16 MiB"), DVM_ERROR_BAD_PARAM, error);
  return TRUE;
}

/* (nullable) */
static GString *
read_all (int fd, const File *file, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  char buffer[16384];

  while (text->len <= DVM_HOSTS_MOST_BYTES)
    {
      gssize n = read (fd, buffer, sizeof buffer);

      if (n == 0)
        return g_steal_pointer (&text);
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        {
          set_file_error (file, g_strerror (errno), DVM_ERROR_BAD_PARAM, error);
          return NULL;
        }
      g_string_append_len (text, buffer, n);
    }
  set_file_error (file, _ ("it is larger than 16 MiB"), DVM_ERROR_BAD_PARAM, error);
  return NULL;
}

/* (transfer full) (nullable) */
static GString *
read_file (const char *path, const File *file, DvmHostsRead *sizes, GError **error)
{
  g_autoptr (GString) text = NULL;
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  int saved_errno = errno;

  if (fd < 0)
    {
      set_file_error (file, g_strerror (saved_errno), saved_errno == ENOENT ? DVM_ERROR_NOT_FOUND : DVM_ERROR_BAD_PARAM,
                      error);
      return NULL;
    }
  text = check_file (fd, file, error) ? read_all (fd, file, error) : NULL;
  close (fd);
  if (text == NULL || (sizes != NULL && !_dvm_hosts_count_bytes (sizes, file->shown, text->len, error)))
    return NULL;
  return g_steal_pointer (&text);
}

gboolean
_dvm_hosts_add_file (DvmHosts *self, const char *path, DvmHostsRead *read, GError **error)
{
  g_autofree char *shown = g_utf8_make_valid (path, -1);
  const File file = { .shown = shown, .is_hostfile = TRUE };
  g_autoptr (GString) text = read_file (path, &file, read, error);

  return text != NULL && _dvm_hosts_add_text (self, text->str, text->len, shown, read, error);
}

char *
_dvm_hosts_read_map_file (const char *path, DvmHostsRead *read, GError **error)
{
  g_autofree char *shown = g_utf8_make_valid (path, -1);
  const File file = { .shown = shown };
  g_autoptr (GString) text = read_file (path, &file, read, error);

  if (text == NULL)
    return NULL;
  if (memchr (text->str, '\0', text->len) == NULL && g_utf8_validate (text->str, (gssize)text->len, NULL))
    return g_string_free (g_steal_pointer (&text), FALSE);
  set_file_error (&file, _ ("it is no text"), DVM_ERROR_PARSE_FAILED, error);
  return NULL;
}
