/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The sentences that say why a job has ended: one table for the daemon, which says them in English, and for clients,
 * which translate them.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-reason"

#include "dvm-reason-private.h"

#include <glib/gi18n-lib.h>
#include <string.h>

typedef struct
{
  const char *word;     /* on the bus; never changed, nor is the number of its arguments */
  const char *types;    /* of the arguments, as the daemon gives them */
  const char *sentence; /* each %s is an argument; translations may number them: %2$s */
  const char *plural;   /* (nullable): the same where its number is not 1 */
  guint number;         /* which argument that is */
} Sentence;

/* Both forms of a sentence, for xgettext */
#define NP_(one, many) one, many

static const Sentence sentences[DVM_REASON_N_CODES] = {
  [DVM_REASON_RANK_SIGNAL] = { "rank-signal", "usis", N_ ("Rank %s on %s was ended by signal %s (%s)") },
  [DVM_REASON_RANK_WITHOUT_FINALIZE] = { "rank-without-finalize", "usi",
                                         N_ ("Rank %s on %s called PMIx_Init or MPI_Init but ended with status %s "
                                             "without finalizing") },
  [DVM_REASON_RANK_WITHOUT_INIT] = { "rank-without-init", "us",
                                     N_ ("Rank %s on %s ended without calling PMIx_Init, but others of its job have "
                                         "called it and would wait for it") },
  [DVM_REASON_RANK_STATUS] = { "rank-status", "usi", N_ ("Rank %s on %s ended with status %s") },
  [DVM_REASON_RANK_ABORT] = { "rank-abort", "usi", N_ ("Rank %s on %s called PMIx_Abort or MPI_Abort with status %s") },
  [DVM_REASON_RANK_ABORT_MESSAGE] = { "rank-abort-message", "usis",
                                      N_ ("Rank %s on %s called PMIx_Abort or MPI_Abort with status %s: %s") },
  [DVM_REASON_RANK_STATE] = { "rank-state", "uss", N_ ("Rank %s on %s: %s") },
  [DVM_REASON_RANK_NOT_STARTED] = { "rank-not-started", "uss", N_ ("Rank %s on %s could not be started: %s") },
  [DVM_REASON_ABORTED_BY] = { "aborted-by", "si", N_ ("%s called PMIx_Abort with status %s") },
  [DVM_REASON_ABORTED_BY_MESSAGE] = { "aborted-by-message", "sis", N_ ("%s called PMIx_Abort with status %s: %s") },
  [DVM_REASON_NODE_LOST] = { "node-lost", "ss", N_ ("%s was lost: %s") },
  [DVM_REASON_NODE_LOST_BEFORE_LAUNCH] = { "node-lost-before-launch", "ss",
                                           N_ ("%s was lost before the job could be launched there: %s") },
  [DVM_REASON_NODE_LEFT] = { "node-left", "s", N_ ("%s has left the DVM") },
  [DVM_REASON_NODE_TAKEN] = { "node-taken", "ss", N_ ("%s takes %s away") },
  [DVM_REASON_TIME_LIMIT] = { "time-limit", "u", N_ ("The job's time limit of %s s has passed") },
  [DVM_REASON_SPAWN_TIME_LIMIT] = { "spawn-time-limit", "",
                                    N_ ("It did not run when the time was up that its spawn had been given") },
  [DVM_REASON_START_TIME_LIMIT] = { "start-time-limit", "u",
                                    N_ ("Not all of its processes had been started within %s s, as spawn-timeout "
                                        "says") },
  [DVM_REASON_TOO_MANY_PROCESSES] = { "too-many-processes", "uuu",
                                      NP_ (
                                          "The job asks for %s process: on its nodes (%s) there can be %s at most",
                                          "The job asks for %s processes: on its nodes (%s) there can be %s at most") },
  [DVM_REASON_TOO_MANY_FOR_SLOTS] = { "too-many-for-slots", "uu",
                                      NP_ ("The job asks for %s processes, but its nodes have %s slot: ask for fewer, "
                                           "or allow more than one process per slot with --when-full oversubscribe",
                                           "The job asks for %s processes, but its nodes have %s slots: ask for fewer, "
                                           "or allow more than one process per slot with --when-full oversubscribe"),
                                      1 },
  [DVM_REASON_DRAINED] = { "drained", "uu",
                           NP_ ("The job asks for %s process, nodes that it may use (%s) are drained or come back, and "
                                "it was not to wait",
                                "The job asks for %s processes, nodes that it may use (%s) are drained or come back, "
                                "and it was not to wait") },
  [DVM_REASON_NO_FREE_SLOTS] = { "no-free-slots", "uuu",
                                 NP_ ("The job asks for %s process, but free slots are only %s of %s, and it was not "
                                      "to wait",
                                      "The job asks for %s processes, but free slots are only %s of %s, and it was not "
                                      "to wait") },
  [DVM_REASON_NO_FREE_NODES] = { "no-free-nodes", "u",
                                 NP_ ("The job asks for %s node more without processes than there are, and it was not "
                                      "to wait",
                                      "The job asks for %s nodes more without processes than there are, and it was not "
                                      "to wait") },
  [DVM_REASON_OTHERS_WAIT] = { "others-wait", "",
                               N_ ("Other jobs wait for these nodes already, and this one was not to wait") },
  [DVM_REASON_NODES_LEFT] = { "nodes-left", "", N_ ("The nodes that the job names have left the DVM") },
  [DVM_REASON_NO_NODES] = { "no-nodes", "", N_ ("The DVM has no nodes") },
  [DVM_REASON_SESSION_WITHOUT_NODES] = { "session-without-nodes", "",
                                         N_ ("The sessions that the job is in have no nodes") },
  [DVM_REASON_NODES_RESERVED] = { "nodes-reserved", "",
                                  N_ ("All nodes of the DVM are reserved by sessions that the job is not in") },
  [DVM_REASON_NO_NODE_UP] = { "no-node-up", "", N_ ("None of the nodes that the job may use is up") },
  [DVM_REASON_CHANGED_WHILE_IT_WAITED] = { "changed-while-it-waited", "ss",
                                           N_ ("%s; %s has changed the DVM while the job waited") },
  [DVM_REASON_SESSION_ENDED] = { "session-ended", "uss",
                                 N_ ("The job was never launched: session %s (%s) has ended: %s") },
  [DVM_REASON_SESSION_TERMINATED] = { "session-terminated", "us",
                                      N_ ("Session %s (%s), which the job is in, was terminated") },
  [DVM_REASON_GROW_FAILED] = { "grow-failed", "sss", N_ ("The job was never launched: %s has failed (%s): %s") },
  [DVM_REASON_PARENT_ENDED] = { "parent-ended", "s", N_ ("%s, which has spawned this job, has ended") },
  [DVM_REASON_UNKNOWN_PARENT_ENDED] = { "unknown-parent-ended", "", N_ ("The job that has spawned it has ended") },
  [DVM_REASON_CANCELLED_BY] = { "cancelled-by", "s", N_ ("cancelled by %s") },
  [DVM_REASON_ENDED_BY] = { "ended-by", "s", N_ ("ended by %s") },
  [DVM_REASON_SUBMITTER_LEFT] = { "submitter-left", "s", N_ ("%s, who ran it, has left") },
  [DVM_REASON_MPI_WITHOUT_SERVER] = { "mpi-without-server", "s",
                                      N_ ("The program is linked with %s, but no rank of the job has called "
                                          "PMIx_Init or speaks PMI-1: if the ranks are of an MPI job, each was one of "
                                          "its own. MPI libraries that use PMIx, such as Open MPI, or PMI-1, such as "
                                          "MPICH, are served; PMI-2 is not") },
  [DVM_REASON_DEPENDENCY_FAILED] = { "dependency-failed", "ss",
                                     N_ ("The job was never launched: it was to run after %s had ended well, and that "
                                         "has failed: %s") },
  [DVM_REASON_MOST_RUN] = { "most-run", "u",
                            NP_ ("%s job runs already, as many as queue-max-running allows, and this one was not to "
                                 "wait",
                                 "%s jobs run already, as many as queue-max-running allows, and this one was not to "
                                 "wait") },
};

/* "%s" is the next argument, "%2$s" the second: the library's printf() would need a list of arguments. */
static char *
fill_in (const char *sentence, const char *const *arguments)
{
  guint n = g_strv_length ((char **)arguments);
  GString *text = g_string_new (NULL);
  guint next = 0;

  for (const char *at = sentence; *at != '\0'; at++)
    {
      guint which = next;

      if (*at != '%' || at[1] == '%')
        {
          g_string_append_c (text, *at);
          at += *at == '%';
          continue;
        }
      if (g_ascii_isdigit (at[1]) && at[2] == '$')
        {
          which = (guint)(at[1] - '1');
          at += 2;
        }
      else
        next++;
      at++;
      g_string_append (text, which < n ? arguments[which] : "");
    }
  return g_string_free (text, FALSE);
}

static const char *
choose_form (const Sentence *self, const char *const *arguments, gboolean translated)
{
  guint64 n = self->plural != NULL ? g_ascii_strtoull (arguments[self->number], NULL, 10) : 1;

  if (self->plural == NULL)
    return translated ? _ (self->sentence) : self->sentence;
  if (translated)
    return g_dngettext (GETTEXT_PACKAGE, self->sentence, self->plural, (gulong)n);
  return n == 1 ? self->sentence : self->plural;
}

DvmReason *
_dvm_reason_new (DvmReasonCode code, ...)
{
  DvmReason *self = g_new0 (DvmReason, 1);
  g_autoptr (GStrvBuilder) arguments = g_strv_builder_new ();
  va_list args;

  va_start (args, code);
  for (const char *type = sentences[code].types; *type != '\0'; type++)
    {
      g_autofree char *number = NULL;

      if (*type == 's')
        {
          const char *text = va_arg (args, const char *);

          g_strv_builder_add (arguments, text != NULL ? text : "");
          continue;
        }
      number = *type == 'u' ? g_strdup_printf ("%u", va_arg (args, guint)) : g_strdup_printf ("%d", va_arg (args, int));
      g_strv_builder_add (arguments, number);
    }
  va_end (args);
  self->code = code;
  self->arguments = g_strv_builder_end (arguments);
  self->text = fill_in (choose_form (&sentences[code], (const char *const *)self->arguments, FALSE),
                        (const char *const *)self->arguments);
  return self;
}

DvmReason *
_dvm_reason_copy (const DvmReason *self)
{
  DvmReason *copy = g_new0 (DvmReason, 1);

  copy->text = g_strdup (self->text);
  copy->code = self->code;
  copy->arguments = g_strdupv (self->arguments);
  return copy;
}

void
_dvm_reason_free (DvmReason *self)
{
  g_free (self->text);
  g_strfreev (self->arguments);
  g_free (self);
}

const char *
_dvm_reason_get_word (const DvmReason *self)
{
  return sentences[self->code].word;
}

char *
_dvm_reason_translate (const char *word, const char *const *arguments, gboolean translated)
{
  for (guint i = 0; word != NULL && i < G_N_ELEMENTS (sentences); i++)
    if (strcmp (sentences[i].word, word) == 0)
      return g_strv_length ((char **)arguments) == strlen (sentences[i].types)
                 ? fill_in (choose_form (&sentences[i], arguments, translated), arguments)
                 : NULL;
  return NULL;
}
