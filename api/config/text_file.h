/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole text files named by operators. */
#ifndef NEAP_API_CONFIG_TEXT_FILE_H
#define NEAP_API_CONFIG_TEXT_FILE_H

#include "engine/base/buf.h"

/* Appends the file to ret, which limits its size. Accepts only regular files, so that it
 * never blocks. NEAP_EINVAL, NEAP_ETOOLARGE, NEAP_ENOMEM, or a system error. */
int neap_text_file_read(const char *file, struct neap_buf *ret, struct neap_error *err);

#endif
