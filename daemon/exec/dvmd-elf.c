/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The libraries that a program is linked with are read from its file, without running it.
 */

#include "config.h"

#include "dvmd-elf.h"

#include <link.h>
#include <string.h>
#include <unistd.h>

#define MAX_SEGMENTS 256
#define MAX_ENTRIES  4096
#define MAX_NAME     256

typedef ElfW (Ehdr) Header;
typedef ElfW (Phdr) Segment;
typedef ElfW (Dyn) Entry;

static gboolean
read_at (int fd, void *data, gsize size, guint64 offset)
{
  return offset <= G_MAXINT64 - size && pread (fd, data, size, (off_t)offset) == (gssize)size;
}

static Segment *
read_segments (int fd, guint *n)
{
  g_autofree Segment *segments = NULL;
  Header header;

  if (!read_at (fd, &header, sizeof header, 0) || memcmp (header.e_ident, ELFMAG, SELFMAG) != 0
      || header.e_ident[EI_CLASS] != (sizeof (void *) == 8 ? ELFCLASS64 : ELFCLASS32)
      || header.e_ident[EI_DATA] != (G_BYTE_ORDER == G_LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB)
      || header.e_phentsize != sizeof (Segment) || header.e_phnum == 0 || header.e_phnum > MAX_SEGMENTS)
    return NULL;
  segments = g_new (Segment, header.e_phnum);
  if (!read_at (fd, segments, header.e_phnum * sizeof (Segment), header.e_phoff))
    return NULL;
  *n = header.e_phnum;
  return g_steal_pointer (&segments);
}

static gboolean
find_offset (const Segment *segments, guint n, guint64 address, guint64 *offset)
{
  for (guint i = 0; i < n; i++)
    if (segments[i].p_type == PT_LOAD && address >= segments[i].p_vaddr
        && address - segments[i].p_vaddr < segments[i].p_filesz)
      {
        *offset = segments[i].p_offset + (address - segments[i].p_vaddr);
        return TRUE;
      }
  return FALSE;
}

static GArray *
read_entries (int fd, const Segment *segments, guint n)
{
  GArray *entries = g_array_new (FALSE, FALSE, sizeof (Entry));

  for (guint i = 0; i < n; i++)
    {
      gsize count = MIN (segments[i].p_filesz / sizeof (Entry), MAX_ENTRIES);

      if (segments[i].p_type != PT_DYNAMIC)
        continue;
      g_array_set_size (entries, (guint)count);
      if (!read_at (fd, entries->data, count * sizeof (Entry), segments[i].p_offset))
        g_array_set_size (entries, 0);
      break;
    }
  return entries;
}

char *
dvmd_elf_find_library (int fd, const char *prefix)
{
  guint n = 0;
  g_autofree Segment *segments = read_segments (fd, &n);
  g_autoptr (GArray) entries = read_entries (fd, segments, n);
  guint64 names = 0;
  gboolean has_names = FALSE;

  for (guint i = 0; i < entries->len && !has_names; i++)
    if (g_array_index (entries, Entry, i).d_tag == DT_STRTAB)
      has_names = find_offset (segments, n, g_array_index (entries, Entry, i).d_un.d_ptr, &names);
  for (guint i = 0; has_names && i < entries->len && g_array_index (entries, Entry, i).d_tag != DT_NULL; i++)
    {
      const Entry *entry = &g_array_index (entries, Entry, i);
      char name[MAX_NAME] = "";

      if (entry->d_tag != DT_NEEDED || names > G_MAXUINT64 - entry->d_un.d_val
          || names + entry->d_un.d_val > G_MAXINT64)
        continue;
      /* The names may be the last of the file: less than asked for is enough. */
      if (pread (fd, name, sizeof name - 1, (off_t)(names + entry->d_un.d_val)) > 0 && g_str_has_prefix (name, prefix)
          && g_utf8_validate (name, -1, NULL))
        return g_strdup (name);
    }
  return NULL;
}
