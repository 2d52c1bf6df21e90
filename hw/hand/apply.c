/* SPDX-License-Identifier: Apache-2.0
 *
 * One value: check, journal, write, read back; and restoring it. The loop has checked all
 * of this already, but it may have been taken over, so the hand trusts none of it. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "hw/hand/hand_priv.h"

int neap_hand_errnum(const struct neap_error *err)
{
	if (err->code == NEAP_ENOMEM)
		return ENOMEM;
	return err->errnum ? err->errnum : EIO;
}

void neap_hand_refuse(struct neap_hand_server *server, struct neap_hand_answer *answer,
		      int errnum, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(server->text, sizeof(server->text), fmt, args);
	va_end(args);
	answer->errnum = errnum;
	answer->text = server->text;
}

bool neap_hand_is_frozen(const struct neap_hand_server *server)
{
	return faccessat(server->run_dir_fd, "freeze", F_OK, 0) == 0;
}

static bool is_below_roots(const struct neap_hand_config *config, const char *group)
{
	for (int i = 0; i < config->root_count; i++)
		if (neap_path_is_safe(config->roots[i]) &&
		    neap_path_is_below(group, config->roots[i]))
			return true;
	return false;
}

bool neap_hand_is_managed(const struct neap_hand_server *server, const char *group)
{
	return neap_path_is_safe(group) && is_below_roots(&server->config, group);
}

static bool is_root(const struct neap_hand_config *config, const char *group)
{
	for (int i = 0; i < config->root_count; i++)
		if (strcmp(group, config->roots[i]) == 0)
			return true;
	for (int i = 0; i < NEAP_HAND_OWN_MAX; i++)
		if (strcmp(group, config->own_roots[i]) == 0)
			return true;
	return false;
}

/* A class directory of a root with another name (--kubepods), in cgroupfs form. */
static bool is_class_of_root(const struct neap_hand_config *config, const char *group)
{
	const char *slash = strrchr(group, '/');

	if (!slash ||
	    (strcmp(slash, "/besteffort") != 0 && strcmp(slash, "/burstable") != 0))
		return false;
	for (int i = 0; i < config->root_count; i++)
		if (!neap_hand_own_root(config, config->roots[i]) &&
		    strlen(config->roots[i]) == (size_t)(slash - group) &&
		    strncmp(config->roots[i], group, (size_t)(slash - group)) == 0)
			return true;
	return false;
}

/* For a quota alone on v2 the kernel shows one format and takes another: both are
 * fine. */
static int value_check(enum neap_key key, bool v2, const char *text,
		       struct neap_value *ret, struct neap_error *err)
{
	char both[64];
	const char *p;
	int rc;

	for (p = text; *p; p++)
		if (*p < ' ' || *p > '~')
			return neap_error_set(err, NEAP_EINVAL,
					      "control characters in a value");
	/* The parser accepts what kernels show, and reads anything below zero as "no
	 * limit". */
	if (*text == '-' && strcmp(text, "-1") != 0)
		return neap_error_set(err, NEAP_EINVAL, "%.32s is below zero", text);
	/* 010 would be octal to the kernel and decimal here; leading blanks would hide
	 * that. */
	if (neap_key_get(key)->form == NEAP_FORM_NUMBER &&
	    (*text == ' ' || (*text == '0' && text[1] >= '0' && text[1] <= '9')))
		return neap_error_set(err, NEAP_EINVAL,
				      "a blank or zero before the number '%.32s'", text);
	if (key == NEAP_KEY_CPU_MAX_MILLI && v2 && *text && !strchr(text, ' ')) {
		snprintf(both, sizeof(both), "%.40s %d", text, NEAP_CFS_PERIOD_USEC);
		text = both;
	}
	rc = neap_value_parse(key, v2, text, ret, err);
	return rc < 0 ? rc : neap_value_check(key, ret, err);
}

/* True when the write is allowed. */
static bool set_check(struct neap_hand_server *server,
		      const struct neap_hand_request *request,
		      struct neap_hand_answer *answer)
{
	struct neap_error err = {0};
	struct neap_value *value = &server->value;
	const char *file;
	bool v2 = false;
	int64_t number;
	int rc;

	if (!neap_path_is_safe(request->group)) {
		neap_hand_refuse(server, answer, EPERM, "not a safe group name");
		return false;
	}
	if (!is_below_roots(&server->config, request->group)) {
		neap_hand_refuse(server, answer, EPERM, "%s is not below a managed root",
				 request->group);
		return false;
	}
	file = neap_cgroup_file(server->config.cgroup, request->key, NULL, &v2);
	if (!file) {
		neap_hand_refuse(server, answer, EPERM,
				 "%s: this machine has no file for it",
				 neap_key_get(request->key)->name);
		return false;
	}
	rc = request->found ? value_check(request->key, v2, request->found, value, &err)
			    : 0;
	if (rc == 0)
		rc = value_check(request->key, v2, request->value, value, &err);
	number = value->number;
	if (rc < 0) {
		neap_hand_refuse(server, answer, EPERM, "%s: %s",
				 neap_key_get(request->key)->name, err.msg);
		return false;
	}
	/* An idle group refuses cpu.shares, and a kubelet sets those of its class
	 * directories. */
	if (request->key == NEAP_KEY_CPU_IDLE && number == 1 &&
	    (is_root(&server->config, request->group) ||
	     neap_path_is_kube_class(request->group) ||
	     is_class_of_root(&server->config, request->group))) {
		neap_hand_refuse(
			server, answer, EPERM,
			"cpu.idle is for pods and containers: %s could not be given "
			"shares any more",
			request->group);
		return false;
	}
	return true;
}

/* The entry of (group, key) if it belongs to this same group; an entry of an earlier
 * group of that name is dropped. -1: none. */
static int entry_of(struct neap_hand_server *server, const char *group, enum neap_key key,
		    uint64_t dev, uint64_t ino)
{
	int index = neap_journal_find(server->journal, group, key);
	const struct neap_journal_entry *entry;

	if (index < 0)
		return -1;
	entry = neap_journal_get(server->journal, index);
	if (entry->dev == dev && entry->ino == ino)
		return index;
	neap_journal_drop(server->journal, index);
	return -1;
}

/* A v1 group copies its parent's CPU set when it is created. Without neap it would have
 * copied the parent's original set, so that is what it gets back when nothing is recorded
 * for it. The loop does not decide what is restored at the end, so it may claim no other
 * value. */
static bool found_is_of_parent(struct neap_hand_server *server,
			       const struct neap_hand_request *request)
{
	const char *slash = strrchr(request->group, '/');
	const char *first = server->scratch;
	char parent[NEAP_PATH_MAX];
	uint64_t dev, ino;
	bool v2 = false;
	int index;

	(void)neap_cgroup_file(server->config.cgroup, request->key, NULL, &v2);
	if (neap_key_get(request->key)->form != NEAP_FORM_CPUSET || v2 || !slash)
		return false;
	(void)snprintf(parent, sizeof(parent), "%.*s", (int)(slash - request->group),
		       request->group);
	if (neap_hand_file_read(&server->files, parent, request->key, server->scratch,
				&dev, &ino) != 0)
		return false;
	index = entry_of(server, parent, request->key, dev, ino);
	if (index >= 0)
		first = neap_journal_get(server->journal, index)->value;
	return strcmp(first, request->found) == 0;
}

/* On leaving idle the kernel resets the shares to its default, so record them first. */
static int shares_keep(struct neap_hand_server *server, const char *group,
		       struct neap_error *err)
{
	struct neap_journal_entry entry = {
		.group = (char *)group,
		.value = server->scratch,
		.key = NEAP_KEY_CPU_SHARES,
		.is_side_effect = true,
	};
	int rc = neap_hand_file_read(&server->files, group, entry.key, server->scratch,
				     &entry.dev, &entry.ino);

	if (rc || entry_of(server, group, entry.key, entry.dev, entry.ino) >= 0)
		return 0; /* without a readable file there is nothing to keep */
	return neap_journal_add(server->journal, &entry, err);
}

static int set_journal(struct neap_hand_server *server,
		       const struct neap_hand_request *request, uint64_t dev,
		       uint64_t ino, bool *ret_is_new, struct neap_error *err)
{
	struct neap_journal_entry entry = {
		.group = (char *)request->group,
		.value = server->old_value,
		.key = request->key,
		.dev = dev,
		.ino = ino,
	};
	int index = entry_of(server, request->group, request->key, dev, ino);
	int rc;

	*ret_is_new = index < 0;
	if (index >= 0)
		return neap_journal_claim(server->journal, index, err);
	if (request->key == NEAP_KEY_CPU_IDLE && strcmp(server->old_value, "0") == 0) {
		rc = shares_keep(server, request->group, err);
		if (rc < 0)
			return rc;
	}
	if (request->found && found_is_of_parent(server, request))
		entry.value = (char *)request->found;
	return neap_journal_add(server->journal, &entry, err);
}

/* A refused first write changed nothing: its entries go. */
static void set_forget(struct neap_hand_server *server, const char *group,
		       enum neap_key key)
{
	int index = neap_journal_find(server->journal, group, key);

	if (index >= 0)
		neap_journal_drop(server->journal, index);
	if (key != NEAP_KEY_CPU_IDLE)
		return;
	index = neap_journal_find(server->journal, group, NEAP_KEY_CPU_SHARES);
	if (index >= 0 && neap_journal_get(server->journal, index)->is_side_effect)
		neap_journal_drop(server->journal, index);
}

/* On v1 the group may be gone from one hierarchy and still have values in another. */
static void gone(struct neap_hand_server *server, const char *group,
		 struct neap_hand_answer *answer)
{
	uint64_t dev, ino;
	int i, index, rc;

	neap_hand_files_forget(&server->files, group);
	for (i = 0; i < NEAP_KEY_COUNT; i++) {
		enum neap_key key = (enum neap_key)i;

		index = neap_journal_find(server->journal, group, key);
		if (index < 0)
			continue;
		rc = neap_hand_file_read(&server->files, group, key, server->scratch,
					 &dev, &ino);
		if (rc == ENOENT)
			neap_journal_drop(server->journal, index);
		else if (rc == 0)
			(void)entry_of(server, group, key, dev, ino);
	}
	neap_hand_refuse(server, answer, ENOENT, "the group is gone");
}

void neap_hand_apply_set(struct neap_hand_server *server,
			 const struct neap_hand_request *request,
			 struct neap_hand_answer *answer)
{
	struct neap_error err = {0};
	uint64_t dev = 0, ino = 0;
	bool is_new = false;
	int failed, rc;

	if (!set_check(server, request, answer))
		return;
	rc = neap_hand_file_read(&server->files, request->group, request->key,
				 server->old_value, &dev, &ino);
	if (rc == ENOENT) {
		gone(server, request->group, answer);
		return;
	}
	if (rc) {
		neap_hand_refuse(
			server, answer, rc, "read %s: %s",
			neap_cgroup_file(server->config.cgroup, request->key, NULL, NULL),
			rc == EOPNOTSUPP ? "not on this kernel" : strerror(rc));
		return;
	}
	answer->old_value = server->old_value;
	if (set_journal(server, request, dev, ino, &is_new, &err) < 0) {
		neap_hand_refuse(server, answer, neap_hand_errnum(&err),
				 "not written, as the journal cannot take it: %s",
				 err.msg);
		return;
	}
	failed = neap_hand_file_write(&server->files, request->group, request->key, dev,
				      ino, request->value);
	rc = neap_hand_file_read(&server->files, request->group, request->key,
				 server->new_value, &dev, &ino);
	if (failed == ENOENT || rc == ENOENT) {
		gone(server, request->group, answer);
		return;
	}
	if (rc == 0)
		answer->new_value = server->new_value;
	if (!failed)
		return;
	neap_hand_refuse(
		server, answer, failed, "write '%.64s' to %s: %s", request->value,
		neap_cgroup_file(server->config.cgroup, request->key, NULL, NULL),
		strerror(failed));
	if (is_new && rc == 0 && strcmp(server->new_value, server->old_value) == 0)
		set_forget(server, request->group, request->key);
}

/* A value that a policy writes over this one must not outlive its reason, and the loop
 * may be gone by then. */
void neap_hand_apply_own(struct neap_hand_server *server,
			 const struct neap_hand_request *request,
			 struct neap_hand_answer *answer)
{
	struct neap_error err = {0};
	struct neap_journal_entry entry = {
		.group = (char *)request->group,
		.value = server->old_value,
		.key = request->key,
	};
	const char *own = *request->value ? request->value : NULL;
	int index, rc;

	if (!neap_hand_own_root(&server->config, request->group) ||
	    !neap_journal_key_stays(request->key, true)) {
		neap_hand_refuse(server, answer, EPERM, "%s of %s: not one of its own",
				 neap_key_get(request->key)->name, request->group);
		return;
	}
	if (own && !set_check(server, request, answer))
		return;
	rc = neap_hand_file_read(&server->files, entry.group, entry.key,
				 server->old_value, &entry.dev, &entry.ino);
	if (rc == ENOENT) {
		gone(server, request->group, answer);
		return;
	}
	if (rc) {
		neap_hand_refuse(server, answer, rc, "read %s: %s",
				 neap_key_get(entry.key)->name, strerror(rc));
		return;
	}
	index = entry_of(server, entry.group, entry.key, entry.dev, entry.ino);
	rc = 0;
	if (index >= 0)
		rc = neap_journal_claim(server->journal, index, &err);
	else if (own)
		rc = neap_journal_add(server->journal, &entry, &err);
	index = neap_journal_find(server->journal, entry.group, entry.key);
	if (rc == 0 && index >= 0)
		rc = neap_journal_own_set(server->journal, index, own, &err);
	if (rc < 0) {
		neap_hand_refuse(server, answer, neap_hand_errnum(&err),
				 "the journal cannot take it: %s", err.msg);
		return;
	}
	answer->old_value =
		index >= 0 ? neap_journal_get(server->journal, index)->value : NULL;
	answer->new_value = own;
}

const char *neap_hand_text_back(enum neap_key key, bool v2, const char *text)
{
	const struct neap_key_info *info = neap_key_get(key);

	/* v1 shows "no limit" as the largest multiple of its page size, which may be 64
	 * KiB. */
	if (!v2 && info->controller == NEAP_CTL_MEMORY && info->has_unlimited &&
	    strlen(text) == 19 && strcmp(text, "9223372036854700000") >= 0)
		return "-1";
	return text;
}

/* While processes are inside, the kernel does not let a v2 CPU set become empty ("all
 * that the parent has") again (ENOSPC). Listing every possible CPU means the same. */
static int widest_write(struct neap_hand_server *server,
			const struct neap_journal_entry *entry)
{
	static const char *const lists[NEAP_KEY_COUNT] = {
		[NEAP_KEY_CPUSET_CPUS] = "/sys/devices/system/cpu/possible",
		[NEAP_KEY_CPUSET_MEMS] = "/sys/devices/system/node/possible",
	};
	int rc;

	if (!lists[entry->key] || *entry->value ||
	    neap_file_line(lists[entry->key], server->scratch, sizeof(server->scratch)) <=
		    0)
		return ENOSPC;
	rc = neap_hand_file_write(&server->files, entry->group, entry->key, entry->dev,
				  entry->ino, server->scratch);
	if (rc == 0)
		neap_log_line(
			&server->log, NEAP_LOG_INFO,
			"%s of %s is %s now and was empty, which the kernel refuses "
			"while processes are inside; both mean all",
			neap_key_get(entry->key)->name, entry->group, server->scratch);
	return rc;
}

int neap_hand_entry_restore(struct neap_hand_server *server, int index, bool *ret_gone)
{
	struct neap_journal_entry entry = *neap_journal_get(server->journal, index);
	const char *text = neap_journal_back(&entry);
	uint64_t dev, ino;
	bool v2 = false;
	int rc;

	*ret_gone = false;
	rc = neap_hand_file_read(&server->files, entry.group, entry.key, server->scratch,
				 &dev, &ino);
	/* the controller was taken from the group, and the value with it */
	if (rc == EOPNOTSUPP)
		rc = ENOENT;
	if (rc && rc != ENOENT)
		return rc;
	if (rc == 0 && (dev != entry.dev || ino != entry.ino))
		rc = ENOENT;
	if (rc == 0 && strcmp(server->scratch, text) != 0) {
		(void)neap_cgroup_file(server->config.cgroup, entry.key, NULL, &v2);
		rc = neap_hand_file_write(&server->files, entry.group, entry.key, dev,
					  ino, neap_hand_text_back(entry.key, v2, text));
		if (rc == ENOSPC && v2)
			rc = widest_write(server, &entry);
		if (rc && rc != ENOENT)
			return rc;
	}
	*ret_gone = rc == ENOENT;
	if (entry.stays && !*ret_gone)
		neap_journal_back_note(server->journal, index);
	else
		neap_journal_drop(server->journal, index);
	return 0;
}

void neap_hand_apply_restore(struct neap_hand_server *server,
			     const struct neap_hand_request *request,
			     struct neap_hand_answer *answer)
{
	uint64_t dev, ino;
	bool is_gone;
	int index, rc;

	if (!neap_path_is_safe(request->group)) {
		neap_hand_refuse(server, answer, EPERM, "not a safe group name");
		return;
	}
	index = neap_journal_find(server->journal, request->group, request->key);
	if (index < 0)
		return; /* nothing to restore */
	neap_journal_stay_end(server->journal);
	if (neap_hand_file_read(&server->files, request->group, request->key,
				server->old_value, &dev, &ino) == 0)
		answer->old_value = server->old_value;
	rc = neap_hand_entry_restore(server, index, &is_gone);
	if (rc) {
		neap_hand_refuse(server, answer, rc, "bring %s back: %s",
				 neap_key_get(request->key)->name, strerror(rc));
		return;
	}
	index = neap_journal_find(server->journal, request->group, NEAP_KEY_CPU_SHARES);
	if (request->key == NEAP_KEY_CPU_IDLE && index >= 0 &&
	    neap_journal_get(server->journal, index)->is_side_effect)
		(void)neap_hand_entry_restore(server, index,
					      &is_gone); /* otherwise at the give back */
	if (neap_hand_file_read(&server->files, request->group, request->key,
				server->new_value, &dev, &ino) == 0)
		answer->new_value = server->new_value;
}
