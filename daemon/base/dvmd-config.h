/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/*
 * The settings of a DVM, by name. Each has a type, a built-in value and an origin; a later origin wins over an earlier
 * one. dvmd-config-table.c is the one list of settings. Files are key files with the single group [dvm]; the
 * environment variable of "kill-grace" is DVM_KILL_GRACE.
 */

typedef enum
{
  DVMD_CONFIG_ORIGIN_BUILT_IN,
  DVMD_CONFIG_ORIGIN_SYSTEM_FILE, /* /etc/dvm/dvm.conf */
  DVMD_CONFIG_ORIGIN_USER_FILE,   /* $XDG_CONFIG_HOME/dvm/dvm.conf */
  DVMD_CONFIG_ORIGIN_ENVIRONMENT, /* DVM_* */
  DVMD_CONFIG_ORIGIN_COMMAND_LINE,
} DvmdConfigOrigin;

typedef enum
{
  DVMD_CONFIG_BOOL,    /* true, false, yes, no, on, off, 1, 0 */
  DVMD_CONFIG_UINT,    /* 17 */
  DVMD_CONFIG_SIZE,    /* bytes: 1048576, 1024 KiB, 1 MiB */
  DVMD_CONFIG_SECONDS, /* 5, 0.25, 250 ms, 5 s, 2 min */
  DVMD_CONFIG_CHOICE,  /* one word of a list */
  DVMD_CONFIG_PORTS,   /* 0, 5000, 5000-5100 */
  DVMD_CONFIG_COMMAND, /* quoted as in a shell */
  DVMD_CONFIG_STRING,
} DvmdConfigType;

/* When another value counts. */
typedef enum
{
  DVMD_CONFIG_AT_START, /* for a DVM that is started with it */
  DVMD_CONFIG_AT_ONCE,  /* as soon as the settings are read again */
} DvmdConfigTime;

typedef struct
{
  const char *name;
  DvmdConfigType type;
  const char *built_in; /* text that parses as type */
  const char *choices;  /* (nullable): "lazy eager", for DVMD_CONFIG_CHOICE */
  guint64 min;          /* UINT and SIZE; SECONDS: in µs */
  guint64 max;
  DvmdConfigTime time;
  const char *description; /* one sentence, for people */
} DvmdSetting;

const DvmdSetting *dvmd_config_get_settings (guint *n_settings);
const DvmdSetting *dvmd_config_find_setting (const char *name); /* (nullable) */
/* Describes the values of a setting, "a number from 0 to 100000", for messages and manuals. */
char *dvmd_setting_describe_values (const DvmdSetting *setting);
/* Of a value of type PORTS; 0: any. */
gboolean dvmd_config_parse_ports (const char *text, guint16 *first, guint16 *last);

typedef struct _DvmdConfig DvmdConfig;

/* Built-in values alone. */
DvmdConfig *dvmd_config_new (void);
/* Both files (one that is missing is no error) and the environment, in their order. environ: NULL for one's own. */
gboolean dvmd_config_load (DvmdConfig *self, const char *const *environ, GError **error);
/* One file; DVM_ERROR_PARSE_FAILED names file, line and key. A missing file is DVM_ERROR_NOT_FOUND. */
gboolean dvmd_config_load_file (DvmdConfig *self, const char *path, DvmdConfigOrigin origin, GError **error);
/* One setting from a text; DVM_ERROR_BAD_PARAM names it and says what would be right. */
gboolean dvmd_config_set (DvmdConfig *self, const char *name, const char *value, DvmdConfigOrigin origin,
                          GError **error);
/*
 * The values of newer, which has been read from the same places, that count at once; the others wait for a restart.
 * Returns the names of those that have changed (element-type utf8, of the table); waiting (nullable) gets the names of
 * those that wait.
 */
GPtrArray *dvmd_config_take (DvmdConfig *self, DvmdConfig *newer, GPtrArray **waiting);
/* (nullable): the value that waits for a restart. */
const char *dvmd_config_get_waiting (DvmdConfig *self, const char *name);
DvmdConfig *dvmd_config_ref (DvmdConfig *self);
void dvmd_config_unref (DvmdConfig *self);

/* The name must be in the table and have this type: anything else is a programming error. */
gboolean dvmd_config_get_bool (DvmdConfig *self, const char *name);
guint64 dvmd_config_get_uint (DvmdConfig *self, const char *name);       /* UINT and SIZE */
gint64 dvmd_config_get_usec (DvmdConfig *self, const char *name);        /* a SECONDS setting in µs, for dvmd-clock */
const char *dvmd_config_get_string (DvmdConfig *self, const char *name); /* the text of any setting */
DvmdConfigOrigin dvmd_config_get_origin (DvmdConfig *self, const char *name);
/* "/etc/dvm/dvm.conf:3", "DVM_KILL_GRACE", "built-in" */
const char *dvmd_config_get_place (DvmdConfig *self, const char *name);

/* For programs: a(sssssss): name, value, built-in value, origin ("built-in", "system-file", "user-file", "environment",
 * "command-line"), file:line or variable, what it takes, description. Floating. */
GVariant *dvmd_config_to_variant (DvmdConfig *self);

/* Likewise, of a DVM that runs: a{sa{sv}}, name -> value, built-in, origin, place, takes, description, time ("at-once",
 * "at-start"), all s, and waiting (s, of those that wait for a restart). Floating. */
GVariant *dvmd_config_to_dictionary (DvmdConfig *self);

/* Every setting with its value and its place, for those who ask for it (log domain dvmd-config, level info). */
void dvmd_config_log (DvmdConfig *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdConfig, dvmd_config_unref)

G_END_DECLS
