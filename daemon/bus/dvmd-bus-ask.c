/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Requests that change the size of the DVM or a session are passed to the controller, and answered.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-ask.h"
#include "dvmd-bus-caller.h"
#include "dvmd-bus-events.h"

struct _DvmdBusAsked
{
  DvmdBusServer *server; /* (nullable) weak */
  DvmdBusCaller *caller;
  GDBusMethodInvocation *invocation;
  DvmdBusAskFinish finish;
  DvmdBusMakeReply make_reply;
  guint about;
};

DvmdBusAsked *
dvmd_bus_asked_new (DvmdBusCall *call, DvmdBusAskFinish finish, DvmdBusMakeReply make_reply, guint about)
{
  DvmdBusAsked *asked = g_new0 (DvmdBusAsked, 1);
  DvmdSession *session = about != 0 ? dvmd_core_get_session (call->core, about) : NULL;

  g_set_weak_pointer (&asked->server, call->server);
  asked->caller = dvmd_bus_caller_ref (call->caller);
  asked->invocation = call->invocation;
  asked->finish = finish;
  asked->make_reply = make_reply;
  asked->about = session != NULL ? about : 0;
  if (session != NULL)
    dvmd_bus_events_asking (call->server, session);
  return asked;
}

static void
asked_free (DvmdBusAsked *asked)
{
  g_clear_weak_pointer (&asked->server);
  dvmd_bus_caller_unref (asked->caller);
  g_free (asked);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdBusAsked, asked_free)

static void
answer_clear (DvmdBusAnswer *answer)
{
  g_free (answer->alloc_id);
  g_free (answer->req_id);
  g_free (answer->nspace);
  g_clear_pointer (&answer->sessions, g_variant_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (DvmdBusAnswer, answer_clear)

GVariant *
dvmd_bus_reply_nothing (const DvmdBusAnswer *answer)
{
  return NULL;
}

GVariant *
dvmd_bus_reply_campaign (const DvmdBusAnswer *answer)
{
  g_autofree char *campaign = dvmd_bus_path (DVMD_BUS_CAMPAIGN, answer->campaign);

  return g_variant_new ("(o)", campaign);
}

GVariant *
dvmd_bus_reply_alloc_id (const DvmdBusAnswer *answer)
{
  g_autofree char *campaign = dvmd_bus_path (DVMD_BUS_CAMPAIGN, answer->campaign);

  return g_variant_new ("(so)", answer->alloc_id != NULL ? answer->alloc_id : "", campaign);
}

static void
add_text (GVariantBuilder *builder, const char *key, const char *text)
{
  if (text != NULL)
    g_variant_builder_add (builder, "{sv}", key, g_variant_new_string (text));
}

static void
add_sessions (GVariantBuilder *builder, GVariant *sessions)
{
  gsize n;
  const guint32 *ids = g_variant_get_fixed_array (sessions, &n, sizeof (guint32));
  GVariantBuilder paths;

  g_variant_builder_init (&paths, G_VARIANT_TYPE_OBJECT_PATH_ARRAY);
  for (gsize i = 0; i < n; i++)
    {
      g_autofree char *path = dvmd_bus_path (DVMD_BUS_SESSION, ids[i]);

      g_variant_builder_add (&paths, "o", path);
    }
  g_variant_builder_add (builder, "{sv}", "sessions", g_variant_builder_end (&paths));
}

GVariant *
dvmd_bus_reply_dictionary (const DvmdBusAnswer *answer)
{
  g_autofree char *session = dvmd_bus_path (DVMD_BUS_SESSION, answer->session);
  g_autofree char *campaign = dvmd_bus_path (DVMD_BUS_CAMPAIGN, answer->campaign);
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  add_text (&builder, "alloc-id", answer->alloc_id);
  add_text (&builder, "req-id", answer->req_id);
  add_text (&builder, "nspace", answer->nspace);
  if (answer->has_session)
    g_variant_builder_add (&builder, "{sv}", "session", g_variant_new_object_path (session));
  if (answer->sessions != NULL)
    add_sessions (&builder, answer->sessions);
  g_variant_builder_add (&builder, "{sv}", "campaign", g_variant_new_object_path (campaign));
  return g_variant_new ("(a{sv})", &builder);
}

void
dvmd_bus_on_asked (GObject *controller, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (DvmdBusAsked) asked = user_data;
  GError *error = NULL;
  g_autoptr (GVariant) dict = asked->finish (DVMD_CONTROLLER (controller), result, &error);
  g_auto (DvmdBusAnswer) answer = { NULL };

  if (dict == NULL)
    {
      dvmd_bus_return_error (asked->invocation, error);
      if (asked->server != NULL)
        dvmd_bus_events_not_answered (asked->server, asked->about);
      return;
    }
  g_variant_lookup (dict, "alloc-id", "s", &answer.alloc_id);
  g_variant_lookup (dict, "req-id", "s", &answer.req_id);
  g_variant_lookup (dict, "nspace", "s", &answer.nspace);
  answer.has_session = g_variant_lookup (dict, "session", "u", &answer.session);
  answer.sessions = g_variant_lookup_value (dict, "sessions", G_VARIANT_TYPE ("au"));
  g_variant_lookup (dict, "campaign", "u", &answer.campaign);
  dvmd_bus_return_value (asked->invocation, asked->make_reply (&answer));
  /* From now on the caller may hear of it. */
  if (asked->server != NULL)
    dvmd_bus_events_answered (asked->server, asked->caller, asked->about, answer.session, answer.campaign);
}
