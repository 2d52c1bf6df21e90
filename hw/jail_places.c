/* SPDX-License-Identifier: Apache-2.0
 *
 * Landlock. The C library has no functions for it, and headers may be older than the
 * kernel, so system calls and newer rights are given by number. */
#include <errno.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "hw/jail.h"

#define RIGHT_REFER     (1ull << 13) /* version 2 */
#define RIGHT_TRUNCATE  (1ull << 14) /* 3 */
#define RIGHT_IOCTL_DEV (1ull << 15) /* 5 */
#define NET_CONNECT     2ull         /* 4: connect TCP */
#define NET_RIGHTS      3ull         /* bind, too */
#define RULE_PORT       2            /* LANDLOCK_RULE_NET_PORT */
#define RIGHTS_FIRST    (RIGHT_REFER - 1)

#define RIGHTS_READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)

/* As version 4 has it; older kernels take a shorter one. */
struct ruleset {
	uint64_t files, net;
};

struct port {
	uint64_t rights, number;
};

static uint64_t rights_known(int version)
{
	return RIGHTS_FIRST | (version >= 2 ? RIGHT_REFER : 0) |
	       (version >= 3 ? RIGHT_TRUNCATE : 0) | (version >= 5 ? RIGHT_IOCTL_DEV : 0);
}

static uint64_t rights_of(const struct neap_jail_place *place)
{
	uint64_t rights = RIGHTS_READ;

	if (place->can_write)
		rights |= LANDLOCK_ACCESS_FS_WRITE_FILE | RIGHT_TRUNCATE;
	if (place->has_groups)
		rights |= LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REMOVE_DIR;
	if (place->makes_files)
		rights |= LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE;
	return rights;
}

static int place_add(int set_fd, const struct neap_jail_place *place, uint64_t known,
		     struct neap_error *err)
{
	struct landlock_path_beneath_attr rule = {
		.allowed_access = rights_of(place) & known,
		.parent_fd = place->fd,
	};

	if (place->fd < 0 || syscall(SYS_landlock_add_rule, set_fd,
				     LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0)
		return 0;
	return neap_error_sys(err, "landlock: rule of a place");
}

static int port_add(int set_fd, uint16_t number, struct neap_error *err)
{
	const struct port rule = {NET_CONNECT, number};

	if (syscall(SYS_landlock_add_rule, set_fd, RULE_PORT, &rule, 0) == 0)
		return 0;
	return neap_error_sys(err, "landlock: rule of port %u", number);
}

int neap_jail_places_dial(const struct neap_jail_place *places, size_t count,
			  const uint16_t *ports, size_t port_count,
			  struct neap_error *err)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0,
			       LANDLOCK_CREATE_RULESET_VERSION);
	struct ruleset set = {0};
	neap_auto_fd int set_fd = -1;

	if (version <= 0)
		return 0; /* not built in, or not switched on */
	set.files = rights_known((int)version);
	set.net = version >= 4 ? NET_RIGHTS : 0;
	set_fd = (int)syscall(SYS_landlock_create_ruleset, &set,
			      version >= 4 ? sizeof(set) : sizeof(set.files), 0);
	if (set_fd < 0)
		return neap_error_sys(err, "landlock: set of rules");
	for (size_t i = 0; i < count; i++)
		if (place_add(set_fd, &places[i], set.files, err) < 0)
			return -NEAP_ESYS;
	for (size_t i = 0; set.net && i < port_count; i++)
		if (port_add(set_fd, ports[i], err) < 0)
			return -NEAP_ESYS;
	if (syscall(SYS_landlock_restrict_self, set_fd, 0) < 0)
		return neap_error_sys(err, "landlock");
	return (int)version;
}

int neap_jail_places(const struct neap_jail_place *places, size_t count,
		     struct neap_error *err)
{
	return neap_jail_places_dial(places, count, NULL, 0, err);
}
