/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Spellings of other launchers, and of mpirun and prun of before, become words of the options that they are today.
 */

#include "config.h"

#include "dvm-cli-old.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-output.h"

const DvmCliOption dvm_cli_old_app_options[] = {
  { "byslot", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, "--map-by slot" },
  { "bynode", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, "--map-by node" },
  { "bycore", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, "--map-by core" },
  { "pernode", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, "--map-by ppr:1:node" },
  { "npernode", 'N', NULL, DVM_CLI_ARG_COUNT, N_ ("N"), "65535", NULL, "--map-by ppr:%:node" },
  { "ntasks-per-node", 0, NULL, DVM_CLI_ARG_COUNT, N_ ("N"), "65535", NULL, "--map-by ppr:%:node" },
  { "npersocket", 0, NULL, DVM_CLI_ARG_COUNT, N_ ("N"), "65535", NULL, "--map-by ppr:%:package" },
  { "ppr", 0, NULL, DVM_CLI_ARG_STRING, N_ ("N:OBJECT"), NULL, NULL, "--map-by ppr:%" },
  { "rankfile", 0, "-rf", DVM_CLI_ARG_STRING, N_ ("FILE"), NULL, NULL, "--map-by rankfile:FILE=%" },
  { "cpu-set", 0, NULL, DVM_CLI_ARG_STRING, N_ ("LIST"), NULL, NULL, "--map-by pe-list=%" },
  { "cpu-list", 0, NULL, DVM_CLI_ARG_STRING, N_ ("LIST"), NULL, NULL, "--map-by pe-list=%" },
  { "cpus-per-rank", 0, NULL, DVM_CLI_ARG_COUNT, N_ ("N"), "65535", NULL, "--map-by :PE=%" },
  { "cpus-per-proc", 0, NULL, DVM_CLI_ARG_COUNT, N_ ("N"), "65535", NULL, "--map-by :PE=%" },
  { "cpus-per-task", 0, NULL, DVM_CLI_ARG_COUNT, N_ ("N"), "65535", NULL, "--map-by :PE=%" },
  { "use-hwthread-cpus", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, "--map-by :HWTCPUS" },
  { "nolocal", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, "--map-by :NOLOCAL" },
  { "oversubscribe", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, "--map-by :OVERSUBSCRIBE" },
  { "nooversubscribe", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, "--map-by :NOOVERSUBSCRIBE" },
  { "bind-to-none", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, "--bind-to none" },
  { "bind-to-core", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, "--bind-to core" },
  { "bind-to-socket", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, "--bind-to package" },
  { NULL },
};

const DvmCliOption dvm_cli_old_options[] = {
  { "donotlaunch", 0, "--do-not-launch -do-not-launch", DVM_CLI_ARG_NONE, NULL, NULL, NULL,
    "--runtime-options donotlaunch" },
  { "get-stack-traces", 0, "-get-stack-traces", DVM_CLI_ARG_NONE, NULL, NULL, NULL,
    "--runtime-options get-stack-traces" },
  { "report-state-on-timeout", 0, "-report-state-on-timeout", DVM_CLI_ARG_NONE, NULL, NULL, NULL,
    "--runtime-options report-state-on-timeout" },
  { "continuous", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, "--runtime-options continuous" },
  { "tag-output", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, "--output tag" },
  { "timestamp-output", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, "--output timestamp" },
  { "merge-stderr-to-stdout", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, "--output merge-stderr-to-stdout" },
  { "xml", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, "--output xml" },
  { "output-filename", 0, NULL, DVM_CLI_ARG_STRING, N_ ("FILE"), NULL, NULL, "--output file=%" },
  { "output-directory", 0, NULL, DVM_CLI_ARG_STRING, N_ ("DIR"), NULL, NULL, "--output dir=%" },
  { "report-child-jobs-separately", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL,
    "--runtime-options report-child-jobs-separately" },
  { "allow-run-as-root", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, DVM_CLI_NOT_NEEDED },
  { "hetero-nodes", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, DVM_CLI_NOT_NEEDED },
  { "uniform-nodes", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, DVM_CLI_NOT_NEEDED },
  { "set-sid", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, DVM_CLI_NOT_NEEDED },
  { "disable-recovery", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, DVM_CLI_NOT_NEEDED },
  { "do-not-resolve", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, DVM_CLI_NOT_NEEDED },
  { "novm", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, DVM_CLI_NOT_NEEDED },
  { "leave-session-attached", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, DVM_CLI_NOT_NEEDED },
  { NULL },
};

const DvmCliOption dvm_cli_old_display_options[] = {
  { "display-map", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, "--display map" },
  { "display-devel-map", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, "--display map-devel" },
  { "display-allocation", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, "--display allocation" },
  { "display-devel-allocation", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, "--display allocation" },
  { "display-topo", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, "--display topo" },
  { "report-bindings", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, NULL, "--display bindings" },
  { NULL },
};

const DvmCliOption dvm_cli_old_add_options[] = {
  { "activate", 0, "-activate", DVM_CLI_ARG_STRING, N_ ("LIST"), NULL, NULL, "--add-host %" },
  { NULL },
};

static const DvmCliOption *const old_lists[] = { dvm_cli_old_app_options, dvm_cli_old_options,
                                                 dvm_cli_old_display_options, dvm_cli_old_add_options, NULL };

/* The options of today, in the order in which a message names them. */
static const struct
{
  const char *name;
  gboolean is_list; /* words parted by commas, which do not exclude each other; else one word and its qualifiers */
} todays[] = {
  { "map-by", FALSE },         { "bind-to", FALSE }, { "display", TRUE },
  { "runtime-options", TRUE }, { "output", TRUE },   { "add-host", TRUE },
};

/* Each node of a DVM has its agent: --activate +all asks for what is so. */
static gboolean
is_needed (DvmCliArgs *args, const DvmCliOption *option)
{
  return strcmp (option->instead, DVM_CLI_NOT_NEEDED) != 0
         && (strcmp (option->name, "activate") != 0 || strcmp (dvm_cli_args_get (args, option->name), "+all") != 0);
}

/* The value of an option of today is put together. */
typedef struct
{
  DvmCliArgs *args;
  const char *name;
  GPtrArray *added;    /* (element-type utf8): words and qualifiers, by */
  GPtrArray *added_by; /* these options */
} Composer;

/* (nullable): behind "--map-by " of the option, if that is what it is today */
static const char *
part_for (const DvmCliOption *option, const char *name)
{
  const char *space = strchr (option->instead, ' ');

  return space != NULL && (gsize)(space - option->instead) == strlen (name) + 2
                 && strncmp (option->instead + 2, name, strlen (name)) == 0
             ? space + 1
             : NULL;
}

static gboolean
refuse_both (DvmCliArgs *args, const char *one, const char *other, GError **error)
{
  g_autofree char *first = dvm_cli_args_show (args, one);
  g_autofree char *second = dvm_cli_args_show (args, other);

  g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("'%s' and '%s' contradict each other"), first, second);
  return FALSE;
}

/* "PE=2" and "PE=4", "OVERSUBSCRIBE" and "NOOVERSUBSCRIBE", "NPERPROC=2" and "NPERNODE=2" answer the same question. */
static gboolean
ask_the_same (const char *one, const char *other)
{
  gsize length = strcspn (one, "=");

  if (g_ascii_strncasecmp (one, "nper", 4) == 0 && g_ascii_strncasecmp (other, "nper", 4) == 0)
    return TRUE;
  if (strcspn (other, "=") == length)
    return g_ascii_strncasecmp (one, other, length) == 0;
  return (g_ascii_strncasecmp (one, "no", 2) == 0 && g_ascii_strcasecmp (one + 2, other) == 0)
         || (g_ascii_strncasecmp (other, "no", 2) == 0 && g_ascii_strcasecmp (other + 2, one) == 0);
}

static gboolean
add_part (Composer *self, const char *option, char *part, GError **error)
{
  g_autofree char *added = part;

  for (guint i = 0; i < self->added->len; i++)
    {
      const char *other = g_ptr_array_index (self->added, i);
      gboolean both_words = added[0] != ':' && other[0] != ':';

      if (g_ascii_strcasecmp (added, other) == 0)
        return TRUE;
      if (both_words || (added[0] == ':' && other[0] == ':' && ask_the_same (added + 1, other + 1)))
        return refuse_both (self->args, g_ptr_array_index (self->added_by, i), option, error);
    }
  g_ptr_array_add (self->added, g_steal_pointer (&added));
  g_ptr_array_add (self->added_by, (gpointer)option);
  return TRUE;
}

/* A colon in a path would part it from a qualifier. */
static char *
fill_in (const char *part, const char *value)
{
  g_auto (GStrv) pieces = g_strsplit (part, "%", -1);
  gboolean is_path = g_str_has_suffix (part, "FILE=%");
  g_auto (GStrv) words = g_strsplit (value != NULL ? value : "", is_path ? ":" : "%", -1);
  g_autofree char *filled = g_strjoinv (is_path ? "\\:" : "%", words);

  return g_strjoinv (filled, pieces);
}

/* (nullable): --npernode says something else beside --colocate */
static const char *
find_part (Composer *self, const DvmCliOption *option)
{
  const char *part = part_for (option, self->name);

  return part != NULL && strcmp (option->name, "npernode") == 0 && dvm_cli_args_has (self->args, "colocate")
             ? ":npernode=%"
             : part;
}

static gboolean
add_old (Composer *self, GError **error)
{
  for (gsize i = 0; old_lists[i] != NULL; i++)
    for (const DvmCliOption *option = old_lists[i]; option->name != NULL; option++)
      {
        const char *part = find_part (self, option);

        if (part != NULL && dvm_cli_args_has (self->args, option->name)
            && !add_part (self, option->name, fill_in (part, dvm_cli_args_get (self->args, option->name)), error))
          return FALSE;
      }
  return TRUE;
}

/* "node:PE=2" begins with "node" */
static gboolean
begins_with (const char *typed, const char *word)
{
  gsize length = strlen (word);

  return g_ascii_strncasecmp (typed, word, length) == 0 && (typed[length] == '\0' || typed[length] == ':');
}

/* The option itself may have given a word and qualifiers, too. */
static gboolean
check_typed (Composer *self, const char *typed, GError **error)
{
  g_auto (GStrv) parts = g_strsplit (typed, ":", -1);

  for (guint i = 0; i < self->added->len; i++)
    {
      const char *added = g_ptr_array_index (self->added, i);

      if (added[0] != ':' && typed[0] != ':' && !begins_with (typed, added))
        return refuse_both (self->args, self->name, g_ptr_array_index (self->added_by, i), error);
      for (gsize k = 1; added[0] == ':' && parts[0] != NULL && parts[k] != NULL; k++)
        if (ask_the_same (added + 1, parts[k]) && g_ascii_strcasecmp (added + 1, parts[k]) != 0)
          return refuse_both (self->args, self->name, g_ptr_array_index (self->added_by, i), error);
    }
  return TRUE;
}

static gboolean
has_part (const char *typed, const char *qualifier)
{
  g_auto (GStrv) parts = g_strsplit (typed, ":", -1);

  for (gsize i = 0; parts[i] != NULL; i++)
    if (g_ascii_strcasecmp (parts[i], qualifier) == 0)
      return TRUE;
  return FALSE;
}

/* The word first: "node", then qualifiers that were typed, then those of before. */
static char *
join_policy (Composer *self, const char *typed)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < self->added->len && (typed == NULL || typed[0] == ':'); i++)
    if (((const char *)self->added->pdata[i])[0] != ':')
      g_string_append (text, self->added->pdata[i]);
  if (typed != NULL)
    g_string_append (text, typed);
  for (guint i = 0; i < self->added->len; i++)
    {
      const char *added = self->added->pdata[i];

      if (added[0] == ':' && (typed == NULL || !has_part (typed, added + 1)))
        g_string_append (text, added);
    }
  return g_string_free (text, FALSE);
}

/* (transfer full): each that was typed, and those of before */
static char *
join_list (Composer *self, const char *base)
{
  g_autofree const char **typed = dvm_cli_args_get_all (self->args, self->name);
  g_autofree char *words = g_strjoinv (",", (char **)typed);
  GString *text = g_string_new (typed[0] != NULL ? words : base);

  for (guint i = 0; i < self->added->len; i++)
    g_string_append_printf (text, "%s%s", text->len > 0 ? "," : "", (const char *)self->added->pdata[i]);
  return g_string_free (text, FALSE);
}

static gboolean
is_list (const char *name)
{
  for (gsize i = 0; i < G_N_ELEMENTS (todays); i++)
    if (strcmp (todays[i].name, name) == 0)
      return todays[i].is_list;
  return FALSE;
}

/* Words of a list do not exclude each other. */
static void
add_old_list (Composer *self)
{
  for (gsize i = 0; old_lists[i] != NULL; i++)
    for (const DvmCliOption *option = old_lists[i]; option->name != NULL; option++)
      if (part_for (option, self->name) != NULL && dvm_cli_args_has (self->args, option->name)
          && is_needed (self->args, option))
        g_ptr_array_add (self->added,
                         fill_in (part_for (option, self->name), dvm_cli_args_get (self->args, option->name)));
}

static gboolean
has_word (Composer *self)
{
  for (guint i = 0; i < self->added->len; i++)
    if (((const char *)self->added->pdata[i])[0] != ':')
      return TRUE;
  return FALSE;
}

/* ---- beside a job ---- */

/*
 * --colocate JOB:RANKS is a word of --map-by, which may give qualifiers beside it. typed (inout) (nullable): what is
 * left of that
 */
static gboolean
add_colocation (Composer *self, const char **typed, GError **error)
{
  const char *number = dvm_cli_args_get (self->args, "nperproc");

  if (!dvm_cli_args_has (self->args, "colocate"))
    {
      if (number == NULL)
        return TRUE;
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("--nperproc needs --colocate, which names the processes"));
      return FALSE;
    }
  if (*typed != NULL && (*typed)[0] != ':' && !begins_with (*typed, "colocate"))
    return refuse_both (self->args, "colocate", "map-by", error);
  if (*typed != NULL)
    *typed = strchr (*typed, ':');
  return add_part (self, "colocate", g_strconcat ("colocate=", dvm_cli_args_get (self->args, "colocate"), NULL), error)
         && (number == NULL || add_part (self, "nperproc", g_strconcat (":nperproc=", number, NULL), error));
}

/* A word that was typed replaces all of base; a qualifier stands behind it. */
gboolean
dvm_cli_old_compose (DvmCliArgs *args, const char *name, const char *base, char **text, GError **error)
{
  g_autoptr (GPtrArray) added = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GPtrArray) added_by = g_ptr_array_new ();
  Composer self = { .args = args, .name = name, .added = added, .added_by = added_by };
  const char *typed = dvm_cli_args_get (args, name);

  *text = NULL;
  if (strcmp (name, "map-by") == 0 && !add_colocation (&self, &typed, error))
    return FALSE;
  if (is_list (name))
    {
      add_old_list (&self);
      if (typed != NULL || added->len > 0)
        *text = join_list (&self, base);
      return TRUE;
    }
  if (!add_old (&self, error) || (typed != NULL && !check_typed (&self, typed, error)))
    return FALSE;
  if (typed == NULL && added->len == 0)
    return TRUE;
  *text = join_policy (&self, typed != NULL || has_word (&self) ? typed : base);
  return TRUE;
}

/* --npernode is no spelling of before beside --colocate. */
static gboolean
is_old (DvmCliArgs *args, const DvmCliOption *option)
{
  return dvm_cli_args_has (args, option->name)
         && (strcmp (option->name, "npernode") != 0 || !dvm_cli_args_has (args, "colocate"));
}

/* (transfer full) (nullable): those that are another option today, or those that are none */
static char *
show_some (DvmCliArgs *args, gboolean needed)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (gsize i = 0; old_lists[i] != NULL; i++)
    for (const DvmCliOption *option = old_lists[i]; option->name != NULL; option++)
      if (is_old (args, option) && needed == is_needed (args, option))
        {
          g_autofree char *shown = dvm_cli_args_show (args, option->name);

          g_string_append_printf (text, "%s%s", text->len > 0 ? " " : "", shown);
        }
  return text->len > 0 ? g_string_free (g_steal_pointer (&text), FALSE) : NULL;
}

char *
dvm_cli_old_show (DvmCliArgs *args)
{
  return show_some (args, TRUE);
}

/* Whether a spelling of before is part of it */
static gboolean
is_translated (DvmCliArgs *args, const char *name)
{
  for (gsize i = 0; old_lists[i] != NULL; i++)
    for (const DvmCliOption *option = old_lists[i]; option->name != NULL; option++)
      if (part_for (option, name) != NULL && is_old (args, option))
        return TRUE;
  return FALSE;
}

gboolean
dvm_cli_old_concerns (DvmCliArgs *args, const char *message)
{
  g_autofree char *key = g_strndup (message, strcspn (message, ":"));

  if (!dvm_cli_args_has (args, key))
    return TRUE;
  for (gsize i = 0; i < G_N_ELEMENTS (todays); i++)
    if (strstr (message, todays[i].name) != NULL && is_translated (args, todays[i].name))
      return TRUE;
  return FALSE;
}

gboolean
dvm_cli_old_is_hidden (void)
{
  static const char *const words[] = { "no", "0", "false", NULL };
  const char *notice = g_getenv ("DVM_NOTICE");
  g_autofree char *word = notice != NULL ? g_ascii_strdown (notice, -1) : NULL;

  return word != NULL && g_strv_contains (words, word);
}

void
dvm_cli_old_tell (DvmCli *cli, DvmCliArgs *args)
{
  g_autofree char *typed = dvm_cli_old_show (args);
  g_autofree char *needless = show_some (args, FALSE);
  g_autoptr (GString) today = g_string_new (NULL);

  if (dvm_cli_old_is_hidden ())
    return;
  if (needless != NULL)
    dvm_cli_note (cli, _ ("'%s' is not needed here (DVM_NOTICE=no hides this line)"), needless);
  if (typed == NULL)
    return;
  for (gsize i = 0; i < G_N_ELEMENTS (todays); i++)
    {
      g_autofree char *text = NULL;

      if (is_translated (args, todays[i].name) && dvm_cli_old_compose (args, todays[i].name, NULL, &text, NULL)
          && text != NULL)
        g_string_append_printf (today, "%s--%s %s", today->len > 0 ? " " : "", todays[i].name, text);
    }
  dvm_cli_note (cli, _ ("'%s' is '%s' today (DVM_NOTICE=no hides this line)"), typed, today->str);
}
