/* SPDX-License-Identifier: Apache-2.0
 *
 * Capabilities and process flags, by system calls instead of libcap: three of them
 * suffice. */
#include "hw/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/file.h"

#define STATUS_BYTES 4096

static const char *const cap_names[] = {
	"chown",
	"dac_override",
	"dac_read_search",
	"fowner",
	"fsetid",
	"kill",
	"setgid",
	"setuid",
	"setpcap",
	"linux_immutable",
	"net_bind_service",
	"net_broadcast",
	"net_admin",
	"net_raw",
	"ipc_lock",
	"ipc_owner",
	"sys_module",
	"sys_rawio",
	"sys_chroot",
	"sys_ptrace",
	"sys_pacct",
	"sys_admin",
	"sys_boot",
	"sys_nice",
	"sys_resource",
	"sys_time",
	"sys_tty_config",
	"mknod",
	"lease",
	"audit_write",
	"audit_control",
	"setfcap",
	"mac_override",
	"mac_admin",
	"syslog",
	"wake_alarm",
	"block_suspend",
	"audit_read",
	"perfmon",
	"bpf",
	"checkpoint_restore",
};

const char *neap_jail_cap_name(int number)
{
	return number >= 0 && (size_t)number < NEAP_ARRAY_LEN(cap_names)
		       ? cap_names[number]
		       : NULL;
}

/* KEEP_CAPS and NO_SETUID_FIXUP are locked as they are, off: the kernel itself takes the
 * capabilities away when root becomes another user. */
#define SECUREBITS                                                                       \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP_LOCKED |          \
	 SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |                         \
	 SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

int neap_jail_bound(uint64_t keep, struct neap_error *err)
{
	int number;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return neap_error_sys(err, "no_new_privs");
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 &&
	    errno != EINVAL) /* before Linux 4.3 there are none */
		return neap_error_sys(err, "no ambient capabilities");
	/* EPERM: not root, or a container that keeps CAP_SETPCAP back. With no_new_privs
	 * the bounding set can give nothing anyway. */
	if (prctl(PR_SET_SECUREBITS, SECUREBITS, 0, 0, 0) < 0 && errno != EPERM)
		return neap_error_sys(err, "securebits");
	for (number = 0; prctl(PR_CAPBSET_READ, number, 0, 0, 0) >= 0; number++) {
		if (keep & (UINT64_C(1) << number))
			continue;
		if (prctl(PR_CAPBSET_DROP, number, 0, 0, 0) < 0 && errno != EPERM)
			return neap_error_sys(err, "drop capability %d", number);
	}
	return 0;
}

static void caps_split(uint64_t caps, struct __user_cap_data_struct set[2])
{
	for (int i = 0; i < 2; i++) {
		set[i].effective = set[i].permitted = (uint32_t)(caps >> (32 * i));
		set[i].inheritable = 0;
	}
}

int neap_jail_drop(uint64_t keep, struct neap_error *err)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	const struct rlimit none = {0, 0};
	struct __user_cap_data_struct set[2];
	struct neap_jail_state state;
	uint64_t have;

	if (syscall(SYS_capget, &head, set) < 0)
		return neap_error_sys(err, "read the capabilities");
	have = ((uint64_t)set[1].permitted << 32) | set[0].permitted;
	caps_split(have & keep, set);
	if (syscall(SYS_capset, &head, set) < 0)
		return neap_error_sys(err, "give up capabilities");
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || setrlimit(RLIMIT_CORE, &none) < 0)
		return neap_error_sys(err, "no core dump");
	/* Without /proc nobody can tell, and capset did not fail. */
	if (neap_jail_look(0, &state, NULL) == 0 && (state.caps & ~keep) != 0)
		return neap_error_set(err, NEAP_EINTERNAL,
				      "capabilities %llx could not be given up",
				      (unsigned long long)(state.caps & ~keep));
	return 0;
}

/* The number behind a name at the start of a line; 0 without one. */
static uint64_t field_read(const char *text, const char *name, int base)
{
	const char *line = text;
	size_t len = strlen(name);
	unsigned long long number = 0;

	for (; line != NULL; line = strchr(line, '\n'), line += line != NULL) {
		if (strncmp(line, name, len) != 0)
			continue;
		(void)sscanf(line + len, base == 16 ? "%llx" : "%*u %llu", &number);
		break;
	}
	return number;
}

static uint64_t flag_read(const char *text, const char *name)
{
	return field_read(text, name, 16); /* one digit */
}

int neap_jail_look(int pid, struct neap_jail_state *ret, struct neap_error *err)
{
	char path[64] = "/proc/self/status";
	char text[STATUS_BYTES];

	if (pid > 0)
		(void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (neap_file_head(path, text, sizeof(text)) < 0)
		return neap_error_sys(err, "read %s", path);
	*ret = (struct neap_jail_state){
		.uid = (unsigned)field_read(text, "Uid:", 10),
		.caps = field_read(text, "CapInh:", 16) |
			field_read(text, "CapPrm:", 16) |
			field_read(text, "CapEff:", 16) | field_read(text, "CapAmb:", 16),
		.bound = field_read(text, "CapBnd:", 16),
		.has_filter = flag_read(text, "Seccomp:") == 2,
		.has_no_new_privs = flag_read(text, "NoNewPrivs:") == 1,
	};
	return 0;
}
