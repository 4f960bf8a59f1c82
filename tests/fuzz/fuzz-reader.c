/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Makes numbers, texts and variants of any type from the bytes of an input, so that what is fuzzed gets past the check
 * of the form.
 */

#include "config.h"

#include <string.h>

#include "fuzz.h"

#define MAX_ELEMENTS 6
#define MAX_TEXT     40
#define LONG_TEXT    70000

guint8
fuzz_read_byte (FuzzReader *self)
{
  if (self->size == 0)
    return 0;
  self->size--;
  return *self->data++;
}

static guint64
read_raw (FuzzReader *self, guint n_bytes)
{
  guint64 value = 0;

  while (n_bytes-- > 0)
    value = value << 8 | fuzz_read_byte (self);
  return value;
}

guint64
fuzz_read_number (FuzzReader *self)
{
  static const guint64 edges[] = {
    0x7f,        0x80,       0xff,           0x7fff,     0x8000,          0xffff,
    G_MAXINT32,  0x80000000, G_MAXUINT32,    0xfffffffe, G_MAXINT64,      (guint64)1 << 63,
    G_MAXUINT64, 1u << 26,   (1u << 26) + 1, 1000000,    (guint64)1 << 32
  };
  guint8 kind = fuzz_read_byte (self);

  if (kind < 192)
    return kind % 8;
  if (kind < 192 + G_N_ELEMENTS (edges))
    return edges[kind - 192];
  return kind < 224 ? fuzz_read_byte (self) : kind < 240 ? read_raw (self, 4) : read_raw (self, 8);
}

char *
fuzz_dup_text (const guint8 *data, gsize size)
{
  /* The text is not NULL even if it is empty, and has a zero of its own: the bytes behind data are another's. */
  char *text = g_malloc (size + 1);

  if (size > 0)
    memcpy (text, data, size);
  text[size] = '\0';
  return text;
}

char *
fuzz_read_text (FuzzReader *self)
{
  guint8 kind = fuzz_read_byte (self);
  guint n_words = self->words != NULL ? g_strv_length ((char **)self->words) : 0;
  g_autofree char *raw = NULL;
  gsize length;

  if (kind >= 128 && n_words > 0)
    return g_strdup (self->words[(kind - 128) % n_words]);
  if (kind == 127)
    return g_strnfill (LONG_TEXT, 'x');
  length = MIN (kind % MAX_TEXT, self->size);
  raw = fuzz_dup_text (self->data, length);
  self->data += length;
  self->size -= length;
  return g_utf8_make_valid (raw, -1);
}

static GVariant *
read_bytes (FuzzReader *self)
{
  g_autofree char *text = fuzz_read_text (self);

  return g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, text, strlen (text), 1);
}

/* The content of a variant is of a type that options have. */
static GVariant *
read_boxed (FuzzReader *self)
{
  static const char *const types[] = { "s",      "u",  "b",      "as",    "a{ss}", "i", "t", "ay",  "aay",
                                       "aa{sv}", "au", "a(say)", "a(su)", "a{sv}", "h", "x", "(su)" };

  return fuzz_read_variant (self, G_VARIANT_TYPE (types[fuzz_read_byte (self) % G_N_ELEMENTS (types)]));
}

static GVariant *
read_array (FuzzReader *self, const GVariantType *type)
{
  GVariantBuilder builder;
  guint n;

  if (g_variant_type_equal (type, G_VARIANT_TYPE_BYTESTRING))
    return read_bytes (self);
  g_variant_builder_init (&builder, type);
  for (n = self->size > 0 ? fuzz_read_byte (self) % MAX_ELEMENTS : 0; n > 0; n--)
    g_variant_builder_add_value (&builder, fuzz_read_variant (self, g_variant_type_element (type)));
  return g_variant_builder_end (&builder);
}

/* One of the known keys with a value of its type. */
static GVariant *
read_known (FuzzReader *self)
{
  const FuzzKey *key;
  guint n = 0;

  while (self->keys[n].name != NULL)
    n++;
  key = &self->keys[fuzz_read_byte (self) % n];
  return g_variant_new_dict_entry (g_variant_new_string (key->name),
                                   g_variant_new_variant (fuzz_read_variant (self, G_VARIANT_TYPE (key->type))));
}

static GVariant *
read_entry (FuzzReader *self, const GVariantType *type)
{
  if (self->keys != NULL && g_variant_type_equal (type, G_VARIANT_TYPE ("{sv}")) && fuzz_read_byte (self) % 8 != 7)
    return read_known (self);
  return g_variant_new_dict_entry (fuzz_read_variant (self, g_variant_type_key (type)),
                                   fuzz_read_variant (self, g_variant_type_value (type)));
}

static GVariant *
read_tuple (FuzzReader *self, const GVariantType *type)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, type);
  for (const GVariantType *item = g_variant_type_first (type); item != NULL; item = g_variant_type_next (item))
    g_variant_builder_add_value (&builder, fuzz_read_variant (self, item));
  return g_variant_builder_end (&builder);
}

static GVariant *
read_basic (FuzzReader *self, char type)
{
  guint64 number = type == 's' || type == 'v' ? 0 : fuzz_read_number (self);

  switch (type)
    {
    case 's':
      return g_variant_new_take_string (fuzz_read_text (self));
    case 'v':
      return g_variant_new_variant (read_boxed (self));
    case 'b':
      return g_variant_new_boolean (number & 1);
    case 'y':
      return g_variant_new_byte ((guint8)number);
    case 'q':
      return g_variant_new_uint16 ((guint16)number);
    case 'u':
      return g_variant_new_uint32 ((guint32)number);
    case 'i':
      return g_variant_new_int32 ((gint32)number);
    case 'h':
      return g_variant_new_handle ((gint32)number);
    case 't':
      return g_variant_new_uint64 (number);
    case 'x':
      return g_variant_new_int64 ((gint64)number);
    default:
      g_error ("Nobody here makes values of the type %c", type);
    }
}

GVariant *
fuzz_read_variant (FuzzReader *self, const GVariantType *type)
{
  if (g_variant_type_is_array (type))
    return read_array (self, type);
  if (g_variant_type_is_tuple (type))
    return read_tuple (self, type);
  if (g_variant_type_is_dict_entry (type))
    return read_entry (self, type);
  return read_basic (self, g_variant_type_peek_string (type)[0]);
}
