/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Bytes from the network before anybody has proved anything: hellos, and the frames of a link.
 */

#include "config.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dvmd-elf.h"
#include "dvmd-frame.h"
#include "dvmd-hello.h"
#include "dvmd-normal-form.h"
#include "dvmd-router.h"
#include "fuzz.h"
#include "../lib/whole-frames.h"

#define BODY_LIMIT 65536

/* The input is one frame after another. Writing a frame that is right gives the bytes that it was read from. */
void
fuzz_frame (const guint8 *data, gsize size)
{
  while (size > 0)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (DvmdPacket) packet = NULL;
      g_autoptr (GBytes) bytes = NULL;
      gsize used = 0;

      if (size >= DVMD_FRAME_HEADER_SIZE)
        dvmd_frame_is_own (data);
      packet = frame_decode (data, size, BODY_LIMIT, dvmd_router_find_body_type, &used, &error);
      if (packet == NULL)
        return;
      g_assert_no_error (error);
      g_assert_true (used > 0 && used <= size);
      bytes = frame_encode (packet);
      g_assert_cmpuint (g_bytes_get_size (bytes), ==, used);
      data += used;
      size -= used;
    }
}

void
fuzz_hello (const guint8 *data, gsize size)
{
  static const guint8 key[DVMD_HELLO_PROOF_SIZE] = { 1 };
  g_autoptr (GBytes) greeting = g_bytes_new_static ("greeting", 8);
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdHello) hello = NULL;
  g_autoptr (GBytes) bytes = NULL;
  gsize whole = dvmd_hello_peek_size (data, size, &error);

  if (error != NULL || whole == 0 || whole > size)
    return;
  g_assert_cmpuint (whole, <=, DVMD_HELLO_MAX_SIZE);
  hello = dvmd_hello_decode (data, whole, NULL);
  if (hello == NULL)
    return;
  bytes = dvmd_hello_encode (hello);
  g_assert_cmpmem (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), data, whole);
  /* No input guesses the right proof. */
  if (hello->fields[DVMD_HELLO_PROOF] != NULL)
    g_assert_false (dvmd_hello_check (hello, key, greeting, NULL));
  if (hello->fields[DVMD_HELLO_VERSION] != NULL)
    dvmd_hello_check_version (hello, DVM_VERSION_STRING, NULL);
  if (hello->type == DVMD_HELLO_REFUSE)
    {
      dvmd_hello_set_error_from_refusal (hello, "peer", &error);
      g_assert_true (g_utf8_validate (error->message, -1, NULL));
    }
}

/* The first byte chooses a type; our check of normal form and GLib's agree. */
void
fuzz_normal_form (const guint8 *data, gsize size)
{
  static const char *const types[] = { "(ustayut)",
                                       "a{sv}",
                                       "(usuua{sv}a(aayaybasayaay)(a(uuiuuuuiuuuu)a(uuuuuuuu)asa(uu)))",
                                       "v",
                                       "(tua(usuua(uuuiuuii)))",
                                       "(susuuay)",
                                       "aay",
                                       "as" };
  g_autoptr (GVariant) value = NULL;
  g_autoptr (GBytes) bytes = NULL;

  if (size == 0)
    return;
  bytes = g_bytes_new (data + 1, size - 1);
  value = g_variant_ref_sink (
      g_variant_new_from_bytes (G_VARIANT_TYPE (types[data[0] % G_N_ELEMENTS (types)]), bytes, FALSE));
  g_assert_cmpint (dvmd_variant_is_normal (value), ==, g_variant_is_normal_form (value));
}

/* The input is a program: the ELF file of a user may hold anything. */
void
fuzz_elf (const guint8 *data, gsize size)
{
  int fd = memfd_create ("program", MFD_CLOEXEC);
  g_autofree char *library = NULL;

  g_assert_true (fd >= 0 && write (fd, data, size) == (gssize)size);
  library = dvmd_elf_find_library (fd, "lib");
  g_assert_true (library == NULL || g_str_has_prefix (library, "lib"));
  close (fd);
}
