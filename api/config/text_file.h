/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that operators name and that are read as a whole. */
#ifndef NEAP_API_CONFIG_TEXT_FILE_H
#define NEAP_API_CONFIG_TEXT_FILE_H

#include "engine/base/buf.h"

/* Adds the file to ret, which limits its size. A regular file only, so that it is not waited for. NEAP_EINVAL,
 * NEAP_ETOOLARGE, NEAP_ENOMEM, or of the system. */
int neap_text_file_read(const char *file, struct neap_buf *ret, struct neap_error *err);

#endif
