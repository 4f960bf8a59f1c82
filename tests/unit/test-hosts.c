/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Hosts in files and lists.
 */

#include "config.h"

#include <dvm.h>
#include <glib/gstdio.h>
#include <string.h>
#include <time.h>
#include <sys/stat.h>

#include "dvm-hosts-private.h"

/* "name:slots/max ..." with "*" for all slots, "^" for excluded ones and "@..." for an address of its own */
static char *
describe (DvmHosts *hosts)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < _dvm_hosts_get_n (hosts); i++)
    {
      const DvmHost *host = _dvm_hosts_get (hosts, i);

      g_string_append_printf (text, "%s%s", i > 0 ? " " : "", host->excluded ? "^" : "");
      if (host->kind == DVM_HOST_NAMED)
        g_string_append (text, host->name);
      else
        g_string_append_printf (text, "+%c%u", host->kind == DVM_HOST_INDEX ? 'n' : 'e', host->number);
      if (host->all_slots || host->slots > 0)
        g_string_append_printf (text, host->all_slots ? ":*" : host->more ? ":+%u" : ":%u", host->slots);
      if (host->slots_max > 0)
        g_string_append_printf (text, "/%u", host->slots_max);
      if (g_strcmp0 (host->name, host->address) != 0)
        g_string_append_printf (text, "(%s)", host->address);
    }
  return g_string_free (text, FALSE);
}

static void
assert_words (const char *source, const GError *error, int code, const char *const *words)
{
  g_assert_error (error, DVM_ERROR, code);
  g_assert_true (g_utf8_validate (error->message, -1, NULL));
  for (gsize i = 0; words[i] != NULL; i++)
    if (strstr (error->message, words[i]) == NULL)
      g_error ("“%s” of “%s” does not name “%s”", error->message, source, words[i]);
}

static const struct
{
  const char *text;
  const char *hosts;
} good_files[] = {
  { "", "" },
  { "\n\n  \t\r\n# nothing\n// nothing\n/* nothing\n nothing */\n", "" },
  { "node1", "node1" },
  { "node1\nnode2\n", "node1 node2" },
  { "node1 slots=4\r\nnode2  slots = 2   max_slots = 8 # the large one\n", "node1:4 node2:2/8" },
  { "a slots=1 max-slots=2\nb slots-max=3\nc slots_max=4\nd count=5 count_max=6\ne cpu=7 cpu-max=7\nf cpus=2\ng "
    "max_cpu=9\n",
    "a:1/2 b/3 c/4 d:5/6 e:7/7 f:2 g/9" },
  { "NODE1 SLOTS=4", "NODE1:4" },
  { "a\nb\na\nA\n", "a:3 b" },
  { "ann@a port=2222 slots=3", "a:3(ann@a:2222)" },
  { "a username=ann\nb user-name=bob port=22", "a(ann@a) b(bob@b:22)" },
  { "10.0.0.1\n::1 slots=2\n[fe80::1%eth0] port=22", "10.0.0.1 ::1:2([::1]) fe80::1%eth0([fe80::1%eth0]:22)" },
  { "a\n^b\nb\nc", "a ^b c" },
  { "a\nb\n^b", "a ^b" },
  { "+n0\n+n12\n+e\n+e:2\n+N1\n", "+n0 +n12 +e0 +e2 +n1" },
  { "a/*b*/ slots/**/=/* \n */ 4", NULL },
  { "a slots=4 // b\n/* c\nd */ e # */\n", "a:4 e" },
  { "node-1.example.org slots=2147483647", "node-1.example.org:2147483647" },
  { "n[01-03] slots=4 max_slots=8 username=ann port=22",
    "n01:4/8(ann@n01:22) n02:4/8(ann@n02:22) n03:4/8(ann@n03:22)" },
  { "bob@r[1-2]n[1,3]\n^r1n[1-2]\n+n[0-1]\n",
    "^r1n1(bob@r1n1) r1n3(bob@r1n3) r2n1(bob@r2n1) r2n3(bob@r2n3) ^r1n2 +n0 +n1" },
  { "n[1-2]\nn[2-3]", "n1 n2:2 n3" },
};

static void
test_files (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (good_files); i++)
    {
      g_autoptr (DvmHosts) hosts = _dvm_hosts_new ();
      g_autoptr (GError) error = NULL;
      g_autofree char *described = NULL;
      gboolean ok = _dvm_hosts_add_text (hosts, good_files[i].text, strlen (good_files[i].text), "f", NULL, &error);

      if (good_files[i].hosts == NULL)
        {
          g_assert_false (ok);
          continue;
        }
      g_assert_no_error (error);
      g_assert_true (ok);
      described = describe (hosts);
      g_assert_cmpstr (described, ==, good_files[i].hosts);
    }
}

static const struct
{
  const char *text;
  int code;
  const char *words[4];
} bad_files[] = {
  { "a slots=0", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "slots", "0" } },
  { "\n\na slots=x", DVM_ERROR_PARSE_FAILED, { "hosts:3:", "slots", "x" } },
  { "a slots=-1", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "-1" } },
  { "a slots=+1", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "+1" } },
  { "a slots=99999999999", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "2147483647" } },
  { "a slots", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "slots", "=" } },
  { "a slots=", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "slots", "missing" } },
  { "a 4", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "4", "slots=" } },
  { "a slots=4 slots=5", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "slots", "twice" } },
  { "a slots=4 count=5", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "count", "twice" } },
  { "a slots=4 max_slots=3",
    DVM_ERROR_PARSE_FAILED,
    {
        "hosts:1:",
        "a",
        "4",
    } },
  { "a slot_max=3", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "slot_max", "slots_max" } },
  { "slots=4", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "slots=4", "name of a host" } },
  { "# x\na\nb slots=2\n\nb slots=3\n", DVM_ERROR_PARSE_FAILED, { "hosts:5:", "b", "hosts:3" } },
  { "b\nb slots=3\n", DVM_ERROR_PARSE_FAILED, { "hosts:2:", "b", "hosts:1" } },
  { "b max_slots=3\nb\n", DVM_ERROR_PARSE_FAILED, { "hosts:2:", "b", "hosts:1" } },
  { "ann@b\nbob@b\n", DVM_ERROR_PARSE_FAILED, { "hosts:2:", "b", "user" } },
  { "a:4", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "a:4", "slots=4" } },
  { "n..1", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "n..1", "not a host name" } },
  { "a@b@c", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "a@b@c", "USER@" } },
  { "@b", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "@b" } },
  { "-oProxyCommand=x", DVM_ERROR_PARSE_FAILED, { "hosts:1:" } },
  { "-x", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "-x" } },
  { "-x@b", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "-x@b" } },
  { "../etc", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "../etc" } },
  { "a;b", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "a;b" } },
  { "kn\xc3\xb6ten", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "kn\xc3\xb6ten" } },
  { "[node1]", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "[node1]" } },
  { "a\n/* b\nc\n", DVM_ERROR_PARSE_FAILED, { "hosts:2:", "comment" } },
  { "a port=70000", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "port", "65535" } },
  { "ann@a username=bob", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "username" } },
  { "a username=-l", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "-l@a" } },
  { "^a slots=2", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "slots=2" } },
  { "+n", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "+n" } },
  { "+n1:2", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "+n1:2" } },
  { "+e:0", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "+e:0" } },
  { "+x", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "+x" } },
  { "a boards=2", DVM_ERROR_NOT_SUPPORTED, { "hosts:1:", "boards" } },
  { "a\xff", DVM_ERROR_PARSE_FAILED, { "hosts", "UTF-8" } },
  { "n[1-3] slots=0", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "slots" } },
  { "a\nn[1-3", DVM_ERROR_PARSE_FAILED, { "hosts:2:", "n[1-3", "not closed" } },
  { "n[1-3]:4", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "n1:4", "slots=4" } },
  { "n[1-3] slots=2\nn2", DVM_ERROR_PARSE_FAILED, { "hosts:2:", "n2", "hosts:1" } },
  { "n[1-3]/x", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "n1/x", "not a host name" } },
  { "^n[1-3] slots=2", DVM_ERROR_PARSE_FAILED, { "hosts:1:", "slots=2" } },
  { "n[1-1000000]\nm", DVM_ERROR_OUT_OF_RESOURCE, { "hosts", "1000000 hosts" } },
};

static void
test_bad_files (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (bad_files); i++)
    {
      g_autoptr (DvmHosts) hosts = _dvm_hosts_new ();
      g_autoptr (GError) error = NULL;
      const char *text = bad_files[i].text;

      g_assert_false (_dvm_hosts_add_text (hosts, text, strlen (text), "hosts", NULL, &error));
      assert_words (text, error, bad_files[i].code, bad_files[i].words);
    }
}

static void
test_nul (void)
{
  const char *const words[] = { "hosts", "UTF-8", NULL };
  g_autoptr (DvmHosts) hosts = _dvm_hosts_new ();
  g_autoptr (GError) error = NULL;

  g_assert_false (_dvm_hosts_add_text (hosts, "a\0b", 3, "hosts", NULL, &error));
  assert_words ("a NUL", error, DVM_ERROR_PARSE_FAILED, words);
}

static void
assert_no_file (const char *path, int code, const char *why)
{
  const char *const words[] = { path, why, NULL };
  g_autoptr (DvmHosts) hosts = _dvm_hosts_new ();
  g_autoptr (GError) error = NULL;

  g_assert_false (_dvm_hosts_add_file (hosts, path, NULL, &error));
  assert_words (path, error, code, words);
}

/* Several files are one; what is no file is told and holds nobody up. */
static void
test_real_files (void)
{
  g_autofree char *dir = g_dir_make_tmp ("dvm-hosts-XXXXXX", NULL);
  g_autofree char *first = g_build_filename (dir, "first", NULL);
  g_autofree char *second = g_build_filename (dir, "second", NULL);
  g_autofree char *fifo = g_build_filename (dir, "fifo", NULL);
  g_autofree char *described = NULL;
  g_autofree char *place = g_strconcat (second, ":2", NULL);
  g_autoptr (DvmHosts) hosts = _dvm_hosts_new ();
  g_autoptr (GError) error = NULL;

  g_assert_true (g_file_set_contents (first, "a slots=2\nb\n", -1, NULL));
  g_assert_true (g_file_set_contents (second, "b\nc", -1, NULL));
  g_assert_cmpint (mkfifo (fifo, 0600), ==, 0);
  g_assert_true (_dvm_hosts_add_file (hosts, first, NULL, &error));
  g_assert_true (_dvm_hosts_add_file (hosts, second, NULL, &error));
  g_assert_no_error (error);
  described = describe (hosts);
  g_assert_cmpstr (described, ==, "a:2 b:2 c");
  g_assert_cmpstr (_dvm_hosts_find (hosts, "C")->place, ==, place);
  g_assert_null (_dvm_hosts_find (hosts, "d"));
  assert_no_file (dir, DVM_ERROR_BAD_PARAM, "not a file");
  assert_no_file (fifo, DVM_ERROR_BAD_PARAM, "not a file");
  assert_no_file ("/dev/zero", DVM_ERROR_BAD_PARAM, "not a file");
  g_remove (second);
  assert_no_file (second, DVM_ERROR_NOT_FOUND, "No such file");
  g_remove (first);
  g_remove (fifo);
  g_rmdir (dir);
}

static const struct
{
  const char *list;
  const char *hosts;
} good_lists[] = {
  { "a", "a" },
  { "node3:4,node5,node7:*", "node3:4 node5 node7:*" },
  { " a , b:2 ", "a b:2" },
  { "a,a,b", "a:2 b" },
  { "a:2,a:3", "a:5" },
  { "a,a:3,a", "a:5" },
  { "a:2,a:*", "a:*" },
  { "ann@a:2", "a:2(ann@a)" },
  { "[::1]:2,::2", "::1:2([::1]) ::2([::2])" },
  { "a,^b", "a ^b" },
  { "+n1,+e:2,+e", "+n1 +e2 +e0" },
  { "+n1,+n0,+N1,+n0", "+n1 +n0" },
  { "+e,+e:2,+e,+e:3", "+e0 +e5" },
  { "+e:2147483647,+e:5", "+e2147483647" },
  { "n[1-3]", "n1 n2 n3" },
  { "n[08-11,20]:2, login1:4", "n08:2 n09:2 n10:2 n11:2 n20:2 login1:4" },
  { "ann@r[1-2]n[0-1]-ib:*",
    "r1n0-ib:*(ann@r1n0-ib) r1n1-ib:*(ann@r1n1-ib) r2n0-ib:*(ann@r2n0-ib) r2n1-ib:*(ann@r2n1-ib)" },
  { "n[1-4],^n[2-3]", "n1 ^n2 ^n3 n4" },
  { "n[1-2],n[2-3]:2", "n1 n2:3 n3:2" },
  { "+n[0-2]", "+n0 +n1 +n2" },
  { "^[::1],ann@[::2]:3", "^::1([::1]) ::2:3(ann@[::2])" },
};

static void
test_lists (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (good_lists); i++)
    {
      g_autoptr (DvmHosts) hosts = _dvm_hosts_new ();
      g_autoptr (GError) error = NULL;
      g_autofree char *described = NULL;

      g_assert_true (_dvm_hosts_add_list (hosts, good_lists[i].list, "--host", NULL, &error));
      g_assert_no_error (error);
      described = describe (hosts);
      g_assert_cmpstr (described, ==, good_lists[i].hosts);
    }
}

static const struct
{
  const char *list;
  const char *words[4];
} bad_lists[] = {
  { "", { "--host", "missing" } },
  { "a,,b", { "--host", "missing" } },
  { "a,", { "--host", "missing" } },
  { "a:0", { "--host", "a:0" } },
  { "a:x", { "--host", "a:x" } },
  { "a:", { "--host", "a:" } },
  { "a:+2", { "a:+2", "do not change" } },
  { "a:-2", { "a:-2", "do not change" } },
  { ":2", { "--host", ":2" } },
  { "a b", { "--host", "a b" } },
  { "+n", { "--host", "+n" } },
  { "a,-b", { "--host", "-b" } },
  { "a/b", { "--host", "a/b" } },
  { "a:2:3", { "--host", "a:2:3" } },
  { "ann@a,bob@a", { "--host", "user" } },
  { "a,n[1-3", { "--host", "n[1-3", "not closed" } },
  { "n[1-3]]", { "--host", "n[1-3]", "not opened" } },
  { "n[3-1]", { "--host", "n[3-1]", "ends before" } },
  { "n[a-b]", { "--host", "n[a-b]", "number is missing" } },
  { "n[]", { "--host", "n[]", "number is missing" } },
  { "n[1-2]:0", { "--host", "n1:0", "number of slots" } },
  { "n[0-1000000]", { "--host", "more than a million" } },
  { "n[1-2]/x", { "--host", "n1/x", "not a host name" } },
  { "[1-3]", { "--host", "[1-3]", "not a host name" } },
};

static void
test_bad_lists (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (bad_lists); i++)
    {
      g_autoptr (DvmHosts) hosts = _dvm_hosts_new ();
      g_autoptr (GError) error = NULL;

      g_assert_false (_dvm_hosts_add_list (hosts, bad_lists[i].list, "--host", NULL, &error));
      g_assert_nonnull (error);
      assert_words (bad_lists[i].list, error, error->code, bad_lists[i].words);
    }
}

static DvmHosts *
filter (const char *list, GError **error)
{
  const char *file = "a slots=4 max_slots=6\nbob@b\nc slots=2\n^d\nn[1-2]\n";
  g_autoptr (DvmHosts) hosts = _dvm_hosts_new ();
  g_autoptr (DvmHosts) chosen = _dvm_hosts_new ();

  g_assert_true (_dvm_hosts_add_text (hosts, file, strlen (file), "hosts", NULL, NULL));
  g_assert_true (_dvm_hosts_add_list (chosen, list, "--host", NULL, NULL));
  return _dvm_hosts_filter (hosts, chosen, error);
}

static void
assert_filtered (const char *list, const char *expected)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmHosts) hosts = filter (list, &error);
  g_autofree char *described = hosts != NULL ? describe (hosts) : NULL;

  g_assert_no_error (error);
  g_assert_cmpstr (described, ==, expected);
}

static void
assert_not_filtered (const char *list, const char *word)
{
  const char *const words[] = { "--host", word, NULL };
  g_autoptr (GError) error = NULL;

  g_assert_null (filter (list, &error));
  assert_words (list, error, DVM_ERROR_BAD_PARAM, words);
}

static void
test_filter (void)
{
  assert_filtered ("c,a", "a:4/6 c:2");
  assert_filtered ("a:6,B:3", "a:6/6 b:3(bob@b)");
  assert_filtered ("a:*", "a:4/6");
  assert_filtered ("^a", "b(bob@b) c:2 n1 n2");
  assert_filtered ("a,c,^c", "a:4/6");
  assert_filtered ("n[1-2]:3", "n1:3 n2:3");
  assert_not_filtered ("e", "e");
  assert_not_filtered ("d", "d");
  assert_not_filtered ("a:7", "hosts:1");
  assert_not_filtered ("+n1", "relative");
}

/* A hundred thousand hosts are read at once, not one against all others. */
/* Hosts come into a DVM so: {lists, file, hosts or NULL}, then words of the error */
static const struct
{
  const char *lists[3];
  const char *file;
  const char *hosts;
  int code;
  const char *words[4];
} new_nodes[] = {
  { { "n9:2,n10", "n10" }, NULL, "n9:2 n10:2" },
  { { NULL }, "n9 slots=2 max_slots=4\nbob@n10 port=22\n^n9\n", "n10(bob@n10:22)" },
  { { "n10:3" }, "n9 slots=2\nn10 slots=8\n", "n10:3" },
  { { "n9:*" }, NULL, "n9:*" },
  { { "n9:+2", "n10:4,n9:+1" }, NULL, "n9:+3 n10:4" },
  { { NULL }, "n9 slots=+2\nn10 slots=2\n", "n9:+2 n10:2" },
  { { "n10:+3" }, "n9 slots=2\nn10 slots=8\n", "n10:+3" },
  { { "n9:+2,n9:1" }, NULL, NULL, DVM_ERROR_PARSE_FAILED, { "n9", "to be added" } },
  { { "n9,n9:+1" }, NULL, NULL, DVM_ERROR_PARSE_FAILED, { "n9", "to be added" } },
  { { "n9:+" }, NULL, NULL, DVM_ERROR_BAD_PARAM, { "n9:+", "number of slots" } },
  { { "n9:++1" }, NULL, NULL, DVM_ERROR_BAD_PARAM, { "n9:++1", "number of slots" } },
  { { "n9:+0" }, NULL, NULL, DVM_ERROR_BAD_PARAM, { "n9:+0", "number of slots" } },
  { { "n9:-1" }, NULL, NULL, DVM_ERROR_BAD_PARAM, { "n9:-1", "do not change" } },
  { { NULL }, "n9 slots=+x\n", NULL, DVM_ERROR_PARSE_FAILED, { "more-nodes:1:", "slots" } },
  { { "+n1" }, NULL, NULL, DVM_ERROR_BAD_PARAM, { "hosts", "relative" } },
  { { "n9", "n9:x" }, NULL, NULL, DVM_ERROR_BAD_PARAM, { "hosts", "n9:x" } },
  { { "^n9" }, NULL, NULL, DVM_ERROR_BAD_PARAM, { "hosts", "no host" } },
  { { NULL }, NULL, NULL, DVM_ERROR_BAD_PARAM, { "hosts", "no host" } },
  { { NULL }, "# none\n", NULL, DVM_ERROR_BAD_PARAM, { "more-nodes", "no host" } },
  { { NULL }, "n9\nn10 slots=0\n", NULL, DVM_ERROR_PARSE_FAILED, { "more-nodes:2:", "slots" } },
  { { NULL }, "n9\n+n2\n", NULL, DVM_ERROR_BAD_PARAM, { "more-nodes:2:", "relative" } },
  { { "n11" }, "n9\nn10\n", NULL, DVM_ERROR_BAD_PARAM, { "n11", "hostfile" } },
};

static void
test_new (void)
{
  g_autofree char *directory = g_dir_make_tmp ("test-hosts-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (directory, "more-nodes", NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (new_nodes); i++)
    {
      const char *file = new_nodes[i].file;
      g_autoptr (GError) error = NULL;
      g_autoptr (DvmHosts) hosts = NULL;
      g_autofree char *described = NULL;

      if (file != NULL)
        g_assert_true (g_file_set_contents (path, file, -1, NULL));
      hosts = _dvm_hosts_read_new (new_nodes[i].lists, file != NULL ? path : NULL, "hosts", NULL, &error);
      described = hosts != NULL ? describe (hosts) : NULL;
      g_assert_cmpstr (described, ==, new_nodes[i].hosts);
      if (hosts == NULL)
        assert_words (file != NULL ? file : new_nodes[i].lists[0], error, new_nodes[i].code, new_nodes[i].words);
    }
  g_remove (path);
  g_rmdir (directory);
}

static void
test_many (void)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (DvmHosts) hosts = _dvm_hosts_new ();
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < 100000; i++)
    g_string_append_printf (text, "node%u slots=%u\n", i, 1 + i % 64);
  g_assert_true (_dvm_hosts_add_text (hosts, text->str, text->len, "hosts", NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (_dvm_hosts_get_n (hosts), ==, 100000);
  g_assert_cmpuint (_dvm_hosts_find (hosts, "node63")->slots, ==, 64);
}

static const char *const pieces[] = {
  "a",  "node1", "ann@",      "@",    ":",  "4",   "=",        " ",  "\n",          "#", "//", "/*",
  "*/", "slots", "max_slots", "port", "^",  "+n1", "+e",       ":2", ",",           "[", "]",  "::1",
  "*",  "-",     "\xc3\xb6",  "\xff", "\t", "\r",  "username", "0",  "99999999999", ".", "%",
};

/* Whatever stands in a file or list, it is read or refused with a sentence. */
static void
test_random (void)
{
  for (guint round = 0; round < 20000; round++)
    {
      g_autoptr (GString) text = g_string_new (NULL);
      g_autoptr (DvmHosts) hosts = _dvm_hosts_new ();
      g_autoptr (GError) error = NULL;
      gboolean ok;

      for (gint i = g_test_rand_int_range (0, 12); i > 0; i--)
        g_string_append (text, pieces[g_test_rand_int_range (0, G_N_ELEMENTS (pieces))]);
      ok = round % 2 == 0 ? _dvm_hosts_add_text (hosts, text->str, text->len, "hosts", NULL, &error)
                          : _dvm_hosts_add_list (hosts, text->str, "--host", NULL, &error);
      g_assert_true (ok == (error == NULL));
      if (error == NULL)
        continue;
      g_assert_true (error->domain == DVM_ERROR);
      g_assert_true (g_utf8_validate (error->message, -1, NULL));
      g_assert_null (strchr (error->message, '\n'));
    }
}

/* The amount that is read for one call has a limit, over all its files. */
static void
test_limits (void)
{
  g_autofree char *directory = g_dir_make_tmp ("dvm-hosts-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (directory, "large", NULL);
  g_autofree char *large = g_strnfill (9 << 20, '#');
  g_autoptr (GString) many = g_string_new (NULL);
  g_autoptr (DvmHosts) hosts = _dvm_hosts_new ();
  g_autoptr (DvmHosts) others = _dvm_hosts_new ();
  g_autoptr (GError) error = NULL;
  DvmHostsRead read = { 0 };

  g_assert_true (g_file_set_contents (path, large, -1, NULL));
  g_assert_true (_dvm_hosts_add_file (hosts, path, &read, NULL));
  g_assert_false (_dvm_hosts_add_file (hosts, path, &read, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE);
  g_assert_nonnull (strstr (error->message, path));
  g_clear_error (&error);
  for (guint i = 0; i < 1000000; i++)
    g_string_append_printf (many, "n%u\n", i);
  g_assert_true (_dvm_hosts_add_text (others, many->str, many->len, "hosts", &read, NULL));
  g_assert_cmpuint (_dvm_hosts_get_n (others), ==, 1000000);
  g_assert_false (_dvm_hosts_add_text (others, "\none\n", 5, "hosts", &read, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE);
  g_unlink (path);
  g_rmdir (directory);
}

/* Lists too, and what is in lists counts with what is in files. */
static void
test_limits_of_lists (void)
{
  g_autofree char *large = g_strnfill (9 << 20, 'a');
  g_autofree char *commas = g_strnfill (2 * 999998 + 1, 'a');
  g_autoptr (DvmHosts) hosts = _dvm_hosts_new ();
  g_autoptr (GError) error = NULL;
  DvmHostsRead read = { 0 };

  g_assert_false (_dvm_hosts_add_list (hosts, large, "hosts", &read, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_clear_error (&error);
  g_assert_false (_dvm_hosts_add_list (hosts, large, "hosts", &read, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE);
  g_assert_cmpstr (error->message, ==,
                   "hosts: the hosts of one call have 16 MiB at most, in all its lists and files together: use several "
                   "calls");
  g_clear_error (&error);
  read = (DvmHostsRead){ 0 };
  for (guint i = 1; i < 2 * 999998; i += 2)
    commas[i] = ',';
  g_assert_true (_dvm_hosts_add_text (hosts, "one\n", 4, "hosts", &read, NULL));
  g_assert_true (_dvm_hosts_add_list (hosts, commas, "hosts", &read, &error));
  g_assert_no_error (error);
  g_assert_false (_dvm_hosts_add_list (hosts, "b", "hosts", &read, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE);
  g_assert_cmpstr (
      error->message, ==,
      "hosts: one call names 1000000 hosts at most, in all its lists and files together: use several calls");
}

/* A range that is too long is not written out before it is refused. */
static void
test_limit_of_ranges (void)
{
  g_auto (GStrv) names = _dvm_host_list_expand_first ("m,n[1-1000000],[", "LIST", 3, NULL);
  g_autofree char *joined = g_strjoinv (" ", names);
  g_autoptr (DvmHosts) hosts = _dvm_hosts_new ();
  g_autoptr (GError) error = NULL;
  DvmHostsRead read = { .hosts = 999990 };

  g_assert_cmpstr (joined, ==, "m n1 n2");
  g_assert_true (_dvm_hosts_add_list (hosts, "a[1-5]", "hosts", &read, NULL));
  g_assert_cmpuint (_dvm_hosts_count_left (&read), ==, 5);
  g_assert_true (_dvm_hosts_add_text (hosts, "b[1-3]\n", 7, "file", &read, NULL));
  g_assert_false (_dvm_hosts_add_list (hosts, "c[1-1000000]", "hosts", &read, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE);
  g_assert_cmpuint (read.hosts, ==, 1000001);
  g_clear_error (&error);
  read.hosts = 999998;
  g_assert_false (_dvm_hosts_add_text (hosts, "d[1-1000000]\n", 13, "file", &read, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE);
}

/* Of a description, however many lists it has and wherever they stand. */
static void
test_limits_of_spec (void)
{
  const char *const argv[] = { "true", NULL };
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new ();
  g_autoptr (GPtrArray) lists = g_ptr_array_new ();
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < 499999; i++)
    g_ptr_array_add (lists, (gpointer) "node");
  g_ptr_array_add (lists, NULL);
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (DvmAppSpec) app = dvm_app_spec_new (argv);

      dvm_app_spec_set_np (app, 1);
      dvm_app_spec_set_hosts (app, (const char *const *)lists->pdata);
      dvm_job_spec_add_app (spec, app);
    }
  dvm_job_spec_set_add_hosts (spec, (const char *const[]){ "a,b", NULL });
  g_assert_true (dvm_job_spec_validate (spec, &error));
  g_assert_no_error (error);
  dvm_job_spec_set_add_hosts (spec, (const char *const[]){ "a,b,c", NULL });
  g_assert_false (dvm_job_spec_validate (spec, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE);
}

/* ---- how long it takes ---- */

typedef void (*WriteLine) (GString *text, guint i);

static void
write_distinct (GString *text, guint i)
{
  g_string_append_printf (text, "node%u\n", i);
}

static void
write_same (GString *text, guint i)
{
  g_string_append (text, "node\n");
}

static void
write_whole (GString *text, guint i)
{
  g_string_append_printf (text, "n%u slots=4 max_slots=8 port=22 username=me # one\n", i);
}

static void
write_blank (GString *text, guint i)
{
  g_string_append (text, i % 2 == 0 ? "\n" : "/* none */");
}

/* One long line */
static void
write_long (GString *text, guint i)
{
  g_string_append (text, i == 0 ? "node " : "          ");
}

/* Names of one value of the hash that GLib has for texts. */
static void
write_colliding (GString *text, guint i)
{
  for (guint bit = 0; bit < 16; bit++)
    g_string_append (text, (i >> bit) & 1 ? "ar" : "c0");
  g_string_append_c (text, '\n');
}

/* µs of this thread */
static gint64
measure (WriteLine write, guint n)
{
  g_autoptr (GString) text = g_string_new (NULL);
  gint64 least = G_MAXINT64;

  for (guint i = 0; i < n; i++)
    write (text, i);
  for (guint round = 0; round < 3; round++)
    {
      g_autoptr (DvmHosts) hosts = _dvm_hosts_new ();
      g_autoptr (GError) error = NULL;
      struct timespec begin;
      struct timespec end;

      clock_gettime (CLOCK_THREAD_CPUTIME_ID, &begin);
      g_assert_true (_dvm_hosts_add_text (hosts, text->str, text->len, "hosts", NULL, &error));
      g_assert_no_error (error);
      clock_gettime (CLOCK_THREAD_CPUTIME_ID, &end);
      least = MIN (least, (end.tv_sec - begin.tv_sec) * G_USEC_PER_SEC + (end.tv_nsec - begin.tv_nsec) / 1000);
    }
  return MAX (least, 1);
}

/* Ten times as many lines are about ten times the work, of whatever kind they are; a square would be a hundred times.
 */
static void
test_growth (void)
{
  static const WriteLine shapes[] = {
    write_distinct, write_same, write_whole, write_blank, write_long, write_colliding
  };

  for (gsize i = 0; i < G_N_ELEMENTS (shapes); i++)
    {
      gint64 few = measure (shapes[i], 1000);
      gint64 many = measure (shapes[i], 10000);

      g_test_message ("shape %zu: %" G_GINT64_FORMAT " and %" G_GINT64_FORMAT " µs", i, few, many);
      g_assert_cmpint (many, <, 50 * MAX (few, 100));
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/hosts/files", test_files);
  g_test_add_func ("/hosts/bad-files", test_bad_files);
  g_test_add_func ("/hosts/nul", test_nul);
  g_test_add_func ("/hosts/real-files", test_real_files);
  g_test_add_func ("/hosts/lists", test_lists);
  g_test_add_func ("/hosts/bad-lists", test_bad_lists);
  g_test_add_func ("/hosts/filter", test_filter);
  g_test_add_func ("/hosts/new", test_new);
  g_test_add_func ("/hosts/limits-of-lists", test_limits_of_lists);
  g_test_add_func ("/hosts/limit-of-ranges", test_limit_of_ranges);
  g_test_add_func ("/hosts/limits-of-spec", test_limits_of_spec);
  g_test_add_func ("/hosts/growth", test_growth);
  g_test_add_func ("/hosts/many", test_many);
  g_test_add_func ("/hosts/random", test_random);
  g_test_add_func ("/hosts/limits", test_limits);
  return g_test_run ();
}
