/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the writer and the reader of backups. */
#ifndef NEAP_API_STORE_BACKUP_BACKUP_PRIV_H
#define NEAP_API_STORE_BACKUP_BACKUP_PRIV_H

#include <inttypes.h>

#include "engine/base/buf.h"
#include "engine/base/sha256.h"

#define NEAP_BACKUP_FORMAT 1

/* At the end of each line: the checksum of the text before it, so that damage is located.
 * Older backups have none. */
#define NEAP_BACKUP_SUM     ",\"sum\":\"%016" PRIx64 "\"}\n"
#define NEAP_BACKUP_SUM_LEN 27

/* SHA-256 of each line, prefixed by the digest of the earlier lines; zeros at the
 * start. */
struct neap_backup_digest {
	uint8_t sum[NEAP_SHA256_BYTES];
	struct neap_buf buf;
};

#endif
