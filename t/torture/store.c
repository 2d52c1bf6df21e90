/* SPDX-License-Identifier: Apache-2.0
 *
 * The store while memory fails, on both of its threads: it opens or says why not, a write
 * is there or refused, a backup is whole, a restore changes all or nothing. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/store/backup/backup.h"
#include "api/store/write.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "t/lib/backup_rig.h"
#include "t/torture/torture.h"

#define OBJECTS 12
#define WAIT_MS 20000

struct tortured {
	struct store_rig rig;
	char *text; /* a backup of the objects as they were first */
	size_t len;
	struct backup_result result;
	struct store_answer answer;
	struct neap_backup *backup;
	struct neap_backup_reader *reader;
	struct neap_store_replace *replace;
};

static void put_all(struct tortured *tortured, enum neap_store_verb verb, int from, int n)
{
	char name[16];
	int i;

	for (i = from; i < OBJECTS; i++) {
		(void)snprintf(name, sizeof(name), "p-%d", i);
		(void)store_rig_put(&tortured->rig, verb, "n", name, n + i);
	}
}

static void *setup(void)
{
	struct tortured *tortured = neap_alloc(sizeof(*tortured));

	if (tortured == NULL)
		abort();
	neap_json_setup();
	store_rig_init(&tortured->rig);
	store_rig_open(&tortured->rig);
	put_all(tortured, NEAP_STORE_CREATE, 0, 0);
	tortured->text = backup_rig_text(&tortured->rig, &tortured->len);
	/* Half of them changed, some gone. */
	put_all(tortured, NEAP_STORE_UPDATE, OBJECTS / 2, 100);
	put_all(tortured, NEAP_STORE_DELETE, OBJECTS - 3, 0);
	return tortured;
}

static void teardown(void *state)
{
	struct tortured *tortured = state;

	neap_backup_free(tortured->backup);
	neap_backup_reader_free(tortured->reader);
	neap_store_replace_free(tortured->replace);
	store_rig_done(&tortured->rig);
	free(tortured->text);
	free(tortured);
}

static void hear(struct tortured *tortured)
{
	struct pollfd ready = {.fd = neap_store_fd(tortured->rig.store),
			       .events = POLLIN};

	if (poll(&ready, 1, WAIT_MS) != 1)
		torture_fail("nothing is heard");
	neap_store_hear(tortured->rig.store);
}

static size_t count(const struct tortured *tortured)
{
	return neap_store_count(tortured->rig.store, "pods");
}

static void check_count(const struct tortured *tortured, size_t wanted)
{
	if (count(tortured) != wanted)
		torture_fail("%zu objects, not %zu", count(tortured), wanted);
}

/* --- open --- */

static void *open_setup(void)
{
	struct tortured *tortured = setup();

	store_rig_close(&tortured->rig);
	return tortured;
}

static int open_act(void *state, struct neap_error *err)
{
	struct tortured *tortured = state;
	int rc = neap_store_sqlite_open(&tortured->rig.config, &tortured->rig.store, err);

	if (rc < 0)
		tortured->rig.store = NULL;
	else
		torture_tell("%zu", count(tortured));
	return rc;
}

static void open_check(void *state, int rc)
{
	struct tortured *tortured = state;

	if (rc < 0)
		store_rig_open(&tortured->rig);
	check_count(tortured, OBJECTS - 3);
}

/* --- a file of an older neapd --- */

#define OLD         "t/cases/store/format-1/neap.db"
#define OLD_OBJECTS 13
#define OLD_VERSION 15

static void *upgrade_setup(void)
{
	struct tortured *tortured = neap_alloc(sizeof(*tortured));
	char bytes[64 * 1024];
	FILE *from, *to;
	size_t len;

	if (tortured == NULL)
		abort();
	neap_json_setup();
	store_rig_init(&tortured->rig);
	from = fopen(OLD, "rb");
	to = fopen(tortured->rig.file, "wb");
	if (from == NULL || to == NULL)
		abort(); /* run from the root of the tree */
	len = fread(bytes, 1, sizeof(bytes), from);
	if (len == sizeof(bytes) || fwrite(bytes, 1, len, to) != len || fclose(to) != 0 ||
	    fclose(from) != 0)
		torture_fail("%s is not copied", OLD);
	return tortured;
}

static int upgrade_act(void *state, struct neap_error *err)
{
	struct tortured *tortured = state;
	int rc = neap_store_sqlite_open(&tortured->rig.config, &tortured->rig.store, err);

	if (rc < 0)
		tortured->rig.store = NULL;
	else
		torture_tell(
			"%lld %s", (long long)neap_store_version(tortured->rig.store),
			strstr(tortured->rig.said, "brought to format") != NULL ? "told"
										: "");
	return rc;
}

/* As it was, or as it is now: all is there, and it opens again. The copy is the file of
 * before, or there is none. */
static void upgrade_check(void *state, int rc)
{
	struct tortured *tortured = state;
	struct neap_store_facts facts = {0};
	struct neap_error err;
	char copy[128];

	(void)snprintf(copy, sizeof(copy), "%s.format-1", tortured->rig.file);
	if (rc < 0)
		store_rig_open(&tortured->rig);
	if (neap_store_version(tortured->rig.store) != OLD_VERSION)
		torture_fail("version %lld",
			     (long long)neap_store_version(tortured->rig.store));
	store_rig_close(&tortured->rig);
	if (neap_store_sqlite_check(tortured->rig.file, &facts, &err) < 0 ||
	    facts.objects != OLD_OBJECTS || facts.format != 2)
		torture_fail("%lld objects in format %d: %s", (long long)facts.objects,
			     facts.format, err.msg);
	if (neap_store_sqlite_check(copy, &facts, &err) < 0 ||
	    facts.objects != OLD_OBJECTS || facts.format != 1)
		torture_fail("the copy has %lld objects in format %d: %s",
			     (long long)facts.objects, facts.format, err.msg);
}

/* --- write --- */

static int write_act(void *state, struct neap_error *err)
{
	struct tortured *tortured = state;
	int rc = store_rig_write(&tortured->rig, NEAP_STORE_CREATE, "n", "new", 5, 0,
				 &tortured->answer, err);

	while (rc == 0 && !tortured->answer.is_done)
		hear(tortured);
	if (rc == 0 && tortured->answer.code != NEAP_OK)
		rc = neap_error_set(err, tortured->answer.code, "refused later");
	if (rc == 0)
		torture_tell("%zu", count(tortured));
	return rc;
}

static void write_check(void *state, int rc)
{
	struct tortured *tortured = state;

	check_count(tortured, rc < 0 ? OBJECTS - 3 : OBJECTS - 2);
	store_rig_close(&tortured->rig);
	store_rig_open(&tortured->rig);
	check_count(tortured, rc < 0 ? OBJECTS - 3 : OBJECTS - 2);
}

/* --- backup --- */

static int backup_act(void *state, struct neap_error *err)
{
	struct tortured *tortured = state;
	neap_auto_buf struct neap_buf out = {0};
	int rc = neap_backup_new(tortured->rig.store, 0, &tortured->backup, err);

	neap_buf_init(&out, (size_t)1024 * 1024);
	while (rc == 0) {
		rc = neap_backup_next(tortured->backup, &out, out.len + 100, err);
		if (rc != 1)
			break;
		rc = 0;
	}
	if (rc == 0)
		torture_tell("%s", out.data);
	return rc;
}

/* --- restore --- */

static int restore_act(void *state, struct neap_error *err)
{
	struct tortured *tortured = state;
	int64_t version = 0;
	int rc = neap_store_replace_new(tortured->rig.store, &tortured->replace, err);

	if (rc == 0)
		rc = neap_backup_reader_new(tortured->replace, &tortured->reader, err);
	if (rc == 0)
		rc = neap_backup_reader_feed(tortured->reader, tortured->text,
					     tortured->len, err);
	if (rc == 0)
		rc = neap_backup_reader_end(tortured->reader, &version, err);
	if (rc < 0)
		return rc;
	neap_store_replace_commit_take(tortured->replace, version, backup_rig_replaced,
				       &tortured->result);
	tortured->replace = NULL;
	while (!tortured->result.is_done)
		hear(tortured);
	*err = tortured->result.err;
	if (err->code == NEAP_OK)
		torture_tell("%zu", count(tortured));
	return -(int)err->code;
}

static void restore_check(void *state, int rc)
{
	struct tortured *tortured = state;

	check_count(tortured, rc < 0 ? OBJECTS - 3 : OBJECTS);
	neap_store_replace_free(tortured->replace);
	tortured->replace = NULL;
	store_rig_close(&tortured->rig);
	store_rig_open(&tortured->rig);
	check_count(tortured, rc < 0 ? OBJECTS - 3 : OBJECTS);
	(void)store_rig_put(&tortured->rig, NEAP_STORE_UPDATE, "n", "p-0", 77);
}

const struct torture torture_store[] = {
	{"store: open", open_setup, open_act, open_check, teardown},
	{"store: upgrade", upgrade_setup, upgrade_act, upgrade_check, teardown},
	{"store: write", setup, write_act, write_check, teardown},
	{"store: backup", setup, backup_act, NULL, teardown},
	{"store: restore", setup, restore_act, restore_check, teardown},
	{0},
};
