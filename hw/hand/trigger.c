/* SPDX-License-Identifier: Apache-2.0
 *
 * Pressure triggers. The rights of the opening process decide what is allowed (without
 * CAP_SYS_RESOURCE windows of whole 2 s, or none before Linux 6.5), so the hand opens the
 * file, writes the trigger and sends the descriptor to the loop, which closes it to end
 * the trigger. The hand keeps nothing: the loop's own limit bounds the open triggers. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "hw/hand/hand_priv.h"

#define WINDOW_MIN    500000
#define WINDOW_MAX    10000000
#define WINDOW_COARSE 2000000 /* what the kernel looks at by itself, for everybody */

static const char *const pressures[] = {"cpu", "memory", "io"};

static bool is_valid(const struct neap_hand_trigger *trigger)
{
	bool is_known = false;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(pressures); i++)
		is_known = is_known || strcmp(pressures[i], trigger->pressure) == 0;
	return is_known && trigger->window_usec >= WINDOW_MIN &&
	       trigger->window_usec <= WINDOW_MAX && trigger->stall_usec >= 1 &&
	       trigger->stall_usec <= trigger->window_usec;
}

int neap_hand_trigger_format(const struct neap_hand_trigger *trigger, char *buf,
			     size_t size, struct neap_error *err)
{
	if (!is_valid(trigger))
		return neap_error_set(
			err, NEAP_EINVAL,
			"a trigger is of cpu, memory or io, its window of %d to %d us and "
			"its stall of 1 us to the window",
			WINDOW_MIN, WINDOW_MAX);
	snprintf(buf, size, "%s %s %lld %lld", trigger->pressure,
		 trigger->is_full ? "full" : "some", (long long)trigger->stall_usec,
		 (long long)trigger->window_usec);
	return 0;
}

int neap_hand_trigger_parse(const char *text, struct neap_hand_trigger *ret,
			    struct neap_error *err)
{
	struct neap_hand_trigger trigger = {0};
	char again[NEAP_HAND_TRIGGER_TEXT], how[8];
	long long stall = 0, window = 0;
	int rc;

	/* Writing the number again and comparing rejects blanks, signs and leading
	 * zeros. */
	if (strlen(text) >= sizeof(again) ||
	    sscanf(text, "%7s %7s %10lld %10lld", trigger.pressure, how, &stall,
		   &window) != 4)
		return neap_error_set(
			err, NEAP_EINVAL,
			"'%.40s' is no trigger: \"cpu some 20000 500000\" is one", text);
	trigger.is_full = strcmp(how, "full") == 0;
	trigger.stall_usec = stall;
	trigger.window_usec = window;
	rc = neap_hand_trigger_format(&trigger, again, sizeof(again), err);
	if (rc < 0)
		return rc;
	if (strcmp(again, text) != 0)
		return neap_error_set(err, NEAP_EINVAL,
				      "'%.40s' is no trigger: '%s' is one", text, again);
	*ret = trigger;
	return 0;
}

/* 0 or an errno. */
static int file_open(const struct neap_hand_server *server, const char *group,
		     const char *pressure, int *ret)
{
	char name[64];
	struct neap_error err = {0};

	if (server->config.cgroup->is_fake)
		return EOPNOTSUPP; /* plain files have no events */
	if (group[0] == '\0') {
		snprintf(name, sizeof(name), "/proc/pressure/%s", pressure);
		*ret = open(name, O_RDWR | O_CLOEXEC | O_NONBLOCK);
		return *ret >= 0 ? 0 : errno == ENOENT ? EOPNOTSUPP : errno;
	}
	if (!server->config.cgroup->mount[NEAP_CTL_UNIFIED].is_present)
		return EOPNOTSUPP;
	snprintf(name, sizeof(name), "%s.pressure", pressure);
	*ret = neap_cgroup_open(server->config.cgroup, NEAP_CTL_UNIFIED, group, name,
				O_RDWR | O_NONBLOCK, &err);
	return *ret >= 0 ? 0 : neap_hand_errnum(&err);
}

static int file_write(int fd, const struct neap_hand_trigger *trigger)
{
	char text[NEAP_HAND_TRIGGER_TEXT];

	snprintf(text, sizeof(text), "%s %lld %lld", trigger->is_full ? "full" : "some",
		 (long long)trigger->stall_usec, (long long)trigger->window_usec);
	return write(fd, text, strlen(text) + 1) < 0 ? errno : 0;
}

/* The next window of whole 2 s, the stall by the same factor. */
static void coarsen(struct neap_hand_trigger *trigger)
{
	int64_t window = (trigger->window_usec + WINDOW_COARSE - 1) / WINDOW_COARSE *
			 WINDOW_COARSE;

	trigger->stall_usec = trigger->stall_usec * window / trigger->window_usec;
	trigger->window_usec = window;
}

void neap_hand_trigger_open(struct neap_hand_server *server,
			    const struct neap_hand_request *request,
			    struct neap_hand_answer *answer)
{
	struct neap_hand_trigger trigger;
	struct neap_error err = {0};
	const char *where = request->group[0] ? request->group : "the node";
	neap_auto_fd int fd = -1;
	bool is_coarse = false;
	int rc;

	if (neap_hand_trigger_parse(request->value, &trigger, &err) < 0) {
		neap_hand_refuse(server, answer, EPERM, "%s", err.msg);
		return;
	}
	if (request->group[0] && !neap_hand_is_managed(server, request->group)) {
		neap_hand_refuse(server, answer, EPERM,
				 "%s is not below a root that neap manages", where);
		return;
	}
	rc = file_open(server, request->group, trigger.pressure, &fd);
	if (rc == 0)
		rc = file_write(fd, &trigger);
	if (rc == EINVAL && trigger.window_usec % WINDOW_COARSE != 0) {
		coarsen(&trigger);
		is_coarse = true;
		rc = file_write(fd, &trigger);
	}
	if (rc) {
		neap_hand_refuse(server, answer, rc, "%s.pressure of %s: %s",
				 trigger.pressure, where,
				 rc == EOPNOTSUPP ? "not on this kernel"
				 : rc == EPERM    ? "this kernel wants CAP_SYS_RESOURCE"
						  : strerror(rc));
		return;
	}
	(void)neap_hand_trigger_format(&trigger, server->new_value,
				       sizeof(server->new_value),
				       &err); /* it was valid */
	answer->new_value = server->new_value;
	if (is_coarse) {
		neap_hand_refuse(server, answer, 0,
				 "coarse: only windows of whole 2 s without "
				 "CAP_SYS_RESOURCE");
	}
	answer->fd = fd;
	fd = -1;
}
