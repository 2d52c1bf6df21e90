/* SPDX-License-Identifier: Apache-2.0
 *
 * Small JSON files of the node: those of a kubelet, and neapd's own records for its
 * successor. */
#ifndef NEAP_API_RUN_JSON_FILE_H
#define NEAP_API_RUN_JSON_FILE_H

#include <jansson.h>

#include "engine/base/error.h"

/* Returns 1 with *ret, which the caller releases; 0 when there is no such file; -code. */
int neap_json_file_read(const char *path, json_t **ret, struct neap_error *err);
/* Writes the whole file or nothing, by rename. */
int neap_json_file_write(const char *path, const json_t *json, struct neap_error *err);

#endif
