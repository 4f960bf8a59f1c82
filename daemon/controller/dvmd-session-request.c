/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The a{sv} of Manager.ControlSession is read and checked.
 */

#include "config.h"

#include "dvmd-session-request.h"

#include <signal.h>
#include <string.h>

#include "dvm-job-spec-private.h"
#include "dvmd-size-request.h"

typedef enum
{
  WITH_INSTANTIATE = 1 << 0,
  WITH_EXTEND = 1 << 1,
  WITH_SIGNAL = 1 << 2,
  WITH_PREEMPT = 1 << 3,
  WITH_OTHER = 1 << 4,
} With;

/* ---- operations ---- */

typedef struct
{
  const char *name;
  const char *type;
  DvmdSessionRequestKind kind;
  DvmdSessionOp op; /* CONTROL */
  With with;        /* what may stand beside it */
} Operation;

static const Operation operations[] = {
  { "instantiate", "b", DVMD_SESSION_INSTANTIATE, 0, WITH_INSTANTIATE },
  { "extend", "u", DVMD_SESSION_EXTEND, 0, WITH_EXTEND },
  { "pause", "b", DVMD_SESSION_CONTROL, DVMD_SESSION_PAUSE, WITH_OTHER },
  { "resume", "b", DVMD_SESSION_CONTROL, DVMD_SESSION_RESUME, WITH_OTHER },
  { "preempt", "b", DVMD_SESSION_CONTROL, DVMD_SESSION_PREEMPT, WITH_PREEMPT },
  { "restore", "b", DVMD_SESSION_CONTROL, DVMD_SESSION_RESTORE, WITH_PREEMPT },
  { "signal", "i", DVMD_SESSION_CONTROL, DVMD_SESSION_SIGNAL, WITH_SIGNAL },
  { "terminate", "b", DVMD_SESSION_CONTROL, DVMD_SESSION_TERMINATE, WITH_OTHER },
  { "separate", "b", DVMD_SESSION_CONTROL, DVMD_SESSION_SEPARATE, WITH_OTHER },
};

static gboolean
is_given (GVariant *directives, const char *key)
{
  g_autoptr (GVariant) value = g_variant_lookup_value (directives, key, NULL);

  return value != NULL;
}

/* "separate" beside "instantiate" says how the new session is (S21). */
static gboolean
choose_operation (GVariant *directives, const Operation **into, GError **error)
{
  const Operation *chosen = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (operations); i++)
    {
      if (!is_given (directives, operations[i].name))
        continue;
      if (chosen == NULL)
        chosen = &operations[i];
      else if (chosen->kind != DVMD_SESSION_INSTANTIATE || operations[i].op != DVMD_SESSION_SEPARATE)
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                       "“%s” and “%s” are two operations: a request has one of them", chosen->name, operations[i].name);
          return FALSE;
        }
    }
  *into = chosen;
  return TRUE;
}

/* ---- keys ---- */

typedef struct
{
  const char *name;
  const char *type;
  With with;
} Key;

static const Key keys[] = {
  { "hosts", "as", WITH_INSTANTIATE | WITH_EXTEND },
  { "hostfile", "s", WITH_INSTANTIATE | WITH_EXTEND },
  { "time", "u", WITH_INSTANTIATE | WITH_EXTEND },
  { "warn-timeout", "u", WITH_INSTANTIATE | WITH_EXTEND },
  { "inheritance", "s", WITH_INSTANTIATE | WITH_EXTEND },
  { "req-id", "s", WITH_INSTANTIATE | WITH_EXTEND },
  { "apps", "aa{sv}", WITH_INSTANTIATE },
  { "separate", "b", WITH_INSTANTIATE },
  { "nspace", "s", WITH_SIGNAL | WITH_PREEMPT },
};

/* Which nodes, and what is on them, is not chosen here (S25). */
static const char *const not_done[] = { "count",           "cpu-list",        "cpus",  "image", "memory", "provision",
                                        "provision-image", "provision-nodes", "queue", NULL };

static const Key *
find_key (const char *name)
{
  for (gsize i = 0; i < G_N_ELEMENTS (keys); i++)
    if (strcmp (keys[i].name, name) == 0)
      return &keys[i];
  return NULL;
}

static gboolean
check_type (const char *name, const char *type, GVariant *value, GError **error)
{
  if (g_variant_is_of_type (value, G_VARIANT_TYPE (type)))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "“%s” is of type %s, not %s", name, type,
               g_variant_get_type_string (value));
  return FALSE;
}

/* Only "separate" can be untrue, and mean something. */
static gboolean
check_operation (const Operation *operation, GVariant *value, GError **error)
{
  if (!check_type (operation->name, operation->type, value, error))
    return FALSE;
  if (operation->type[0] != 'b' || operation->op == DVMD_SESSION_SEPARATE || g_variant_get_boolean (value))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "“%s” is false: leave it out, or say true", operation->name);
  return FALSE;
}

static gboolean
check_key (const Operation *operation, const char *name, GVariant *value, gboolean tolerant, GError **error)
{
  const Key *key = find_key (name);

  if (strcmp (name, operation->name) == 0)
    return check_operation (operation, value, error);
  if (g_strv_contains (not_done, name))
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                 "“%s”: nodes are named, and taken as they are: give “hosts” or “hostfile”", name);
  else if (key == NULL && tolerant)
    return TRUE;
  else if (key == NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "“%s” is no key of a request “%s”: beside the operation there are hosts, hostfile, time, "
                 "warn-timeout, inheritance, req-id, apps and nspace",
                 name, operation->name);
  else if ((key->with & operation->with) == 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "“%s” says nothing beside “%s”", name, operation->name);
  else
    return check_type (name, key->type, value, error);
  return FALSE;
}

/* A key that does not exist is refused before an operation that is missing. */
static void
refuse_nothing (GVariant *directives, GError **error)
{
  GVariantIter iter;
  const char *name;

  g_variant_iter_init (&iter, directives);
  while (g_variant_iter_next (&iter, "{&sv}", &name, NULL))
    if (find_key (name) == NULL)
      {
        g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "“%s” is no key of a request, and no operation", name);
        return;
      }
  g_set_error_literal (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                       "Nothing says what is to be done with the session: give one of instantiate, extend, pause, "
                       "resume, preempt, restore, signal, terminate and separate");
}

static gboolean
check_keys (const Operation *operation, GVariant *directives, gboolean tolerant, GError **error)
{
  GVariantIter iter;
  const char *name;
  GVariant *value;

  g_variant_iter_init (&iter, directives);
  while (g_variant_iter_next (&iter, "{&sv}", &name, &value))
    {
      gboolean good = check_key (operation, name, value, tolerant, error);

      g_variant_unref (value);
      if (!good)
        return FALSE;
    }
  return TRUE;
}

/* ---- what belongs together ---- */

/* (transfer full): those keys that a change of size has too */
static GVariant *
take_size (GVariant *directives)
{
  static const char *const taken[] = { "hosts", "hostfile", "time", "warn-timeout", "inheritance", "req-id", NULL };
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  for (gsize i = 0; taken[i] != NULL; i++)
    {
      g_autoptr (GVariant) value = g_variant_lookup_value (directives, taken[i], NULL);

      if (value != NULL)
        g_variant_builder_add (&builder, "{sv}", taken[i], value);
    }
  return g_variant_ref_sink (g_variant_builder_end (&builder));
}

static void
set_size (DvmdSessionRequest *self, const char *key, GVariant *value)
{
  GVariantDict dict;

  g_variant_dict_init (&dict, self->size);
  g_variant_dict_insert_value (&dict, key, value);
  g_variant_unref (self->size);
  self->size = g_variant_ref_sink (g_variant_dict_end (&dict));
}

static gboolean
names_hosts (DvmdSessionRequest *self)
{
  g_autofree const char **hosts = NULL;

  return (g_variant_lookup (self->size, "hosts", "^a&s", &hosts) && hosts[0] != NULL)
         || is_given (self->size, "hostfile");
}

static gboolean
refuse (GError **error, const char *why)
{
  g_set_error_literal (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, why);
  return FALSE;
}

static gboolean
read_instantiate (DvmdSessionRequest *self, GVariant *directives, GError **error)
{
  g_autoptr (GVariant) apps = g_variant_lookup_value (directives, "apps", G_VARIANT_TYPE ("aa{sv}"));
  g_autoptr (GVariant) options = g_variant_ref_sink (g_variant_new_array (G_VARIANT_TYPE ("{sv}"), NULL, 0));
  gboolean separate = TRUE;

  g_variant_lookup (directives, "separate", "b", &separate);
  self->tied = !separate;
  self->size = take_size (directives);
  if (!names_hosts (self))
    return refuse (error, apps != NULL
                              ? "“apps” need nodes to run on, and none are named: give “hosts” or “hostfile”"
                              : "“instantiate” takes nodes aside, and none are named: give “hosts” or “hostfile”");
  set_size (self, "share", g_variant_new_boolean (FALSE));
  if (apps == NULL)
    return TRUE;
  self->spec = dvm_job_spec_new_from_variant (apps, options, error);
  return self->spec != NULL;
}

static gboolean
read_extend (DvmdSessionRequest *self, GVariant *directives, GError **error)
{
  guint seconds = 0;
  guint time = 0;

  self->size = take_size (directives);
  g_variant_lookup (directives, "extend", "u", &seconds);
  if (seconds > 0 && g_variant_lookup (directives, "time", "u", &time) && time != seconds)
    return refuse (error, "“extend” and “time” are two times: give one of them");
  if (seconds > 0)
    set_size (self, "time", g_variant_new_uint32 (seconds));
  if (names_hosts (self) || is_given (self->size, "time") || is_given (self->size, "inheritance")
      || is_given (self->size, "warn-timeout"))
    return TRUE;
  return refuse (error, "“extend” of nothing: give it the seconds, or “hosts”, “hostfile”, “time” or “inheritance”");
}

static gboolean
read_control (DvmdSessionRequest *self, const Operation *operation, GVariant *directives, GError **error)
{
  g_autofree char *nspace = NULL;

  self->control.op = operation->op;
  g_variant_lookup (directives, "separate", "b", &self->control.separate);
  g_variant_lookup (directives, "nspace", "s", &nspace);
  if (operation->op == DVMD_SESSION_SIGNAL)
    g_variant_lookup (directives, "signal", "i", &self->control.signal);
  if (operation->op == DVMD_SESSION_SIGNAL && (self->control.signal < 1 || self->control.signal >= NSIG))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "“signal”: %d is not the number of a signal: use 1 to %d",
                   self->control.signal, NSIG - 1);
      return FALSE;
    }
  if (nspace != NULL && nspace[0] != '\0')
    self->control.nspace = g_steal_pointer (&nspace);
  return TRUE;
}

DvmdSessionRequest *
dvmd_session_request_new (GVariant *directives, gboolean tolerant, GError **error)
{
  const Operation *operation = NULL;
  g_autoptr (DvmdSessionRequest) self = NULL;
  gboolean good;

  if (!choose_operation (directives, &operation, error))
    return NULL;
  if (operation == NULL)
    refuse_nothing (directives, error);
  if (operation == NULL || !check_keys (operation, directives, tolerant, error))
    return NULL;
  self = g_new0 (DvmdSessionRequest, 1);
  self->kind = operation->kind;
  if (self->kind == DVMD_SESSION_INSTANTIATE)
    good = read_instantiate (self, directives, error);
  else if (self->kind == DVMD_SESSION_EXTEND)
    good = read_extend (self, directives, error);
  else
    good = read_control (self, operation, directives, error);
  return good ? g_steal_pointer (&self) : NULL;
}

void
dvmd_session_request_free (DvmdSessionRequest *self)
{
  g_free ((char *)self->control.nspace);
  g_clear_pointer (&self->size, g_variant_unref);
  g_clear_pointer (&self->hosts, _dvm_hosts_free);
  g_clear_object (&self->spec);
  g_free (self);
}

gboolean
dvmd_session_request_read_hosts (DvmdSessionRequest *self, GError **error)
{
  DvmHostsRead read = { 0 };

  return (self->size == NULL || dvmd_size_request_read_hosts (self->size, &read, &self->hosts, error))
         && (self->spec == NULL || _dvm_job_spec_load_hosts_counted (self->spec, "", &read, error));
}

void
dvmd_session_request_grant (DvmdSessionRequest *self, GVariant *answer)
{
  static const char *const granted[] = { "hosts", "time", NULL };

  for (gsize i = 0; self->size != NULL && granted[i] != NULL; i++)
    {
      g_autoptr (GVariant) value = g_variant_lookup_value (answer, granted[i], NULL);

      if (value != NULL)
        set_size (self, granted[i], value);
      if (value != NULL && i == 0)
        g_clear_pointer (&self->hosts, _dvm_hosts_free);
    }
}
