/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>
#include <pmix_common.h>

G_BEGIN_DECLS

/*
 * An array of pmix_info_t that grows. Values are written in place: the library's own lists copy everything twice, which
 * for a large job costs more than the registration.
 */

typedef struct
{
  pmix_info_t *items; /* from malloc, as the library frees it */
  gsize length;
  gsize size;
} DvmdPmixInfo;

#define DVMD_PMIX_INFO_INIT                                                                                            \
  {                                                                                                                    \
    NULL, 0, 0                                                                                                         \
  }

void dvmd_pmix_info_clear (DvmdPmixInfo *self);
/* Makes room for n more at once. */
void dvmd_pmix_info_reserve (DvmdPmixInfo *self, gsize n);

/* NULL strings are left out. */
void dvmd_pmix_info_add_string (DvmdPmixInfo *self, const char *key, const char *value);
void dvmd_pmix_info_add_uint32 (DvmdPmixInfo *self, const char *key, guint32 value);
void dvmd_pmix_info_add_uint16 (DvmdPmixInfo *self, const char *key, guint16 value);
void dvmd_pmix_info_add_rank (DvmdPmixInfo *self, const char *key, guint32 value);
void dvmd_pmix_info_add_flag (DvmdPmixInfo *self, const char *key, gboolean value);
void dvmd_pmix_info_add_proc (DvmdPmixInfo *self, const char *key, const char *nspace, guint32 rank);
/* A value of any type, by the library's own copying. */
void dvmd_pmix_info_add (DvmdPmixInfo *self, const char *key, const void *value, pmix_data_type_t type);
/* Not copied: what it points to stays the caller's. */
void dvmd_pmix_info_add_topology (DvmdPmixInfo *self, const char *key, pmix_topology_t *topology);
/* bytes: of dvmd_pmix_pack_value(). A key that is there already keeps its value. */
void dvmd_pmix_info_add_packed (DvmdPmixInfo *self, const char *key, GVariant *bytes);
/* Takes the items of array, which is empty afterwards. */
void dvmd_pmix_info_add_array (DvmdPmixInfo *self, const char *key, DvmdPmixInfo *array);
/*
 * s, b, i, u, x, t, (t), a size, (i), a status, (su), a process, a(su), DVMD_PMIX_PROC_TABLE, and arrays of information
 * a(sa{sv}), each under its key; other types are left out and FALSE is returned.
 */
gboolean dvmd_pmix_info_add_variant (DvmdPmixInfo *self, const char *key, GVariant *value);
/* All of an a{sv}. */
void dvmd_pmix_info_add_dict (DvmdPmixInfo *self, GVariant *dict);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (DvmdPmixInfo, dvmd_pmix_info_clear)

G_END_DECLS
