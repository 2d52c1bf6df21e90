/* SPDX-License-Identifier: Apache-2.0
 *
 * neap itself: its user, directories, files and formats, its address, and leftovers of a
 * dead neapd. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/ctl/base/find.h"
#include "api/ctl/doctor/doctor.h"
#include "api/daemon/format.h"
#include "api/http/server.h"
#include "engine/base/quantity.h"
#include "hw/hand/journal.h"

#define AS_ROOT "look again as root"

/* The uid of --user; false without such a user. */
static bool user_find(const struct neap_config *config, uid_t *ret)
{
	const struct passwd *entry = getpwnam(config->user);
	int64_t number;

	if (entry != NULL)
		*ret = entry->pw_uid;
	else if (neap_int_parse(config->user, &number, NULL) == 0 && number >= 0 &&
		 number < UINT32_MAX)
		*ret = (uid_t)number;
	else
		return false;
	return true;
}

static bool user_check(const struct neap_config *config, struct neap_findings *findings,
		       uid_t *ret)
{
	char todo[256];

	if (user_find(config, ret)) {
		neap_finding_add(findings, NEAP_FINDING_OK, "neap.user", NULL,
				 "the loop's user '%s' is uid %u", config->user,
				 (unsigned)*ret);
		return true;
	}
	(void)snprintf(
		todo, sizeof(todo),
		"useradd --system --no-create-home --shell /usr/sbin/nologin %s, or name "
		"another with --user",
		config->user);
	neap_finding_add(findings, NEAP_FINDING_PROBLEM, "neap.user", todo,
			 "there is no user '%s' for the loop of neapd", config->user);
	return false;
}

/* owner: besides root. */
static void folder_check(const char *path, const char *check, const char *option,
			 uid_t owner, struct neap_findings *findings)
{
	struct stat st;
	char todo[384];

	if (lstat(path, &st) < 0 && errno == ENOENT) {
		neap_finding_add(findings, NEAP_FINDING_OK, check, NULL,
				 "%s is not there yet: the first start makes it", path);
		return;
	}
	if (lstat(path, &st) < 0) {
		neap_finding_add(findings, NEAP_FINDING_NOTE, check, AS_ROOT,
				 "%s cannot be seen: %s", path, strerror(errno));
		return;
	}
	if (!S_ISDIR(st.st_mode) || (st.st_uid != 0 && st.st_uid != owner) ||
	    (st.st_mode & 022) != 0) {
		(void)snprintf(
			todo, sizeof(todo),
			S_ISDIR(st.st_mode)
				? "chown %u %.200s; chmod 755 it, or choose another %s"
				: "remove it (uid %u): %.200s; or choose another %s",
			(unsigned)owner, path, option);
		neap_finding_add(
			findings, NEAP_FINDING_PROBLEM, check, todo,
			"%s must be a folder that belongs to uid %u or root and is not "
			"writable by others: it is %s of uid %u, mode %04o; neapd will not "
			"start",
			path, (unsigned)owner, S_ISDIR(st.st_mode) ? "one" : "none",
			(unsigned)st.st_uid, (unsigned)st.st_mode & 07777);
		return;
	}
	neap_finding_add(findings, NEAP_FINDING_OK, check, NULL,
			 "%s belongs to uid %u, mode %04o", path, (unsigned)st.st_uid,
			 (unsigned)st.st_mode & 07777);
}

static void token_check(const struct neap_config *config, struct neap_findings *findings)
{
	char path[160];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/token", config->data_dir);
	if (lstat(path, &st) == 0 && (!S_ISREG(st.st_mode) || (st.st_mode & 077) != 0))
		neap_finding_add(
			findings, NEAP_FINDING_PROBLEM, "neap.token",
			"chmod 600 it, and 'neapctl token rotate', as others may have read it",
			"%s can be read by others: neapd will not start", path);
}

static void format_check(const struct neap_config *config, struct neap_findings *findings)
{
	struct neap_format format;
	struct neap_error err = {0};

	if (neap_format_read(config->data_dir, &format, &err) == 0 &&
	    neap_format_check(config->data_dir, &err) == 0) {
		if (format.version > 0)
			neap_finding_add(
				findings, NEAP_FINDING_OK, "neap.format", NULL,
				"%s has format %d, brought to it by %s; this neap reads "
				"up to %d",
				config->data_dir, format.version,
				format.writer[0] != '\0' ? format.writer : "a neapd",
				NEAP_DATA_FORMAT);
		return;
	}
	if (err.code == NEAP_ESYS)
		neap_finding_add(findings, NEAP_FINDING_NOTE, "neap.format", AS_ROOT,
				 "the format of %s cannot be seen: %s", config->data_dir,
				 err.msg);
	else
		neap_finding_add(findings, NEAP_FINDING_PROBLEM, "neap.format", NULL,
				 "%s", err.msg);
}

/* The process that holds the hand's lock; 0 none, -1 cannot be seen. */
static int hand_find(int run_dir_fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = openat(run_dir_fd, "hand.lock", O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	int r;

	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	r = fcntl(fd, F_GETLK, &lock);
	(void)close(fd);
	if (r < 0)
		return -1;
	return lock.l_type == F_UNLCK ? 0 : (int)lock.l_pid;
}

static void leftover_check(const struct neap_doctor *doctor,
			   const struct neap_journal_look *look, int run_dir_fd,
			   struct neap_findings *findings)
{
	const int hand = hand_find(run_dir_fd);

	if (!look->is_there || look->is_void ||
	    (look->values == 0 && look->groups == 0)) {
		neap_finding_add(findings, NEAP_FINDING_OK, "neap.leftovers", NULL,
				 "no values of a neapd are in force in %s",
				 doctor->config->run_dir);
		return;
	}
	if (doctor->daemon.status != NULL)
		neap_finding_add(
			findings, NEAP_FINDING_OK, "neap.leftovers", NULL,
			"%d values and %d groups of the running neapd are in force",
			look->values, look->groups);
	else if (hand > 0)
		neap_finding_add(
			findings, NEAP_FINDING_NOTE, "neap.leftovers",
			"start neapd to take over; or 'neapd --give-back' as root, at once",
			"%d values and %d groups are in force; hand %d keeps them for a "
			"successor and then gives them back",
			look->values, look->groups, hand);
	else if (look->values == look->values_of_pods &&
		 look->groups == look->groups_of_pods)
		neap_finding_add(
			findings, NEAP_FINDING_NOTE, "neap.leftovers",
			"start neapd, which takes them over; 'neapctl release' as root takes "
			"away those of pods that have ended",
			"%d values and %d groups are of pods, which keep their limits while "
			"they run",
			look->values, look->groups);
	else
		neap_finding_add(
			findings, NEAP_FINDING_PROBLEM, "neap.leftovers",
			"start neapd, which takes them over, or give them back: 'neapctl "
			"release' as root",
			"%d values and %d groups of a neapd that was killed are still in "
			"force, and nothing restores the original values",
			look->values, look->groups);
}

static void journal_check(const struct neap_doctor *doctor,
			  struct neap_findings *findings)
{
	struct neap_journal_look look = {0};
	struct neap_error err = {0};
	int fd = open(doctor->config->run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return; /* reported by its own check */
	r = neap_journal_look(fd, NULL, &look, &err);
	if (r == 0)
		leftover_check(doctor, &look, fd, findings);
	else if (err.errnum == EACCES || err.errnum == EPERM)
		neap_finding_add(
			findings, NEAP_FINDING_NOTE, "neap.leftovers", AS_ROOT,
			"whether values of a dead neapd are in force cannot be seen: "
			"%s/hand.journal is root's",
			doctor->config->run_dir);
	else
		neap_finding_add(findings, NEAP_FINDING_PROBLEM, "neap.journal", NULL,
				 "%s: %s", doctor->config->run_dir, err.msg);
	if (faccessat(fd, "hand.journal.bad", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		neap_finding_add(
			findings, NEAP_FINDING_WARNING, "neap.journal",
			"compare the groups it names with what you want, then remove it",
			"%s/hand.journal.bad: lines of a journal were wrong and left out, so "
			"values may have stayed",
			doctor->config->run_dir);
	if (faccessat(fd, "freeze", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		neap_finding_add(
			findings, NEAP_FINDING_WARNING, "neap.frozen",
			"'neapctl resume', or remove the file",
			"frozen: while %s/freeze exists nothing is written and nothing "
			"given back",
			doctor->config->run_dir);
	(void)close(fd);
}

static void stuck_check(const struct neap_config *config, struct neap_findings *findings)
{
	char path[160], text[512];
	int n;

	(void)snprintf(path, sizeof(path), "%s/stuck-policies", config->data_dir);
	n = neap_facts_read("", path, text, sizeof(text));
	for (int i = 0; i < n; i++)
		if (text[i] == '\n')
			text[i] = ' ';
	if (n > 0)
		neap_finding_add(
			findings, NEAP_FINDING_WARNING, "neap.stuck",
			"put a corrected version; or remove the file and restart neapd",
			"left out, as an earlier neapd was stuck in them: %s", text);
}

static void port_check(const struct neap_doctor *doctor, uid_t user,
		       struct neap_findings *findings)
{
	struct sockaddr_storage addr = {0};
	enum neap_listener listener;
	int len, port;
	uid_t uid = 0;

	if (doctor->root[0] != '\0' || strcmp(doctor->config->listen, "off") == 0 ||
	    doctor->daemon.status != NULL || doctor->daemon.is_there ||
	    neap_http_listen_parse(doctor->config->listen, (struct sockaddr *)&addr, &len,
				   NULL) < 0)
		return;
	port = ntohs(addr.ss_family == AF_INET6
			     ? ((const struct sockaddr_in6 *)&addr)->sin6_port
			     : ((const struct sockaddr_in *)&addr)->sin_port);
	listener = neap_listener_judge(port, user, &uid);
	if (port == 0 || listener == NEAP_LISTENER_NONE)
		neap_finding_add(findings, NEAP_FINDING_OK, "neap.listen", NULL,
				 "the address %s is free", doctor->config->listen);
	else
		neap_finding_add(
			findings, NEAP_FINDING_PROBLEM, "neap.listen",
			"find it with 'ss -ltnp' and stop it, or choose another --listen",
			"another program listens on port %d%s", port,
			listener == NEAP_LISTENER_FOREIGN ? ", of another user" : "");
}

void neap_doctor_own(const struct neap_doctor *doctor, struct neap_findings *findings)
{
	const struct neap_config *config = doctor->config;
	uid_t user = geteuid();
	bool has_user = user_check(config, findings, &user);

	/* Without root neapd runs as the user who starts it, and the folders belong to
	 * that user. */
	if (has_user || geteuid() != 0) {
		folder_check(config->run_dir, "neap.run-dir", "--run-dir", 0, findings);
		folder_check(config->data_dir, "neap.data-dir", "--data-dir", user,
			     findings);
	}
	token_check(config, findings);
	format_check(config, findings);
	journal_check(doctor, findings);
	stuck_check(config, findings);
	port_check(doctor, user, findings);
}
