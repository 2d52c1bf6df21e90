/* SPDX-License-Identifier: Apache-2.0
 *
 * Backups, in pieces cut anywhere: they are refused with words, or are whole; in one
 * piece the answer is the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/store/backup/backup.h"
#include "api/store/sqlite/sqlite.h"
#include "engine/json/json.h"
#include "t/fuzz/lib/fuzz.h"

/* Its files have no names any more. */
static struct neap_store *open_store(void)
{
	char dir[] = "/tmp/neap-fuzz.XXXXXX", file[64], log[80];
	const struct neap_store_sqlite_config config = {
		.file = file, .history_usec = 1000000, .history_bytes = 1 << 20};
	struct neap_store *store = NULL;
	struct neap_error err;

	neap_json_setup();
	FUZZ_CHECK(mkdtemp(dir) != NULL);
	(void)snprintf(file, sizeof(file), "%s/neap.db", dir);
	(void)snprintf(log, sizeof(log), "%s-wal", file);
	FUZZ_CHECK(neap_store_sqlite_open(&config, &store, &err) == 0);
	(void)unlink(file);
	(void)unlink(log);
	(void)rmdir(dir);
	return store;
}

static int read_all(struct neap_store *store, const char *text, size_t len, size_t piece,
		    int64_t *ret_version, struct neap_error *err)
{
	struct neap_store_replace *replace = NULL;
	struct neap_backup_reader *reader = NULL;
	size_t at;
	int r = 0;

	FUZZ_CHECK(neap_store_replace_new(store, &replace, err) == 0);
	FUZZ_CHECK(neap_backup_reader_new(replace, &reader, err) == 0);
	for (at = 0; r == 0 && at < len; at += piece)
		r = neap_backup_reader_feed(reader, text + at,
					    len - at < piece ? len - at : piece, err);
	if (r == 0)
		r = neap_backup_reader_end(reader, ret_version, err);
	neap_backup_reader_free(reader);
	neap_store_replace_free(replace);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct neap_store *store;
	struct neap_error whole = {0}, parts = {0};
	int64_t version = -1, again = -1;
	int r;

	if (store == NULL)
		store = open_store();
	r = read_all(store, (const char *)data, size, size + 1, &version, &whole);
	FUZZ_CHECK(read_all(store, (const char *)data, size, 7, &again, &parts) == r);
	FUZZ_CHECK(r < 0 ? *whole.msg != '\0' && strcmp(whole.msg, parts.msg) == 0
			 : version >= 0 && version == again);
	return 0;
}
