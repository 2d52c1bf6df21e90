/* SPDX-License-Identifier: Apache-2.0
 *
 * Small JSON files of the node: what the kubelet wrote, and what neapd notes for its successor. */
#ifndef NEAP_API_RUN_JSON_FILE_H
#define NEAP_API_RUN_JSON_FILE_H

#include <jansson.h>

#include "engine/base/error.h"

/* 1 with *ret, to be given back; 0 when there is no such file; -code. */
int neap_json_file_read(const char *path, json_t **ret, struct neap_error *err);
/* Whole or not at all, by rename. */
int neap_json_file_write(const char *path, const json_t *json, struct neap_error *err);

#endif
