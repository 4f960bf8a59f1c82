/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-clock.h"

G_BEGIN_DECLS

/*
 * A token is the right to join. Each launch has a secret; the token of a rank is derived from it, so that a launcher
 * hands each agent its own token, or one secret to all and each agent derives the token of its rank. A token is good
 * for one join, of one rank, until the launch has had its time. Tokens travel on standard input.
 *
 * Agents that nobody starts have a secret of the site instead, which stays: it is that of the standing launch. They do
 * not know their rank; a node that is expected has one for the first agent that has its name.
 */

#define DVMD_TOKEN_KEY_SIZE 32
/* The rank of those that do not know theirs: the controller gives them one of the launch. */
#define DVMD_RANK_ANY G_MAXUINT32
/* The number of the standing launch; others have random ones. */
#define DVMD_LAUNCH_STANDING 0

typedef struct
{
  guint64 launch;
  gboolean is_secret; /* of the whole launch */
  guint32 rank;       /* DVMD_RANK_ANY: one that the controller chooses */
  guint8 key[DVMD_TOKEN_KEY_SIZE];
} DvmdToken;

/* One line without newline: "dvm1:LAUNCH:RANK:KEY"; RANK is "any" or, for a secret, "all". */
char *dvmd_token_to_text (const DvmdToken *token);
gboolean dvmd_token_parse (const char *text, DvmdToken *token, GError **error);
/* secret may be token. */
void dvmd_token_derive (const DvmdToken *secret, guint32 rank, DvmdToken *token);
/* Overwrites the key. */
void dvmd_token_clear (DvmdToken *token);
/* That of the standing launch, from its key. */
void dvmd_token_set_standing (DvmdToken *token, const guint8 key[DVMD_TOKEN_KEY_SIZE]);
/* Whether an agent that says it is on host is that of the node: the same name, or one is short for the other. */
gboolean dvmd_token_names_match (const char *node, const char *host, gboolean exactly);

/* The table of launches and tokens, which the controller alone has. */
typedef struct _DvmdTokens DvmdTokens;
/* dvmd-munge-key.h */
typedef struct _DvmdMungeKeys DvmdMungeKeys;

DvmdTokens *dvmd_tokens_new (DvmdClock *clock);
void dvmd_tokens_free (DvmdTokens *self);

/* lifetime in µs. Ranks must be in no other launch. */
void dvmd_tokens_add (DvmdTokens *self, const guint32 *ranks, guint n_ranks, gint64 lifetime, DvmdToken *secret);
/* The tokens of this launch are not accepted any more. */
void dvmd_tokens_remove (DvmdTokens *self, guint64 launch);

/*
 * An agent has proved the secret of the standing launch and has a name that is not expected: error says why it may not
 * join now. Called from within dvmd_tokens_take().
 */
typedef void (*DvmdTokensKnock) (const char *name, gpointer user_data, GError **error);

/* Agents with this secret may join, as nodes that are expected. Once. */
void dvmd_tokens_open (DvmdTokens *self, const DvmdToken *secret, DvmdTokensKnock knock, gpointer user_data);
/* keys: (nullable) (transfer full): the agents of the standing launch prove by munge who they are. */
void dvmd_tokens_set_munge (DvmdTokens *self, DvmdMungeKeys *keys);
DvmdMungeKeys *dvmd_tokens_get_munge (DvmdTokens *self);
gboolean dvmd_tokens_is_open (DvmdTokens *self);
/* arguments: what an agent that is started would have on its command line, a line each */
void dvmd_tokens_expect (DvmdTokens *self, guint32 rank, const char *name, const char *arguments);
/* No agent may join as this rank any more. */
void dvmd_tokens_forget (DvmdTokens *self, guint32 rank);
/* "" where there are none. */
const char *dvmd_tokens_get_arguments (DvmdTokens *self, guint64 launch, guint32 rank);

/* How many may still join. */
guint dvmd_tokens_count_expected (DvmdTokens *self);
/* The token, whether it can still be used or not; FALSE: there is no such launch. */
gboolean dvmd_tokens_find (DvmdTokens *self, guint64 launch, guint32 rank, DvmdToken *token);
/*
 * Somebody with this public key has proved the token: the rank is its, and nobody else's. The same key may come again
 * until it has joined (its connection may have broken). rank: DVMD_RANK_ANY is replaced. In the standing launch name
 * decides, and another key may come as well: who joins first has the rank.
 */
gboolean dvmd_tokens_take (DvmdTokens *self, guint64 launch, guint32 *rank, const char *name, GBytes *public_key,
                           GError **error);
/* From now on the token is void. FALSE: it was already. */
gboolean dvmd_tokens_joined (DvmdTokens *self, guint64 launch, guint32 rank);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdTokens, dvmd_tokens_free)
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (DvmdToken, dvmd_token_clear)

G_END_DECLS
