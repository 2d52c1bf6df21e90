/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the output of what `neapctl run --background` started goes: a file each, in a folder of the
 * user's own. */
#ifndef NEAP_API_CTL_LOGS_H
#define NEAP_API_CTL_LOGS_H

#include <limits.h>

#include "engine/base/error.h"

/* Makes the folder: $XDG_STATE_HOME/neap/run, else /var/log/neap/run of root, else
 * ~/.local/state/neap/run. ret has PATH_MAX bytes. */
int neap_logs_dir(char *ret, struct neap_error *err);
/* NAME.log in it. ret has PATH_MAX bytes. */
int neap_logs_path(const char *dir, const char *name, char *ret, struct neap_error *err);

#endif
