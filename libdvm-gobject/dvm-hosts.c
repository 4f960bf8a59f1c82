/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The hosts that files and lists name: each once, whatever is said of it and how often.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-hosts"

#include "dvm-hosts-private.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-host-list.h"
#include "dvm-words-private.h"

/* Of one call: a second's work. */
#define MOST_HOSTS 1000000
/* The longest that the DNS knows. */
#define LONGEST_NAME 255

struct _DvmHosts
{
  GPtrArray *all;      /* (element-type DvmHost) */
  GHashTable *by_name; /* of a DvmHost -> it, of all */
  GHashTable *indices; /* numbers of those that are INDEX */
  DvmHost *empty[2];   /* (nullable) of all: EMPTY without a number, and with one */
  gboolean allows_more;
};

DvmHost *
_dvm_host_new (char *place)
{
  DvmHost *host = g_new0 (DvmHost, 1);

  host->place = place;
  return host;
}

void
_dvm_host_free (DvmHost *host)
{
  g_free (host->name);
  g_free (host->address);
  g_free (host->place);
  g_free (host);
}

DvmHosts *
_dvm_hosts_new (void)
{
  DvmHosts *self = g_new0 (DvmHosts, 1);

  self->all = g_ptr_array_new_with_free_func ((GDestroyNotify)_dvm_host_free);
  self->by_name = g_hash_table_new (_dvm_host_name_hash, _dvm_host_name_equal);
  self->indices = g_hash_table_new (NULL, NULL);
  return self;
}

void
_dvm_hosts_free (DvmHosts *self)
{
  g_hash_table_unref (self->by_name);
  g_hash_table_unref (self->indices);
  g_ptr_array_unref (self->all);
  g_free (self);
}

guint
_dvm_hosts_get_n (DvmHosts *self)
{
  return self->all->len;
}

const DvmHost *
_dvm_hosts_get (DvmHosts *self, guint i)
{
  return g_ptr_array_index (self->all, i);
}

void
_dvm_hosts_allow_more (DvmHosts *self)
{
  self->allows_more = TRUE;
}

gboolean
_dvm_hosts_allows_more (DvmHosts *self)
{
  return self->allows_more;
}

static DvmHost *
find_host (DvmHosts *self, const char *name)
{
  return g_hash_table_lookup (self->by_name, name);
}

const DvmHost *
_dvm_hosts_find (DvmHosts *self, const char *name)
{
  return find_host (self, name);
}

/* ---- names ---- */

/* FNV-1a. With the hash of g_str_hash() a file can name a hundred thousand hosts of one value, which takes an hour. */
guint
_dvm_host_name_hash (gconstpointer name)
{
  guint64 hash = G_GUINT64_CONSTANT (14695981039346656037);

  for (const char *c = name; *c != '\0'; c++)
    hash = (hash ^ (guchar)g_ascii_tolower (*c)) * G_GUINT64_CONSTANT (1099511628211);
  return (guint)(hash ^ (hash >> 32));
}

gboolean
_dvm_host_name_equal (gconstpointer a, gconstpointer b)
{
  return g_ascii_strcasecmp (a, b) == 0;
}

/* The name may become that of a file and a word of a command: nothing that means something there. Nor has a name of the
 * DNS an empty part. */
static gboolean
is_name (const char *text)
{
  gsize i;

  for (i = 0; text[i] != '\0'; i++)
    if (i == LONGEST_NAME || (text[i] == '.' && text[i + 1] == '.')
        || !(g_ascii_isalnum (text[i]) || (i > 0 && strchr ("-_.", text[i]) != NULL)))
      return FALSE;
  return i > 0;
}

/* An address of IPv6, which has more than one colon; the scope may follow. */
static gboolean
is_ipv6 (const char *text)
{
  const char *scope = strchr (text, '%');
  g_autofree char *address = g_strndup (text, scope != NULL ? (gsize)(scope - text) : strlen (text));

  return strchr (address, ':') != NULL && g_hostname_is_ip_address (address) && (scope == NULL || is_name (scope + 1));
}

const char *
_dvm_host_set_name (DvmHost *host, const char *text)
{
  const char *at = strchr (text, '@');
  const char *name = at != NULL ? at + 1 : text;
  g_autofree char *bare = NULL;

  if (strchr (name, '@') != NULL)
    return _ ("it has more than one “@”; expected is [USER@]NAME");
  if (at != NULL
      && (at == text || text[strspn (text, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "-_.")] != '@' || text[0] == '-'))
    return _ ("what stands before the “@” is no name of a user");
  if (name[0] == '[' && g_str_has_suffix (name, "]"))
    bare = g_strndup (name + 1, strlen (name) - 2);
  else
    bare = g_strdup (name);
  if (!(name[0] != '[' && is_name (bare)) && !is_ipv6 (bare))
    return _ ("it is not a host name");
  host->kind = DVM_HOST_NAMED;
  if (strchr (bare, ':') != NULL)
    host->address = g_strdup_printf ("%.*s[%s]", (int)(name - text), text, bare);
  else
    host->address = g_strdup (text);
  host->name = g_steal_pointer (&bare);
  return NULL;
}

gboolean
_dvm_host_set_relative (DvmHost *host, const char *text)
{
  guint64 number = 0;

  if (g_ascii_tolower (text[1]) == 'n' && g_ascii_string_to_unsigned (text + 2, 10, 0, G_MAXINT, &number, NULL))
    host->kind = DVM_HOST_INDEX;
  else if (g_ascii_tolower (text[1]) == 'e'
           && (text[2] == '\0'
               || (text[2] == ':' && g_ascii_string_to_unsigned (text + 3, 10, 1, G_MAXINT, &number, NULL))))
    host->kind = DVM_HOST_EMPTY;
  else
    return FALSE;
  host->number = number;
  return TRUE;
}

/* ---- one list ---- */

static gboolean
refuse_again (const DvmHost *known, const DvmHost *again, const char *why, GError **error)
{
  g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED, _ ("%s: “%s” is named twice: %s names it already, %s"),
               again->place, again->name, known->place, why);
  return FALSE;
}

/* Mentions without a number count a slot each, as those of mpirun do. */
static void
add_slots (DvmHost *known, const DvmHost *again)
{
  gboolean counted = known->n_mentions > 0 && again->n_mentions > 0;

  known->slots = MAX (known->slots, known->n_mentions) + MAX (again->slots, again->n_mentions);
  known->n_mentions = counted ? known->n_mentions + again->n_mentions : 0;
  known->all_slots |= again->all_slots;
  if (known->all_slots)
    known->slots = 0;
}

static gboolean
merge (DvmHost *known, const DvmHost *again, gboolean in_file, GError **error)
{
  gboolean counted = known->n_mentions > 0 && again->n_mentions > 0 && known->slots_max == 0 && again->slots_max == 0;

  known->was_named |= !known->excluded || !again->excluded || again->was_named;
  known->excluded |= again->excluded;
  if (known->excluded)
    return TRUE;
  if (g_ascii_strcasecmp (known->address, again->address) != 0)
    return refuse_again (known, again, _ ("with another user or port"), error);
  if (known->more != again->more)
    return refuse_again (known, again, _ ("with a number of slots and with slots to be added"), error);
  if (in_file && !counted)
    return refuse_again (known, again, _ ("and its slots are given in one line"), error);
  add_slots (known, again);
  return TRUE;
}

/* Each of them costs a look at all nodes of the DVM, so a million of them are one. */
static gboolean
is_known_relative (DvmHosts *self, DvmHost *host)
{
  DvmHost **empty = &self->empty[host->number > 0];

  if (host->kind == DVM_HOST_INDEX)
    return !g_hash_table_add (self->indices, GUINT_TO_POINTER (host->number));
  if (*empty == NULL)
    {
      *empty = host;
      return FALSE;
    }
  (*empty)->number = (guint)MIN ((guint64)(*empty)->number + host->number, G_MAXINT);
  return TRUE;
}

gboolean
_dvm_hosts_take (DvmHosts *self, DvmHost *host, gboolean in_file, GError **error)
{
  g_autoptr (DvmHost) taken = host;
  gboolean named = host->kind == DVM_HOST_NAMED;
  DvmHost *known = named ? find_host (self, host->name) : NULL;

  if (named && host->slots == 0 && !host->all_slots)
    host->n_mentions = 1;
  if (known != NULL)
    return merge (known, host, in_file, error);
  if (!named && is_known_relative (self, host))
    return TRUE;
  if (named)
    g_hash_table_insert (self->by_name, host->name, host);
  g_ptr_array_add (self->all, g_steal_pointer (&taken));
  return TRUE;
}

/* ---- what one call may name ---- */

gboolean
_dvm_hosts_count_bytes (DvmHostsRead *read, const char *place, gsize bytes, GError **error)
{
  read->bytes += bytes;
  if (read->bytes <= DVM_HOSTS_MOST_BYTES)
    return TRUE;
  g_set_error (
      error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE,
      _ ("%s: the hosts of one call have %d MiB at most, in all its lists and files together: use several calls"),
      place, DVM_HOSTS_MOST_BYTES >> 20);
  return FALSE;
}

gboolean
_dvm_hosts_count_one (DvmHostsRead *read, const char *place, GError **error)
{
  if (++read->hosts <= MOST_HOSTS)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE,
               _ ("%s: one call names %d hosts at most, in all its lists and files together: use several calls"), place,
               MOST_HOSTS);
  return FALSE;
}

gsize
_dvm_hosts_count_left (const DvmHostsRead *read)
{
  return read->hosts < MOST_HOSTS ? MOST_HOSTS - read->hosts : 0;
}

/* ---- lists ---- */

gboolean
_dvm_hosts_has_ranges (const char *text)
{
  const char *name = text + (*text == '^');
  const char *bracket = strchr (name, '[');

  return bracket != NULL && bracket > name && bracket[-1] != '@';
}

/* The comma behind the first word, or the end: commas in brackets are part of the word. */
static const char *
find_comma (const char *text)
{
  gboolean inside = FALSE;

  for (; *text != '\0' && (inside || *text != ','); text++)
    inside = *text == '[' || (inside && *text != ']');
  return text;
}

/* (nullable) (static): why the word is no host */
static const char *
read_word (DvmHost *host, const char *word, gboolean allows_more)
{
  g_autofree char *name = g_strdup (word);
  char *colon = strrchr (name, ':');
  guint64 slots = 0;

  host->excluded = name[0] == '^';
  if (name[0] == '+')
    return _dvm_host_set_relative (host, name) ? NULL : _ ("relative are +n2, +e and +e:2 alone");
  /* More than one colon without brackets is an address. */
  if (colon != NULL && colon > name && (colon[-1] == ']' || strchr (name, ':') == colon))
    {
      *colon = '\0';
      host->all_slots = strcmp (colon + 1, "*") == 0;
      /* prte takes some away, too. */
      host->more = colon[1] == '+' && allows_more;
      if (colon[1] == '-' || (colon[1] == '+' && !host->more))
        return _ ("the slots of a node do not change by this: behind the colon stands their number, without + or -; "
                  "to nodes that are in the DVM grow and --add-host add some, as in node7:+2");
      if (!host->all_slots && !g_ascii_string_to_unsigned (colon + 1 + host->more, 10, 1, G_MAXINT, &slots, NULL))
        return _ ("behind the colon stands the number of slots, at least 1, or “*”");
    }
  host->slots = slots;
  return _dvm_host_set_name (host, host->excluded ? name + 1 : name);
}

static gboolean
add_word (DvmHosts *self, const char *word, const char *what, DvmHostsRead *read, GError **error)
{
  g_autoptr (DvmHost) host = _dvm_host_new (g_strdup (what));
  const char *why = word[0] != '\0' ? read_word (host, word, self->allows_more) : _ ("a name is missing");
  g_autofree char *shown = NULL;

  if (!_dvm_hosts_count_one (read, what, error))
    return FALSE;
  if (why == NULL)
    return _dvm_hosts_take (self, g_steal_pointer (&host), FALSE, error);
  shown = _dvm_words_show (word);
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s: “%s”: %s", what, shown, why);
  return FALSE;
}

/* "n[1-4]:2" is four words. */
static gboolean
add_words (DvmHosts *self, const char *word, const char *what, DvmHostsRead *read, GError **error)
{
  g_auto (GStrv) words = NULL;

  if (!_dvm_hosts_has_ranges (word))
    return add_word (self, word, what, read, error);
  /* One too many is enough to be refused. */
  words = _dvm_host_list_expand_first (word, what, _dvm_hosts_count_left (read) + 1, error);
  if (words == NULL)
    return FALSE;
  for (gsize i = 0; words[i] != NULL; i++)
    if (!add_word (self, words[i], what, read, error))
      return FALSE;
  return TRUE;
}

gboolean
_dvm_hosts_add_list (DvmHosts *self, const char *list, const char *what, DvmHostsRead *read, GError **error)
{
  DvmHostsRead own = { 0 };
  g_autofree char *copy = NULL;
  gboolean more = TRUE;

  if (read == NULL)
    read = &own;
  if (!_dvm_hosts_count_bytes (read, what, strlen (list), error))
    return FALSE;
  copy = g_strdup (list);
  for (char *word = copy; more;)
    {
      char *end = (char *)find_comma (word);

      more = *end != '\0';
      *end = '\0';
      if (!add_words (self, g_strstrip (word), what, read, error))
        return FALSE;
      word = end + 1;
    }
  return TRUE;
}

/* ---- choosing ---- */

static DvmHost *
copy_host (const DvmHost *host)
{
  DvmHost *copy = g_memdup2 (host, sizeof *host);

  copy->name = g_strdup (host->name);
  copy->address = g_strdup (host->address);
  copy->place = g_strdup (host->place);
  return copy;
}

static gboolean
check_chosen (DvmHosts *self, const DvmHost *wanted, GError **error)
{
  const DvmHost *host = wanted->kind == DVM_HOST_NAMED ? find_host (self, wanted->name) : NULL;

  if (wanted->kind != DVM_HOST_NAMED)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%s: relative names are for jobs, on the nodes of a DVM"),
                 wanted->place);
  else if (host == NULL || host->excluded)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%s: “%s” is not among the hosts of the hostfile"),
                 wanted->place, wanted->name);
  else if (host->slots_max > 0 && wanted->slots > host->slots_max)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%s: “%s” has room for %u, says %s; %u are asked for"),
                 wanted->place, wanted->name, host->slots_max, host->place, wanted->slots);
  else
    return TRUE;
  return FALSE;
}

/* Whether chosen names anything, and does not only exclude. */
static gboolean
names_some (DvmHosts *chosen)
{
  for (guint i = 0; i < chosen->all->len; i++)
    if (!_dvm_hosts_get (chosen, i)->excluded || _dvm_hosts_get (chosen, i)->was_named)
      return TRUE;
  return FALSE;
}

DvmHosts *
_dvm_hosts_filter (DvmHosts *self, DvmHosts *chosen, GError **error)
{
  g_autoptr (DvmHosts) result = _dvm_hosts_new ();
  gboolean some = names_some (chosen);

  for (guint i = 0; i < chosen->all->len; i++)
    if (!check_chosen (self, _dvm_hosts_get (chosen, i), error))
      return NULL;
  for (guint i = 0; i < self->all->len; i++)
    {
      const DvmHost *host = _dvm_hosts_get (self, i);
      const DvmHost *wanted = host->kind == DVM_HOST_NAMED ? find_host (chosen, host->name) : NULL;
      DvmHost *copy;

      if (host->excluded || (wanted == NULL ? some : wanted->excluded))
        continue;
      copy = copy_host (host);
      if (wanted != NULL && wanted->slots > 0)
        {
          copy->slots = wanted->slots;
          copy->more = wanted->more;
        }
      if (!_dvm_hosts_take (result, copy, FALSE, error))
        return NULL;
    }
  return g_steal_pointer (&result);
}

/* ---- nodes for a DVM ---- */

static DvmHosts *
take_named (DvmHosts *hosts, GError **error)
{
  g_autoptr (DvmHosts) result = _dvm_hosts_new ();

  for (guint i = 0; i < hosts->all->len; i++)
    {
      const DvmHost *host = _dvm_hosts_get (hosts, i);

      if (host->kind != DVM_HOST_NAMED)
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                       _ ("%s: relative names are for jobs; nodes that come into a DVM are named"), host->place);
          return NULL;
        }
      if (!host->excluded && !_dvm_hosts_take (result, copy_host (host), FALSE, error))
        return NULL;
    }
  return g_steal_pointer (&result);
}

DvmHosts *
_dvm_hosts_read_new (const char *const *lists, const char *hostfile, const char *what, DvmHostsRead *read,
                     GError **error)
{
  g_autoptr (DvmHosts) file = _dvm_hosts_new ();
  g_autoptr (DvmHosts) list = _dvm_hosts_new ();
  g_autoptr (DvmHosts) chosen = NULL;
  g_autoptr (DvmHosts) result = NULL;
  DvmHostsRead own = { 0 };

  if (read == NULL)
    read = &own;
  _dvm_hosts_allow_more (file);
  _dvm_hosts_allow_more (list);
  for (gsize i = 0; lists != NULL && lists[i] != NULL; i++)
    if (!_dvm_hosts_add_list (list, lists[i], what, read, error))
      return NULL;
  if (hostfile != NULL && !_dvm_hosts_add_file (file, hostfile, read, error))
    return NULL;
  if (hostfile != NULL && list->all->len > 0)
    chosen = _dvm_hosts_filter (file, list, error);
  else
    chosen = hostfile != NULL ? g_steal_pointer (&file) : g_steal_pointer (&list);
  result = chosen != NULL ? take_named (chosen, error) : NULL;
  if (result == NULL)
    return NULL;
  if (result->all->len == 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%s: no host is named"),
                   hostfile != NULL ? hostfile : what);
      return NULL;
    }
  return g_steal_pointer (&result);
}
