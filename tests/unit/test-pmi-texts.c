/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * PMI without ranks: lines and messages, the table of a job, and where its ranks are.
 */

#include "config.h"

#include <string.h>

#include "dvmd-pmi-line.h"
#include "dvmd-pmi-mapping.h"
#include "dvmd-pmi-table.h"
#include "dvmd-pmi-two.h"

static void
test_line (void)
{
  static const char *const bad[] = { "", " ", "cmd", "=", "=a", "cmd=a b", "cmd=a =b", " message=a", "a message=a" };
  static const char text[] = "cmd=put  a=b=c empty= a=2 n=-17 large=99999999999 text=7x ";
  static const char words[] = "cmd=abort exitcode=7 message=no more of it, rank=1 ";
  g_autoptr (DvmdPmiLine) line = dvmd_pmi_line_parse (text, strlen (text));
  g_autoptr (DvmdPmiLine) abort = dvmd_pmi_line_parse (words, strlen (words));
  int number;

  g_assert_nonnull (line);
  g_assert_cmpstr (dvmd_pmi_line_get (line, "cmd"), ==, "put");
  g_assert_cmpstr (dvmd_pmi_line_get (line, "a"), ==, "b=c");
  g_assert_cmpstr (dvmd_pmi_line_get (line, "empty"), ==, "");
  g_assert_null (dvmd_pmi_line_get (line, "put"));
  g_assert_null (dvmd_pmi_line_get (line, "cm"));
  g_assert_true (dvmd_pmi_line_get_int (line, "n", &number));
  g_assert_cmpint (number, ==, -17);
  g_assert_false (dvmd_pmi_line_get_int (line, "large", &number));
  g_assert_false (dvmd_pmi_line_get_int (line, "text", &number));
  g_assert_false (dvmd_pmi_line_get_int (line, "empty", &number));
  g_assert_false (dvmd_pmi_line_get_int (line, "none", &number));
  g_assert_cmpstr (dvmd_pmi_line_get (abort, "message"), ==, "no more of it, rank=1 ");
  g_assert_true (dvmd_pmi_line_get_int (abort, "exitcode", &number));
  g_assert_null (dvmd_pmi_line_get (abort, "rank"));
  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    g_assert_null (dvmd_pmi_line_parse (bad[i], strlen (bad[i])));
  g_assert_null (dvmd_pmi_line_parse ("cmd=a\0b", 7));
}

/* Names of services are texts of users. */
static void
test_line_service (void)
{
  static const struct
  {
    const char *text;
    const char *service; /* NULL: the line makes no sense */
    const char *port;
  } cases[] = {
    { "cmd=publish_name service=ocean port=tag#0$x=1$", "ocean", "tag#0$x=1$" },
    { "cmd=publish_name service=my ocean, port=2 port=p", "my ocean, port=2", "p" },
    { "cmd=lookup_name service=my ocean port ", "my ocean port ", NULL },
    { "cmd=publish_name service= port=p", "", "p" },
    { "cmd=publish_name service=a port=p q", NULL, NULL },
    { " service=a", NULL, NULL },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (DvmdPmiLine) line = dvmd_pmi_line_parse (cases[i].text, strlen (cases[i].text));

      g_assert_cmpint (line != NULL, ==, cases[i].service != NULL);
      if (line == NULL)
        continue;
      g_assert_cmpstr (dvmd_pmi_line_get (line, "service"), ==, cases[i].service);
      g_assert_cmpstr (dvmd_pmi_line_get (line, "port"), ==, cases[i].port);
    }
}

static void
test_two_measure (void)
{
  static const struct
  {
    const char *input;
    gssize length;
  } cases[] = {
    { "", 0 },
    { "    5", 0 },
    { "     5", 0 },
    { "     5cmd=", 0 },
    { "     5cmd=a;x", 11 },
    { "5     cmd=a", 11 },
    { "000005cmd=a", 11 },
    { "     0", -1 },
    { "    -1", -1 },
    { " 65537", -1 },
    { "999999", -1 },
    { "cmd=in", -1 },
    { "      ", -1 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    g_assert_cmpint (dvmd_pmi_two_measure (cases[i].input, strlen (cases[i].input)), ==, cases[i].length);
  g_assert_cmpint (dvmd_pmi_two_measure ("   \0 5", 6), ==, -1);
}

static void
test_two_read (void)
{
  static const struct
  {
    const char *message;
    const char *line;  /* NULL: it makes no sense */
    const char *spawn; /* NULL: it is none */
  } cases[] = {
    { "cmd=kvs-put;thrid=1;key=a;value=b;;c =d;", "cmd=put|thrid=1|key=a|value=b;c =d|kvsname=job", NULL },
    { "cmd=kvs-get;jobid=;srcid=-1;key=a;", "cmd=get|srcid=-1|key=a|kvsname=job", NULL },
    { "cmd=kvs-get;jobid=other;key=a;", "cmd=get|kvsname=other|key=a", NULL },
    { "cmd=info-getjobattr;key=universeSize;", "cmd=get_universe_size|key=universeSize|kvsname=job", NULL },
    { "cmd=abort;isworld=TRUE;msg=no more;", "cmd=abort|isworld=TRUE|message=no more", NULL },
    { "cmd=name-publish;name=my ocean;port=p;;;", "cmd=publish_name|service=my ocean|port=p;", NULL },
    { "cmd=job-connect;jobid=x;", "cmd=unsupported", NULL },
    { "cmd=spawn;ncmds=2;preputcount=1;ppkey0=k;ppval0=v;subcmd=a;maxprocs=2;argc=1;argv0=x y;infokeycount=1;"
      "infokey0=wdir;infoval0=/;subcmd=b;maxprocs=1;argc=0;",
      "cmd=spawn|ncmds=2|preputcount=1|ppkey0=k|ppval0=v|subcmd=a|maxprocs=2|argc=1|argv0=x y|infokeycount=1|"
      "infokey0=wdir|infoval0=/|subcmd=b|maxprocs=1|argc=0",
      "mcmd=spawn|preput_num=1|preput_key_0=k|preput_val_0=v|execname=a|totspawns=2|nprocs=2|argcnt=1|arg1=x y|"
      "info_num=1|info_key_0=wdir|info_val_0=/|endcmd|mcmd=spawn|execname=b|totspawns=2|nprocs=1|argcnt=0|endcmd" },
    { "cmd=spawn;", "cmd=spawn", "mcmd=spawn|endcmd" },
    { "cmd=kvs-fence", NULL, NULL },
    { "cmd=a;noise;", NULL, NULL },
    { "cmd=a;=b;", NULL, NULL },
    { "key=a;cmd=kvs-get;", NULL, NULL },
    { ";", NULL, NULL },
    { ";;", NULL, NULL },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (DvmdPmiTwo) two = dvmd_pmi_two_new ("job");
      g_autofree char *message = g_strconcat ("     0", cases[i].message, NULL);
      g_autoptr (GPtrArray) spawn = NULL;
      g_autoptr (DvmdPmiLine) line = dvmd_pmi_two_read (two, message, strlen (message), &spawn);
      g_autofree char *words = NULL;
      g_autofree char *lines = NULL;

      if (line != NULL)
        words = g_strjoinv ("|", (GStrv)dvmd_pmi_line_get_words (line));
      g_assert_cmpstr (words, ==, cases[i].line);
      if (spawn != NULL)
        {
          g_ptr_array_add (spawn, NULL);
          lines = g_strjoinv ("|", (GStrv)spawn->pdata);
        }
      g_assert_cmpstr (lines, ==, cases[i].spawn);
    }
}

static void
assert_writes (const char *message, const char *answer, const char *expected)
{
  g_autoptr (DvmdPmiTwo) two = dvmd_pmi_two_new ("job");
  g_autofree char *input = g_strconcat ("     0", message, NULL);
  g_autoptr (GPtrArray) spawn = NULL;
  g_autoptr (DvmdPmiLine) line = dvmd_pmi_two_read (two, input, strlen (input), &spawn);
  g_autofree char *text = dvmd_pmi_two_write (two, answer);
  g_autofree char *whole = g_strdup_printf ("%6zu%s", strlen (expected), expected);

  g_assert_nonnull (line);
  g_assert_cmpstr (text, ==, whole);
}

static void
test_two_write (void)
{
  assert_writes ("cmd=kvs-put;thrid=0x1;key=a;value=b;", "cmd=put_result rc=0 msg=success\n",
                 "cmd=kvs-put-response;thrid=0x1;rc=0;");
  assert_writes ("cmd=kvs-put;", "cmd=put_result rc=-1 msg=no_room\n", "cmd=kvs-put-response;rc=-1;errmsg=no_room;");
  assert_writes ("cmd=kvs-get;", "cmd=get_result rc=0 msg=success value=a;=b\n",
                 "cmd=kvs-get-response;found=TRUE;value=a;;=b;rc=0;");
  assert_writes ("cmd=kvs-get;", "cmd=get_result rc=-1 msg=key_not_found value=unknown\n",
                 "cmd=kvs-get-response;found=FALSE;rc=0;");
  assert_writes ("cmd=kvs-get;", "cmd=get_result rc=-1 msg=unknown_kvsname value=unknown\n",
                 "cmd=kvs-get-response;found=FALSE;errmsg=unknown_kvsname;rc=-1;");
  assert_writes ("cmd=info-getjobattr;key=universeSize;", "cmd=universe_size rc=0 size=9\n",
                 "cmd=info-getjobattr-response;found=TRUE;value=9;rc=0;");
  assert_writes ("cmd=job-getid;", "cmd=my_kvsname rc=0 kvsname=job\n", "cmd=job-getid-response;rc=0;jobid=job;");
  assert_writes ("cmd=name-lookup;name=a;", "cmd=lookup_result rc=0 msg=success port=p;\n",
                 "cmd=name-lookup-response;rc=0;port=p;;;value=p;;;");
  assert_writes ("cmd=odd;", "cmd=unsupported rc=-1 msg=not_supported\n",
                 "cmd=odd-response;rc=-1;errmsg=not_supported;");
}

static gboolean
merges (DvmdPmiTable *table, const char *text, gssize length)
{
  g_autoptr (GBytes) bytes = g_bytes_new (text, length < 0 ? strlen (text) : (gsize)length);

  return dvmd_pmi_table_merge (table, bytes, 1) == DVMD_PMI_MERGED;
}

static void
test_table (void)
{
  g_autoptr (DvmdPmiTable) table = dvmd_pmi_table_new ();
  g_autoptr (DvmdPmiTable) other = dvmd_pmi_table_new ();
  g_autofree char *key = g_strnfill (DVMD_PMI_KEY_MAX + 1, 'k');
  g_autofree char *value = g_strnfill (DVMD_PMI_VALUE_MAX + 1, 'v');
  g_autoptr (GBytes) news = NULL;
  g_autoptr (GBytes) nothing = NULL;

  g_assert_cmpint (dvmd_pmi_table_put (table, "a", "1"), ==, DVMD_PMI_PUT);
  g_assert_cmpint (dvmd_pmi_table_put (table, "a", "x=y"), ==, DVMD_PMI_PUT);
  g_assert_cmpint (dvmd_pmi_table_put (table, key, "1"), ==, DVMD_PMI_BAD_KEY);
  g_assert_cmpint (dvmd_pmi_table_put (table, "", "1"), ==, DVMD_PMI_BAD_KEY);
  g_assert_cmpint (dvmd_pmi_table_put (table, "a=b", "1"), ==, DVMD_PMI_BAD_KEY);
  g_assert_cmpint (dvmd_pmi_table_put (table, "b", value), ==, DVMD_PMI_BAD_VALUE);
  g_assert_cmpint (dvmd_pmi_table_put (table, "b", "1\n2"), ==, DVMD_PMI_BAD_VALUE);
  value[DVMD_PMI_VALUE_MAX] = '\0';
  key[DVMD_PMI_KEY_MAX] = '\0';
  g_assert_cmpint (dvmd_pmi_table_put (table, key, value), ==, DVMD_PMI_PUT);
  g_assert_cmpstr (dvmd_pmi_table_get (table, "a"), ==, "x=y");
  g_assert_null (dvmd_pmi_table_get (table, "b"));

  news = dvmd_pmi_table_take_news (table, 1);
  nothing = dvmd_pmi_table_take_news (table, 1);
  g_assert_cmpuint (g_bytes_get_size (nothing), ==, strlen ("=1\n"));
  g_assert_cmpint (dvmd_pmi_table_merge (other, news, 2), ==, DVMD_PMI_OTHER_PROGRAM);
  g_assert_null (dvmd_pmi_table_get (other, "a"));
  g_assert_cmpint (dvmd_pmi_table_merge (other, news, 1), ==, DVMD_PMI_MERGED);
  g_assert_cmpint (dvmd_pmi_table_merge (other, nothing, 1), ==, DVMD_PMI_MERGED);
  g_assert_cmpstr (dvmd_pmi_table_get (other, "a"), ==, "x=y");
  g_assert_cmpstr (dvmd_pmi_table_get (other, key), ==, value);
  g_assert_true (merges (other, "c=1\nd=\n", -1));
  g_assert_cmpstr (dvmd_pmi_table_get (other, "d"), ==, "");
  g_assert_false (merges (other, "c=1", -1));
  g_assert_false (merges (other, "c\n", -1));
  g_assert_false (merges (other, "=x\n", -1));
  g_assert_false (merges (other, "c=\0\n", 4));
}

/* Neither many keys nor one that is put again and again take more than there is. */
static void
test_table_limit (void)
{
  for (guint same = 0; same < 2; same++)
    {
      g_autoptr (DvmdPmiTable) table = dvmd_pmi_table_new ();
      g_autofree char *value = g_strnfill (DVMD_PMI_VALUE_MAX, 'v');
      DvmdPmiPut result = DVMD_PMI_PUT;
      guint n = 0;

      while (result == DVMD_PMI_PUT && n < DVMD_PMI_TABLE_LIMIT / DVMD_PMI_VALUE_MAX + 10)
        {
          g_autofree char *key = g_strdup_printf ("%u", same ? 0 : n);

          result = dvmd_pmi_table_put (table, key, value);
          n++;
        }
      g_assert_cmpint (result, ==, DVMD_PMI_NO_ROOM);
    }
}

static void
test_mapping (void)
{
  static const struct
  {
    guint32 nodes[8];
    gsize n;
    const char *expected;
  } cases[] = {
    { { 1 }, 1, "(vector,(0,1,1))" },
    { { 1, 1, 2, 2, 3, 3 }, 6, "(vector,(0,3,2))" },
    { { 1, 2, 3, 4, 1, 2, 3, 4 }, 8, "(vector,(0,4,1))" },
    { { 7, 5, 7, 5 }, 4, "(vector,(0,2,1))" },
    { { 1, 1, 1, 2, 2, 3 }, 6, "(vector,(0,1,3),(1,1,2),(2,1,1))" },
    { { 1, 2, 1 }, 3, "(vector,(0,2,1),(0,1,1))" },
    { { 1, 1, 2, 1, 1, 2 }, 6, "(vector,(0,1,2),(1,1,1))" },
    { { 1, 2, 2, 1 }, 4, "(vector,(0,1,1),(1,1,2),(0,1,1))" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *text = dvmd_pmi_mapping_build (cases[i].nodes, cases[i].n);

      g_assert_cmpstr (text, ==, cases[i].expected);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pmi-texts/line", test_line);
  g_test_add_func ("/pmi-texts/line-service", test_line_service);
  g_test_add_func ("/pmi-texts/two-measure", test_two_measure);
  g_test_add_func ("/pmi-texts/two-read", test_two_read);
  g_test_add_func ("/pmi-texts/two-write", test_two_write);
  g_test_add_func ("/pmi-texts/table", test_table);
  g_test_add_func ("/pmi-texts/table-limit", test_table_limit);
  g_test_add_func ("/pmi-texts/mapping", test_mapping);
  return g_test_run ();
}
