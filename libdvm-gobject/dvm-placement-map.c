/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * map-by is read: "numa:PE=2:SPAN", "ppr:2:l3cache", "pe-list=0,2:ORDERED", "device=gpu", ":OVERSUBSCRIBE".
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-spec"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-placement-private.h"
#include "dvm-words-private.h"

/* A word and its number agree, so that objects of map-by and of bind-to can be compared. */
G_STATIC_ASSERT ((int)DVM_MAP_WORD_HWTHREAD == (int)DVM_BIND_TO_HWTHREAD);
G_STATIC_ASSERT ((int)DVM_MAP_WORD_PACKAGE == (int)DVM_BIND_TO_PACKAGE);

#define MAP_OBJECTS                                                                                                    \
  { "hwthread", DVM_MAP_WORD_HWTHREAD, TRUE }, { "core", DVM_MAP_WORD_CORE, TRUE },                                    \
      { "l1cache", DVM_MAP_WORD_L1CACHE, TRUE }, { "l2cache", DVM_MAP_WORD_L2CACHE, TRUE },                            \
      { "l3cache", DVM_MAP_WORD_L3CACHE, TRUE }, { "numa", DVM_MAP_WORD_NUMA, TRUE },                                  \
      { "package", DVM_MAP_WORD_PACKAGE, TRUE },                                                                       \
  {                                                                                                                    \
    "node", DVM_MAP_WORD_NODE, TRUE                                                                                    \
  }

static const DvmWord map_words[] = {
  MAP_OBJECTS,
  { "slot", DVM_MAP_WORD_SLOT, TRUE },
  { "ppr", DVM_MAP_WORD_PPR, TRUE },
  { "seq", DVM_MAP_WORD_SEQ, TRUE },
  { "rankfile", DVM_MAP_WORD_RANKFILE, TRUE },
  { "pe-list", DVM_MAP_WORD_PE_LIST, TRUE },
  { "device", DVM_MAP_WORD_DEVICE, TRUE },
};

static const DvmWord ppr_objects[] = {
  MAP_OBJECTS,
  { "device", DVM_MAP_WORD_DEVICE, TRUE },
};

static const DvmWord map_qualifiers[] = {
  { "pe", DVM_MAP_PE, TRUE },
  { "oversubscribe", DVM_MAP_OVERSUBSCRIBE, TRUE },
  { "nooversubscribe", DVM_MAP_NOOVERSUBSCRIBE, TRUE },
  { "nolocal", DVM_MAP_NOLOCAL, TRUE },
  { "hwtcpus", DVM_MAP_HWTCPUS, TRUE },
  { "corecpus", DVM_MAP_CORECPUS, TRUE },
  { "inherit", DVM_MAP_INHERIT, TRUE },
  { "noinherit", DVM_MAP_NOINHERIT, TRUE },
  { "span", DVM_MAP_SPAN, TRUE },
  { "ordered", DVM_MAP_ORDERED, TRUE },
  { "file", DVM_MAP_FILE, TRUE },
  { "interleave", DVM_MAP_INTERLEAVE, TRUE },
  { "shared", DVM_MAP_SHARED, TRUE },
  { "ndev", DVM_MAP_NDEV, TRUE },
  { "nperproc", DVM_MAP_NPERPROC, TRUE },
  { "npernode", DVM_MAP_NPERNODE, TRUE },
};

static const DvmWord interleave_levels[] = {
  { "package", 0, TRUE }, { "numa", 0, TRUE }, { "l3cache", 0, TRUE }, { "l2cache", 0, TRUE }, { "l1cache", 0, TRUE },
};

/* Spellings of before, of peers, and where what they meant is today. */
static const struct
{
  const char *old;
  const char *today;
} old_words[] = { { "socket", "package" }, { "skt", "package" }, { "thread", "hwthread" }, { "hwt", "hwthread" } };

static const struct
{
  const char *old;
  const char *today;
} moved_qualifiers[] = {
  { "donotlaunch", "--runtime-options donotlaunch" },
  { "display", "--display map" },
  { "displaydevel", "--display map-devel" },
  { "displayalloc", "--display allocation" },
  { "dir", "--output dir=DIRECTORY" },
};

static const char *
name_today (const char *text)
{
  for (gsize i = 0; i < G_N_ELEMENTS (old_words); i++)
    if (g_ascii_strcasecmp (text, old_words[i].old) == 0)
      return old_words[i].today;
  return text;
}

G_GNUC_PRINTF (3, 4)
static gboolean
refuse_map_by (const DvmPlacementReader *self, GError **error, const char *format, ...)
{
  g_autofree char *message = NULL;
  va_list args;

  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%smap-by: %s", self->place, message);
  return FALSE;
}

/* An empty value is like none. */
static gboolean
read_number (const DvmPlacementReader *self, const char *name, const char *value, guint *number, GError **error)
{
  g_autofree char *shown = _dvm_words_show (value != NULL ? value : "");
  guint64 read;

  if (value == NULL || value[0] == '\0')
    return refuse_map_by (self, error, _ ("“%s” is without its number: it is written %s=N"), name, name);
  if (!g_ascii_string_to_unsigned (value, 10, 1, G_MAXUINT16, &read, NULL))
    return refuse_map_by (self, error, _ ("“%s=%s”: it takes a number from 1 to %d"), name, shown, G_MAXUINT16);
  *number = (guint)read;
  return TRUE;
}

/* ---- qualifiers ---- */

static gboolean
read_interleave (const DvmPlacementReader *self, const char *value, GPtrArray *rest, GError **error)
{
  const char *today = value != NULL ? name_today (value) : "package";
  const DvmWord *level;
  gboolean on = TRUE;

  if (value != NULL && _dvm_words_parse_boolean (value, &on) && !on)
    return refuse_map_by (self, error,
                          _ ("“interleave=%s”: leave it out, and devices are taken in the order of the bus"), value);
  level = _dvm_placement_find_word (interleave_levels, G_N_ELEMENTS (interleave_levels), today, strlen (today),
                                    self->place, "map-by: interleave", error);
  if (level == NULL)
    return FALSE;
  g_ptr_array_add (rest, g_strconcat ("interleave=", level->name, NULL));
  return TRUE;
}

/* Those with a value of their own. done: it was one */
static gboolean
read_valued (DvmPlacementReader *self, const DvmWord *word, const char *value, GPtrArray *rest, gboolean *done,
             GError **error)
{
  guint number;

  *done = TRUE;
  switch (word->value)
    {
    case DVM_MAP_PE:
      return read_number (self, "pe", value, &self->placement->pe, error);
    case DVM_MAP_NDEV:
    case DVM_MAP_NPERPROC:
    case DVM_MAP_NPERNODE:
      if (!read_number (self, word->name, value, &number, error))
        return FALSE;
      g_ptr_array_add (rest, g_strdup_printf ("%s=%u", word->name, number));
      return TRUE;
    case DVM_MAP_FILE:
      if (value == NULL || value[0] == '\0')
        return refuse_map_by (self, error, _ ("“file” is without its path: it is written file=PATH"));
      g_ptr_array_add (rest, g_strconcat ("file=", value, NULL));
      return TRUE;
    case DVM_MAP_INTERLEAVE:
      return read_interleave (self, value, rest, error);
    default:
      *done = FALSE;
      return TRUE;
    }
}

static void
set_switch (DvmPlacement *placement, const DvmWord *word, gboolean on, GPtrArray *rest)
{
  switch (word->value)
    {
    case DVM_MAP_OVERSUBSCRIBE:
    case DVM_MAP_NOOVERSUBSCRIBE:
      placement->oversubscribe = (word->value == DVM_MAP_OVERSUBSCRIBE) == on;
      break;
    case DVM_MAP_INHERIT:
    case DVM_MAP_NOINHERIT:
      placement->inherit = (word->value == DVM_MAP_INHERIT) == on;
      break;
    case DVM_MAP_HWTCPUS:
    case DVM_MAP_CORECPUS:
      placement->cpus = (word->value == DVM_MAP_HWTCPUS) == on ? DVM_CPUS_HWTHREAD : DVM_CPUS_CORE;
      break;
    case DVM_MAP_NOLOCAL:
      placement->nolocal = on;
      break;
    default:
      if (on)
        g_ptr_array_add (rest, g_strdup (word->value == DVM_MAP_SHARED ? "shared=true" : word->name));
    }
}

static gboolean
set_qualifier (DvmPlacementReader *self, const DvmWord *word, const char *value, GPtrArray *rest, GError **error)
{
  g_autofree char *shown = _dvm_words_show (value != NULL ? value : "");
  gboolean on = TRUE;
  gboolean done;

  if ((self->given & (1u << word->value)) != 0)
    return refuse_map_by (self, error, _ ("“%s” is given twice"), word->name);
  self->given |= 1u << word->value;
  if (!read_valued (self, word, value, rest, &done, error))
    return FALSE;
  if (!done && !_dvm_words_parse_boolean (value, &on))
    return refuse_map_by (self, error, _ ("%s is “%s”; it can be yes or no"), word->name, shown);
  if (!done)
    set_switch (self->placement, word, on, rest);
  if (on)
    self->on |= 1u << word->value;
  return TRUE;
}

/* (nullable): what it is today */
static const char *
find_moved (const char *part, gsize length, const char **old)
{
  for (gsize i = 0; i < G_N_ELEMENTS (moved_qualifiers); i++)
    if (strlen (moved_qualifiers[i].old) == length && g_ascii_strncasecmp (part, moved_qualifiers[i].old, length) == 0)
      {
        *old = moved_qualifiers[i].old;
        return moved_qualifiers[i].today;
      }
  return NULL;
}

static gboolean
check_moved (const DvmPlacementReader *self, const char *part, gsize length, GError **error)
{
  const char *old;
  const char *today = find_moved (part, length, &old);

  return today == NULL
         || refuse_map_by (self, error, _ ("“%s” is no qualifier of map-by any more: it is %s"), old, today);
}

/* A mapper of its own may have arguments that begin like our qualifiers: these are ours by their whole name alone. */
static const DvmWord *
find_common (const char *part, gsize length)
{
  for (gsize i = 0; i < G_N_ELEMENTS (map_qualifiers); i++)
    if (map_qualifiers[i].value < DVM_MAP_SPAN && strlen (map_qualifiers[i].name) == length
        && g_ascii_strncasecmp (part, map_qualifiers[i].name, length) == 0)
      return &map_qualifiers[i];
  return NULL;
}

/* No qualifier has a slash, and none is written like what no qualifier begins with. */
static gboolean
may_be_of_path (const char *part)
{
  gsize length = strcspn (part, "=");
  const char *old;

  return strchr (part, '/') != NULL
         || (part[0] != '\0' && !_dvm_words_has (map_qualifiers, G_N_ELEMENTS (map_qualifiers), part, length)
             && find_moved (part, length, &old) == NULL);
}

/* "file=/a:b/c:1" is one path, and "file=/a\\:span" is, too. parts: joined as far as they belong together */
static void
join_paths (char **parts)
{
  gsize last = 0;

  for (gsize i = 1; parts[0] != NULL && parts[i] != NULL; i++)
    {
      g_autofree char *part = g_steal_pointer (&parts[i]);
      gboolean escaped = g_str_has_suffix (parts[last], "\\");

      if (escaped || (may_be_of_path (part) && strchr (parts[last], '=') != NULL && strchr (parts[last], '/') != NULL))
        {
          g_autofree char *start = g_strndup (parts[last], strlen (parts[last]) - escaped);

          g_free (parts[last]);
          parts[last] = g_strconcat (start, ":", part, NULL);
        }
      else
        parts[++last] = g_steal_pointer (&part);
    }
}

/* A qualifier without its colon would be a word of nobody, or part of a value. */
static gboolean
check_colon (const DvmPlacementReader *self, const char *word, gsize length, GError **error)
{
  for (gsize i = 0; i < G_N_ELEMENTS (map_qualifiers); i++)
    if (strlen (map_qualifiers[i].name) == length && g_ascii_strncasecmp (word, map_qualifiers[i].name, length) == 0)
      return refuse_map_by (self, error, _ ("“%s” is a qualifier: it is written behind a colon, :%s"),
                            map_qualifiers[i].name, map_qualifiers[i].name);
  return TRUE;
}

/* "numa:PE=2,SPAN": commas stand in lists of numbers alone. */
static gboolean
check_commas (const DvmPlacementReader *self, const char *part, GError **error)
{
  for (const char *comma = strchr (part, ','); comma != NULL; comma = strchr (comma + 1, ','))
    if (!check_colon (self, comma + 1, strcspn (comma + 1, "=,"), error))
      return FALSE;
  return TRUE;
}

static gboolean
read_qualifiers (DvmPlacementReader *self, char **parts, GPtrArray *rest, GError **error)
{
  if (self->word == DVM_MAP_WORD_SEQ || self->word == DVM_MAP_WORD_RANKFILE)
    join_paths (parts);
  for (gsize i = 0; parts[i] != NULL; i++)
    {
      gsize length = strcspn (parts[i], "=");
      const char *value = parts[i][length] == '=' ? parts[i] + length + 1 : NULL;
      const DvmWord *word;

      if (self->word == DVM_MAP_WORD_FOREIGN)
        {
          word = find_common (parts[i], length);
          if (word == NULL)
            {
              g_ptr_array_add (rest, g_strdup (parts[i]));
              continue;
            }
        }
      else
        {
          if (!check_moved (self, parts[i], length, error)
              || (strchr (parts[i], '/') == NULL && !check_commas (self, parts[i], error)))
            return FALSE;
          word = _dvm_placement_find_word (map_qualifiers, G_N_ELEMENTS (map_qualifiers), parts[i], length, self->place,
                                           "map-by", error);
        }
      if (word == NULL || !set_qualifier (self, word, value, rest, error))
        return FALSE;
    }
  return TRUE;
}

/* ---- words ---- */

/* Classes of devices; as short as is clear, since no device has such a name. */
static const struct
{
  const char *name;
  const char *class_name;
} device_classes[] = {
  { "gpu", "gpu" },        { "network", "network" },     { "nic", "network" },
  { "fabric", "network" }, { "openfabrics", "network" }, { "block", "block" },
};

/* (transfer full): a class by its name; a device as it is written */
static char *
name_device (const char *text)
{
  for (gsize i = 0; i < G_N_ELEMENTS (device_classes); i++)
    if (g_ascii_strncasecmp (device_classes[i].name, text, strlen (text)) == 0)
      return g_strdup (device_classes[i].class_name);
  return g_strdup (text);
}

/* Addresses of PCI, of networks and GUIDs have colons: "0000:3b:00.0" is one name, and "a\\:span" is, too. */
static gboolean
goes_on (const char *part)
{
  return part != NULL && strlen (part) >= 2 && part[strspn (part, "0123456789abcdefABCDEF.")] == '\0';
}

static char *
join_device (const char *start, char **parts, gsize *used)
{
  GString *name = g_string_new (start);

  for (; parts[*used] != NULL && (g_str_has_suffix (name->str, "\\") || goes_on (parts[*used])); (*used)++)
    {
      if (g_str_has_suffix (name->str, "\\"))
        g_string_truncate (name, name->len - 1);
      g_string_append_printf (name, ":%s", parts[*used]);
    }
  return g_string_free (name, FALSE);
}

/* (transfer full) (nullable): the first entry of "0,2,4-7" that is neither a number up to most nor a range of them */
static char *
find_bad_entry (const char *list, guint64 most)
{
  g_auto (GStrv) entries = g_strsplit (list, ",", -1);

  for (gsize i = 0; entries[0] != NULL && entries[i] != NULL; i++)
    {
      g_auto (GStrv) ends = g_strsplit (entries[i], "-", 2);
      guint64 first;
      guint64 last;

      if (ends[0] == NULL || !g_ascii_string_to_unsigned (ends[0], 10, 0, most, &first, NULL)
          || (ends[1] != NULL && !g_ascii_string_to_unsigned (ends[1], 10, first, most, &last, NULL)))
        return _dvm_words_show (entries[i]);
    }
  return NULL;
}

static gboolean
check_list (const DvmPlacementReader *self, const char *list, GError **error)
{
  g_autofree char *shown = find_bad_entry (list, G_MAXUINT16);

  return shown == NULL
         || refuse_map_by (self, error,
                           _ ("“%s” in pe-list is neither a cpu nor a range of them: it is written pe-list=0,2,4-7"),
                           shown);
}

static gboolean
check_ranks (const DvmPlacementReader *self, const char *ranks, GError **error)
{
  g_autofree char *shown = find_bad_entry (ranks, G_MAXUINT);

  return shown == NULL
         || refuse_map_by (self, error,
                           _ ("“%s” of colocate is neither a rank nor a range of them: it is written "
                              "colocate=JOB:0-3,8"),
                           shown);
}

/* Ranks stand behind a colon, too: "A:0-3+B:1" is one text. No qualifier begins with a digit. */
static gboolean
take_jobs (DvmPlacementReader *self, const char *value, char **parts, gsize *used, GError **error)
{
  g_autoptr (GString) jobs = g_string_new (value);
  g_auto (GStrv) entries = NULL;

  for (; value != NULL && parts[*used] != NULL && g_ascii_isdigit (parts[*used][0]); (*used)++)
    g_string_append_printf (jobs, ":%s", parts[*used]);
  entries = g_strsplit (jobs->str, "+", -1);
  for (gsize i = 0; entries[0] == NULL || entries[i] != NULL; i++)
    {
      const char *colon = entries[0] != NULL ? strchr (entries[i], ':') : NULL;

      if (entries[0] == NULL || entries[i][0] == '\0' || colon == entries[i])
        return refuse_map_by (self, error,
                              _ ("“colocate” is without its job: it is written colocate=JOB, or colocate=JOB:0-3 for "
                                 "some of its ranks"));
      if (colon != NULL && !check_ranks (self, colon + 1, error))
        return FALSE;
    }
  self->placement->value = g_string_free (g_steal_pointer (&jobs), FALSE);
  return TRUE;
}

/* The value of the word. used: how many of the parts behind it belong to it */
static gboolean
take_value (DvmPlacementReader *self, const char *value, char **parts, gsize *used, GError **error)
{
  DvmPlacement *placement = self->placement;
  g_autofree char *shown = _dvm_words_show (value != NULL ? value : "");

  if (self->word == DVM_MAP_WORD_COLOCATE)
    return take_jobs (self, value, parts, used, error);
  if (self->word == DVM_MAP_WORD_PE_LIST || self->word == DVM_MAP_WORD_DEVICE)
    {
      g_autofree char *device = NULL;

      if (value == NULL || value[0] == '\0')
        return refuse_map_by (self, error,
                              self->word == DVM_MAP_WORD_DEVICE
                                  ? _ ("“device” is without its value: it is written device=gpu, or with the name of "
                                       "a device")
                                  : _ ("“pe-list” is without its cpus: it is written pe-list=0,2,4-7"));
      if (self->word == DVM_MAP_WORD_PE_LIST)
        {
          placement->value = g_strdup (value);
          return check_list (self, value, error);
        }
      device = join_device (value, parts, used);
      placement->value = name_device (device);
    }
  else if (value != NULL && self->word == DVM_MAP_WORD_FOREIGN)
    placement->value = g_strdup (value);
  else if (value != NULL && (self->word == DVM_MAP_WORD_SEQ || self->word == DVM_MAP_WORD_RANKFILE))
    return refuse_map_by (self, error, _ ("“%s” takes no value: a file is given as %s:file=%s"), placement->word,
                          placement->word, shown);
  else if (value != NULL)
    return refuse_map_by (self, error, _ ("“%s” takes no value: “=%s”"), placement->word, shown);
  return TRUE;
}

/* The object of ppr:N:OBJECT. */
static gboolean
read_ppr_object (DvmPlacementReader *self, char **parts, gsize *used, char **name, GError **error)
{
  const char *object = parts[1];
  gsize length = strcspn (object, "=");
  const char *value = object[length] == '=' ? object + length + 1 : NULL;
  g_autofree char *start = g_strndup (object, length);
  g_autofree char *shown = _dvm_words_show (object);
  const char *today = name_today (start);
  const DvmWord *word = _dvm_placement_find_word (ppr_objects, G_N_ELEMENTS (ppr_objects), today, strlen (today),
                                                  self->place, "map-by: ppr", error);

  if (word == NULL)
    return FALSE;
  *used = 2;
  self->object = word->value;
  if ((word->value == DVM_MAP_WORD_DEVICE) != (value != NULL && value[0] != '\0'))
    return refuse_map_by (self, error, _ ("ppr: “%s”: an object has no value, and a device is written device=gpu"),
                          shown);
  if (value != NULL)
    {
      g_autofree char *device = join_device (value, parts, used);
      g_autofree char *named = name_device (device);

      *name = g_strconcat ("device=", named, NULL);
    }
  else
    *name = g_strdup (word->name);
  return TRUE;
}

static gboolean
read_ppr (DvmPlacementReader *self, char **parts, gsize *used, GError **error)
{
  g_autofree char *shown = NULL;
  char *name = NULL;
  guint64 number;

  if (parts[0] == NULL || parts[1] == NULL)
    return refuse_map_by (self, error, _ ("“ppr” is not whole: it is written ppr:N:OBJECT, such as ppr:2:package"));
  shown = _dvm_words_show (parts[0]);
  if (!g_ascii_string_to_unsigned (parts[0], 10, 1, G_MAXUINT16, &number, NULL))
    return refuse_map_by (self, error, _ ("“ppr:%s”: it takes a number from 1 to %d"), shown, G_MAXUINT16);
  if (!read_ppr_object (self, parts, used, &name, error))
    return FALSE;
  self->placement->arguments = g_new0 (char *, 3);
  self->placement->arguments[0] = g_strdup_printf ("%u", (guint)number);
  self->placement->arguments[1] = name;
  return TRUE;
}

static gboolean
find_word (DvmPlacementReader *self, const char *text, GError **error)
{
  gsize length = strcspn (text, "=");
  g_autofree char *start = g_strndup (text, length);
  const char *today = name_today (start);
  const DvmWord *word;

  if (length == 0)
    return TRUE;
  if (!check_colon (self, start, length, error))
    return FALSE;
  /* "co" is "core": "colocate" needs a third letter. */
  if (length > 2 && g_ascii_strncasecmp ("colocate", start, length) == 0)
    {
      self->word = DVM_MAP_WORD_COLOCATE;
      self->placement->word = g_strdup ("colocate");
      return TRUE;
    }
  if (!_dvm_words_has (map_words, G_N_ELEMENTS (map_words), today, strlen (today)))
    {
      self->word = DVM_MAP_WORD_FOREIGN;
      self->placement->word = g_ascii_strdown (start, -1);
      return TRUE;
    }
  word = _dvm_words_find (map_words, G_N_ELEMENTS (map_words), today, strlen (today), self->place, "map-by", error);
  if (word == NULL)
    return FALSE;
  self->word = word->value;
  self->placement->word = g_strdup (word->name);
  return TRUE;
}

gboolean
_dvm_placement_read_map_by (DvmPlacementReader *self, const char *text, GError **error)
{
  g_auto (GStrv) parts = NULL;
  g_autoptr (GPtrArray) rest = NULL;
  const char *equals;
  gsize used = 0;

  if (text == NULL)
    return TRUE;
  if (!_dvm_map_by_check (text, self->place, error))
    return FALSE;
  parts = g_strsplit (text, ":", -1);
  equals = strchr (parts[0], '=');
  if (!find_word (self, parts[0], error)
      || !take_value (self, equals != NULL ? equals + 1 : NULL, parts + 1, &used, error))
    return FALSE;
  self->object = self->word;
  if (self->word == DVM_MAP_WORD_PPR && !read_ppr (self, parts + 1, &used, error))
    return FALSE;
  rest = g_ptr_array_new_with_free_func (g_free);
  if (!read_qualifiers (self, parts + 1 + used, rest, error))
    return FALSE;
  g_ptr_array_add (rest, NULL);
  g_strfreev (self->placement->rest);
  self->placement->rest = (GStrv)g_ptr_array_free (g_steal_pointer (&rest), FALSE);
  return TRUE;
}

/* ---- for completion ---- */

void
_dvm_map_by_add_words (GVariantBuilder *rows)
{
  for (gsize i = 0; i < G_N_ELEMENTS (device_classes); i++)
    if (strcmp (device_classes[i].name, device_classes[i].class_name) == 0)
      {
        g_autofree char *written = g_strconcat ("device=", device_classes[i].name, NULL);

        g_variant_builder_add (rows, "(ssss)", "map-by", "word", "", written);
        g_variant_builder_add (rows, "(ssss)", "map-by", "object", "ppr", written);
      }
  for (gsize i = 0; i < G_N_ELEMENTS (ppr_objects); i++)
    if (ppr_objects[i].value != DVM_MAP_WORD_DEVICE)
      g_variant_builder_add (rows, "(ssss)", "map-by", "object", "ppr", ppr_objects[i].name);
  /* Mappers declare the others. */
  for (gsize i = 0; i < G_N_ELEMENTS (map_qualifiers); i++)
    if (map_qualifiers[i].value > DVM_MAP_PE && map_qualifiers[i].value < DVM_MAP_SPAN)
      _dvm_words_add (rows, "map-by", "qualifier", &map_qualifiers[i], 1, NULL);
}
