/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The a{sv} of Manager.Allocate is read and checked.
 */

#include "config.h"

#include "dvmd-size-request.h"

#include <string.h>

/* ---- keys ---- */

typedef enum
{
  FOR_GROW = 1 << 0,
  FOR_SHRINK = 1 << 1,
  FOR_CANCEL = 1 << 2,
  FOR_REAQUIRE = 1 << 3,
  FOR_ALL = FOR_GROW | FOR_SHRINK | FOR_CANCEL | FOR_REAQUIRE,
} Use;

typedef struct
{
  const char *name;
  const char *type;
  Use use;
} Key;

/* The key “inheritance” is passed over where no allocation is made or changed (R14). */
static const Key keys[] = {
  { "alloc-id", "s", FOR_ALL },
  { "of-req-id", "s", FOR_ALL },
  { "session", "u", FOR_ALL },
  { "req-id", "s", FOR_ALL },
  { "inheritance", "s", FOR_ALL },
  { "hosts", "as", FOR_GROW | FOR_SHRINK | FOR_REAQUIRE },
  { "hostfile", "s", FOR_GROW | FOR_SHRINK | FOR_REAQUIRE },
  { "count", "u", FOR_GROW },
  { "share", "b", FOR_GROW },
  { "target", "s", FOR_GROW },
  { "time", "u", FOR_GROW },
  { "warn-timeout", "u", FOR_GROW },
  { "child-separate", "b", FOR_GROW },
  { "drain-timeout", "u", FOR_SHRINK },
};

static const Key *
find_key (const char *name)
{
  for (gsize i = 0; i < G_N_ELEMENTS (keys); i++)
    if (strcmp (keys[i].name, name) == 0)
      return &keys[i];
  return NULL;
}

static char *
list_keys (Use use)
{
  GString *text = g_string_new (NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (keys); i++)
    if (keys[i].use & use)
      g_string_append_printf (text, "%s%s", text->len > 0 ? ", " : "", keys[i].name);
  return g_string_free (text, FALSE);
}

static gboolean
check_key (const char *directive, Use use, const char *name, GVariant *value, GError **error)
{
  const Key *key = find_key (name);

  if (key == NULL || (key->use & use) == 0)
    {
      g_autofree char *known = list_keys (use);

      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "“%s” is no key of a request “%s”: there are %s", name,
                   directive, known);
    }
  else if (!g_variant_is_of_type (value, G_VARIANT_TYPE (key->type)))
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "“%s” is of type %s, not %s", name, key->type,
                 g_variant_get_type_string (value));
  else
    return TRUE;
  return FALSE;
}

static gboolean
check_keys (const char *directive, Use use, GVariant *request, GError **error)
{
  GVariantIter iter;
  const char *name;
  GVariant *value;

  g_variant_iter_init (&iter, request);
  while (g_variant_iter_next (&iter, "{&sv}", &name, &value))
    {
      gboolean good = check_key (directive, use, name, value, error);

      g_variant_unref (value);
      if (!good)
        return FALSE;
    }
  return TRUE;
}

/* ---- directives ---- */

typedef struct
{
  const char *name;
  DvmdSizeKind kind;
  Use use;
} Directive;

static const Directive directives[] = {
  { "new", DVMD_SIZE_GROW, FOR_GROW },        { "extend", DVMD_SIZE_GROW, FOR_GROW },
  { "grow", DVMD_SIZE_GROW, FOR_GROW },       { "release", DVMD_SIZE_SHRINK, FOR_SHRINK },
  { "cancel", DVMD_SIZE_CANCEL, FOR_CANCEL }, { "reaquire", DVMD_SIZE_GROW, FOR_REAQUIRE },
};

static const Directive *
find_directive (const char *name, GError **error)
{
  for (gsize i = 0; i < G_N_ELEMENTS (directives); i++)
    if (strcmp (directives[i].name, name) == 0)
      return &directives[i];
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               "“%s” is no directive: there are new, extend, release, reaquire and cancel", name);
  return NULL;
}

/* ---- what belongs together ---- */

/* NULL and "" are the same: nothing. */
static char *
take_text (GVariant *request, const char *key)
{
  const char *text = NULL;

  g_variant_lookup (request, key, "&s", &text);
  return text != NULL && text[0] != '\0' ? g_strdup (text) : NULL;
}

gboolean
dvmd_size_request_read_hosts (GVariant *request, DvmHostsRead *read, DvmHosts **hosts, GError **error)
{
  g_autofree const char **lists = NULL;
  g_autofree char *hostfile = take_text (request, "hostfile");

  *hosts = NULL;
  g_variant_lookup (request, "hosts", "^a&s", &lists);
  if (hostfile != NULL && !g_path_is_absolute (hostfile))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "“hostfile”: “%s” is not an absolute path", hostfile);
      return FALSE;
    }
  if (lists == NULL && hostfile == NULL)
    return TRUE;
  *hosts = _dvm_hosts_read_new (lists, hostfile, "hosts", read, error);
  return *hosts != NULL;
}

static gboolean
refuse (GError **error, const char *why)
{
  g_set_error_literal (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, why);
  return FALSE;
}

static gboolean
is (const char *directive, const char *word)
{
  return strcmp (directive, word) == 0;
}

/* Keys that select an allocation must be there where one is meant, and only there. */
static gboolean
check_selection (DvmdSizeRequest *self, const char *directive, GError **error)
{
  gboolean by_id = self->alloc_id != NULL || self->of_req_id != NULL;
  gboolean selects = by_id || (self->has_session && !self->is_new);

  if (self->has_session && self->session == 0 && !self->is_new)
    {
      g_set_error_literal (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                           "“session” is 0, the default session, which is not an allocation");
      return FALSE;
    }
  if (is (directive, "new") && by_id)
    return refuse (error, "A new allocation gets an id: “alloc-id” and “of-req-id” select one that there is already, "
                          "for “extend”");
  if (is (directive, "extend") && !selects)
    return refuse (error, "“extend” needs “alloc-id”, “of-req-id” or “session”: which allocation is to become larger");
  if (is (directive, "reaquire") && !selects)
    return refuse (error, "“reaquire” needs “alloc-id”, “of-req-id” or “session”: which allocation gets nodes back");
  if (is (directive, "cancel") && !selects)
    return refuse (error, "Nothing says what is to be cancelled: give “alloc-id”, “of-req-id” or “session”");
  if (self->kind == DVMD_SIZE_SHRINK && self->hosts == NULL && !selects)
    return refuse (error, "Nothing says what is to be released: give “alloc-id”, “of-req-id”, “session” or “hosts”");
  return TRUE;
}

static gboolean
check_grow (DvmdSizeRequest *self, gboolean has_count, GError **error)
{
  gboolean names_nodes = self->hosts != NULL || self->count > 0;
  gboolean changes = self->has_time || self->has_warn_timeout || self->inheritance_given;

  if (has_count && self->count == 0)
    return refuse (error, "“count” is 0: it is the number of nodes that are wanted, 1 or more");
  if (self->hosts != NULL && self->count > 0)
    return refuse (error, "“count” asks for any nodes, “hosts” and “hostfile” for named ones: give the one or the "
                          "other");
  if (self->is_new && !names_nodes)
    return refuse (error, "Nothing says by which nodes the DVM is to grow: give “hosts”, “hostfile” or “count”");
  if (!self->is_new && !self->reaquire && !names_nodes && !changes)
    return refuse (error, "Nothing says what is to be extended: give “hosts”, “hostfile”, “count”, “time”, "
                          "“warn-timeout” or “inheritance”");
  return TRUE;
}

static void
read_choices (DvmdSizeRequest *self, GVariant *request)
{
  self->has_session = g_variant_lookup (request, "session", "u", &self->session);
  self->has_time = g_variant_lookup (request, "time", "u", &self->time);
  self->has_warn_timeout = g_variant_lookup (request, "warn-timeout", "u", &self->warn_timeout);
  self->target = take_text (request, "target");
  self->share_given = g_variant_lookup (request, "share", "b", &self->share);
  /* Jobs that say nothing of sessions use what is added, unless somebody is to have it (D19). */
  if (!self->share_given)
    self->share = self->is_new && self->target == NULL && !self->has_session;
  g_variant_lookup (request, "child-separate", "b", &self->child_separate);
  g_variant_lookup (request, "drain-timeout", "u", &self->drain_timeout);
}

static gboolean
read_inheritance (DvmdSizeRequest *self, GVariant *request, GError **error)
{
  const char *word = NULL;

  if (!g_variant_lookup (request, "inheritance", "&s", &word))
    return TRUE;
  self->inheritance_given = TRUE;
  return dvmd_inheritance_parse (word, &self->inheritance, error);
}

DvmdSizeRequest *
dvmd_size_request_new (const char *directive, GVariant *request, DvmHosts *hosts, GError **error)
{
  g_autoptr (DvmHosts) read = hosts;
  const Directive *known = find_directive (directive, error);
  g_autoptr (DvmdSizeRequest) self = NULL;
  gboolean has_count;

  if (known == NULL || !check_keys (directive, known->use, request, error))
    return NULL;
  self = g_new0 (DvmdSizeRequest, 1);
  self->kind = known->kind;
  self->req_id = take_text (request, "req-id");
  self->alloc_id = take_text (request, "alloc-id");
  self->of_req_id = take_text (request, "of-req-id");
  self->reaquire = is (directive, "reaquire");
  self->is_new = known->use == FOR_GROW && self->alloc_id == NULL && self->of_req_id == NULL
                 && !is (directive, "extend");
  read_choices (self, request);
  has_count = g_variant_lookup (request, "count", "u", &self->count);
  self->hosts = g_steal_pointer (&read);
  if (!read_inheritance (self, request, error)
      || (self->hosts == NULL && !dvmd_size_request_read_hosts (request, NULL, &self->hosts, error))
      || !check_selection (self, directive, error)
      || (self->kind == DVMD_SIZE_GROW && !check_grow (self, has_count, error)))
    return NULL;
  return g_steal_pointer (&self);
}

void
dvmd_size_request_free (DvmdSizeRequest *self)
{
  g_free (self->req_id);
  g_free (self->alloc_id);
  g_free (self->of_req_id);
  g_free (self->target);
  g_clear_pointer (&self->hosts, _dvm_hosts_free);
  g_free (self);
}

const char **
dvmd_size_request_list_hosts (DvmdSizeRequest *self)
{
  guint n = self->hosts != NULL ? _dvm_hosts_get_n (self->hosts) : 0;
  const char **names = n > 0 ? g_new0 (const char *, n + 1) : NULL;

  for (guint i = 0; i < n; i++)
    names[i] = _dvm_hosts_get (self->hosts, i)->name;
  return names;
}
