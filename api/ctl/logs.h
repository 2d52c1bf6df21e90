/* SPDX-License-Identifier: Apache-2.0
 *
 * Output files of `neapctl run --background`: one file per run, in a directory of the
 * user. */
#ifndef NEAP_API_CTL_LOGS_H
#define NEAP_API_CTL_LOGS_H

#include <limits.h>

#include "engine/base/error.h"

/* Creates the directory: $XDG_STATE_HOME/neap/run, else for root /var/log/neap/run, else
 * ~/.local/state/neap/run. ret has PATH_MAX bytes. */
int neap_logs_dir(char *ret, struct neap_error *err);
/* Writes the path of NAME.log in it. ret has PATH_MAX bytes. */
int neap_logs_path(const char *dir, const char *name, char *ret, struct neap_error *err);

#endif
