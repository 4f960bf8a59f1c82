/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The words of placement of several applications: what each takes from the job, and what cannot stand together.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-spec"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-placement-private.h"
#include "dvm-words-private.h"

DvmPlacementWords
_dvm_job_spec_get_placement (DvmJobSpec *self, guint index)
{
  DvmAppSpec *app = dvm_job_spec_get_app (self, index);
  gpointer mapped_by = dvm_app_spec_get_map_by (app) != NULL ? (gpointer)app : (gpointer)self;
  DvmPlacementWords words = {
    .map_by = dvm_app_spec_get_map_by (app),
    .rank_by = dvm_app_spec_get_rank_by (app),
    .bind_to = dvm_app_spec_get_bind_to (app),
  };

  if (words.map_by == NULL)
    words.map_by = dvm_job_spec_get_map_by (self);
  if (words.rank_by == NULL)
    words.rank_by = dvm_job_spec_get_rank_by (self);
  if (words.bind_to == NULL)
    words.bind_to = dvm_job_spec_get_bind_to (self);
  words.file = _dvm_placement_get_map_file (mapped_by, &words.file_name);
  return words;
}

static gboolean
are_alike (const DvmPlacementWords *one, const DvmPlacementWords *other)
{
  return g_strcmp0 (one->map_by, other->map_by) == 0 && g_strcmp0 (one->rank_by, other->rank_by) == 0
         && g_strcmp0 (one->bind_to, other->bind_to) == 0;
}

/* ---- each by itself ---- */

static gboolean
has_own_words (DvmAppSpec *app)
{
  return dvm_app_spec_get_map_by (app) != NULL || dvm_app_spec_get_rank_by (app) != NULL
         || dvm_app_spec_get_bind_to (app) != NULL;
}

static gboolean
has_all_words (DvmAppSpec *app)
{
  return dvm_app_spec_get_map_by (app) != NULL && dvm_app_spec_get_rank_by (app) != NULL
         && dvm_app_spec_get_bind_to (app) != NULL;
}

/* (transfer full) (nullable): NULL with an error */
static DvmPlacement *
parse_words (DvmJobSpec *self, guint index, const DvmPlacementWords *words, const char *place, GError **error)
{
  DvmAppSpec *app = dvm_job_spec_get_app (self, index);
  g_autofree char *app_place = g_strdup_printf ("%sapps[%u].", place, index);
  g_autoptr (GError) local = NULL;
  DvmPlacement *placement;

  if (!has_own_words (app))
    return _dvm_placement_parse (words->map_by, words->rank_by, words->bind_to, place, error);
  placement = _dvm_placement_parse (words->map_by, words->rank_by, words->bind_to, app_place, &local);
  if (placement == NULL && !has_all_words (app))
    g_set_error (error, local->domain, local->code,
                 _ ("%s (what an application does not say of map-by, rank-by and bind-to it takes from the job)"),
                 local->message);
  else if (placement == NULL)
    g_propagate_error (error, g_steal_pointer (&local));
  return placement;
}

/* ---- together ---- */

/* Some qualifiers are said for the whole job, by one application or several. */
typedef struct
{
  const char *on; /* the words that say so, and not so */
  const char *off;
  gint8 value; /* -1: nobody has said anything */
  char *place;
} Switch;

/* The applications that have been looked at. */
typedef struct
{
  const char *place;
  Switch oversubscribe;
  Switch inherit;
  guint n_parts;         /* applications that follow each other and are alike are one */
  guint first_of_last;   /* the first application of the last one */
  gboolean beside;       /* the job is to be beside another one */
  const char *whole;     /* (nullable): its word, if that leaves no place for others */
  GHashTable *sequences; /* map-by -> where it stands */
} Survey;

static void
survey_clear (Survey *self)
{
  g_free (self->oversubscribe.place);
  g_free (self->inherit.place);
  g_hash_table_unref (self->sequences);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Survey, survey_clear)

static gboolean
turn (Switch *self, gint8 value, const char *where, GError **error)
{
  if (value < 0)
    return TRUE;
  if (self->value >= 0 && self->value != value)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("%smap-by: “%s” contradicts “%s” of %smap-by: it is said for the whole job"), where,
                   value ? self->on : self->off, self->value ? self->on : self->off, self->place);
      return FALSE;
    }
  self->value = value;
  if (self->place == NULL)
    self->place = g_strdup (where);
  return TRUE;
}

/* A file for all ranks leaves none for other words, and a job has slots or is beside another one. */
static gboolean
add_part (Survey *self, guint index, const char *word, GError **error)
{
  static const char *const whole[] = { "rankfile", "colocate", NULL };
  guint other = self->first_of_last;
  const char *last = self->whole;

  self->n_parts++;
  self->first_of_last = index;
  self->whole = NULL;
  for (gsize i = 0; whole[i] != NULL; i++)
    if (g_strcmp0 (word, whole[i]) == 0)
      self->whole = whole[i];
  if (self->n_parts == 1 || (self->whole == NULL && last == NULL))
    return TRUE;
  if (g_strcmp0 (self->whole, "colocate") == 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("%sapps[%u].map-by: “colocate” is said once, for the whole job: its programs are all beside the "
                      "same processes (colocate=JOB:RANKS+JOB), or submit another job"),
                   self->place, index);
      return FALSE;
    }
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               _ ("%sapps[%u].map-by: “%s” gives a place to each rank of the job, so that apps[%u] cannot be placed by "
                  "other words"),
               self->place, self->whole != NULL ? index : other, self->whole != NULL ? self->whole : last,
               self->whole != NULL ? other : index);
  return FALSE;
}

/* A job takes slots or none: what it says of that no application can change. */
static gboolean
check_beside (const Survey *survey, const DvmPlacement *placement, const char *where, GError **error)
{
  if (!survey->beside || g_strcmp0 (placement->word, "colocate") == 0)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               _ ("%smap-by: “%s” contradicts “%s” of %smap-by: it is said for the whole job"), where,
               placement->word != NULL ? placement->word : "core", "colocate", survey->place);
  return FALSE;
}

/* Other nodes than those of the job beside which it is would have none of its processes. */
static gboolean
check_nodes (DvmJobSpec *self, guint index, const DvmPlacement *placement, const char *where, GError **error)
{
  DvmAppSpec *app = dvm_job_spec_get_app (self, index);
  const char *const *hosts = dvm_app_spec_get_hosts (app);
  const char *const *added = dvm_job_spec_get_add_hosts (self);
  const char *named = NULL;

  if (g_strcmp0 (placement->word, "colocate") != 0)
    return TRUE;
  if (hosts != NULL && hosts[0] != NULL)
    named = "hosts";
  else if (dvm_app_spec_get_hostfile (app) != NULL)
    named = "hostfile";
  else if (added != NULL && added[0] != NULL)
    named = "add-hosts";
  else if (dvm_job_spec_get_add_hostfile (self) != NULL)
    named = "add-hostfile";
  if (named == NULL)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               _ ("%smap-by: “%s” and “colocate” contradict each other: the other job says where a process runs"),
               where, named);
  return FALSE;
}

/* The lines of a sequence are given out once. */
static gboolean
add_sequence (Survey *self, const DvmPlacement *placement, const char *map_by, const char *where, GError **error)
{
  const char *other;

  if (g_strcmp0 (placement->word, "seq") != 0)
    return TRUE;
  other = g_hash_table_lookup (self->sequences, map_by);
  if (other != NULL)
    {
      g_autofree char *shown = _dvm_words_show (map_by);

      g_set_error (
          error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
          _ ("%smap-by: “%s” is that of %smap-by, too: each would begin with the first line of the file, so give "
             "each its own file, or let both be placed by the same words, one after the other"),
          where, shown, other);
      return FALSE;
    }
  g_hash_table_insert (self->sequences, (gpointer)map_by, g_strdup (where));
  return TRUE;
}

static gboolean
check_app (DvmJobSpec *self, guint index, const DvmPlacementWords *words, Survey *survey, GError **error)
{
  g_autofree char *where = g_strdup_printf ("%sapps[%u].", survey->place, index);
  g_autoptr (DvmPlacement) placement = parse_words (self, index, words, survey->place, error);

  return placement != NULL && check_beside (survey, placement, where, error)
         && add_part (survey, index, placement->word, error) && check_nodes (self, index, placement, where, error)
         && add_sequence (survey, placement, words->map_by, where, error)
         && turn (&survey->oversubscribe, placement->oversubscribe, where, error)
         && turn (&survey->inherit, placement->inherit, where, error);
}

/* Qualifiers for the whole job hold also when each application has a map-by of its own. */
static gboolean
check_job (DvmJobSpec *self, Survey *survey, GError **error)
{
  g_autoptr (DvmPlacement)
      placement = _dvm_placement_parse (dvm_job_spec_get_map_by (self), dvm_job_spec_get_rank_by (self),
                                        dvm_job_spec_get_bind_to (self), survey->place, error);

  survey->beside = placement != NULL && g_strcmp0 (placement->word, "colocate") == 0;
  return placement != NULL && turn (&survey->oversubscribe, placement->oversubscribe, survey->place, error)
         && turn (&survey->inherit, placement->inherit, survey->place, error);
}

gboolean
_dvm_job_spec_check_placement (DvmJobSpec *self, const char *place, gint8 *oversubscribe, GError **error)
{
  g_auto (Survey) survey = {
    .place = place,
    .oversubscribe = { "oversubscribe", "nooversubscribe", -1, NULL },
    .inherit = { "inherit", "noinherit", -1, NULL },
  };
  DvmPlacementWords last = { 0 };

  survey.sequences = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, g_free);
  if (!check_job (self, &survey, error))
    return FALSE;
  for (guint i = 0; i < dvm_job_spec_get_n_apps (self); i++)
    {
      const DvmPlacementWords words = _dvm_job_spec_get_placement (self, i);

      if ((i == 0 || !are_alike (&words, &last)) && !check_app (self, i, &words, &survey, error))
        return FALSE;
      last = words;
    }
  *oversubscribe = survey.oversubscribe.value;
  return TRUE;
}

/* ---- for the daemon ---- */

/* offset: of a member of DvmPlacement that is -1 where nothing is said */
static gint8
read_switch (const char *map_by, gsize offset)
{
  g_autoptr (DvmPlacement) placement = NULL;

  /* Admission asks each time that slots are free: most jobs have no qualifier to look for. */
  if (map_by != NULL && strchr (map_by, ':') != NULL)
    placement = _dvm_placement_parse (map_by, NULL, NULL, "", NULL);
  return placement != NULL ? G_STRUCT_MEMBER (gint8, placement, offset) : -1;
}

static gint8
find_switch (DvmJobSpec *self, gsize offset)
{
  gint8 value = read_switch (dvm_job_spec_get_map_by (self), offset);

  for (guint i = 0; value < 0 && i < dvm_job_spec_get_n_apps (self); i++)
    value = read_switch (dvm_app_spec_get_map_by (dvm_job_spec_get_app (self, i)), offset);
  return value;
}

gint8
_dvm_job_spec_get_oversubscribe (DvmJobSpec *self)
{
  return find_switch (self, G_STRUCT_OFFSET (DvmPlacement, oversubscribe));
}

gint8
_dvm_job_spec_get_inherit (DvmJobSpec *self)
{
  return find_switch (self, G_STRUCT_OFFSET (DvmPlacement, inherit));
}
