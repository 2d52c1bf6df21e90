/* SPDX-License-Identifier: Apache-2.0
 *
 * The system call filter, by libseccomp, which knows the numbers of every architecture.
 * Calls are listed by name; one that this architecture (or an older libseccomp) lacks is
 * skipped. Since Linux 5.11 a call allowed with any arguments costs a bitmap lookup, so
 * arguments are checked only where it matters. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "hw/jail.h"

/* Sanitizers look for leaks from a process of their own that traces this one. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||               \
	__has_feature(leak_sanitizer) || __has_feature(memory_sanitizer)
#define IS_SANITIZED true
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED false
#endif

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41 /* names of malloc's memory, newer C libraries */
#endif
#define PIDFD_GET_INFO_ANY 0xff0b /* type and number; its size grows */

enum {
	LOOP = 1,
	HAND = 2,
	DIALER = 4,
	READER = 8,
	BOTH = LOOP | HAND,
	ALL = BOTH | DIALER | READER,
};

/* Allowed whatever the arguments. */
static const struct {
	int who;
	const char *names;
} allowed[] = {
	{ALL, "read pread64 readv write pwrite64 writev lseek close close_range"},
	{BOTH, "open openat openat2"},
	{ALL, "stat lstat fstat newfstatat statx statfs fstatfs"},
	{ALL, "access faccessat faccessat2 readlink readlinkat getdents64 getcwd"},
	{BOTH, "mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2"},
	{BOTH, "ftruncate fsync fdatasync umask"},
	{ALL, "poll ppoll recvmsg sendmsg sendto getsockopt getpeername getsockname"},
	{ALL, "brk munmap mremap madvise futex sched_yield membarrier"},
	{ALL, "rt_sigaction rt_sigprocmask rt_sigreturn rt_sigtimedwait sigaltstack"},
	{ALL, "restart_syscall exit exit_group getrandom uname sysinfo"},
	{ALL, "clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time"},
	{ALL, "getpid gettid getppid getuid geteuid getgid getegid getrusage getcpu"},
	{ALL, "sched_getaffinity"},
	/* libevent, HTTP, sd_notify, and the C library's look-ups of users. */
	{LOOP, "epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 select"},
	{LOOP, "pselect6 eventfd2 pipe2 timerfd_create timerfd_settime timerfd_gettime"},
	{LOOP, "accept accept4 sendfile dup"},
	{LOOP | DIALER, "connect shutdown recvfrom setsockopt"},
	/* The C library's look-ups of names. */
	{DIALER, "sendmmsg"},
	/* Directories that are watched, links and locks of uploads. */
	{LOOP, "inotify_init1 inotify_add_watch inotify_rm_watch symlinkat flock"},
	/* Threads, and the timers of Lua's budgets. */
	{LOOP, "timer_create timer_settime timer_gettime timer_getoverrun timer_delete"},
	{LOOP | DIALER, "set_robust_list rseq"},
	{LOOP, "getpriority rt_sigsuspend rt_sigpending"},
	/* The hand's end; hwloc. */
	{LOOP, "wait4 waitid get_mempolicy getresuid getresgid getgroups"},
	/* Which process a client is, and whether it has ended. */
	{HAND, "pidfd_open"},
};

/* Never made by neap, whatever the C library. */
static const struct {
	int who;
	const char *names;
} deadly[] = {
	{ALL, "execve execveat fork vfork ptrace process_vm_readv process_vm_writev"},
	{ALL, "pidfd_getfd kcmp"},
	{ALL, "mount umount umount2 pivot_root chroot move_mount open_tree fsopen"},
	{ALL, "fsconfig fsmount fspick mount_setattr mknod mknodat"},
	{ALL, "setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid"},
	{ALL, "setgroups capset unshare setns open_by_handle_at"},
	{ALL, "bpf perf_event_open userfaultfd io_uring_setup io_uring_enter"},
	{ALL, "io_uring_register keyctl add_key request_key personality"},
	{ALL, "kexec_load kexec_file_load init_module finit_module delete_module"},
	{ALL, "reboot swapon swapoff iopl ioperm modify_ldt acct quotactl quotactl_fd"},
	{ALL, "settimeofday clock_settime sethostname setdomainname vhangup"},
	{HAND | READER, "socket connect"},
	{HAND | DIALER | READER, "socketpair bind listen accept accept4"},
};

/* Allowed in builds with sanitizers only, and before all else. */
/* getdents: theirs is the old one. rseq: of a thread of theirs in the hand. */
static const char sanitizer[] =
	"clone fork ptrace personality wait4 waitid kill tgkill prctl "
	"process_vm_readv sched_getscheduler socketpair pipe pipe2 getdents rseq";

#define INT       0xffffffffu /* the kernel looks at no more of an int */
#define SOCK_TYPE 0xf         /* without flags */
#define EXEC      ((uint64_t)PROT_EXEC)
#define WRITES    ((uint64_t)O_ACCMODE | O_CREAT | O_TRUNC)
#define NAMESPACES                                                                       \
	((uint64_t)CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |         \
	 CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

#define ALLOW SCMP_ACT_ALLOW
#define KILL  SCMP_ACT_KILL_PROCESS

/* When (argument & mask) is value. No two of a call that do different things may both
 * fit. */
static const struct term {
	int who;
	uint32_t action;
	const char *name;
	unsigned arg;
	uint64_t mask, value;
} terms[] = {
	/* Only code loaded before can run: none is mapped or created any more. */
	{ALL, ALLOW, "mmap", 2, EXEC, 0},
	{ALL, SCMP_ACT_ERRNO(EPERM), "mmap", 2, EXEC, EXEC},
	{ALL, ALLOW, "mprotect", 2, EXEC, 0},
	{ALL, SCMP_ACT_ERRNO(EPERM), "mprotect", 2, EXEC, EXEC},
	/* Threads of this process, in the namespaces that it is in. */
	{LOOP | DIALER, ALLOW, "clone", 0, CLONE_THREAD | CLONE_VM | NAMESPACES,
	 CLONE_THREAD | CLONE_VM},
	{LOOP | DIALER, KILL, "clone", 0, CLONE_THREAD, 0},
	{HAND | READER, KILL, "clone", 0, 0, 0},
	/* The helpers of a connection read files and write none. */
	{DIALER | READER, ALLOW, "openat", 2, WRITES, O_RDONLY},
	{DIALER | READER, ALLOW, "open", 1, WRITES, O_RDONLY},
	{LOOP, ALLOW, "socket", 0, INT, AF_UNIX},
	{LOOP | DIALER, ALLOW, "ioctl", 1, INT, FIONREAD},
	{LOOP, ALLOW, "ioctl", 1, INT, FIONBIO},
	{ALL, ALLOW, "ioctl", 1, INT, TCGETS},
	{HAND, ALLOW, "ioctl", 1, 0xffff, PIDFD_GET_INFO_ANY},
	/* No signals of descriptors, which can be sent to others: F_SETOWN, F_SETSIG,
	 * leases; O_ASYNC is below. */
	{ALL, ALLOW, "fcntl", 1, INT, F_GETFD},
	{ALL, ALLOW, "fcntl", 1, INT, F_SETFD},
	{ALL, ALLOW, "fcntl", 1, INT, F_GETFL},
	{ALL, ALLOW, "fcntl", 1, INT, F_DUPFD},
	{ALL, ALLOW, "fcntl", 1, INT, F_DUPFD_CLOEXEC},
	{BOTH, ALLOW, "fcntl", 1, INT, F_GETLK},
	{BOTH, ALLOW, "fcntl", 1, INT, F_SETLK},
	{BOTH, ALLOW, "fcntl", 1, INT, F_SETLKW},
	{ALL, ALLOW, "prctl", 0, INT, PR_SET_NAME},
	{ALL, ALLOW, "prctl", 0, INT, PR_SET_VMA},
	{ALL, ALLOW, "prctl", 0, INT, PR_CAPBSET_READ},
	{ALL, ALLOW, "prlimit64", 0, INT, 0},
	{LOOP, ALLOW, "setpriority", 0, INT, PRIO_PROCESS},
	{LOOP, ALLOW, "sched_setaffinity", 0, INT, 0},
	/* Checks whether a process exists: trees of plain files, in tests. */
	{BOTH, ALLOW, "kill", 1, INT, 0},
};

struct build {
	scmp_filter_ctx ctx;
	int who;
	bool has_tcp, has_udp;
	bool is_log;
	int rc; /* of the first failure, a negative errno */
};

/* Number of a call; below 0 when there is none of this name. */
static int number_of(const char *name)
{
	return seccomp_syscall_resolve_name(name);
}

static bool is_sanitizers(const char *name)
{
	const char *at = IS_SANITIZED ? strstr(sanitizer, name) : NULL;
	size_t len = strlen(name);

	return at != NULL && (at == sanitizer || at[-1] == ' ') &&
	       (at[len] == ' ' || at[len] == '\0');
}

/* When all of count comparisons hold. */
static void rule_add_all(struct build *build, uint32_t action, const char *name,
			 const struct scmp_arg_cmp *cmps, unsigned count)
{
	int number = number_of(name);
	int rc;

	if (number < 0 || build->rc < 0 || (build->is_log && action != ALLOW))
		return;
	rc = seccomp_rule_add_array(build->ctx, action, number, count, cmps);
	if (rc < 0)
		build->rc = rc;
}

/* cmp NULL: always. */
static void rule_add(struct build *build, uint32_t action, const char *name,
		     const struct scmp_arg_cmp *cmp)
{
	rule_add_all(build, action, name, cmp, cmp ? 1 : 0);
}

/* Every call of a list of names with blanks between. */
static void list_add(struct build *build, uint32_t action, const char *names)
{
	while (*names) {
		size_t len = strcspn(names, " ");
		char name[32];

		if (len < sizeof(name)) {
			memcpy(name, names, len);
			name[len] = '\0';
			if (names == sanitizer || action == ALLOW || !is_sanitizers(name))
				rule_add(build, action, name, NULL);
		}
		names += len + (names[len] == ' ');
	}
}

static void term_add(struct build *build, const struct term *term)
{
	const struct scmp_arg_cmp cmp = {term->arg, SCMP_CMP_MASKED_EQ, term->mask,
					 term->value};

	if ((term->who & build->who) && !is_sanitizers(term->name))
		rule_add(build, term->action, term->name, term->mask ? &cmp : NULL);
}

/* TCP for probes and for the dialer, which has UDP for look-ups of names, too; other
 * sockets get the error from which libraries fall back. A filter sees numbers and not
 * what a pointer leads to, so it cannot say where to: api/agent/pod/probe_net.c knows no
 * address but those of this machine, but a loop that was taken over could connect to
 * others, which without probes it cannot. So this is for loops that run pods alone, and
 * no more than that: no names are looked up (no UDP, no netlink), nobody is waited for
 * (no bind, no listen), no packets are made by hand. */
static void sockets_add(struct build *build)
{
	static const uint64_t families[] = {AF_INET, AF_INET6};
	static const uint64_t others[] = {SOCK_DGRAM,     SOCK_RAW,  SOCK_RDM,
					  SOCK_SEQPACKET, SOCK_DCCP, SOCK_PACKET};
	const uint32_t refuse = SCMP_ACT_ERRNO(EAFNOSUPPORT);
	const struct scmp_arg_cmp rest = {0, SCMP_CMP_GT, AF_INET6, 0};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(families); i++) {
		struct scmp_arg_cmp cmps[] = {
			{0, SCMP_CMP_EQ, families[i], 0},
			{1, SCMP_CMP_MASKED_EQ, SOCK_TYPE, SOCK_STREAM},
			{2, SCMP_CMP_EQ, 0, 0},
		};

		rule_add_all(build, ALLOW, "socket", cmps, 3);
		for (size_t k = 0; k < NEAP_ARRAY_LEN(others); k++) {
			bool is_allowed = build->has_udp && others[k] == SOCK_DGRAM;

			cmps[1].datum_b = others[k];
			rule_add_all(build, is_allowed ? ALLOW : refuse, "socket", cmps,
				     is_allowed ? 3 : 2);
		}
	}
	for (size_t i = AF_UNSPEC; i < AF_INET6; i++) {
		const struct scmp_arg_cmp family = {0, SCMP_CMP_EQ, i, 0};

		if (i != AF_INET && (i != AF_UNIX || build->who != LOOP))
			rule_add(build, refuse, "socket", &family);
	}
	rule_add(build, refuse, "socket", &rest);
}

static void rules_add(struct build *build)
{
	const struct scmp_arg_cmp own = {0, SCMP_CMP_MASKED_EQ, INT, (uint64_t)getpid()};
	const struct scmp_arg_cmp flags[] = {
		{1, SCMP_CMP_MASKED_EQ, INT, F_SETFL},
		{2, SCMP_CMP_MASKED_EQ, O_ASYNC, 0},
	};
	const struct scmp_arg_cmp foreign = {0, SCMP_CMP_NE, AF_UNIX, 0};

	if (IS_SANITIZED)
		list_add(build, ALLOW, sanitizer);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(allowed); i++)
		if (allowed[i].who & build->who)
			list_add(build, ALLOW, allowed[i].names);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(deadly); i++)
		if (deadly[i].who & build->who)
			list_add(build, KILL, deadly[i].names);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(terms); i++)
		term_add(build, &terms[i]);
	rule_add_all(build, ALLOW, "fcntl", flags, NEAP_ARRAY_LEN(flags));
	/* abort(3) and raise(3). */
	if (!IS_SANITIZED)
		rule_add(build, ALLOW, "tgkill", &own);
	if (build->has_tcp)
		sockets_add(build);
	else if (build->who == LOOP)
		rule_add(build, SCMP_ACT_ERRNO(EAFNOSUPPORT), "socket", &foreign);
}

static int load(struct build *build)
{
	if (build->rc < 0)
		return build->rc;
	/* Older libraries lack it; then every refusal of the kernel reads the same. */
	(void)seccomp_attr_set(build->ctx, SCMP_FLTATR_API_SYSRAWRC, 1);
	if (seccomp_attr_set(build->ctx, SCMP_FLTATR_CTL_TSYNC, 1) < 0 ||
	    seccomp_attr_set(build->ctx, SCMP_FLTATR_ACT_BADARCH, KILL) < 0)
		return -EINVAL;
	return seccomp_load(build->ctx);
}

int neap_jail_filter(enum neap_jail_kind kind, enum neap_jail_mode mode,
		     struct neap_error *err)
{
	static const int who[] = {
		[NEAP_JAIL_LOOP] = LOOP,        [NEAP_JAIL_HAND] = HAND,
		[NEAP_JAIL_LOOP_PROBES] = LOOP, [NEAP_JAIL_DIALER] = DIALER,
		[NEAP_JAIL_READER] = READER,
	};
	struct build build = {
		.who = who[kind],
		.has_tcp = kind == NEAP_JAIL_LOOP_PROBES || kind == NEAP_JAIL_DIALER,
		.has_udp = kind == NEAP_JAIL_DIALER,
		.is_log = mode == NEAP_JAIL_LOG,
	};
	int rc;

	if (mode == NEAP_JAIL_OFF)
		return 0;
	build.ctx = seccomp_init(build.is_log ? SCMP_ACT_LOG : SCMP_ACT_ERRNO(ENOSYS));
	if (!build.ctx)
		return neap_error_set(err, NEAP_EUNSUPPORTED,
				      "libseccomp knows no such filter for this kernel");
	rules_add(&build);
	rc = load(&build);
	seccomp_release(build.ctx);
	if (rc == 0)
		return 0;
	errno = -rc;
	rc = neap_error_sys(err, "seccomp");
	/* The answers of a kernel without it, and of a container that blocks it. */
	if (err && (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP ||
		    errno == EPERM || errno == EACCES)) {
		err->code = NEAP_EUNSUPPORTED;
		return -NEAP_EUNSUPPORTED;
	}
	return rc;
}
