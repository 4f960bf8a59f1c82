/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Pictures of nodes as SVG, for documents and browsers.
 */

#pragma once

#include "dvm-cli-picture.h"

G_BEGIN_DECLS

/* pictures: (element-type DvmCliPicture); n_left: nodes that are left out, which a sentence tells. (transfer full) */
char *dvm_cli_pictures_to_svg (GPtrArray *pictures, guint n_left);

G_END_DECLS
