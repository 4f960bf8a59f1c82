/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The PMIx_Query_info_nb() that libpmix's server calls for its clients: questions for attributes that it would fall
 * over.
 *
 * libpmix up to 4.2.4 answers them with an object of its own in place of the caller's cbdata
 * (pmix_attrs_query_support()), and the server, which the callback is in, then uses that as its connection. All
 * versions take the value of such a question for a string, whatever it is, and the keys of a query for as many as its
 * qualifiers.
 *
 * From 4.2.5 on the server calls a function of the inside instead, which reads qualifiers in the same way. From 5.0.7
 * on clients leave out the names of the functions whose attributes they ask for, and it finds none.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-supported.h"

#include <dlfcn.h>
#include <string.h>

#include <glib.h>
#include <pmix.h>

#include "dvmd-pmix-gates.h"
#include "dvmd-pmix-groups.h"

#ifdef HAVE_PMIX_QUERY_CADDY
#include "src/client/pmix_client_ops.h"
#endif

typedef pmix_status_t (*QueryInfo) (pmix_query_t *queries, size_t n_queries, pmix_info_cbfunc_t answer, void *cbdata);

typedef struct
{
  pmix_info_cbfunc_t answer;
  void *cbdata;
} Asked;

/* Questions that libpmix's thread has not answered yet, in the order in which it does; the callback names none of
 * them. */
static GMutex mutex;
static GQueue asked = G_QUEUE_INIT;

static void
on_answer (pmix_status_t status, pmix_info_t *info, size_t n_info, void *cbdata, pmix_release_cbfunc_t release,
           void *release_cbdata)
{
  g_autofree Asked *first = NULL;

  g_mutex_lock (&mutex);
  first = g_queue_pop_head (&asked);
  g_mutex_unlock (&mutex);
  first->answer (status, info, n_info, first->cbdata, release, release_cbdata);
}

static gboolean
is_named (const pmix_query_t *query, const char *key)
{
  return strcmp (query->keys[0], key) == 0;
}

static gboolean
wants_refresh (const pmix_query_t *query)
{
  for (size_t i = 0; i < query->nqual; i++)
    if (PMIX_CHECK_KEY (&query->qualifiers[i], PMIX_QUERY_REFRESH_CACHE) && PMIX_INFO_TRUE (&query->qualifiers[i]))
      return TRUE;
  return FALSE;
}

/* As libpmix chooses: by the first query that is of a kind of its own. */
static gboolean
is_for_attributes (const pmix_query_t *queries, size_t n)
{
  for (size_t i = 0; i < n; i++)
    {
      if (is_named (&queries[i], PMIX_QUERY_ATTRIBUTE_SUPPORT))
        return TRUE;
      if (is_named (&queries[i], PMIX_QUERY_AVAIL_SERVERS) || wants_refresh (&queries[i]))
        return FALSE;
    }
  return FALSE;
}

/* A question without a list of functions is one for all. */
static void
complete_qualifier (pmix_info_t *qualifier)
{
  static const char *const listed[] = { PMIX_CLIENT_ATTRIBUTES, PMIX_SERVER_ATTRIBUTES, PMIX_TOOL_ATTRIBUTES,
                                        PMIX_HOST_ATTRIBUTES };

  if (qualifier->value.type == PMIX_STRING && qualifier->value.data.string != NULL)
    return;
  for (guint i = 0; i < G_N_ELEMENTS (listed); i++)
    if (PMIX_CHECK_KEY (qualifier, listed[i]))
      {
        PMIX_VALUE_DESTRUCT (&qualifier->value);
        PMIX_VALUE_LOAD (&qualifier->value, "all", PMIX_STRING);
        return;
      }
}

static void
complete_qualifiers (pmix_query_t *query)
{
  for (size_t i = 0; i < query->nqual; i++)
    complete_qualifier (&query->qualifiers[i]);
}

/* libpmix names each answer by the key at the place of its qualifier. */
static void
complete_query (pmix_query_t *query)
{
  size_t n_keys = 0;
  pmix_status_t rc = PMIX_SUCCESS;

  if (!is_named (query, PMIX_QUERY_ATTRIBUTE_SUPPORT))
    return;
  complete_qualifiers (query);
  while (query->keys[n_keys] != NULL)
    n_keys++;
  for (; n_keys < query->nqual && rc == PMIX_SUCCESS; n_keys++)
    PMIX_ARGV_APPEND (rc, query->keys, PMIX_QUERY_ATTRIBUTE_SUPPORT);
}

static QueryInfo
find_next (void)
{
  return (QueryInfo)dlsym (RTLD_NEXT, "PMIx_Query_info_nb");
}

static pmix_status_t
ask_for_attributes (pmix_query_t *queries, size_t n_queries, pmix_info_cbfunc_t answer, void *cbdata)
{
  Asked *question = g_new (Asked, 1);
  pmix_status_t rc;

  /* Few ask, and the library goes through all that it knows for each of them. */
  dvmd_pmix_register_supported ();
  *question = (Asked){ answer, cbdata };
  for (size_t i = 0; i < n_queries; i++)
    complete_query (&queries[i]);
  g_mutex_lock (&mutex);
  g_queue_push_tail (&asked, question);
  rc = find_next () (queries, n_queries, on_answer, NULL);
  if (rc != PMIX_SUCCESS)
    g_free (g_queue_pop_tail (&asked));
  g_mutex_unlock (&mutex);
  return rc;
}

/*
 * The library reads these without a look at their types, and falls over a rank without a namespace: it does not know
 * the one of who asks.
 */
static gboolean
is_sound (const pmix_query_t *query)
{
  const char *nspace = "";
  gboolean has_rank = FALSE;

  if (query->keys == NULL || query->keys[0] == NULL)
    return FALSE;
  for (size_t i = 0; i < query->nqual; i++)
    {
      const pmix_info_t *qualifier = &query->qualifiers[i];
      const pmix_value_t *value = &qualifier->value;

      if (PMIX_CHECK_KEY (qualifier, PMIX_NSPACE))
        nspace = value->type == PMIX_STRING ? value->data.string : NULL;
      else if (PMIX_CHECK_KEY (qualifier, PMIX_PROCID))
        nspace = value->type == PMIX_PROC && value->data.proc != NULL ? value->data.proc->nspace : NULL;
      has_rank = has_rank || PMIX_CHECK_KEY (qualifier, PMIX_RANK) || PMIX_CHECK_KEY (qualifier, PMIX_PROCID);
      if (nspace == NULL)
        return FALSE;
    }
  return !has_rank || nspace[0] != '\0';
}

__attribute__ ((visibility ("default"))) pmix_status_t
PMIx_Query_info_nb (pmix_query_t queries[], size_t n_queries, pmix_info_cbfunc_t answer, void *cbdata)
{
  for (size_t i = 0; i < n_queries; i++)
    if (!is_sound (&queries[i]))
      return PMIX_ERR_BAD_PARAM;
  if (n_queries > 0 && is_for_attributes (queries, n_queries))
    return ask_for_attributes (queries, n_queries, answer, cbdata);
  return find_next () (queries, n_queries, answer, cbdata);
}

#ifdef HAVE_PMIX_QUERY_CADDY

typedef void (*ParseQuery) (int fd, short flags, void *data);

static void
free_query (void *data)
{
  pmix_query_caddy_t *asked_for = data;

  PMIX_RELEASE (asked_for);
}

/* It looks for attributes in what was registered before, and takes the value of a qualifier for a string. */
static void
prepare_for_attributes (pmix_query_t *query)
{
  if (!g_strv_contains ((const char *const *)query->keys, PMIX_QUERY_ATTRIBUTE_SUPPORT))
    return;
  dvmd_pmix_register_supported ();
  complete_qualifiers (query);
}

/* On PMIx's thread, for questions of clients and of this process. */
__attribute__ ((visibility ("default"))) void
pmix_parse_localquery (int fd, short flags, void *data)
{
  pmix_query_caddy_t *query = data;

  for (size_t i = 0; dvmd_pmix_groups_are_served () && i < query->nqueries; i++)
    {
      if (!is_sound (&query->queries[i]))
        {
          query->cbfunc (PMIX_ERR_BAD_PARAM, NULL, 0, query->cbdata, free_query, query);
          return;
        }
      prepare_for_attributes (&query->queries[i]);
    }
  ((ParseQuery)dlsym (RTLD_NEXT, "pmix_parse_localquery")) (fd, flags, data);
}

#endif
