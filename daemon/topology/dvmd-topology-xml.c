/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The XML of a topology that comes from elsewhere is checked, and written anew for hwloc.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-topology"

#include "dvmd-topology-xml.h"

#include <hwloc.h>
#include <string.h>

#include "dvm.h"
#include "dvmd-topology.h"

/* hwloc calls itself for each level, and its time grows with the square of the children of one object. */
#define MOST_LEVELS   64
#define MOST_CHILDREN 8192
#define MOST_OBJECTS  131072
/* Characters of a value in a message. */
#define MOST_SHOWN 64
/* Longer than the set of the largest number. */
#define MOST_OF_SET 32768

typedef enum
{
  NORMAL = 1 << 0,
  MEMORY = 1 << 1,
  IO = 1 << 2,
} Class;

typedef struct
{
  const char *name;
  Class class;
  guint cache_level;
  gboolean nests; /* in one of its own type */
} Type;

static const Type types[] = {
  { "Machine", NORMAL, 0, FALSE },  { "Package", NORMAL, 0, FALSE },  { "Die", NORMAL, 0, FALSE },
  { "Group", NORMAL, 0, TRUE },     { "Core", NORMAL, 0, FALSE },     { "PU", NORMAL, 0, FALSE },
  { "L1Cache", NORMAL, 1, FALSE },  { "L2Cache", NORMAL, 2, FALSE },  { "L3Cache", NORMAL, 3, FALSE },
  { "L4Cache", NORMAL, 4, FALSE },  { "L5Cache", NORMAL, 5, FALSE },  { "L1iCache", NORMAL, 1, FALSE },
  { "L2iCache", NORMAL, 2, FALSE }, { "L3iCache", NORMAL, 3, FALSE }, { "NUMANode", MEMORY, 0, FALSE },
  { "MemCache", MEMORY, 0, TRUE },  { "Bridge", IO, 0, TRUE },        { "PCIDev", IO, 0, TRUE },
  { "OSDev", IO, 0, TRUE },
};

typedef enum
{
  CPUSET,
  COMPLETE_CPUSET,
  NODESET,
  COMPLETE_NODESET,
  N_SETS,
  ALLOWED_CPUSET = N_SETS,
  ALLOWED_NODESET,
  N_ALL_SETS
} Set;

static const char *const set_names[] = { "cpuset",           "complete_cpuset", "nodeset",
                                         "complete_nodeset", "allowed_cpuset",  "allowed_nodeset" };

#define SET_PATTERN "^(0xf\\.\\.\\.f,?)?(((0x)?[0-9a-f]{1,8}(,(0x)?[0-9a-f]{1,8}|,)*)?)$"

/* Attributes that go as they are if they have the form. pattern (nullable): any text */
static const struct
{
  const char *name;
  const char *pattern;
} attributes[] = {
  /* The firmware may give caches and packages numbers of 32 bits. */
  { "os_index", "^[0-9]{1,10}$" },
  { "name", NULL },
  { "subtype", NULL },
  { "cache_size", "^[0-9]{1,18}$" },
  { "cache_linesize", "^[0-9]{1,9}$" },
  { "cache_associativity", "^-?[0-9]{1,9}$" },
  { "local_memory", "^[0-9]{1,18}$" },
  { "kind", "^[0-9]{1,9}$" },
  { "subkind", "^[0-9]{1,9}$" },
  { "pci_busid", "^[0-9a-fA-F]{1,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\\.[0-9a-fA-F]$" },
  { "pci_type", "^[0-9a-fA-F]{1,4} \\[[0-9a-fA-F]{4}:[0-9a-fA-F]{4}\\] "
                "\\[[0-9a-fA-F]{4}:[0-9a-fA-F]{4}\\] [0-9a-fA-F]{2}$" },
  { "pci_link_speed", "^[0-9]{1,9}(\\.[0-9]{1,9})?$" },
  { "bridge_type", "^[01]-1$" },
  { "bridge_pci", "^[0-9a-fA-F]{1,8}:\\[[0-9a-fA-F]{2}-[0-9a-fA-F]{2}\\]$" },
  { "osdev_type", "^[0-9]$" },
};

/* An object that is open. Those of I/O have no sets. */
typedef struct
{
  const Type *type;
  hwloc_bitmap_t sets[N_SETS];
  hwloc_bitmap_t covered[2]; /* cpuset and complete_cpuset of the normal children together */
  guint n_children;
} Object;

typedef struct
{
  GString *text;
  GHashTable *forms;    /* pattern -> GRegex: each is compiled once */
  GPtrArray *objects;   /* Object, from the root to the one that is read */
  hwloc_bitmap_t nodes; /* NUMA nodes that were there */
  guint n_objects;      /* so far */
  guint skipped;        /* elements that are open and do not go to hwloc */
  gboolean in_topology;
  gboolean has_root;
} Reader;

static void
object_free (gpointer data)
{
  Object *self = data;

  for (gsize i = 0; i < N_SETS; i++)
    hwloc_bitmap_free (self->sets[i]);
  for (gsize i = 0; i < G_N_ELEMENTS (self->covered); i++)
    hwloc_bitmap_free (self->covered[i]);
  g_free (self);
}

static gboolean G_GNUC_PRINTF (2, 3) set_wrong (GError **error, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error_literal (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED, text);
  return FALSE;
}

static const char *
find_value (const char **names, const char **values, const char *name)
{
  for (gsize i = 0; names[i] != NULL; i++)
    if (strcmp (names[i], name) == 0)
      return values[i];
  return NULL;
}

static gboolean
is_type (const Type *type, const char *name)
{
  return strcmp (type->name, name) == 0;
}

/* The parser of hwloc knows only some of the escapes. */
static void
write_attribute (GString *text, const char *name, const char *value)
{
  g_string_append_printf (text, " %s=\"", name);
  for (const char *c = value; *c != '\0'; c++)
    if (*c == '&')
      g_string_append (text, "&amp;");
    else if (*c == '<')
      g_string_append (text, "&lt;");
    else if (*c == '>')
      g_string_append (text, "&gt;");
    else if (*c == '"')
      g_string_append (text, "&quot;");
    else
      g_string_append_c (text, (guchar)*c < ' ' || *c == 0x7f ? ' ' : *c);
  g_string_append_c (text, '"');
}

/* ---- sets ---- */

/* pattern: a constant */
static gboolean
has_form (Reader *self, const char *pattern, const char *text)
{
  GRegex *regex = g_hash_table_lookup (self->forms, pattern);

  if (regex == NULL)
    {
      regex = g_regex_new (pattern, G_REGEX_DOLLAR_ENDONLY, 0, NULL);
      g_hash_table_insert (self->forms, (gpointer)pattern, regex);
    }
  return g_regex_match (regex, text, 0, NULL);
}

/* (transfer full) (nullable): NULL with an error */
static hwloc_bitmap_t
read_set (Reader *self, const Type *type, const char **names, const char **values, Set which, GError **error)
{
  const char *name = set_names[which];
  const char *text = find_value (names, values, name);
  hwloc_bitmap_t set;

  if (text == NULL)
    {
      set_wrong (error, "the %s has no %s", type->name, name);
      return NULL;
    }
  set = hwloc_bitmap_alloc ();
  /* The form is checked first: hwloc takes any text for some number. */
  if (strlen (text) <= MOST_OF_SET && has_form (self, SET_PATTERN, text) && hwloc_bitmap_sscanf (set, text) == 0
      && (which >= N_SETS || hwloc_bitmap_iszero (set)
          || (hwloc_bitmap_last (set) >= 0 && hwloc_bitmap_last (set) <= DVMD_TOPOLOGY_LARGEST_CPU)))
    return set;
  hwloc_bitmap_free (set);
  set_wrong (error, "the %s of the %s is no set of numbers from 0 to %d, such as 0x0000000f", name, type->name,
             DVMD_TOPOLOGY_LARGEST_CPU);
  return NULL;
}

static void
write_set (GString *text, const char *name, hwloc_const_bitmap_t set)
{
  char *value = NULL;

  if (hwloc_bitmap_asprintf (&value, set) >= 0)
    write_attribute (text, name, value);
  free (value);
}

/* Of the root: without a word of what is allowed, all is. */
static gboolean
write_allowed (Reader *self, const Object *root, const char **names, const char **values, GError **error)
{
  for (Set which = ALLOWED_CPUSET; which < N_ALL_SETS; which++)
    {
      hwloc_const_bitmap_t all = root->sets[which == ALLOWED_CPUSET ? CPUSET : NODESET];
      hwloc_bitmap_t allowed = find_value (names, values, set_names[which]) != NULL
                                   ? read_set (self, root->type, names, values, which, error)
                                   : hwloc_bitmap_dup (all);
      gboolean empty;

      if (allowed == NULL)
        return FALSE;
      hwloc_bitmap_and (allowed, allowed, all);
      empty = hwloc_bitmap_iszero (allowed);
      write_set (self->text, set_names[which], allowed);
      hwloc_bitmap_free (allowed);
      if (empty)
        return set_wrong (error, "the %s of the %s has none of its %s", set_names[which], root->type->name,
                          which == ALLOWED_CPUSET ? "hardware threads" : "NUMA nodes");
    }
  return TRUE;
}

static gboolean
is_only (hwloc_const_bitmap_t set, const char *index)
{
  return index != NULL && hwloc_bitmap_weight (set) == 1
         && (guint64)hwloc_bitmap_first (set) == g_ascii_strtoull (index, NULL, 10);
}

static gboolean
check_in_parent (const Object *object, const Object *parent, GError **error)
{
  for (Set i = 0; i < N_SETS; i++)
    if (!hwloc_bitmap_isincluded (object->sets[i], parent->sets[i]))
      return set_wrong (error, "the %s of the %s is not within that of the %s around it", set_names[i],
                        object->type->name, parent->type->name);
  if (object->type->class == MEMORY)
    return hwloc_bitmap_isequal (object->sets[CPUSET], parent->sets[CPUSET])
               ? TRUE
               : set_wrong (error, "the cpuset of the %s is not that of the %s around it", object->type->name,
                            parent->type->name);
  for (gsize i = 0; i < G_N_ELEMENTS (parent->covered); i++)
    {
      if (hwloc_bitmap_intersects (object->sets[i], parent->covered[i]))
        return set_wrong (error, "the %s of the %s has what another one in the same %s has", set_names[i],
                          object->type->name, parent->type->name);
      hwloc_bitmap_or (parent->covered[i], parent->covered[i], object->sets[i]);
    }
  return TRUE;
}

static gboolean
check_sets (Reader *self, const Object *object, const Object *parent, const char *index, GError **error)
{
  const Type *type = object->type;

  for (Set i = CPUSET; i <= NODESET; i += NODESET)
    if (!hwloc_bitmap_isincluded (object->sets[i], object->sets[i + 1]))
      return set_wrong (error, "the %s of the %s is not within its %s", set_names[i], type->name, set_names[i + 1]);
  if (is_type (type, "PU")
      && (!is_only (object->sets[CPUSET], index) || !is_only (object->sets[COMPLETE_CPUSET], index)))
    return set_wrong (error, "cpuset and complete_cpuset of a PU have its os_index, and nothing else");
  if (is_type (type, "NUMANode"))
    {
      if (!is_only (object->sets[NODESET], index) || !is_only (object->sets[COMPLETE_NODESET], index))
        return set_wrong (error, "nodeset and complete_nodeset of a NUMANode have its os_index, and nothing else");
      if (hwloc_bitmap_intersects (self->nodes, object->sets[NODESET]))
        return set_wrong (error, "there are two NUMANodes of os_index %s", index);
      hwloc_bitmap_or (self->nodes, self->nodes, object->sets[NODESET]);
    }
  return parent == NULL || check_in_parent (object, parent, error);
}

/* ---- objects ---- */

static Object *
get_parent (Reader *self)
{
  return self->objects->len > 0 ? self->objects->pdata[self->objects->len - 1] : NULL;
}

static gboolean
check_place (Reader *self, const Type *type, Object *parent, GError **error)
{
  if (parent == NULL)
    return (!self->has_root && is_type (type, "Machine"))
               ? TRUE
               : set_wrong (error, "the one object that is in no other one is a Machine");
  if (is_type (type, "Machine"))
    return set_wrong (error, "a Machine is in no other object");
  /* Memory is in normal objects or in its caches; devices are in normal objects or on buses. */
  if (parent->type->class != NORMAL && (parent->type->class != type->class || is_type (parent->type, "NUMANode")))
    return set_wrong (error, "a %s cannot be in a %s", type->name, parent->type->name);
  if (type->class == NORMAL && is_type (parent->type, "PU"))
    return set_wrong (error, "a %s cannot be in a PU", type->name);
  for (guint i = 0; !type->nests && i < self->objects->len; i++)
    if (((Object *)self->objects->pdata[i])->type == type)
      return set_wrong (error, "a %s cannot be in a %s", type->name, type->name);
  if (self->objects->len >= MOST_LEVELS || ++parent->n_children > MOST_CHILDREN)
    return set_wrong (error, "objects are nested %d deep at most, and have %d others in them at most", MOST_LEVELS,
                      MOST_CHILDREN);
  if (++self->n_objects > MOST_OBJECTS)
    return set_wrong (error, "it has more than %d objects", MOST_OBJECTS);
  return TRUE;
}

/* (transfer full): the beginning, for messages */
static char *
cut (const char *value)
{
  return g_utf8_substring (value, 0, MIN (g_utf8_strlen (value, -1), MOST_SHOWN));
}

static gboolean
write_attributes (Reader *self, const Type *type, const char **names, const char **values, GError **error)
{
  const char *needed = is_type (type, "PU") || is_type (type, "NUMANode") ? "os_index"
                       : is_type (type, "OSDev")                          ? "osdev_type"
                       : is_type (type, "PCIDev")                         ? "pci_busid"
                       : is_type (type, "Bridge")                         ? "bridge_type"
                                                                          : NULL;

  if (needed != NULL && find_value (names, values, needed) == NULL)
    return set_wrong (error, "the %s has no %s", type->name, needed);
  g_string_append_printf (self->text, "<object type=\"%s\"", type->name);
  if (type->cache_level > 0)
    g_string_append_printf (self->text, " depth=\"%u\" cache_type=\"%u\"", type->cache_level,
                            (guint)(type->name[2] == 'i' ? HWLOC_OBJ_CACHE_INSTRUCTION : HWLOC_OBJ_CACHE_UNIFIED));
  for (gsize i = 0; i < G_N_ELEMENTS (attributes); i++)
    {
      const char *value = find_value (names, values, attributes[i].name);

      if (value == NULL)
        continue;
      if (attributes[i].pattern != NULL && !has_form (self, attributes[i].pattern, value))
        {
          g_autofree char *shown = cut (value);

          return set_wrong (error, "the %s of the %s is “%s”, which hwloc does not write", attributes[i].name,
                            type->name, shown);
        }
      write_attribute (self->text, attributes[i].name, value);
    }
  return TRUE;
}

static gboolean
read_sets (Reader *self, Object *object, const char **names, const char **values, GError **error)
{
  for (Set i = 0; i < N_SETS; i++)
    {
      object->sets[i] = read_set (self, object->type, names, values, i, error);
      if (object->sets[i] == NULL)
        return FALSE;
      write_set (self->text, set_names[i], object->sets[i]);
    }
  for (gsize i = 0; i < G_N_ELEMENTS (object->covered); i++)
    object->covered[i] = hwloc_bitmap_alloc ();
  return TRUE;
}

static gboolean
open_object (Reader *self, const char **names, const char **values, GError **error)
{
  const char *name = find_value (names, values, "type");
  Object *parent = get_parent (self);
  const Type *type = NULL;
  Object *object;

  for (gsize i = 0; name != NULL && i < G_N_ELEMENTS (types); i++)
    if (is_type (&types[i], name))
      type = &types[i];
  if (type == NULL)
    {
      g_autofree char *shown = name != NULL ? cut (name) : NULL;

      return shown != NULL ? set_wrong (error, "“%s” is no type of an object", shown)
                           : set_wrong (error, "the object has no type");
    }
  if (!check_place (self, type, parent, error) || !write_attributes (self, type, names, values, error))
    return FALSE;
  object = g_new0 (Object, 1);
  object->type = type;
  g_ptr_array_add (self->objects, object);
  self->has_root = TRUE;
  if (type->class != IO
      && (!read_sets (self, object, names, values, error)
          || !check_sets (self, object, parent, find_value (names, values, "os_index"), error)))
    return FALSE;
  if (parent == NULL && !write_allowed (self, object, names, values, error))
    return FALSE;
  g_string_append (self->text, ">\n");
  return TRUE;
}

static gboolean
close_object (Reader *self, GError **error)
{
  Object *object = get_parent (self);

  if (object->type->class == NORMAL && !is_type (object->type, "PU")
      && !hwloc_bitmap_isequal (object->sets[CPUSET], object->covered[CPUSET]))
    return set_wrong (error, "the cpuset of the %s is not that of the objects in it together", object->type->name);
  if (self->objects->len == 1 && !hwloc_bitmap_isequal (object->sets[NODESET], self->nodes))
    return set_wrong (error, "the nodeset of the %s is not that of its NUMANodes", object->type->name);
  if (self->objects->len == 1 && hwloc_bitmap_iszero (self->nodes))
    return set_wrong (error, "the %s has no NUMANode", object->type->name);
  g_string_append (self->text, "</object>\n");
  g_ptr_array_remove_index (self->objects, self->objects->len - 1);
  return TRUE;
}

/* ---- elements ---- */

static gboolean
open_topology (Reader *self, const char **names, const char **values, GError **error)
{
  const char *version = find_value (names, values, "version");

  if (version == NULL || version[0] != '2' || g_ascii_isdigit (version[1]))
    return set_wrong (error, "it was written by another version of hwloc than 2: have “lstopo” of version 2 read it, "
                             "and write it again");
  self->in_topology = TRUE;
  return TRUE;
}

static gboolean
open_element (Reader *self, const char *element, const char **names, const char **values, GError **error)
{
  if (!self->in_topology)
    return strcmp (element, "topology") == 0
               ? open_topology (self, names, values, error)
               : set_wrong (error, "the first element is “%s”, and not “topology”", element);
  /* Placement does not need distances, kinds of cpus, values of memory, and objects that only remark something. */
  if (self->skipped > 0 || (strcmp (element, "object") != 0 && strcmp (element, "info") != 0)
      || g_strcmp0 (find_value (names, values, "type"), "Misc") == 0)
    {
      self->skipped++;
      return TRUE;
    }
  if (strcmp (element, "object") == 0)
    return open_object (self, names, values, error);
  self->skipped++;
  if (get_parent (self) == NULL || find_value (names, values, "name") == NULL
      || find_value (names, values, "value") == NULL)
    return TRUE;
  if (get_parent (self)->n_children > 0)
    return set_wrong (error, "an info follows the objects in its %s: it goes before them",
                      get_parent (self)->type->name);
  g_string_append (self->text, "<info");
  write_attribute (self->text, "name", find_value (names, values, "name"));
  write_attribute (self->text, "value", find_value (names, values, "value"));
  g_string_append (self->text, "/>\n");
  return TRUE;
}

static void
start_element (GMarkupParseContext *context, const char *element, const char **names, const char **values,
               gpointer user_data, GError **error)
{
  int line = 0;

  if (open_element (user_data, element, names, values, error))
    return;
  g_markup_parse_context_get_position (context, &line, NULL);
  g_prefix_error (error, "line %d: ", line);
}

static void
end_element (GMarkupParseContext *context, const char *element, gpointer user_data, GError **error)
{
  Reader *self = user_data;
  int line = 0;

  if (self->skipped > 0)
    self->skipped--;
  else if (strcmp (element, "object") == 0 && !close_object (self, error))
    {
      g_markup_parse_context_get_position (context, &line, NULL);
      g_prefix_error (error, "line %d: ", line);
    }
}

char *
dvmd_topology_xml_clean (const char *xml, gsize length, GError **error)
{
  static const GMarkupParser parser = { .start_element = start_element, .end_element = end_element };
  Reader self = { 0 };
  GMarkupParseContext *context = g_markup_parse_context_new (&parser, 0, &self, NULL);
  g_autoptr (GError) local = NULL;

  self.text = g_string_new ("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<topology version=\"2.0\">\n");
  self.forms = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_regex_unref);
  self.objects = g_ptr_array_new_with_free_func (object_free);
  self.nodes = hwloc_bitmap_alloc ();
  if (g_markup_parse_context_parse (context, xml, (gssize)length, &local)
      && g_markup_parse_context_end_parse (context, &local) && !self.has_root)
    set_wrong (&local, "it has no objects");
  g_markup_parse_context_free (context);
  g_ptr_array_unref (self.objects);
  g_hash_table_unref (self.forms);
  hwloc_bitmap_free (self.nodes);
  g_string_append (self.text, "</topology>\n");
  if (local == NULL)
    return g_string_free (self.text, FALSE);
  g_string_free (self.text, TRUE);
  g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED,
               "The text is not the XML of an hwloc topology, as “lstopo --of xml” writes it: %s", local->message);
  return NULL;
}
