/* SPDX-License-Identifier: Apache-2.0
 *
 * A folder of uploaded policies for tests. */
#include "t/lib/versions_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

const struct neap_policy_id versions_id = {"qos", "one"};
char versions_base[64], versions_dir[80], versions_folder[96];
int64_t versions_now_usec = 1700000000000000;
bool versions_is_editor;

void versions_run(const char *fmt, ...)
{
	char command[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	if (system(command) != 0)
		fail_msg("%s", command);
}

int versions_setup(void **state)
{
	(void)state;
	/* A sync costs nothing there. */
	snprintf(versions_base, sizeof(versions_base), "%s/neap-versions-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (!mkdtemp(versions_base))
		return -1;
	snprintf(versions_dir, sizeof(versions_dir), "%s/policies", versions_base);
	snprintf(versions_folder, sizeof(versions_folder), "%s/qos/one", versions_dir);
	return 0;
}

int versions_teardown(void **state)
{
	(void)state;
	versions_run("rm -rf %s", versions_base);
	return 0;
}

/* Text of a letter, and its version. */
const char *versions_text(char letter, char version[NEAP_VERSION_SIZE])
{
	static char text[32];

	snprintf(text, sizeof(text), "return { '%c' }\n", letter);
	neap_version_of(text, strlen(text), version);
	return text;
}

int versions_put(const char *verb, char letter, struct neap_error *err)
{
	char version[NEAP_VERSION_SIZE] = "";
	const char *text = letter ? versions_text(letter, version) : NULL;
	struct neap_history_line line = {.unix_usec = versions_now_usec++,
					 .by = "uid 0",
					 .why = "a test",
					 .is_by_editor = versions_is_editor};

	snprintf(line.verb, sizeof(line.verb), "%s", verb);
	return neap_versions_put(versions_dir, &versions_id, version,
				 strcmp(verb, "put") != 0 ? NULL : text,
				 text ? strlen(text) : 0, &line, err);
}

int versions_note(const char *verb, char letter, struct neap_error *err)
{
	struct neap_history_line line = {.unix_usec = versions_now_usec++, .by = "neapd"};

	if (letter)
		(void)versions_text(letter, line.version);
	snprintf(line.verb, sizeof(line.verb), "%s", verb);
	return neap_versions_note(versions_dir, &versions_id, &line, err);
}

/* The letter of a version; '-' for none. */
char versions_letter(const char *version)
{
	char is[NEAP_VERSION_SIZE];
	int letter;

	for (letter = ' '; letter < '~'; letter++) {
		(void)versions_text((char)letter, is);
		if (!strcmp(is, version))
			return (char)letter;
	}
	return '-';
}

char versions_active(void)
{
	struct neap_error err;
	char version[NEAP_VERSION_SIZE] = "", *text;
	size_t len;

	if (neap_versions_read(versions_dir, &versions_id, NULL, &text, &len, version,
			       &err) < 0)
		return '-';
	assert_string_equal(text, versions_text(versions_letter(version), version));
	assert_int_equal(len, strlen(text));
	free(text);
	return versions_letter(version);
}

/* +A put, <A rollback by a person, !A rolled back by itself, fA failed, x deleted, rA the
 * file of A is removed, p parameters. */
void versions_play(const char *script)
{
	for (; *script; script++) {
		char version[NEAP_VERSION_SIZE];
		struct neap_error err = {0};
		int rc = 0;

		switch (*script) {
		case ' ':
			break;
		case '+':
			rc = versions_put("put", *++script, &err);
			break;
		case '<':
			rc = versions_put("rollback", *++script, &err);
			break;
		case '!':
			rc = versions_put("rolled-back", *++script, &err);
			break;
		case 'f':
			rc = versions_note("failed", *++script, &err);
			break;
		case 'x':
			rc = versions_put("deleted", 0, &err);
			break;
		case 'p':
			rc = versions_note("params", 0, &err);
			break;
		case 'r':
			(void)versions_text(*++script, version);
			versions_run("rm %s/%s.lua", versions_folder, version);
			break;
		default:
			fail_msg("script at '%s'", script);
		}
		if (rc < 0)
			fail_msg("script at '%s': %s", script, err.msg);
	}
}
