/* SPDX-License-Identifier: Apache-2.0
 *
 * What is given up is gone: each row is tried in a child that entered the jail of the
 * loop or of the hand. Calls that only an attacker makes end the process, from any of its
 * threads; others fail. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "hw/jail.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

#define KILLED    1000
#define NO_FILTER 200 /* exit statuses of a child */
#define NO_JAIL   201
#define LOOP      NEAP_JAIL_LOOP
#define HAND      NEAP_JAIL_HAND
#define PROBES    NEAP_JAIL_LOOP_PROBES
#define DIALER    NEAP_JAIL_DIALER
#define READER    NEAP_JAIL_READER
#define DIES(name)                                                                       \
	{#name, LOOP, SYS_##name, {0}, KILLED, 0},                                       \
	{                                                                                \
#name, HAND, SYS_##name, {0 }, KILLED, 0                                 \
	}

static char page[4096];

/* want: 0 done, an errno, or KILLED. Sanitizers need some for themselves. */
static const struct call {
	const char *name;
	enum neap_jail_kind kind;
	long number;
	long args[6];
	int want;
	int is_sanitizers;
} calls[] = {
	DIES(execve),
	DIES(execveat),
	{"ptrace", LOOP, SYS_ptrace, {0}, KILLED, 1},
	{"ptrace", HAND, SYS_ptrace, {0}, KILLED, 1},
	{"process_vm_readv", LOOP, SYS_process_vm_readv, {0}, KILLED, 1},
	DIES(process_vm_writev),
	DIES(mount),
	DIES(umount2),
	DIES(pivot_root),
	DIES(chroot),
	DIES(mknodat),
	DIES(setuid),
	DIES(setgid),
	DIES(setresuid),
	DIES(setresgid),
	DIES(setgroups),
	DIES(capset),
	DIES(unshare),
	DIES(setns),
	DIES(bpf),
	DIES(perf_event_open),
	DIES(userfaultfd),
	DIES(keyctl),
	DIES(add_key),
	DIES(request_key),
	DIES(init_module),
	DIES(finit_module),
	DIES(kexec_load),
	DIES(reboot),
	DIES(open_by_handle_at),
	DIES(io_uring_setup),
	DIES(pidfd_getfd),
	DIES(clock_settime),
	{"a process", LOOP, SYS_clone, {SIGCHLD}, KILLED, 1},
	{"a process", HAND, SYS_clone, {SIGCHLD}, KILLED, 1},
	{"a process that shares memory",
	 LOOP,
	 SYS_clone,
	 {CLONE_VM | SIGCHLD},
	 KILLED,
	 1},
	{"a thread in another name space",
	 LOOP,
	 SYS_clone,
	 {CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | CLONE_NEWUSER},
	 ENOSYS,
	 1},
	{"clone3: the C library falls back", LOOP, SYS_clone3, {0}, ENOSYS, 0},
	{"a call that nobody knows", LOOP, 1999, {0}, ENOSYS, 0},
	{"a call that nobody knows", HAND, 1999, {0}, ENOSYS, 0},
	{"memfd_create", LOOP, SYS_memfd_create, {(long)"x"}, ENOSYS, 0},
	{"IPv4", LOOP, SYS_socket, {AF_INET, SOCK_STREAM}, EAFNOSUPPORT, 0},
	{"IPv6", LOOP, SYS_socket, {AF_INET6, SOCK_DGRAM}, EAFNOSUPPORT, 0},
	{"netlink", LOOP, SYS_socket, {AF_NETLINK, SOCK_RAW}, EAFNOSUPPORT, 0},
	{"packets", LOOP, SYS_socket, {AF_PACKET, SOCK_RAW}, EAFNOSUPPORT, 0},
	{"TCP to probe", PROBES, SYS_socket, {AF_INET, SOCK_STREAM}, 0, 0},
	{"TCP to probe",
	 PROBES,
	 SYS_socket,
	 {AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC},
	 0,
	 0},
	{"UDP", PROBES, SYS_socket, {AF_INET, SOCK_DGRAM}, EAFNOSUPPORT, 0},
	{"UDP", PROBES, SYS_socket, {AF_INET6, SOCK_DGRAM}, EAFNOSUPPORT, 0},
	{"ICMP", PROBES, SYS_socket, {AF_INET, SOCK_RAW, IPPROTO_ICMP}, EAFNOSUPPORT, 0},
	{"SCTP", PROBES, SYS_socket, {AF_INET, SOCK_STREAM, IPPROTO_SCTP}, ENOSYS, 0},
	{"netlink", PROBES, SYS_socket, {AF_NETLINK, SOCK_RAW}, EAFNOSUPPORT, 0},
	{"AX.25", PROBES, SYS_socket, {AF_AX25, SOCK_DGRAM}, EAFNOSUPPORT, 0},
	{"a unix socket", PROBES, SYS_socket, {AF_UNIX, SOCK_DGRAM}, 0, 0},
	{"bind", PROBES, SYS_bind, {-1}, ENOSYS, 0},
	{"listen", PROBES, SYS_listen, {-1}, ENOSYS, 0},
	{"execve", PROBES, SYS_execve, {0}, KILLED, 0},
	{"memfd_create", PROBES, SYS_memfd_create, {(long)"x"}, ENOSYS, 0},
	{"a unix socket", LOOP, SYS_socket, {AF_UNIX, SOCK_DGRAM}, 0, 0},
	{"a unix socket", HAND, SYS_socket, {AF_UNIX, SOCK_DGRAM}, KILLED, 0},
	{"connect", HAND, SYS_connect, {0}, KILLED, 0},
	{"accept4", HAND, SYS_accept4, {0}, KILLED, 0},
	{"TCP to dial", DIALER, SYS_socket, {AF_INET, SOCK_STREAM | SOCK_NONBLOCK}, 0, 0},
	{"TCP to dial", DIALER, SYS_socket, {AF_INET6, SOCK_STREAM}, 0, 0},
	{"DNS", DIALER, SYS_socket, {AF_INET, SOCK_DGRAM | SOCK_CLOEXEC}, 0, 0},
	{"DNS", DIALER, SYS_socket, {AF_INET6, SOCK_DGRAM}, 0, 0},
	{"UDP Lite",
	 DIALER,
	 SYS_socket,
	 {AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE},
	 ENOSYS,
	 0},
	{"ICMP", DIALER, SYS_socket, {AF_INET, SOCK_RAW, IPPROTO_ICMP}, EAFNOSUPPORT, 0},
	{"netlink", DIALER, SYS_socket, {AF_NETLINK, SOCK_RAW}, EAFNOSUPPORT, 0},
	{"a unix socket", DIALER, SYS_socket, {AF_UNIX, SOCK_STREAM}, EAFNOSUPPORT, 0},
	{"connect", DIALER, SYS_connect, {-1}, EBADF, 0},
	{"bind", DIALER, SYS_bind, {-1}, KILLED, 0},
	{"listen", DIALER, SYS_listen, {-1}, KILLED, 0},
	{"accept4", DIALER, SYS_accept4, {-1}, KILLED, 0},
	{"execve", DIALER, SYS_execve, {0}, KILLED, 0},
	{"setuid", DIALER, SYS_setuid, {0}, KILLED, 0},
	{"a process", DIALER, SYS_clone, {SIGCHLD}, KILLED, 1},
	{"a file to read", DIALER, SYS_openat, {-1, (long)"x", O_CLOEXEC}, EBADF, 0},
	{"a file to write", DIALER, SYS_openat, {-1, (long)"x", O_WRONLY}, ENOSYS, 0},
	{"a file to make", DIALER, SYS_openat, {-1, (long)"x", O_CREAT}, ENOSYS, 0},
	{"openat2", DIALER, SYS_openat2, {-1}, ENOSYS, 0},
	{"unlinkat", DIALER, SYS_unlinkat, {-1, (long)"x"}, ENOSYS, 0},
	{"mkdirat", DIALER, SYS_mkdirat, {-1, (long)"x"}, ENOSYS, 0},
	{"a signal", DIALER, SYS_kill, {1, 0}, ENOSYS, 1},
	{"TCP", READER, SYS_socket, {AF_INET, SOCK_STREAM}, KILLED, 0},
	{"a unix socket", READER, SYS_socket, {AF_UNIX, SOCK_STREAM}, KILLED, 0},
	{"connect", READER, SYS_connect, {-1}, KILLED, 0},
	{"execve", READER, SYS_execve, {0}, KILLED, 0},
	{"setuid", READER, SYS_setuid, {0}, KILLED, 0},
	{"a process", READER, SYS_clone, {SIGCHLD}, KILLED, 1},
	{"a thread",
	 READER,
	 SYS_clone,
	 {CLONE_VM | CLONE_SIGHAND | CLONE_THREAD},
	 KILLED,
	 1},
	{"a file to read", READER, SYS_openat, {-1, (long)"x", O_CLOEXEC}, EBADF, 0},
	{"a file to write", READER, SYS_openat, {-1, (long)"x", O_RDWR}, ENOSYS, 0},
	{"a file to cut", READER, SYS_openat, {-1, (long)"x", O_TRUNC}, ENOSYS, 0},
	{"renameat", READER, SYS_renameat2, {-1, (long)"x", -1, (long)"y"}, ENOSYS, 0},
	{"a signal", READER, SYS_kill, {1, 0}, ENOSYS, 1},
	{"memory",
	 LOOP,
	 SYS_mmap,
	 {0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1},
	 0,
	 0},
	{"memory for code",
	 LOOP,
	 SYS_mmap,
	 {0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1},
	 EPERM,
	 0},
	{"memory for code",
	 HAND,
	 SYS_mmap,
	 {0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1},
	 EPERM,
	 0},
	{"data becomes code",
	 LOOP,
	 SYS_mprotect,
	 {(long)page, 4096, PROT_READ | PROT_EXEC},
	 EPERM,
	 0},
	{"data becomes code",
	 HAND,
	 SYS_mprotect,
	 {(long)page, 4096, PROT_READ | PROT_EXEC},
	 EPERM,
	 0},
	{"FIONREAD", LOOP, SYS_ioctl, {-1, FIONREAD}, EBADF, 0},
	{"TIOCSTI", LOOP, SYS_ioctl, {0, TIOCSTI, (long)"x"}, ENOSYS, 0},
	{"TIOCSTI", HAND, SYS_ioctl, {0, TIOCSTI, (long)"x"}, ENOSYS, 0},
	{"signals of a descriptor", LOOP, SYS_fcntl, {0, F_SETOWN, 1}, ENOSYS, 0},
	{"signals of a descriptor", HAND, SYS_fcntl, {0, F_SETOWN, 1}, ENOSYS, 0},
	{"signals of a descriptor",
	 PROBES,
	 SYS_fcntl,
	 {0, F_SETOWN_EX, (long)page},
	 ENOSYS,
	 0},
	{"which signal", LOOP, SYS_fcntl, {0, F_SETSIG, SIGKILL}, ENOSYS, 0},
	{"which signal", HAND, SYS_fcntl, {0, F_SETSIG, SIGKILL}, ENOSYS, 0},
	{"a lease", LOOP, SYS_fcntl, {0, F_SETLEASE, F_RDLCK}, ENOSYS, 0},
	{"O_ASYNC", LOOP, SYS_fcntl, {0, F_SETFL, O_ASYNC | O_NONBLOCK}, ENOSYS, 0},
	{"O_ASYNC", HAND, SYS_fcntl, {0, F_SETFL, O_ASYNC}, ENOSYS, 0},
	{"FIOASYNC", LOOP, SYS_ioctl, {0, FIOASYNC, (long)page}, ENOSYS, 0},
	{"FIOSETOWN", LOOP, SYS_ioctl, {0, FIOSETOWN, (long)page}, ENOSYS, 0},
	{"SIOCSPGRP", HAND, SYS_ioctl, {0, SIOCSPGRP, (long)page}, ENOSYS, 0},
	{"flags", LOOP, SYS_fcntl, {-1, F_SETFL, O_NONBLOCK}, EBADF, 0},
	{"flags", HAND, SYS_fcntl, {-1, F_SETFL, O_NONBLOCK}, EBADF, 0},
	{"flags", LOOP, SYS_fcntl, {-1, F_GETFL}, EBADF, 0},
	{"a duplicate", LOOP, SYS_fcntl, {-1, F_DUPFD_CLOEXEC, 0}, EBADF, 0},
	{"a lock", HAND, SYS_fcntl, {-1, F_SETLK, (long)page}, EBADF, 0},
	{"a name", LOOP, SYS_prctl, {PR_SET_NAME, (long)"jailed"}, 0, 0},
	{"dumpable again", LOOP, SYS_prctl, {PR_SET_DUMPABLE, 1}, ENOSYS, 1},
	{"dumpable again", HAND, SYS_prctl, {PR_SET_DUMPABLE, 1}, ENOSYS, 1},
	{"whether process 1 is there", LOOP, SYS_kill, {1, 0}, -1, 0},
	{"a signal to the parent", LOOP, SYS_kill, {0, SIGKILL}, ENOSYS, 1},
	{"a signal to a thread of another", LOOP, SYS_tgkill, {1, 1, SIGKILL}, ENOSYS, 1},
	{"a signal by pidfd", HAND, SYS_pidfd_send_signal, {-1, SIGKILL}, ENOSYS, 0},
	{"limits of another", LOOP, SYS_prlimit64, {1, RLIMIT_NOFILE}, ENOSYS, 0},
	{"own limits", LOOP, SYS_prlimit64, {0, RLIMIT_NOFILE}, 0, 0},
};

static void jail(enum neap_jail_kind kind, enum neap_jail_mode mode)
{
	const uint64_t keep = kind == HAND ? NEAP_JAIL_HAND_CAPS : 0;
	struct neap_error err = {0};

	if (neap_jail_bound(keep, &err) < 0 || neap_jail_drop(keep, &err) < 0)
		_exit(NO_JAIL);
	if (neap_jail_filter(kind, mode, &err) < 0)
		_exit(err.code == NEAP_EUNSUPPORTED ? NO_FILTER : NO_JAIL);
}

static int status_of(int pid)
{
	int status = 0;

	if (waitpid(pid, &status, 0) != pid)
		return -1;
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGSYS ? KILLED : -WTERMSIG(status);
	if (WEXITSTATUS(status) == NO_FILTER) {
		print_message("SKIP filters of system calls: not on this kernel\n");
		skip();
	}
	return WEXITSTATUS(status);
}

static int call_try(const struct call *call)
{
	int pid = fork();

	if (pid == 0) {
		const long *a = call->args;

		jail(call->kind, NEAP_JAIL_ON);
		errno = 0;
		_exit(syscall(call->number, a[0], a[1], a[2], a[3], a[4], a[5]) < 0
			      ? errno
			      : 0);
	}
	return status_of(pid);
}

static void each_call(void **state)
{
	static const char *const kinds[] = {"loop", "hand", "loop with probes", "dialer",
					    "reader"};
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(calls); i++) {
		int got;

		if (SANITIZED && calls[i].is_sanitizers)
			continue;
		got = call_try(&calls[i]);
		if (calls[i].want == -1 ? got == KILLED || got == ENOSYS
					: got != calls[i].want)
			fail_msg("%s (%s): %d, wanted %d", calls[i].name,
				 kinds[calls[i].kind], got, calls[i].want);
	}
}

#ifdef __x86_64__
/* The same numbers mean other calls in the 32-bit world. */
static void another_architecture(void **state)
{
	int pid = fork();
	int got;

	(void)state;
	if (pid == 0) {
		long result = 20; /* getpid */

		jail(LOOP, NEAP_JAIL_ON);
		__asm__ volatile("int $0x80" : "+a"(result) : : "memory");
		_exit(0);
	}
	got = status_of(pid);
	assert_true(got == KILLED || got == -SIGSEGV); /* a kernel without that world */
}
#endif

/* --- threads --- */

static pthread_barrier_t barrier;

static void *net_or_death(void *arg)
{
	const int *number = arg;

	(void)pthread_barrier_wait(&barrier);
	if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno != EAFNOSUPPORT)
		_exit(1);
	if (*number == 1)
		(void)syscall(SYS_execve, 0, 0, 0);
	return NULL;
}

/* One started before the filter, one after it. */
static int threads_try(bool first_dies)
{
	int pid = fork();

	if (pid == 0) {
		int numbers[] = {first_dies, !first_dies};
		pthread_t ids[2];

		(void)pthread_barrier_init(&barrier, NULL, 3);
		if (pthread_create(&ids[0], NULL, net_or_death, &numbers[0]) != 0)
			_exit(2);
		jail(LOOP, NEAP_JAIL_ON);
		if (pthread_create(&ids[1], NULL, net_or_death, &numbers[1]) != 0)
			_exit(3);
		(void)pthread_barrier_wait(&barrier);
		(void)pthread_join(ids[0], NULL);
		(void)pthread_join(ids[1], NULL);
		_exit(0);
	}
	return status_of(pid);
}

static void all_threads(void **state)
{
	(void)state;
	assert_int_equal(threads_try(true), KILLED);
	assert_int_equal(threads_try(false), KILLED);
}

/* --- modes, capabilities --- */

static void modes(void **state)
{
	static const struct {
		enum neap_jail_mode mode;
		bool has_filter, has_net;
	} rows[] = {
		{NEAP_JAIL_ON, true, false},
		{NEAP_JAIL_OFF, false, true},
		{NEAP_JAIL_LOG, true, true},
	};
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		int pid = fork();

		if (pid == 0) {
			struct neap_jail_state look;

			jail(LOOP, rows[i].mode);
			if (neap_jail_look(0, &look, NULL) < 0)
				_exit(1);
			if (look.has_filter != rows[i].has_filter)
				_exit(2);
			if ((socket(AF_INET, SOCK_STREAM, 0) >= 0) != rows[i].has_net)
				_exit(3);
			/* A call that would end it. */
			if (rows[i].has_net && syscall(SYS_execve, 0, 0, 0) == 0)
				_exit(4);
			_exit(0);
		}
		if (status_of(pid) != 0)
			fail_msg("mode %d", (int)rows[i].mode);
	}
}

static void capabilities(void **state)
{
	static const uint64_t keeps[] = {0, NEAP_JAIL_HAND_CAPS};
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(keeps); i++) {
		int pid = fork();

		if (pid == 0) {
			struct neap_jail_state before, after;
			struct rlimit core;

			if (neap_jail_look(0, &before, NULL) < 0 ||
			    neap_jail_bound(keeps[i], NULL) < 0 ||
			    neap_jail_drop(keeps[i], NULL) < 0 ||
			    neap_jail_look(0, &after, NULL) < 0)
				_exit(1);
			if (after.caps != (before.caps & keeps[i]))
				_exit(2);
			if (geteuid() == 0 && (before.caps & (1 << 8)) && /* setpcap */
			    (after.bound & ~keeps[i]))
				_exit(3);
			if (!after.has_no_new_privs || prctl(PR_GET_DUMPABLE) != 0)
				_exit(4);
			if (getrlimit(RLIMIT_CORE, &core) < 0 || core.rlim_max != 0)
				_exit(5);
			/* Neither by being root nor by asking. */
			if (setgid(12345) == 0 || (geteuid() == 0 && chroot("/") == 0))
				_exit(6);
			_exit(0);
		}
		assert_int_equal(status_of(pid), 0);
	}
	assert_string_equal(neap_jail_cap_name(1), "dac_override");
	assert_string_equal(neap_jail_cap_name(23), "sys_nice");
	assert_string_equal(neap_jail_cap_name(24), "sys_resource");
	assert_null(neap_jail_cap_name(63));
	assert_null(neap_jail_cap_name(-1));
}

static void look_at_others(void **state)
{
	struct neap_jail_state look;
	struct neap_error err = {0};

	(void)state;
	assert_int_equal(neap_jail_look((int)getpid(), &look, &err), 0);
	assert_int_equal(look.uid, geteuid());
	assert_int_equal(neap_jail_look(0x7ffffff0, &look, &err), -NEAP_ESYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_call),
#ifdef __x86_64__
		cmocka_unit_test(another_architecture),
#endif
		cmocka_unit_test(all_threads),
		cmocka_unit_test(modes),
		cmocka_unit_test(capabilities),
		cmocka_unit_test(look_at_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
