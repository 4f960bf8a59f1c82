/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Requests of clients and tools for nodes: PMIx's words made those of Allocate on the bus, and the answer taken back.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-alloc.h"

#include "dvm.h"
#include "dvmd-pmix-calls.h"
#include "dvmd-pmix-info.h"
#include "dvmd-pmix-inner.h"
#include "dvmd-pmix-read.h"
#include "dvmd-pmix-supported.h"

#include <string.h>

#define ALLOC_KEYS "pmix.alloc."

static const char *
find_directive (pmix_alloc_directive_t directive)
{
  switch (directive)
    {
    case PMIX_ALLOC_NEW:
      return "new";
    case PMIX_ALLOC_EXTEND:
      return "extend";
    case PMIX_ALLOC_RELEASE:
      return "release";
    case PMIX_ALLOC_REAQUIRE:
      return "reaquire";
    case PMIX_ALLOC_REQ_CANCEL:
      return "cancel";
    default:
      return NULL;
    }
}

static gboolean
refuse_attribute (const pmix_info_t *info, GError **error, const char *what)
{
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s is not %s", info->key, what);
  return FALSE;
}

static gboolean
take_string (GVariantDict *request, const char *name, const pmix_info_t *info, GError **error)
{
  const char *text = dvmd_pmix_read_text (info, error);

  if (text == NULL)
    return FALSE;
  g_variant_dict_insert (request, name, "s", text);
  return TRUE;
}

static gboolean
take_number (GVariantDict *request, const char *name, const pmix_info_t *info, GError **error)
{
  guint32 number;

  if (!dvmd_pmix_read_number (info, &number, error))
    return FALSE;
  g_variant_dict_insert (request, name, "u", number);
  return TRUE;
}

static gboolean
take_bool (GVariantDict *request, const char *name, const pmix_info_t *info, GError **error)
{
  if (info->value.type != PMIX_BOOL && info->value.type != PMIX_UNDEF)
    return refuse_attribute (info, error, "yes or no");
  g_variant_dict_insert (request, name, "b", PMIX_INFO_TRUE (info));
  return TRUE;
}

/* A name of 255 characters at most; both types are used for it. */
static gboolean
take_nspace (GVariantDict *request, const char *name, const pmix_info_t *info, GError **error)
{
  const pmix_nspace_t *nspace = info->value.type == PMIX_PROC_NSPACE ? info->value.data.nspace : NULL;

  if (nspace == NULL)
    return take_string (request, name, info, error);
  if (!g_utf8_validate (*nspace, -1, NULL))
    return refuse_attribute (info, error, "a text in UTF-8");
  g_variant_dict_insert (request, name, "s", *nspace);
  return TRUE;
}

/* "[[[[months:]days:]hours:]minutes:]seconds", read from the right. */
static gboolean
parse_time (const char *text, guint32 *seconds)
{
  static const guint64 units[] = { 1, 60, 60 * 60, 24 * 60 * 60, 30 * 24 * 60 * 60 };
  g_auto (GStrv) parts = g_strsplit (text, ":", -1);
  guint n = g_strv_length (parts);
  guint64 sum = 0;

  if (n == 0 || n > G_N_ELEMENTS (units))
    return FALSE;
  for (guint i = 0; i < n; i++)
    {
      guint64 part;

      if (!g_ascii_string_to_unsigned (parts[n - 1 - i], 10, 0, G_MAXUINT32, &part, NULL))
        return FALSE;
      sum += part * units[i];
    }
  *seconds = (guint32)MIN (sum, G_MAXUINT32);
  return sum <= G_MAXUINT32;
}

/* A number of seconds in older headers, a text in newer ones. */
static gboolean
take_time (GVariantDict *request, const char *name, const pmix_info_t *info, GError **error)
{
  guint32 seconds;

  if (info->value.type != PMIX_STRING)
    return take_number (request, name, info, error);
  if (info->value.data.string == NULL || !parse_time (info->value.data.string, &seconds))
    return refuse_attribute (info, error, "a time, as in “90”, “1:30” or “2:00:00”");
  g_variant_dict_insert (request, name, "u", seconds);
  return TRUE;
}

static gboolean
take_inheritance (GVariantDict *request, const char *name, const pmix_info_t *info, GError **error)
{
  static const char *const words[] = {
    [PMIX_ALLOC_INHERIT_NONE] = "none",
    [PMIX_ALLOC_INHERIT_CHILD] = "child",
    [PMIX_ALLOC_INHERIT_DEFAULT] = "default",
    [PMIX_ALLOC_INHERIT_CHILD_DEFAULT] = "child-default",
  };
  guint32 number = 0;

#ifdef DVMD_PMIX_HAS_INHERITANCE_TYPE
  if (info->value.type == PMIX_ALLOC_INHERIT)
    number = info->value.data.inheritance;
  else
#endif
      if (!dvmd_pmix_read_number (info, &number, error))
    return FALSE;
  if (number >= G_N_ELEMENTS (words) || words[number] == NULL)
    return refuse_attribute (info, error, "one of the four ways of inheritance, 1 to 4");
  g_variant_dict_insert (request, name, "s", words[number]);
  return TRUE;
}

/* A list that PMIx_generate_regex() made begins with the name of its component, which alone can read it. */
static gboolean
is_regex (const char *list)
{
  return g_str_has_prefix (list, "pmix[") || g_str_has_prefix (list, "pmix:") || g_str_has_prefix (list, "blob:")
         || g_str_has_prefix (list, "raw:");
}

/* Both the list of an allocation and that of hosts to be added; a request may have both. */
static gboolean
take_hosts (GPtrArray *hosts, const pmix_info_t *info, GError **error)
{
  const char *list = dvmd_pmix_read_text (info, error);
  g_auto (GStrv) names = NULL;

  if (list == NULL)
    return FALSE;
  if (is_regex (list))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                   "%s: “%s” is a regular expression of PMIx; give the names of the nodes, with commas between them",
                   info->key, list);
      return FALSE;
    }
  names = g_strsplit (list, ",", -1);
  for (char **name = names; *name != NULL; name++)
    g_ptr_array_add (hosts, g_strdup (g_strstrip (*name)));
  return TRUE;
}

/*
 * An attribute of allocations that is not supported is refused; anything else that the host need not heed is passed
 * over, as PMIx has it.
 */
static gboolean
take_other (const pmix_info_t *info, GError **error)
{
  if (g_str_has_prefix (info->key, ALLOC_KEYS) || (info->flags & PMIX_INFO_REQD) != 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, "Nodes cannot be asked for by %s here", info->key);
      return FALSE;
    }
  g_debug ("%s of an allocation request is not heeded", info->key);
  return TRUE;
}

typedef struct
{
  const char *key;
  const char *name;
  gboolean (*take) (GVariantDict *request, const char *name, const pmix_info_t *info, GError **error);
} Item;

static const Item items[] = {
  { PMIX_ALLOC_ID, "alloc-id", take_string },
  { PMIX_ALLOC_REQ_ID, "req-id", take_string },
  { PMIX_ADD_HOSTFILE, "hostfile", take_string },
  { PMIX_ALLOC_NUM_NODES, "count", take_number },
  { PMIX_ALLOC_TIME, "time", take_time },
  { PMIX_ALLOC_WARN_TIMEOUT, "warn-timeout", take_number },
  { PMIX_ALLOC_SHARE, "share", take_bool },
  { PMIX_ALLOC_TARGET, "target", take_nspace },
  { PMIX_ALLOC_INHERITANCE, "inheritance", take_inheritance },
  { PMIX_ALLOC_CHILD_SEP, "child-separate", take_bool },
  { PMIX_SESSION_ID, "session", take_number },
};

void
dvmd_pmix_list_alloc_keys (GPtrArray *keys)
{
  dvmd_pmix_add_keys (keys, items, G_N_ELEMENTS (items), sizeof items[0]);
  g_ptr_array_add (keys, (char *)PMIX_ALLOC_NODE_LIST);
  g_ptr_array_add (keys, (char *)PMIX_ADD_HOST);
}

gboolean
dvmd_pmix_take_resource (GVariantDict *request, GPtrArray *hosts, const pmix_info_t *info, GError **error)
{
  for (gsize i = 0; i < G_N_ELEMENTS (items); i++)
    if (g_str_equal (info->key, items[i].key))
      return items[i].take (request, items[i].name, info, error);
  if (g_str_equal (info->key, PMIX_ALLOC_NODE_LIST) || g_str_equal (info->key, PMIX_ADD_HOST))
    return take_hosts (hosts, info, error);
  return take_other (info, error);
}

/* The id that a client gave to its request of before also names what came of it. */
static void
name_allocation (GVariantDict *request)
{
  const char *id;

  if (!g_variant_dict_contains (request, "alloc-id") && !g_variant_dict_contains (request, "session")
      && g_variant_dict_lookup (request, "req-id", "&s", &id))
    g_variant_dict_insert (request, "of-req-id", "s", id);
}

GVariant *
dvmd_pmix_read_allocation (pmix_alloc_directive_t directive, const pmix_info_t *info, gsize n, const char **word,
                           GError **error)
{
  g_auto (GVariantDict) request;
  g_autoptr (GPtrArray) hosts = g_ptr_array_new_with_free_func (g_free);

  g_variant_dict_init (&request, NULL);
  *word = find_directive (directive);
  if (*word == NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, "Nothing is known that directive %u asks for",
                   (guint)directive);
      return NULL;
    }
  for (gsize i = 0; i < n; i++)
    if (!dvmd_pmix_take_resource (&request, hosts, &info[i], error))
      return NULL;
  if (hosts->len > 0)
    {
      g_variant_dict_insert_value (&request, "hosts",
                                   g_variant_new_strv ((const char *const *)hosts->pdata, hosts->len));
    }
  if (directive != PMIX_ALLOC_NEW)
    name_allocation (&request);
  /* The default is that of PMIx here, not that of the bus: nodes are reserved. */
  else if (!g_variant_dict_contains (&request, "share"))
    g_variant_dict_insert (&request, "share", "b", FALSE);
  return g_variant_ref_sink (g_variant_dict_end (&request));
}

/* ---- on the main context ---- */

static void
release_info (void *data)
{
  DvmdPmixInfo *info = data;

  dvmd_pmix_info_clear (info);
  g_free (info);
}

/* (ssu): the ids of the allocation and of the request, and the session */
void
dvmd_pmix_answer_allocation (const DvmdPmixCall *call, int status, GVariant *answer)
{
  DvmdPmixInfo *info = g_new0 (DvmdPmixInfo, 1);
  const char *alloc_id = "";
  const char *req_id = "";
  guint32 session = 0;

  if (answer != NULL)
    g_variant_get (answer, "(&s&su)", &alloc_id, &req_id, &session);
  /* An answer for several sessions has no id. */
  if (alloc_id[0] != '\0')
    {
      dvmd_pmix_info_add_string (info, PMIX_ALLOC_ID, alloc_id);
      dvmd_pmix_info_add_string (info, PMIX_ALLOC_REQ_ID, req_id[0] != '\0' ? req_id : NULL);
      dvmd_pmix_info_add_uint32 (info, PMIX_SESSION_ID, session);
    }
  call->callback.info (status, info->items, info->length, call->callback_data, release_info, info);
}

void
dvmd_pmix_server_allocate (DvmdPmixServer *self, const pmix_proc_t *proc, pmix_alloc_directive_t directive,
                           const pmix_info_t *info, gsize n_info, pmix_info_cbfunc_t callback, void *callback_data)
{
  const DvmdPmixCall call = { .answer = dvmd_pmix_answer_allocation,
                              .callback.info = callback,
                              .callback_data = callback_data };
  g_autoptr (GVariant) request = NULL;
  g_autoptr (GError) error = NULL;
  const char *word;

  if (dvmd_pmix_server_refuse_stranger (self, proc, &call))
    return;
  request = dvmd_pmix_read_allocation (directive, info, n_info, &word, &error);
  dvmd_pmix_server_call (self, &call, DVMD_CALL_ALLOCATE, proc,
                         request != NULL ? g_variant_new ("(s@a{sv})", word, request) : NULL, error);
}
