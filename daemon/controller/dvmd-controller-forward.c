/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Requests on their way to a scheduler outside of the DVM, and its answers.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-forward.h"

#include <string.h>

#include "dvmd-services.h"
#include "dvmd-rights.h"
#include "dvmd-controller-allocators.h"
#include "dvmd-controller-questions.h"

typedef struct
{
  GPtrArray *allocators; /* DvmdAllocator, that are asked one after another */
  guint next;
  char *directive;
  guint session;
  GVariant *request;
  DvmdRequester *requester; /* (nullable) */
  char *nspace;
  GVariant *answer;         /* (nullable) */
  DvmdAllocator *allocator; /* (nullable): who has answered */
} Forward;

static void
forward_free (gpointer data)
{
  Forward *self = data;

  g_ptr_array_unref (self->allocators);
  g_free (self->directive);
  g_variant_unref (self->request);
  g_clear_pointer (&self->requester, dvmd_requester_free);
  g_free (self->nspace);
  g_clear_pointer (&self->answer, g_variant_unref);
  g_clear_object (&self->allocator);
  g_free (self);
}

/* ---- answers ---- */

static const char *
find_type (const char *key)
{
  static const char *const keys[][2] = { { "hosts", "as" }, { "alloc-id", "s" }, { "session", "u" }, { "time", "u" } };

  for (gsize i = 0; i < G_N_ELEMENTS (keys); i++)
    if (strcmp (keys[i][0], key) == 0)
      return keys[i][1];
  return NULL;
}

/* The answer of a plugin is judged before it is used. */
static gboolean
check_answer (const char *name, GVariant *answer, GError **error)
{
  GVariantIter iter;
  const char *key;
  GVariant *value;

  if (!g_variant_is_of_type (answer, G_VARIANT_TYPE_VARDICT))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_ALLOC_FAILED, "The allocator %s answers with a %s, not with a{sv}", name,
                   g_variant_get_type_string (answer));
      return FALSE;
    }
  g_variant_iter_init (&iter, answer);
  while (g_variant_iter_next (&iter, "{&sv}", &key, &value))
    {
      const char *type = find_type (key);
      gboolean good = type != NULL && g_variant_is_of_type (value, G_VARIANT_TYPE (type));

      g_variant_unref (value);
      if (good)
        continue;
      g_set_error (error, DVM_ERROR, DVM_ERROR_ALLOC_FAILED,
                   "The allocator %s answers with “%s”; there are hosts as, alloc-id s, session u and time u", name,
                   key);
      return FALSE;
    }
  return TRUE;
}

/* Takes the error. What a scheduler says is passed on as it is; a failure of no known kind is an AllocFailed. */
static void
refuse (GTask *task, const char *name, GError *error)
{
  const Forward *self = g_task_get_task_data (task);

  g_message ("%s: the allocator %s refuses “%s”: %s", self->requester != NULL ? self->requester->name : "the DVM", name,
             self->directive, error->message);
  if (error->domain != DVM_ERROR || error->code == DVM_ERROR_FAILED)
    {
      g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_ALLOC_FAILED, "%s", error->message);
      g_error_free (error);
    }
  else
    g_task_return_error (task, error);
}

static void ask_next (GTask *task);

static void
on_decided (DvmdController *controller, DvmdAllocator *allocator, GAsyncResult *result, const GError *stopped,
            gpointer data)
{
  g_autoptr (GTask) task = data;
  Forward *self = g_task_get_task_data (task);
  const char *name = dvmd_plugins_get_name (dvmd_controller_get_parts (controller)->plugins, allocator);
  g_autoptr (GVariant) answer = NULL;
  GError *error = stopped != NULL ? g_error_copy (stopped) : NULL;

  if (result != NULL)
    dvmd_allocator_decide_finish (allocator, result, &answer, &error);
  if (error != NULL || (answer != NULL && !check_answer (name, answer, &error)))
    refuse (task, name, error);
  else if (answer == NULL)
    ask_next (task);
  else
    {
      self->answer = g_steal_pointer (&answer);
      self->allocator = g_object_ref (allocator);
      g_task_return_boolean (task, TRUE);
    }
}

static void
ask_next (GTask *task)
{
  DvmdController *controller = g_task_get_source_object (task);
  Forward *self = g_task_get_task_data (task);
  const DvmdDecisionRequest request = {
    .directive = self->directive,
    .session = self->session,
    .request = self->request,
    .requester = self->requester != NULL ? self->requester->name : "",
    .nspace = self->nspace,
    .uid = self->requester != NULL ? self->requester->uid : 0,
    .pid = self->requester != NULL ? (gint32)self->requester->pid : 0,
  };
  g_autoptr (GCancellable) cancellable = NULL;
  DvmdAllocator *allocator;
  gsize id;

  if (self->next >= self->allocators->len)
    {
      g_task_return_boolean (task, TRUE);
      return;
    }
  allocator = g_ptr_array_index (self->allocators, self->next++);
  id = dvmd_controller_ask (controller, allocator, TRUE, g_task_get_cancellable (task), on_decided, g_object_ref (task),
                            &cancellable);
  dvmd_allocator_decide_async (allocator, &request, cancellable, dvmd_controller_answered, GSIZE_TO_POINTER (id));
}

gboolean
dvmd_controller_forwards (DvmdController *self)
{
  GPtrArray *active = dvmd_plugins_get_active (dvmd_controller_get_parts (self)->plugins, DVMD_PLUGIN_ALLOCATOR);

  for (guint i = 0; i < active->len; i++)
    if (dvmd_allocator_decides (active->pdata[i]))
      return TRUE;
  return FALSE;
}

void
dvmd_controller_forward_async (DvmdController *self, const char *directive, guint session, GVariant *request,
                               const DvmdRequester *requester, GCancellable *cancellable, GAsyncReadyCallback callback,
                               gpointer user_data)
{
  g_autoptr (GPtrArray) active = dvmd_controller_list_allocators (self);
  g_autoptr (GTask) task = NULL;
  Forward *forward = g_new0 (Forward, 1);

  dvmd_controller_enter (self);
  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_check_cancellable (task, FALSE);
  forward->allocators = g_ptr_array_new_with_free_func (g_object_unref);
  for (guint i = 0; i < active->len; i++)
    if (dvmd_allocator_decides (active->pdata[i]))
      g_ptr_array_add (forward->allocators, g_object_ref (active->pdata[i]));
  forward->directive = g_strdup (directive);
  forward->session = session;
  forward->request = g_variant_ref_sink (request);
  forward->requester = requester != NULL ? dvmd_requester_copy (requester) : NULL;
  forward->nspace = dvmd_requester_dup_nspace (requester);
  g_task_set_task_data (task, forward, forward_free);
  ask_next (task);
  dvmd_controller_leave (self);
}

gboolean
dvmd_controller_forward_finish (DvmdController *self, GAsyncResult *result, GVariant **answer, gpointer *allocator,
                                GError **error)
{
  Forward *forward = g_task_get_task_data (G_TASK (result));

  *answer = NULL;
  *allocator = NULL;
  if (!g_task_propagate_boolean (G_TASK (result), error))
    return FALSE;
  *answer = g_steal_pointer (&forward->answer);
  *allocator = g_steal_pointer (&forward->allocator);
  return TRUE;
}
