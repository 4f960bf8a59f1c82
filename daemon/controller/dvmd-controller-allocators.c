/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Allocators while the DVM runs: they are offered the nodes that have left, and ask for changes of its size themselves.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-elastic.h"
#include <string.h>
#include <unistd.h>

#include "dvmd-services.h"
#include "dvmd-controller-session.h"
#include "dvmd-core-sessions.h"
#include "dvmd-controller-allocators.h"
#include "dvmd-controller-questions.h"
#include "dvmd-node-allotment.h"
#include "dvmd-size-change.h"

/* ---- offers ---- */

/* Nodes, offered to the active allocators; what each makes of it is its own decision (E41). */
typedef struct
{
  gint ref_count;
  DvmdController *controller;
  DvmdCampaign *campaign; /* (nullable) */
  guint n_left;
} Offer;

static Offer *
offer_new (DvmdController *controller, DvmdCampaign *campaign)
{
  Offer *self = g_new0 (Offer, 1);

  self->ref_count = 1;
  self->controller = g_object_ref (controller);
  self->campaign = campaign != NULL ? g_object_ref (campaign) : NULL;
  return self;
}

static void
offer_unref (Offer *self)
{
  if (--self->ref_count > 0)
    return;
  g_clear_object (&self->campaign);
  g_object_unref (self->controller);
  g_free (self);
}

static void
check_offer (Offer *offer)
{
  if (offer->n_left == 0 && offer->campaign != NULL && dvmd_controller_get_core (offer->controller) != NULL)
    dvmd_core_offered (dvmd_controller_get_core (offer->controller), offer->campaign);
}

static void
on_given_back (DvmdController *self, DvmdAllocator *allocator, GAsyncResult *result, const GError *error, gpointer data)
{
  Offer *offer = data;
  const char *name = dvmd_plugins_get_name (dvmd_controller_get_parts (self)->plugins, allocator);
  g_autoptr (GError) refused = NULL;
  DvmdPluginVerdict verdict = DVMD_PLUGIN_FAILED;

  if (result != NULL)
    verdict = dvmd_allocator_give_back_finish (allocator, result, &refused);
  if (error != NULL)
    g_message ("What becomes of nodes that have left is not waited for: %s", error->message);
  else if (refused != NULL)
    g_message ("The allocator %s does not take nodes back: %s", name, refused->message);
  else
    g_debug ("The allocator %s %s", name, verdict == DVMD_PLUGIN_DONE ? "has taken nodes back" : "leaves them");
  offer->n_left--;
  /* The end of the DVM ends its campaigns itself. */
  if (!g_error_matches (error, DVM_ERROR, DVM_ERROR_SHUTTING_DOWN))
    check_offer (offer);
  offer_unref (offer);
}

/* (transfer full): what the call of the allocator gets; number (out): and its user data */
static GCancellable *
open_offer (Offer *offer, DvmdAllocator *allocator, gpointer *number)
{
  GCancellable *cancellable = NULL;

  offer->ref_count++;
  offer->n_left++;
  *number = GSIZE_TO_POINTER (
      dvmd_controller_ask (offer->controller, allocator, TRUE, NULL, on_given_back, offer, &cancellable));
  return cancellable;
}

/* (nullable): the active allocator of that name that takes back what it has brought */
static DvmdAllocator *
find_taker (DvmdController *self, GPtrArray *active, const char *name)
{
  for (guint i = 0; name != NULL && i < active->len; i++)
    if (g_strcmp0 (dvmd_plugins_get_name (dvmd_controller_get_parts (self)->plugins, active->pdata[i]), name) == 0)
      return dvmd_allocator_takes_back (active->pdata[i]) ? active->pdata[i] : NULL;
  return NULL;
}

/* (transfer container): what an allocator has brought, and what there is nobody else for; NULL: all of them */
static const char **
list_share (DvmdController *self, GPtrArray *active, DvmdAllocator *allocator, const DvmdOffer *nodes, guint n_nodes)
{
  const char **list = g_new0 (const char *, n_nodes + 1);
  guint n = 0;

  for (guint i = 0; i < n_nodes; i++)
    {
      DvmdAllocator *taker = allocator != NULL ? find_taker (self, active, nodes[i].allocator) : NULL;

      if (taker == NULL || taker == allocator)
        list[n++] = nodes[i].name;
    }
  return list;
}

static void
on_nobody_asked (gpointer user_data)
{
  Offer *offer = user_data;

  offer->n_left--;
  check_offer (offer);
  offer_unref (offer);
}

void
dvmd_controller_offer_nodes (gpointer user_data, DvmdCampaign *campaign, const DvmdOffer *nodes, guint n_nodes)
{
  DvmdController *self = user_data;
  g_autoptr (GPtrArray) active = dvmd_controller_list_allocators (self);
  const char *alloc_id = campaign != NULL ? dvm_campaign_get_alloc_id (dvmd_campaign_get_record (campaign)) : NULL;
  g_autofree const char **all = list_share (self, active, NULL, nodes, n_nodes);
  Offer *offer = offer_new (self, campaign);

  offer->n_left = 1;
  dvmd_controller_enter (self);
  for (guint i = 0; i < active->len; i++)
    {
      DvmdAllocator *allocator = g_ptr_array_index (active, i);
      g_autofree const char **share = list_share (self, active, allocator, nodes, n_nodes);
      const DvmdReleaseOffer release = { .alloc_id = alloc_id, .names = share, .all = all };
      gpointer number = NULL;
      g_autoptr (GCancellable) cancellable = open_offer (offer, allocator, &number);

      dvmd_allocator_offer_release_async (allocator, &release, cancellable, dvmd_controller_answered, number);
    }
  dvmd_controller_leave (self);
  dvmd_clock_add_timer (dvmd_controller_get_parts (self)->clock, 0, on_nobody_asked, offer);
}

void
dvmd_controller_return_nodes (DvmdController *self, DvmdAllocator *allocator, const char *alloc_id,
                              const char *const *names)
{
  g_autoptr (GCancellable) cancellable = NULL;
  gpointer number = NULL;
  Offer *offer;

  if (names[0] == NULL || !dvmd_allocator_takes_back (allocator))
    return;
  offer = offer_new (self, NULL);
  cancellable = open_offer (offer, allocator, &number);
  dvmd_allocator_give_back_async (allocator, alloc_id, names, cancellable, dvmd_controller_answered, number);
  offer_unref (offer);
}

GPtrArray *
dvmd_controller_list_allocators (DvmdController *self)
{
  GPtrArray *active = dvmd_plugins_get_active (dvmd_controller_get_parts (self)->plugins, DVMD_PLUGIN_ALLOCATOR);

  /* Which are active may change while they are asked. */
  return g_ptr_array_copy (active, (GCopyFunc)g_object_ref, NULL);
}

void
dvmd_controller_session_ended (gpointer user_data, DvmdSession *session, GVariant *jobs)
{
  DvmdController *self = user_data;
  g_autoptr (GVariant) kept = g_variant_ref_sink (jobs);
  g_autoptr (GPtrArray) active = dvmd_controller_list_allocators (self);

  for (guint i = 0; i < active->len; i++)
    dvmd_allocator_session_ended (active->pdata[i], dvmd_session_get_id (session), dvmd_session_get_alloc_id (session),
                                  kept);
}

/* ---- pushes ---- */

typedef struct
{
  char *allocator;
  char *directive;
  DvmdRequester *requester; /* "scheduler:NAME" */
} Push;

static void
end_push (Push *push, const GError *error)
{
  if (error != NULL)
    g_message ("The allocator %s asks for “%s”, which is refused: %s", push->allocator, push->directive,
               error->message);
  g_free (push->allocator);
  g_free (push->directive);
  dvmd_requester_free (push->requester);
  g_free (push);
}

static void
on_pushed (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Push *push = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) answer = dvmd_controller_change_size_finish (DVMD_CONTROLLER (source), result, &error);

  end_push (push, error);
}

static void
on_controlled (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) answer = dvmd_controller_control_session_finish (DVMD_CONTROLLER (source), result, &error);

  end_push (user_data, error);
}

/* "alloc-id" or "session" */
static DvmdSession *
find_session (DvmdController *self, GVariant *request, GError **error)
{
  const char *alloc_id = NULL;
  DvmdSession *session = NULL;
  guint32 id = 0;

  g_variant_lookup (request, "alloc-id", "&s", &alloc_id);
  g_variant_lookup (request, "session", "u", &id);
  if (alloc_id == NULL && id == 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "Nothing says which session: give “alloc-id” or “session”");
  else
    dvmd_core_select_session (dvmd_controller_get_core (self), id, alloc_id, NULL, &session, error);
  return session;
}

static void
warn (DvmdController *self, Push *push, GVariant *request)
{
  g_autoptr (GError) error = NULL;
  DvmdSession *session = find_session (self, request, &error);
  guint32 seconds = 0;

  if (session != NULL && !g_variant_lookup (request, "seconds", "u", &seconds))
    g_set_error (&error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "Nothing says how long it lasts: give “seconds”");
  else if (session != NULL)
    dvmd_core_warn_session (dvmd_controller_get_core (self), session, seconds);
  end_push (push, error);
}

/* "session" says which one; the other keys are those of Manager.ControlSession. */
static void
control (DvmdController *self, Push *push, GVariant *request, gboolean terminate)
{
  g_auto (GVariantDict) directives;
  g_autoptr (GError) error = NULL;
  gboolean instantiate = FALSE;
  DvmdSession *session = NULL;
  guint32 id = 0;

  g_variant_dict_init (&directives, request);
  g_variant_dict_lookup (&directives, "session", "u", &id);
  /* A session that is to be made need not be there. */
  if (!g_variant_dict_lookup (&directives, "instantiate", "b", &instantiate))
    session = find_session (self, request, &error);
  if (session != NULL)
    id = dvmd_session_get_id (session);
  if (error != NULL)
    {
      end_push (push, error);
      return;
    }
  g_variant_dict_remove (&directives, "session");
  g_variant_dict_remove (&directives, "alloc-id");
  if (terminate)
    g_variant_dict_insert (&directives, "terminate", "b", TRUE);
  dvmd_controller_control_session_async (self, id, g_variant_dict_end (&directives), NULL, push->requester, TRUE, NULL,
                                         on_controlled, push);
}

/* Of the nodes that the DVM was started with. */
static void
limit (DvmdController *self, Push *push, GVariant *request)
{
  guint32 seconds = 0;
  gboolean is_limited = g_variant_lookup (request, "seconds", "u", &seconds);

  dvmd_core_limit_default_session (dvmd_controller_get_core (self), is_limited ? (gint64)seconds : -1);
  end_push (push, NULL);
}

static void
change_allotments (DvmdController *self, Push *push, GVariant *request)
{
  g_autoptr (GVariant) nodes = g_variant_lookup_value (request, "nodes", G_VARIANT_TYPE ("a{sa{sv}}"));
  g_autoptr (GError) error = NULL;

  if (nodes == NULL)
    g_set_error (&error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "There is no “nodes” of type a{sa{sv}}, which names nodes with what is given of them");
  else
    dvmd_controller_change_allotments (self, nodes, &error);
  end_push (push, error);
}

static void
end_dvm (DvmdController *self, Push *push, GVariant *request)
{
  g_autofree char *reason = g_strdup_printf ("The allocator %s ends the DVM", push->allocator);
  const char *given = reason;

  g_variant_lookup (request, "reason", "&s", &given);
  g_message ("%s", given);
  dvmd_controller_shutdown (self, FALSE, given);
  end_push (push, NULL);
}

static void
on_push (DvmdAllocator *allocator, const char *directive, GVariant *request, gpointer user_data)
{
  DvmdController *self = user_data;
  Push *push = g_new0 (Push, 1);
  g_autofree char *name = NULL;

  push->allocator = g_strdup (dvmd_plugins_get_name (dvmd_controller_get_parts (self)->plugins, allocator));
  push->directive = g_strdup (directive);
  name = g_strconcat ("scheduler:", push->allocator, NULL);
  push->requester = dvmd_requester_new (name, geteuid (), getpid ());
  if (dvmd_controller_get_core (self) == NULL)
    end_push (push, NULL);
  else if (strcmp (directive, "warn") == 0)
    warn (self, push, request);
  else if (strcmp (directive, "time-left") == 0)
    limit (self, push, request);
  else if (strcmp (directive, "allotted") == 0)
    change_allotments (self, push, request);
  else if (strcmp (directive, "end") == 0)
    end_dvm (self, push, request);
  else if (strcmp (directive, "terminate") == 0 || strcmp (directive, "control-session") == 0)
    control (self, push, request, directive[0] == 't');
  /* No requester is told of this change (E50); the one that asked before goes on being told of its own. */
  else
    dvmd_controller_push_size (self, allocator, directive, request, on_pushed, push);
}

void
dvmd_controller_listen_to_allocators (DvmdController *self)
{
  GPtrArray *all = dvmd_plugins_list (dvmd_controller_get_parts (self)->plugins);

  for (guint i = 0; i < all->len; i++)
    {
      DvmdPluginEntry *entry = g_ptr_array_index (all, i);

      if (entry->info->kind == DVMD_PLUGIN_ALLOCATOR && entry->instance != NULL)
        g_signal_connect_object (entry->instance, "push", G_CALLBACK (on_push), self, 0);
    }
}
