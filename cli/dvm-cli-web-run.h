/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The work of `web`, which two programs do in two ways: dvm-web serves the page, and dvm-cli becomes dvm-web. All other
 * verbs start faster without an HTTP library.
 */

#pragma once

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

int dvm_cli_web_run (DvmCli *cli, GError **error);

G_END_DECLS
