/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * PMI-2 is said in words of PMI-1, and its answers in those of PMI-2.
 */

#include "config.h"

#include "dvmd-pmi-two.h"

#include <string.h>

#define LENGTH_SIZE 6

struct _DvmdPmiTwo
{
  char *nspace;
  char *command; /* (nullable): that is to be answered */
  char *thread;  /* (nullable): as the library names the one that waits */
};

/* one: the command of PMI-1; in_space: it names the key space there; field, name: a field of another name there */
static const struct
{
  const char *two;
  const char *one;
  gboolean in_space;
  const char *field;
  const char *name;
} commands[] = {
  { "fullinit", "fullinit", FALSE, NULL, NULL },
  { "job-getid", "get_my_kvsname", FALSE, NULL, NULL },
  { "kvs-put", "put", TRUE, NULL, NULL },
  { "kvs-get", "get", TRUE, "jobid", "kvsname" },
  { "kvs-fence", "barrier_in", FALSE, NULL, NULL },
  { "info-getjobattr", "get", TRUE, NULL, NULL },
  { "info-putnodeattr", "put_node", FALSE, NULL, NULL },
  { "info-getnodeattr", "get_node", FALSE, NULL, NULL },
  { "finalize", "finalize", FALSE, NULL, NULL },
  { "abort", "abort", FALSE, "msg", "message" },
  { "name-publish", "publish_name", FALSE, "name", "service" },
  { "name-unpublish", "unpublish_name", FALSE, "name", "service" },
  { "name-lookup", "lookup_name", FALSE, "name", "service" },
  { "spawn", "spawn", FALSE, NULL, NULL },
};

DvmdPmiTwo *
dvmd_pmi_two_new (const char *nspace)
{
  DvmdPmiTwo *self = g_new0 (DvmdPmiTwo, 1);

  self->nspace = g_strdup (nspace);
  return self;
}

void
dvmd_pmi_two_free (DvmdPmiTwo *self)
{
  g_free (self->nspace);
  g_free (self->command);
  g_free (self->thread);
  g_free (self);
}

gssize
dvmd_pmi_two_measure (const char *input, gsize length)
{
  g_autofree char *text = g_strndup (input, MIN (length, LENGTH_SIZE));
  guint64 size;

  if (length < LENGTH_SIZE)
    return 0;
  if (strlen (text) < LENGTH_SIZE
      || !g_ascii_string_to_unsigned (g_strstrip (text), 10, 1, DVMD_PMI_TWO_LIMIT, &size, NULL))
    return -1;
  return length - LENGTH_SIZE < size ? 0 : LENGTH_SIZE + (gssize)size;
}

/* ---- reading ---- */

/* (transfer full) (nullable): "name=value", of which each ends with ';', and has ";;" for one that is in it */
static GPtrArray *
split (const char *text, gsize length)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GString) word = g_string_new (NULL);

  for (gsize i = 0; i < length; i++)
    {
      gboolean ends = text[i] == ';' && (i + 1 == length || text[i + 1] != ';');

      if (text[i] == '\0' || (ends && (word->str[0] == '=' || strchr (word->str, '=') == NULL)))
        return NULL;
      if (ends)
        {
          g_ptr_array_add (words, g_strdup (word->str));
          g_string_truncate (word, 0);
          continue;
        }
      g_string_append_c (word, text[i]);
      i += text[i] == ';';
    }
  return word->len == 0 && words->len > 0 ? g_steal_pointer (&words) : NULL;
}

/* (nullable): the value of the word if it is that of the name */
static const char *
value_of (const char *word, const char *name)
{
  gsize length = strlen (name);

  return strncmp (word, name, length) == 0 && word[length] == '=' ? word + length + 1 : NULL;
}

static const char *
find (GPtrArray *words, const char *name)
{
  for (guint i = 0; i < words->len; i++)
    if (value_of (words->pdata[i], name) != NULL)
      return value_of (words->pdata[i], name);
  return NULL;
}

static guint
find_command (const char *name)
{
  guint i = 0;

  while (i < G_N_ELEMENTS (commands) && !g_str_equal (commands[i].two, name))
    i++;
  return i;
}

/* (transfer full): the key space is that of the job, where another one is not named */
static DvmdPmiLine *
translate (DvmdPmiTwo *self, GPtrArray *words)
{
  g_autoptr (GPtrArray) line = g_ptr_array_new ();
  guint number = find_command (self->command);
  const char *space = number < G_N_ELEMENTS (commands) && commands[number].in_space ? self->nspace : NULL;

  if (number == G_N_ELEMENTS (commands))
    g_ptr_array_add (line, g_strdup ("cmd=unsupported"));
  else if (g_str_equal (self->command, "info-getjobattr") && g_strcmp0 (find (words, "key"), "universeSize") == 0)
    g_ptr_array_add (line, g_strdup ("cmd=get_universe_size"));
  else
    g_ptr_array_add (line, g_strconcat ("cmd=", commands[number].one, NULL));
  for (guint i = 1; number < G_N_ELEMENTS (commands) && i < words->len; i++)
    {
      const char *field = commands[number].field;
      const char *value = field != NULL ? value_of (words->pdata[i], field) : NULL;

      if (value == NULL)
        g_ptr_array_add (line, g_strdup (words->pdata[i]));
      else if (value[0] != '\0')
        {
          g_ptr_array_add (line, g_strconcat (commands[number].name, "=", value, NULL));
          space = NULL;
        }
    }
  if (space != NULL)
    g_ptr_array_add (line, g_strconcat ("kvsname=", space, NULL));
  g_ptr_array_add (line, NULL);
  return dvmd_pmi_line_new ((GStrv)g_ptr_array_free (g_steal_pointer (&line), FALSE));
}

/* Fields of a spawn with what they are in PMI-1, which counts arguments from 1. */
static void
add_spawn_line (GPtrArray *lines, const char *word)
{
  static const char *const names[][2] = {
    { "maxprocs=", "nprocs=" },        { "argc=", "argcnt=" },     { "infokeycount=", "info_num=" },
    { "preputcount=", "preput_num=" }, { "infokey", "info_key_" }, { "infoval", "info_val_" },
    { "ppkey", "preput_key_" },        { "ppval", "preput_val_" },
  };
  char *end;
  guint64 number;

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    if (g_str_has_prefix (word, names[i][0]))
      {
        g_ptr_array_add (lines, g_strconcat (names[i][1], word + strlen (names[i][0]), NULL));
        return;
      }
  if (!g_str_has_prefix (word, "argv"))
    return;
  number = g_ascii_strtoull (word + strlen ("argv"), &end, 10);
  g_ptr_array_add (lines, g_strdup_printf ("arg%" G_GUINT64_FORMAT "%s", number + 1, end));
}

/* (transfer full): the pairs for all are before the first program, and belong to it in PMI-1 */
static GPtrArray *
list_spawn (GPtrArray *words)
{
  GPtrArray *lines = g_ptr_array_new_with_free_func (g_free);
  const char *n = find (words, "ncmds");
  gboolean has_begun = FALSE;

  g_ptr_array_add (lines, g_strdup ("mcmd=spawn"));
  for (guint i = 1; i < words->len; i++)
    {
      const char *program = value_of (words->pdata[i], "subcmd");

      if (program == NULL)
        {
          add_spawn_line (lines, words->pdata[i]);
          continue;
        }
      if (has_begun)
        {
          g_ptr_array_add (lines, g_strdup ("endcmd"));
          g_ptr_array_add (lines, g_strdup ("mcmd=spawn"));
        }
      has_begun = TRUE;
      g_ptr_array_add (lines, g_strconcat ("execname=", program, NULL));
      if (n != NULL)
        g_ptr_array_add (lines, g_strconcat ("totspawns=", n, NULL));
    }
  g_ptr_array_add (lines, g_strdup ("endcmd"));
  return lines;
}

DvmdPmiLine *
dvmd_pmi_two_read (DvmdPmiTwo *self, const char *message, gsize length, GPtrArray **spawn)
{
  g_autoptr (GPtrArray) words = split (message + LENGTH_SIZE, length - LENGTH_SIZE);
  const char *command = words != NULL ? value_of (words->pdata[0], "cmd") : NULL;

  *spawn = NULL;
  if (command == NULL)
    return NULL;
  g_free (self->command);
  self->command = g_strdup (command);
  g_free (self->thread);
  self->thread = g_strdup (find (words, "thrid"));
  if (g_str_equal (command, "spawn"))
    *spawn = list_spawn (words);
  return translate (self, words);
}

/* ---- writing ---- */

static void
add_field (GString *text, const char *name, const char *value)
{
  g_autoptr (GString) escaped = g_string_new (value);

  g_string_replace (escaped, ";", ";;", 0);
  g_string_append_printf (text, "%s=%s;", name, escaped->str);
}

/* A key that is not there is no failure. */
static void
add_found (GString *text, const DvmdPmiLine *answer, const char *field)
{
  gboolean found = g_strcmp0 (dvmd_pmi_line_get (answer, "rc"), "0") == 0;
  const char *msg = dvmd_pmi_line_get (answer, "msg");

  add_field (text, "found", found ? "TRUE" : "FALSE");
  if (found)
    add_field (text, "value", dvmd_pmi_line_get (answer, field));
  else if (!g_str_equal (msg, "key_not_found"))
    add_field (text, "errmsg", msg);
  add_field (text, "rc", found || g_str_equal (msg, "key_not_found") ? "0" : "-1");
}

static void
add_all (GString *text, const DvmdPmiLine *answer)
{
  const char *rc = dvmd_pmi_line_get (answer, "rc");
  gboolean succeeded = g_strcmp0 (rc, "0") == 0;

  for (const char *const *word = dvmd_pmi_line_get_words (answer) + 1; *word != NULL; word++)
    {
      const char *value = strchr (*word, '=') + 1;
      g_autofree char *name = g_strndup (*word, (gsize)(value - *word) - 1);

      if (g_str_equal (name, "kvsname"))
        add_field (text, "jobid", value);
      else if (!g_str_equal (name, "msg"))
        add_field (text, name, value);
      else if (!succeeded)
        add_field (text, "errmsg", value);
      /* Slurm's library looks for it there. */
      if (g_str_equal (name, "port"))
        add_field (text, "value", value);
    }
}

char *
dvmd_pmi_two_write (DvmdPmiTwo *self, const char *answer)
{
  g_autoptr (DvmdPmiLine) line = dvmd_pmi_line_parse (answer, strcspn (answer, "\n"));
  const char *kind = dvmd_pmi_line_get (line, "cmd");
  g_autoptr (GString) text = g_string_new (NULL);

  g_string_append_printf (text, "cmd=%s-response;", self->command);
  if (self->thread != NULL)
    add_field (text, "thrid", self->thread);
  if (g_str_equal (kind, "get_result"))
    add_found (text, line, "value");
  else if (g_str_equal (kind, "universe_size"))
    add_found (text, line, "size");
  else
    add_all (text, line);
  return g_strdup_printf ("%*zu%s", LENGTH_SIZE, text->len, text->str);
}
