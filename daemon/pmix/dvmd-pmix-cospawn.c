/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Applications of one spawn that are jobs of their own: those that are not of the world of the others, and daemons of a
 * debugger beside what they debug.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-spawn.h"

#include "dvm.h"
#include "dvmd-call-kind.h"
#include "dvmd-pmix-gates.h"

typedef enum
{
  KIND_MAIN,
  KIND_APART,  /* a job of its own */
  KIND_DAEMONS /* the same, beside the first one */
} Kind;

/* They say that an application is a job of its own. */
static const char *const marks[] = { PMIX_COSPAWN_APP, PMIX_DEBUGGER_DAEMONS, NULL };
/* Among the attributes of the spawn: what is of the daemons alone, and what is not of them, or of no other job. */
static const char *const of_daemons[] = { PMIX_DEBUG_DAEMONS_PER_PROC, PMIX_DEBUG_DAEMONS_PER_NODE, NULL };
static const char *const of_main[] = { PMIX_DEBUG_STOP_ON_EXEC, PMIX_DEBUG_STOP_IN_INIT,   PMIX_DEBUG_STOP_IN_APP,
                                       PMIX_BREAKPOINT,         PMIX_RUNTIME_OPTIONS,      PMIX_STDIN_TGT,
                                       PMIX_ADD_HOST,           PMIX_ADD_HOSTFILE,         PMIX_DISPLAY_ALLOCATION,
                                       PMIX_DISPLAY_MAP,        PMIX_DISPLAY_MAP_DETAILED, PMIX_REPORT_BINDINGS,
                                       PMIX_DISPLAY_TOPOLOGY,   PMIX_DISPLAY_PROCESSORS,   NULL };
static const char *const of_placed[] = { PMIX_MAPBY,
                                         PMIX_PPR,
                                         PMIX_RANKBY,
                                         PMIX_BINDTO,
                                         PMIX_CPU_LIST,
                                         PMIX_CPUS_PER_PROC,
                                         PMIX_COLOCATE_PROCS,
                                         PMIX_HOST,
                                         PMIX_COLOCATE_NPERPROC,
                                         PMIX_HOSTFILE,
                                         PMIX_NO_OVERSUBSCRIBE,
                                         PMIX_COLOCATE_NPERNODE,
                                         PMIX_NO_PROCS_ON_HEAD,
                                         NULL };

static gboolean
says (const pmix_info_t *info, gsize n, const char *key)
{
  for (gsize i = 0; i < n; i++)
    if (PMIX_CHECK_KEY (&info[i], key))
      return PMIX_INFO_TRUE (&info[i]);
  return FALSE;
}

static gboolean
gives (const pmix_info_t *info, gsize n, const char *key)
{
  for (gsize i = 0; i < n; i++)
    if (PMIX_CHECK_KEY (&info[i], key))
      return TRUE;
  return FALSE;
}

/* (element-type Kind): of each application */
static GArray *
sort_apps (const pmix_info_t *info, gsize n_info, const pmix_app_t *apps, gsize n_apps)
{
  GArray *kinds = g_array_new (FALSE, FALSE, sizeof (Kind));
  gboolean some = FALSE;

  for (gsize i = 0; i < n_apps; i++)
    {
      Kind kind = KIND_MAIN;

      if (says (apps[i].info, apps[i].ninfo, PMIX_DEBUGGER_DAEMONS))
        kind = KIND_DAEMONS;
      else if (says (apps[i].info, apps[i].ninfo, PMIX_COSPAWN_APP))
        kind = KIND_APART;
      some |= kind == KIND_MAIN;
      g_array_append_val (kinds, kind);
    }
  /* Daemons of a job that runs: they are what is spawned. */
  for (gsize i = 0; i < n_apps; i++)
    if (g_array_index (kinds, Kind, i) == KIND_DAEMONS && (!some || says (info, n_info, PMIX_DEBUGGER_DAEMONS)))
      g_array_index (kinds, Kind, i) = KIND_MAIN;
  return kinds;
}

/* (element-type pmix_info_t): borrowed, without those of the lists */
static GArray *
filter (const pmix_info_t *info, gsize n, const char *const *without, const char *const *nor)
{
  GArray *rest = g_array_new (FALSE, FALSE, sizeof (pmix_info_t));

  for (gsize i = 0; i < n; i++)
    if (!g_strv_contains (without, info[i].key) && (nor == NULL || !g_strv_contains (nor, info[i].key)))
      g_array_append_val (rest, info[i]);
  return rest;
}

/* (nullable): floating */
static GVariant *
read_apart (const pmix_info_t *info, gsize n_info, const pmix_app_t *app, Kind kind, GError **error)
{
  const gboolean is_daemons = kind == KIND_DAEMONS;
  g_autoptr (GArray) placed = filter (info, n_info, of_main, is_daemons ? of_placed : NULL);
  g_autoptr (GArray)
      of_job = filter ((const pmix_info_t *)placed->data, placed->len, marks, is_daemons ? NULL : of_daemons);
  g_autoptr (GArray) of_app = filter (app->info, app->ninfo, marks, NULL);
  pmix_app_t copy = *app;
  DvmdPmixAttributes attributes;
  g_autoptr (GVariant) job = NULL;
  g_autoptr (GVariant) rows = NULL;
  g_autoptr (GVariant) options = NULL;

  copy.info = (pmix_info_t *)of_app->data;
  copy.ninfo = of_app->len;
  job = dvmd_pmix_read_job ((const pmix_info_t *)of_job->data, of_job->len, &copy, 1, is_daemons ? "@" : "",
                            &attributes, error);
  if (job == NULL)
    return NULL;
  rows = g_variant_get_child_value (job, 0);
  options = g_variant_get_child_value (job, 1);
  return g_variant_new ("(@aa{sv}@a{sv})", rows, options);
}

/* with (element-type pmix_app_t): of the first job; kinds: of all */
static GVariant *
read_all (const pmix_info_t *info, gsize n_info, const pmix_app_t *apps, GArray *kinds, GArray *own,
          DvmdPmixAttributes *attributes, GError **error)
{
  g_autoptr (GArray) of_job = filter (info, n_info, of_daemons, NULL);
  g_autoptr (GVariant) job = dvmd_pmix_read_job ((const pmix_info_t *)of_job->data, of_job->len,
                                                 (const pmix_app_t *)own->data, own->len, "", attributes, error);
  g_autoptr (GVariant) rows = NULL;
  g_autoptr (GVariant) options = NULL;
  g_auto (GVariantBuilder) with = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE (DVMD_SPAWN_WITH_TYPE));
  GVariantDict dict;

  if (job == NULL)
    return NULL;
  for (guint i = 0; i < kinds->len; i++)
    {
      Kind kind = g_array_index (kinds, Kind, i);
      GVariant *apart = kind != KIND_MAIN ? read_apart (info, n_info, &apps[i], kind, error) : NULL;

      if (kind != KIND_MAIN && apart == NULL)
        return NULL;
      if (apart != NULL)
        g_variant_builder_add_value (&with, apart);
    }
  rows = g_variant_get_child_value (job, 0);
  options = g_variant_get_child_value (job, 1);
  g_variant_dict_init (&dict, options);
  g_variant_dict_insert_value (&dict, DVMD_SPAWN_WITH, g_variant_builder_end (&with));
  return g_variant_ref_sink (g_variant_new ("(@aa{sv}@a{sv})", rows, g_variant_dict_end (&dict)));
}

GVariant *
dvmd_pmix_read_spawn (const pmix_info_t *info, gsize n_info, const pmix_app_t *apps, gsize n_apps,
                      DvmdPmixAttributes *attributes, GError **error)
{
  g_autoptr (GArray) kinds = sort_apps (info, n_info, apps, n_apps);
  g_autoptr (GArray) own = g_array_new (FALSE, FALSE, sizeof (pmix_app_t));

  for (gsize i = 0; i < n_apps; i++)
    if (g_array_index (kinds, Kind, i) == KIND_MAIN)
      g_array_append_val (own, apps[i]);
  if (own->len == n_apps)
    return dvmd_pmix_read_job (info, n_info, apps, n_apps, "", attributes, error);
  if (own->len > 0 && !gives (info, n_info, PMIX_DEBUG_TARGET))
    return read_all (info, n_info, apps, kinds, own, attributes, error);
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s",
               own->len == 0 ? PMIX_COSPAWN_APP
                   " is said of all applications: there is no job with which they could be spawned"
                             : PMIX_DEBUG_TARGET ": daemons that are spawned with others debug those");
  return NULL;
}
