/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop's account, how the process changes to it, and which privileges the kernel
 * reports of loop and hand. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/daemon/start.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

int neap_account_find(const char *user, struct neap_account *ret, struct neap_error *err)
{
	const struct passwd *entry;
	int64_t number;

	if (geteuid() != 0) {
		entry = getpwuid(geteuid());
		ret->uid = geteuid();
		ret->gid = getegid();
		(void)neap_strcopy(ret->name, sizeof(ret->name),
				   entry != NULL ? entry->pw_name : "you");
		return 0;
	}
	errno = 0;
	entry = getpwnam(user);
	if (entry == NULL && errno == ENOMEM)
		return neap_error_nomem(err);
	if (entry != NULL) {
		ret->uid = entry->pw_uid;
		ret->gid = entry->pw_gid;
	} else if (neap_int_parse(user, &number, NULL) == 0 && number >= 0 &&
		   number < UINT32_MAX) {
		ret->uid = (uid_t)number;
		ret->gid = (gid_t)number;
	} else {
		return neap_error_field(
			err, NEAP_ENOTFOUND, "--user",
			"there is no user '%s': make it with 'useradd --system "
			"--no-create-home --shell /usr/sbin/nologin %s', or name "
			"another with --user",
			user, user);
	}
	(void)neap_strcopy(ret->name, sizeof(ret->name), user);
	return 0;
}

int neap_account_find_pods(const char *user, const struct neap_account *loop,
			   struct neap_account *ret, char *home, struct neap_error *err)
{
	const struct passwd *entry;

	if (geteuid() != 0)
		return neap_error_field(err, NEAP_EINVAL, "--run-pods",
					"needs root: whoever starts neapd cannot run "
					"processes as another user");
	if (neap_account_find(user, ret, err) < 0) {
		(void)neap_strcopy(err->field, sizeof(err->field), "--run-pods-user");
		return -(int)err->code;
	}
	if (ret->uid == 0 || ret->gid == 0)
		return neap_error_field(
			err, NEAP_EINVAL, "--run-pods-user",
			"'%s' is root, or of its group: pods never run so", user);
	if (ret->uid == loop->uid)
		return neap_error_field(
			err, NEAP_EINVAL, "--run-pods-user",
			"'%s' is the user of neapd itself (--user): pods could read its "
			"token; name another",
			user);
	entry = getpwuid(ret->uid);
	(void)neap_strcopy(home, 256, entry != NULL ? entry->pw_dir : "/");
	return 0;
}

static int user_become(const struct neap_account *account, struct neap_error *err)
{
	if (geteuid() != 0 || account->uid == 0)
		return 0;
	if (setgroups(0, NULL) < 0 ||
	    setresgid(account->gid, account->gid, account->gid) < 0 ||
	    setresuid(account->uid, account->uid, account->uid) < 0)
		return neap_error_sys(err, "become %s", account->name);
	if (setuid(0) == 0 || getuid() != account->uid || geteuid() != account->uid)
		return neap_error_set(err, NEAP_EINTERNAL, "root could not be given up");
	return 0;
}

int neap_account_become(const struct neap_account *account, enum neap_jail_kind kind,
			enum neap_jail_mode mode, const struct neap_log *log,
			struct neap_error *err)
{
	struct neap_error why = {0};

	if (neap_jail_bound(0, err) < 0 || user_become(account, err) < 0 ||
	    neap_jail_drop(0, err) < 0)
		return -(int)err->code;
	if (neap_jail_filter(kind, mode, &why) == 0)
		return 0;
	if (why.code != NEAP_EUNSUPPORTED) {
		*err = why;
		return -(int)err->code;
	}
	/* Everything else works without the filter, and the machine is not safer without
	 * neap. */
	neap_log_line(
		log, NEAP_LOG_WARN,
		"no filter of system calls: this kernel or container lets none be set "
		"(%s); user, capabilities and all checks of the hand are as ever",
		why.msg);
	return 0;
}

/* Where the kernel groups processes by session (autogroup), a nice value counts only
 * inside the session. In the session of a build the loop waited up to 66 ms, in its own
 * 10 ms. A terminal's session is kept, for its Ctrl-C. */
static void session_own(const struct neap_log *log)
{
	neap_auto_fd int tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	neap_auto_fd int fd = -1;

	if (getsid(0) != getpid() && (tty >= 0 || setsid() < 0))
		return;
	fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, "-10", 3) < 0)
		neap_log_line(log, NEAP_LOG_DEBUG, "autogroup -10: %s", strerror(errno));
}

void neap_account_favour(const struct neap_log *log)
{
	neap_auto_fd int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	/* A container may lack the capability; neapd works without it. */
	if (fd < 0 || write(fd, "-900", 4) < 0)
		neap_log_line(log, NEAP_LOG_DEBUG, "oom_score_adj -900: %s",
			      strerror(errno));
	/* Nine times the weight of an ordinary process: enough to run beside busy
	 * ones. */
	if (setpriority(PRIO_PROCESS, 0, -10) < 0)
		neap_log_line(log, NEAP_LOG_DEBUG, "nice -10: %s", strerror(errno));
	session_own(log);
}

/* --- what the kernel reports --- */

static json_t *cap_names(uint64_t caps)
{
	json_t *out = json_array();
	int number;

	for (number = 0; number < 64; number++) {
		const char *name = neap_jail_cap_name(number);

		if ((caps & (UINT64_C(1) << number)) == 0)
			continue;
		(void)json_array_append_new(out, name != NULL
							 ? json_string(name)
							 : json_sprintf("%d", number));
	}
	return out;
}

/* The kernel does not report the mode of a filter. */
static const char *filter_name(const struct neap_jail_state *state,
			       enum neap_jail_mode mode)
{
	if (!state->has_filter)
		return "off";
	return mode == NEAP_JAIL_LOG ? "log" : "on";
}

/* NULL when the process cannot be seen. */
static json_t *process_report(int pid, enum neap_jail_mode mode)
{
	struct neap_jail_state state;
	json_t *out;

	if (neap_jail_look(pid, &state, NULL) < 0)
		return NULL;
	out = json_object();
	neap_json_set_int(out, "uid", state.uid);
	(void)json_object_set_new(out, "capabilities", cap_names(state.caps));
	(void)json_object_set_new(out, "seccomp", json_string(filter_name(&state, mode)));
	(void)json_object_set_new(out, "no_new_privs",
				  json_boolean(state.has_no_new_privs));
	return out;
}

json_t *neap_privileges_report(enum neap_jail_mode mode, const struct neap_hand *hand)
{
	json_t *out = json_object();
	json_t *row = hand != NULL ? process_report(neap_hand_pid(hand), mode) : NULL;

	(void)json_object_set_new(out, "loop", process_report(0, mode));
	if (row == NULL)
		return out;
	neap_json_set_int(row, "landlock", neap_hand_landlock(hand));
	(void)json_object_set_new(out, "hand", row);
	return out;
}
