# SPDX-License-Identifier: LGPL-2.1-or-later
"""dvm-monitor: a DVM in a window. See README.md beside this package."""
