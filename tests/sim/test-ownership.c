/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ownership of sessions and nodes: random families of jobs and tools that set nodes aside, spawn into what they
 * have and have not, and end in a random order, beside a model that knows nothing of the core but the rules (R9-R62,
 * S4-S6, S27). After each step the two must agree on every session, its owners, every node and every job. A history
 * that fails names its seed (sim-seeds.h).
 */

#include "config.h"

#include "core-world.h"
#include "dvmd-core-parts.h"
#include "dvmd-core-sessions.h"
#include "dvmd-job-registry.h"
#include "dvmd-session-private.h"
#include "dvmd-vm.h"
#include "sim-seeds.h"

#define N_NODES 6
#define N_TOOLS 2
#define N_STEPS 60
#define UID     1000

#define sure(self, condition)                                                                                          \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    if (!(condition))                                                                                                  \
      g_error ("DVM_SIM_SEED=%u, step %u (%s): %s does not hold (line %d)", (self)->seed, (self)->step, (self)->doing, \
               #condition, __LINE__);                                                                                  \
  }                                                                                                                    \
  G_STMT_END

/* A requester: a job or a tool. */
typedef struct Person
{
  char *nspace;
  char *requester;
  gboolean is_job;
  gboolean alive;
  gboolean separate;
  struct Person *above; /* (nullable): who spawned it; a tool for what a tool submitted */
  GArray *sessions;     /* guint: ids; 0: the default one */
  guint id;             /* of the job */
} Person;

typedef struct
{
  guint id;
  char *alloc_id;
  Person *owner;
  DvmdInheritance inheritance;
  gboolean shared;
  gboolean separate;
  gboolean alive;
  gboolean disposed;
  guint parent;
  guint64 nodes; /* by rank */
} Allocation;

typedef struct
{
  guint seed;
  guint step;
  const char *doing;
  GRand *rand;
  World world;
  GPtrArray *people;
  GPtrArray *allocations;
  guint n_refused;
} Model;

static void
person_free (gpointer data)
{
  Person *self = data;

  g_free (self->nspace);
  g_free (self->requester);
  g_array_unref (self->sessions);
  g_free (self);
}

static void
allocation_free (gpointer data)
{
  Allocation *self = data;

  g_free (self->alloc_id);
  g_free (self);
}

static guint
chance (Model *self, guint n)
{
  return g_rand_int_range (self->rand, 0, (int)n);
}

/* ---- the rules ---- */

static Allocation *
find_allocation (Model *self, guint id)
{
  for (guint i = 0; i < self->allocations->len; i++)
    {
      Allocation *one = g_ptr_array_index (self->allocations, i);

      if (one->id == id)
        return one;
    }
  return NULL;
}

static gboolean
is_in (const Person *person, guint session)
{
  for (guint i = 0; i < person->sessions->len; i++)
    if (g_array_index (person->sessions, guint, i) == session)
      return TRUE;
  return FALSE;
}

/* R39-R43: an allocation has its owner for life, and the jobs that were spawned into it, as long as they live. */
static gboolean
is_owner (const Person *person, const Allocation *one)
{
  return person == one->owner || (person->is_job && person->alive && is_in (person, one->id));
}

/* S9: every tool here belongs to the user who owns everything. */
static gboolean
is_entitled (const Person *person, const Allocation *one)
{
  return !person->is_job || is_owner (person, one);
}

static gboolean
is_reserved (Model *self, guint rank)
{
  for (guint i = 0; i < self->allocations->len; i++)
    {
      const Allocation *one = g_ptr_array_index (self->allocations, i);

      if (one->alive && !one->shared && (one->nodes & (G_GUINT64_CONSTANT (1) << rank)))
        return TRUE;
    }
  return FALSE;
}

static gboolean
descends (const Person *person, const Person *from)
{
  for (const Person *one = person->above; one != NULL; one = one->above)
    if (one == from)
      return TRUE;
  return FALSE;
}

/* R42: children descend by spawn, at any depth; of a tool's session also from the session's jobs (RP4). */
static gboolean
has_children (Model *self, const Allocation *one)
{
  for (guint i = 0; i < self->people->len; i++)
    {
      const Person *person = g_ptr_array_index (self->people, i);

      if (!person->is_job || !person->alive)
        continue;
      if (descends (person, one->owner))
        return TRUE;
      for (const Person *each = person; !one->owner->is_job && each != NULL; each = each->above)
        if (each->is_job && is_in (each, one->id))
          return TRUE;
    }
  return FALSE;
}

/* S6: an allocation ends with its children. */
static void
end_allocation (Model *self, Allocation *one)
{
  one->alive = FALSE;
  for (guint i = 0; i < self->allocations->len; i++)
    {
      Allocation *child = g_ptr_array_index (self->allocations, i);

      if (child->parent != one->id || !child->alive)
        continue;
      child->parent = 0;
      if (!child->separate)
        end_allocation (self, child);
    }
}

/* R56-R59: allocations whose owner has ended go the way of their inheritance. */
static void
inherit (Model *self)
{
  for (guint i = 0; i < self->allocations->len; i++)
    {
      Allocation *one = g_ptr_array_index (self->allocations, i);
      gboolean waits = one->inheritance == DVMD_INHERIT_CHILD || one->inheritance == DVMD_INHERIT_CHILD_DEFAULT;

      if (!one->alive || one->disposed || one->owner->alive || (waits && has_children (self, one)))
        continue;
      one->disposed = TRUE;
      if (one->inheritance == DVMD_INHERIT_NONE || one->inheritance == DVMD_INHERIT_CHILD)
        end_allocation (self, one);
      else
        one->shared = TRUE;
    }
}

/* S27: children end with their parent job, unless they are separate. */
static void
end_person (Model *self, Person *person)
{
  person->alive = FALSE;
  for (guint i = 0; i < self->people->len; i++)
    {
      Person *child = g_ptr_array_index (self->people, i);

      if (child->above == person && person->is_job && child->alive && !child->separate)
        end_person (self, child);
    }
}

/* ---- both ---- */

/* The processes of jobs that are to be killed end. */
static void
answer_kills (Model *self)
{
  DvmdCore *core = self->world.core;

  for (;;)
    {
      const char *at = strstr (self->world.log->str, "kill ");
      DvmdJob *job;

      if (at == NULL)
        break;
      job = dvmd_core_get_job (core, (guint)atoi (at + strlen ("kill ")));
      g_string_erase (self->world.log, 0, (gssize)(at + strlen ("kill ") - self->world.log->str));
      end_proc (&self->world, job, 0, DVM_PROC_STATE_ABORTED_BY_SIG, 0, 15);
      all_gone (&self->world, job);
    }
  g_string_truncate (self->world.log, 0);
}

/* Children of a job that has ended well get some time. */
static void
settle (Model *self)
{
  run (&self->world);
  dvmd_clock_advance (self->world.clock, 10 * G_TIME_SPAN_SECOND);
  run (&self->world);
  answer_kills (self);
  inherit (self);
}

static DvmdRequester *
make_requester (const Person *person)
{
  return dvmd_requester_new (person->requester, UID, 42);
}

static Person *
add_person (Model *self, const char *nspace, Person *above)
{
  Person *person = g_new0 (Person, 1);

  person->nspace = g_strdup (nspace);
  person->requester = g_strdup_printf ("pmix:%s.0", nspace);
  person->alive = TRUE;
  person->above = above;
  person->sessions = g_array_new (FALSE, FALSE, sizeof (guint));
  g_ptr_array_add (self->people, person);
  return person;
}

static Person *
pick_person (Model *self)
{
  for (;;)
    {
      Person *person = g_ptr_array_index (self->people, chance (self, self->people->len));

      if (person->alive)
        return person;
    }
}

static Allocation *
pick_allocation (Model *self)
{
  for (guint i = 0; i < 8 && self->allocations->len > 0; i++)
    {
      Allocation *one = g_ptr_array_index (self->allocations, chance (self, self->allocations->len));

      if (one->alive)
        return one;
    }
  return NULL;
}

/* ---- what is compared ---- */

static void
compare_owners (Model *self, const Allocation *one, DvmdSession *session)
{
  const char *const *owners;
  guint n = 0;

  dvmd_session_publish (session);
  owners = dvm_session_get_owners (dvmd_session_get_record (session));
  for (guint i = 0; i < self->people->len; i++)
    {
      const Person *person = g_ptr_array_index (self->people, i);
      gboolean owns = is_owner (person, one);

      n += owns;
      sure (self, g_strv_contains (owners, person->nspace) == owns);
      sure (self, dvmd_session_owns (session, person->nspace) == owns);
    }
  sure (self, g_strv_length ((char **)owners) == n);
  sure (self, g_strcmp0 (dvm_session_get_owner (dvmd_session_get_record (session)), one->owner->nspace) == 0);
}

static void
compare_allocations (Model *self)
{
  guint n = 0;

  for (guint i = 0; i < self->allocations->len; i++)
    {
      const Allocation *one = g_ptr_array_index (self->allocations, i);
      DvmdSession *session = dvmd_core_get_session (self->world.core, one->id);
      g_autoptr (GPtrArray) nodes = NULL;
      guint64 ranks = 0;

      sure (self, one->alive == (session != NULL && !dvmd_session_is_ending (session)));
      sure (self, one->alive
                      == (dvmd_core_find_session (self->world.core, one->alloc_id) != NULL
                          && !dvmd_session_is_ending (dvmd_core_find_session (self->world.core, one->alloc_id))));
      if (!one->alive)
        continue;
      n++;
      compare_owners (self, one, session);
      nodes = dvmd_session_list_nodes (session);
      for (guint k = 0; k < nodes->len; k++)
        ranks |= G_GUINT64_CONSTANT (1) << ((DvmdNode *)g_ptr_array_index (nodes, k))->rank;
      sure (self, ranks == one->nodes);
      sure (self, dvmd_session_is_reserved (session) == !one->shared);
      sure (self, dvm_session_get_shared (dvmd_session_get_record (session)) == one->shared);
      sure (self, session->family.parent == one->parent);
    }
  for (DvmdSession *session = NULL; (session = dvmd_core_next_session (self->world.core, session)) != NULL;)
    n -= dvmd_session_get_id (session) != 0 && !dvmd_session_is_ending (session);
  sure (self, n == 0);
}

static void
compare (Model *self)
{
  compare_allocations (self);
  for (guint rank = 1; rank <= N_NODES; rank++)
    sure (self, dvmd_node_is_reserved (dvmd_node_pool_get (dvmd_core_get_nodes (self->world.core), rank))
                    == is_reserved (self, rank));
  for (guint i = 0; i < self->people->len; i++)
    {
      const Person *person = g_ptr_array_index (self->people, i);
      DvmdJob *job = person->is_job ? dvmd_core_get_job (self->world.core, person->id) : NULL;

      sure (self, !person->is_job || person->alive == (job != NULL && !dvmd_job_get_ended (job)));
    }
}

/* A refused request leaves nothing (R52). */
static void
was_refused (Model *self, GError *error, gboolean may_be_missing)
{
  sure (self, error != NULL);
  sure (self, g_error_matches (error, DVM_ERROR, DVM_ERROR_NO_PERMISSIONS)
                  || (may_be_missing && g_error_matches (error, DVM_ERROR, DVM_ERROR_NOT_FOUND)));
  self->n_refused++;
}

/* ---- steps ---- */

static gboolean
may_have_nodes (Model *self, const Person *person, const Allocation *into, guint64 nodes)
{
  for (guint i = 0; i < self->allocations->len; i++)
    {
      const Allocation *one = g_ptr_array_index (self->allocations, i);

      if (one != into && one->alive && !one->shared && (one->nodes & nodes) && !is_entitled (person, one))
        return FALSE;
    }
  return TRUE;
}

static guint64
pick_hosts (Model *self, DvmdGrowHost *hosts, char **names, guint *n)
{
  guint64 nodes = 0;

  for (guint wanted = 1 + chance (self, 2); wanted > 0; wanted--)
    nodes |= G_GUINT64_CONSTANT (1) << (1 + chance (self, N_NODES));
  *n = 0;
  for (guint rank = 1; rank <= N_NODES; rank++)
    if (nodes & (G_GUINT64_CONSTANT (1) << rank))
      {
        names[*n] = g_strdup_printf ("node%u", rank);
        hosts[*n] = (DvmdGrowHost){ .name = names[*n] };
        (*n)++;
      }
  return nodes;
}

static void
reserve (Model *self)
{
  Person *person = pick_person (self);
  Person *owner = chance (self, 4) == 0 ? pick_person (self) : person;
  g_autoptr (DvmdRequester) requester = make_requester (person);
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;
  DvmdGrowHost hosts[N_NODES];
  char *names[N_NODES + 1] = { NULL };
  DvmdGrowRequest request = { .requester = requester, .hosts = hosts, .inheritance_given = TRUE, .share_given = TRUE };
  guint64 nodes = pick_hosts (self, hosts, names, &request.n_hosts);
  gboolean named = owner != person || chance (self, 8) == 0;
  guint primary = person->sessions->len > 0 ? g_array_index (person->sessions, guint, 0) : 0;
  Allocation *parent = primary != 0 ? find_allocation (self, primary) : NULL;
  Allocation *one;

  self->doing = "reserve";
  request.inheritance = chance (self, 4);
  request.share = chance (self, 3) == 0;
  request.child_separate = chance (self, 3) == 0;
  request.target = named ? owner->nspace : NULL;
  if (!dvmd_core_grow (self->world.core, &request, &answer, &error))
    {
      was_refused (self, error, FALSE);
      sure (self, (person->is_job && named) || !may_have_nodes (self, person, NULL, nodes));
    }
  else
    {
      sure (self, !(person->is_job && named) && may_have_nodes (self, person, NULL, nodes));
      one = g_new0 (Allocation, 1);
      one->id = answer.session;
      one->alloc_id = g_strdup (answer.alloc_id);
      one->owner = owner;
      one->inheritance = request.inheritance;
      one->shared = request.share;
      one->separate = request.child_separate;
      one->alive = TRUE;
      one->nodes = nodes;
      one->parent = parent != NULL && parent->alive ? primary : 0;
      g_ptr_array_add (self->allocations, one);
    }
  for (guint i = 0; names[i] != NULL; i++)
    g_free (names[i]);
}

static void
extend (Model *self)
{
  Allocation *one = pick_allocation (self);
  Person *person = pick_person (self);
  g_autoptr (DvmdRequester) requester = make_requester (person);
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;
  DvmdGrowHost hosts[N_NODES];
  char *names[N_NODES + 1] = { NULL };
  DvmdGrowRequest request = { .requester = requester, .hosts = hosts };
  guint64 nodes;
  gboolean may;

  if (one == NULL)
    return;
  self->doing = "extend";
  nodes = pick_hosts (self, hosts, names, &request.n_hosts);
  may = is_entitled (person, one) && may_have_nodes (self, person, one, nodes);
  request.share = one->shared;
  request.alloc_id = one->alloc_id;
  request.inheritance_given = chance (self, 2) == 0;
  request.inheritance = chance (self, 4);
  sure (self, dvmd_core_grow (self->world.core, &request, &answer, &error) == may);
  if (!may)
    was_refused (self, error, FALSE);
  else
    {
      one->nodes |= nodes;
      if (request.inheritance_given)
        one->inheritance = request.inheritance;
    }
  for (guint i = 0; names[i] != NULL; i++)
    g_free (names[i]);
}

static void
release (Model *self)
{
  Allocation *one = pick_allocation (self);
  Person *person = pick_person (self);
  g_autoptr (DvmdRequester) requester = make_requester (person);
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;
  DvmdShrinkRequest request = { .requester = requester };

  if (one == NULL)
    return;
  self->doing = "release";
  request.alloc_id = one->alloc_id;
  sure (self, dvmd_core_shrink (self->world.core, &request, &answer, &error) == is_entitled (person, one));
  if (is_entitled (person, one))
    end_allocation (self, one);
  else
    was_refused (self, error, FALSE);
}

/* The nodes that a job may use, by rank (R35). */
static guint64
get_pool (Model *self, const Person *person)
{
  guint64 pool = 0;

  for (guint i = 0; i < person->sessions->len; i++)
    {
      guint id = g_array_index (person->sessions, guint, i);

      if (id != 0)
        pool |= find_allocation (self, id)->nodes;
      for (guint rank = 1; id == 0 && rank <= N_NODES; rank++)
        if (!is_reserved (self, rank))
          pool |= G_GUINT64_CONSTANT (1) << rank;
    }
  return pool;
}

static void
add_target (Person *person, GPtrArray *targets, guint id, const char *alloc_id)
{
  if (is_in (person, id))
    return;
  g_array_append_val (person->sessions, id);
  g_ptr_array_add (targets, (gpointer)alloc_id);
}

/* Chooses the sessions of a new job. TRUE: it may go there. missing (out): one of them does not exist. */
static gboolean
choose_targets (Model *self, const Person *above, Person *person, GPtrArray *targets, gboolean *missing)
{
  gboolean may = TRUE;

  *missing = FALSE;
  for (guint n = chance (self, 3); n > 0; n--)
    {
      Allocation *one = pick_allocation (self);

      if (!*missing && chance (self, 12) == 0)
        {
          *missing = TRUE;
          g_ptr_array_add (targets, "no-such");
        }
      else if (one == NULL || chance (self, 4) == 0)
        add_target (person, targets, 0, "");
      else
        {
          may = may && is_entitled (above, one);
          add_target (person, targets, one->id, one->alloc_id);
        }
    }
  /* S4: the new job goes into the session of the job that spawns it. */
  if (targets->len == 0)
    {
      guint primary = above->sessions->len > 0 ? g_array_index (above->sessions, guint, 0) : 0;
      Allocation *one = primary != 0 ? find_allocation (self, primary) : NULL;

      primary = one != NULL && one->alive ? primary : 0;
      g_array_append_val (person->sessions, primary);
    }
  return may && !*missing;
}

static void
spawn (Model *self)
{
  Person *above = pick_person (self);
  g_autoptr (DvmdRequester) requester = make_requester (above);
  g_autoptr (DvmJobSpec) spec = make_spec (1);
  g_autoptr (GPtrArray) targets = g_ptr_array_new ();
  g_autoptr (GError) error = NULL;
  Person *person = add_person (self, "", above);
  gboolean missing;
  gboolean may;
  guint64 pool;
  DvmdJob *job;

  self->doing = "spawn";
  person->is_job = TRUE;
  may = choose_targets (self, above, person, targets, &missing);
  pool = may ? get_pool (self, person) : 0;
  if (may && pool == 0)
    {
      g_ptr_array_set_size (self->people, (int)self->people->len - 1);
      return;
    }
  g_ptr_array_add (targets, NULL);
  dvm_job_spec_set_target (spec, (const char *const *)targets->pdata);
  person->separate = chance (self, 2) == 0;
  dvm_job_spec_set_child_separate (spec, person->separate);
  job = dvmd_core_submit (self->world.core, spec, requester, &error);
  if ((job != NULL) != may)
    g_message ("%s spawns: %s", above->nspace, error != NULL ? error->message : "it may");
  sure (self, (job != NULL) == may);
  if (job == NULL)
    {
      was_refused (self, error, missing);
      g_ptr_array_set_size (self->people, (int)self->people->len - 1);
      return;
    }
  g_free (person->nspace);
  g_free (person->requester);
  person->id = dvmd_job_get_id (job);
  person->nspace = g_strdup (dvm_job_get_nspace (dvmd_job_get_record (job)));
  person->requester = g_strdup_printf ("pmix:%s.0", person->nspace);
  run (&self->world);
  sure (self, dvmd_job_get_map (job) != NULL);
  sure (self, pool & (G_GUINT64_CONSTANT (1) << dvmd_proc_table_row (dvmd_job_get_procs (job), 0)->node));
  launch_all (&self->world, job);
}

/* A job ends by itself, or a tool goes. */
static void
end (Model *self)
{
  Person *person = pick_person (self);

  self->doing = "end";
  if (g_str_has_suffix (person->nspace, "tool-1-0") || chance (self, 3) > 0)
    return;
  end_person (self, person);
  if (person->is_job)
    {
      DvmdJob *job = dvmd_core_get_job (self->world.core, person->id);

      end_proc (&self->world, job, 0, DVM_PROC_STATE_TERMINATED, 0, 0);
      all_gone (&self->world, job);
    }
  else
    dvmd_core_namespace_ended (self->world.core, person->nspace);
}

/* ---- a history ---- */

static void
begin (Model *self, guint seed)
{
  const DvmdCoreSettings settings = { .nspace = "dvm-test", .host = "head", .history_limit = 1000, .uid = UID };

  *self = (Model){ .seed = seed, .doing = "start" };
  self->rand = g_rand_new_with_seed (seed);
  self->people = g_ptr_array_new_with_free_func (person_free);
  self->allocations = g_ptr_array_new_with_free_func (allocation_free);
  world_init_with (&self->world, N_NODES, 1000, &settings);
  bring_up (&self->world);
  for (guint i = 0; i < N_TOOLS; i++)
    {
      g_autofree char *nspace = g_strdup_printf ("dvm-test@tool-1-%u", i);

      add_person (self, nspace, NULL);
    }
}

static void
finish (Model *self)
{
  world_clear (&self->world);
  g_ptr_array_unref (self->people);
  g_ptr_array_unref (self->allocations);
  g_rand_free (self->rand);
}

static void
run_history (guint seed)
{
  void (*const steps[]) (Model *) = { reserve, reserve, extend, spawn, spawn, spawn, release, end, end, end };
  Model self;

  begin (&self, seed);
  for (self.step = 0; self.step < N_STEPS; self.step++)
    {
      steps[chance (&self, G_N_ELEMENTS (steps))](&self);
      settle (&self);
      compare (&self);
    }
  finish (&self);
}

static void
test_histories (void)
{
  sim_seeds_run (run_history);
}

int
main (int argc, char *argv[])
{
  sim_seeds_init (&argc, &argv);
  g_test_add_func ("/ownership/histories", test_histories);
  return g_test_run ();
}
