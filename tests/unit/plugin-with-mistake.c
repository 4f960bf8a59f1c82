/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A mapper that is right, or has the one mistake that a macro names.
 */

#include <dvmd-plugin.h>

#ifdef PLUGIN_WRONG_TYPE
/* The names of types are those of a process: this one comes as far as to register its own. */
#define Mistake      WrongMistake
#define MistakeClass WrongMistakeClass
#endif

typedef struct
{
  DvmdMapper parent_instance;
} Mistake;

typedef struct
{
  DvmdMapperClass parent_class;
} MistakeClass;

GType mistake_get_type (void);

G_DEFINE_TYPE (Mistake, mistake, DVMD_TYPE_MAPPER)

#ifdef PLUGIN_MISSING_SYMBOL
extern int function_that_nobody_has (void);
#endif

static DvmdPluginVerdict
mistake_map (DvmdMapper *self, const DvmdMapRequest *request, DvmdPlacement *placement, GError **error)
{
#ifdef PLUGIN_MISSING_SYMBOL
  return function_that_nobody_has ();
#else
  return DVMD_PLUGIN_DECLINED;
#endif
}

static void
mistake_class_init (MistakeClass *klass)
{
  DVMD_MAPPER_CLASS (klass)->map = mistake_map;
}

static void
mistake_init (Mistake *self)
{
}

#ifndef PLUGIN_NO_INFO
#ifdef PLUGIN_WRONG_WORDS
static const char *const words[] = { "Two Words", NULL };
#elif !defined(PLUGIN_NO_WORDS) && !defined(PLUGIN_WRONG_TYPE)
static const char *const words[] = { "mistake", NULL };
#endif

const DvmdPluginInfo dvmd_plugin_info = {
#ifdef PLUGIN_WRONG_ABI
  .abi = DVMD_PLUGIN_ABI + 1,
#else
  .abi = DVMD_PLUGIN_ABI,
#endif
#ifdef PLUGIN_WRONG_SIZE
  .size = sizeof (DvmdPluginInfo) + 8,
#else
  .size = sizeof (DvmdPluginInfo),
#endif
#if defined(PLUGIN_WRONG_KIND)
  .kind = 77,
#elif defined(PLUGIN_WRONG_TYPE)
  .kind = DVMD_PLUGIN_LAUNCHER,
#else
  .kind = DVMD_PLUGIN_MAPPER,
#endif
#ifdef PLUGIN_WRONG_NAME
  .name = "Not A Name",
#else
  .name = "mistake",
#endif
  .description = "for the test of the loader",
  .get_type = mistake_get_type,
#if !defined(PLUGIN_NO_WORDS) && !defined(PLUGIN_WRONG_TYPE)
  .words = words,
#endif
#ifdef PLUGIN_WRONG_VARIABLES
  .variables = words,
#endif
};
#endif
