/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <sys/socket.h>

#include "dvmd-router.h"
#include "transport-fixture.h"

/* The controller and one agent, with a wire between them; other agents are only spoken of. */
typedef struct
{
  DvmdClock *clock;
  DvmdAuthority *authority;
  DvmdIdentity *identity;
  DvmdRouter *controller;
  DvmdRouter *agent;
} Fixture;

static DvmdRouter *
make_router (Fixture *fixture, guint32 rank)
{
  static const DvmdRouterFuncs funcs = { NULL };
  const DvmdRouterOptions options = {
    .rank = rank, .name = "node", .clock = fixture->clock, .identity = fixture->identity
  };

  return dvmd_router_new (&options, &funcs, NULL, NULL);
}

static void
put_wire (Fixture *fixture)
{
  g_autoptr (DvmdWire) down = NULL;
  g_autoptr (DvmdWire) up = NULL;
  DvmdWireOptions options;
  int fds[2];

  g_assert_cmpint (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), ==, 0);
  dvmd_router_get_wire_options (fixture->controller, &options);
  down = dvmd_wire_new (dvmd_socket_new (fds[0], "agent"), 1, &options);
  up = dvmd_wire_new (dvmd_socket_new (fds[1], "controller"), 0, &options);
  dvmd_router_take_wire (fixture->controller, down);
  dvmd_router_take_wire (fixture->agent, up);
}

static void
set_up (Fixture *fixture, gconstpointer data)
{
  GError *error = NULL;

  fixture->clock = dvmd_clock_new_real (NULL);
  fixture->authority = dvmd_authority_new ("instance", &error);
  g_assert_no_error (error);
  fixture->identity = test_identity_new (fixture->authority, 0);
  fixture->controller = make_router (fixture, 0);
  fixture->agent = make_router (fixture, 1);
  put_wire (fixture);
}

static void
tear_down (Fixture *fixture, gconstpointer data)
{
  dvmd_router_stop (fixture->agent);
  dvmd_router_stop (fixture->controller);
  g_assert_finalize_object (fixture->agent);
  g_assert_finalize_object (fixture->controller);
  dvmd_identity_unref (fixture->identity);
  dvmd_authority_unref (fixture->authority);
  dvmd_clock_unref (fixture->clock);
}

static void
tell_members (Fixture *fixture, guint32 rank)
{
  GVariantBuilder rows;

  g_variant_builder_init (&rows, G_VARIANT_TYPE ("a(uss)"));
  g_variant_builder_add (&rows, "(uss)", 1, "node1", "unix:/one");
  g_variant_builder_add (&rows, "(uss)", rank, "node2", "unix:/two tcp:127.0.0.1:1");
  dvmd_router_broadcast (fixture->controller, DVMD_MSG_MEMBERSHIP, g_variant_new ("(ta(uss))", (guint64)1, &rows));
}

static void
come_and_go (Fixture *fixture, guint32 rank)
{
  guint32 parent;

  dvmd_router_set_addresses (fixture->controller, rank, "unix:/two tcp:127.0.0.1:1");
  dvmd_router_add (fixture->controller, &rank, 1);
  tell_members (fixture, rank);
  wait_until (dvmd_router_get_addresses (fixture->agent, rank) != NULL);
  g_assert_cmpstr (dvmd_router_get_addresses (fixture->agent, rank)[1], ==, "tcp:127.0.0.1:1");
  dvmd_router_order (fixture->controller, &rank, 1, &parent);
  dvmd_router_drop (fixture->controller, rank);
  dvmd_router_forget (fixture->controller, &rank, 1);
}

/* The addresses of members that have left are not looked for, and not kept beyond the next change. */
static void
test_addresses (Fixture *fixture, gconstpointer data)
{
  const guint32 one = 1;

  dvmd_router_set_addresses (fixture->controller, 1, "unix:/one");
  dvmd_router_add (fixture->controller, &one, 1);
  for (guint32 rank = 2; rank < 10; rank++)
    {
      come_and_go (fixture, rank);
      g_assert_null (dvmd_router_get_addresses (fixture->controller, rank));
      g_assert_true (rank == 2 || dvmd_router_get_addresses (fixture->agent, rank - 1) == NULL);
      g_assert_nonnull (dvmd_router_get_addresses (fixture->agent, 1));
      g_assert_nonnull (dvmd_router_get_addresses (fixture->controller, 1));
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);

  g_test_add ("/router/addresses", Fixture, NULL, set_up, test_addresses, tear_down);

  return g_test_run ();
}
