/* SPDX-License-Identifier: Apache-2.0
 *
 * The dialer: makes the TCP connections of neapd to a real kube-apiserver and its
 * kubelets, and reads the files with its credentials. The loop's jail opens no network,
 * and the loop may not read root's files, so two small processes do it for it, forked at
 * the start like the hand: one dials, one reads. A request names only numbers of the
 * servers and files given at the start. So a loop that was taken over reaches no other
 * server and no other file.
 *
 * neap-dialer resolves names and connects. It runs as the daemon's account, without
 * capabilities; it may make TCP and UDP sockets of IPv4 and IPv6, connect TCP to the
 * ports of its servers and of DNS (where the kernel has Landlock 4), and read /etc.
 * Names are looked up in /etc/hosts, then by DNS, whatever nsswitch.conf says: its
 * modules would have to be loaded, and could do anything. Each look-up has a thread, so
 * no dial waits for another.
 *
 * neap-reader reads files. It runs as the daemon's account, too, unless one of the files
 * cannot be read by that account at the start: kubeconfig files, keys and the tokens of
 * pods often belong to root with mode 0600, and their rotation keeps it so. Then it stays
 * user 0, again without capabilities, which reads root's own files and nobody else's.
 * It has no sockets, writes nothing, and reads only in the folders of its files. It is a
 * process apart, so that the one that hears from the network never has such rights.
 *
 * Both end when the loop's end of their sockets closes. If one of them ends by itself,
 * every request under way fails and ended is called. No new one can be started, as root
 * is gone: connections that exist live on, new ones cannot be made, and the owner should
 * say so and end neapd, which its supervisor starts again. */
#ifndef NEAP_HW_DIALER_DIALER_H
#define NEAP_HW_DIALER_DIALER_H

#include <stdint.h>
#include <sys/types.h>

#include "engine/base/error.h"
#include "engine/log/log.h"
#include "hw/jail.h"

#define NEAP_DIALER_SERVERS  64
#define NEAP_DIALER_FILES    64
#define NEAP_DIALER_REQUESTS 64           /* under way; more are refused */
#define NEAP_DIALER_FILE_MAX (256 * 1024) /* bytes of a file */
#define NEAP_DIALER_USEC     30000000     /* a dial, over all addresses of a name */

struct neap_dialer_server {
	const char *host; /* a name, or an address without brackets */
	uint16_t port;
};

struct neap_dialer_config {
	const struct neap_dialer_server *servers;
	size_t server_count;
	const char *const *files; /* absolute paths; opened by name for each read */
	size_t file_count;
	uid_t uid; /* the user to become when started as root; 0: stay */
	gid_t gid;
	enum neap_jail_mode jail; /* of the system call filters */
	int64_t timeout_usec;     /* of a dial; 0: NEAP_DIALER_USEC */
	const struct neap_log *log;
};

struct neap_dialer;

/* Forks both; without servers there is no neap-dialer, without files no neap-reader. Call
 * it as root, before any thread exists. Returns when they are ready, or the reason why
 * not. The configuration may be freed afterwards. */
int neap_dialer_start(const struct neap_dialer_config *config, struct neap_dialer **ret,
		      struct neap_error *err);
/* Closes the sockets, which ends both. Pending requests are dropped: their callbacks are
 * not called. Not from within a callback. */
void neap_dialer_free(struct neap_dialer *dialer);
/* One descriptor for poll, readable when neap_dialer_hear has something to do. */
int neap_dialer_fd(const struct neap_dialer *dialer);
/* For reports on privileges; 0 where there is none. */
int neap_dialer_pid(const struct neap_dialer *dialer);
int neap_dialer_reader_pid(const struct neap_dialer *dialer);
/* The lower of both Landlock versions in force, 0 for none. */
int neap_dialer_landlock(const struct neap_dialer *dialer);

/* Requests a connection to servers[server]. The callback connected is called once with
 * this id, from within neap_dialer_hear. NEAP_EINVAL: no such server; NEAP_EUNAVAILABLE:
 * too many are pending, or the dialer ended. */
int neap_dialer_connect(struct neap_dialer *dialer, unsigned server, uint64_t id,
			struct neap_error *err);
/* Requests the whole content of files[file]; the callback read is called likewise. */
int neap_dialer_read(struct neap_dialer *dialer, unsigned file, uint64_t id,
		     struct neap_error *err);

/* Callbacks may make further requests. */
struct neap_dialer_heard {
	/* fd: connected, non-blocking, close-on-exec, TCP_NODELAY, keep-alive after 30 s,
	 * TCP_USER_TIMEOUT of 45 s; the callee owns it. Or -1, and why says what failed,
	 * with every address that was tried. */
	void (*connected)(void *arg, uint64_t id, int fd, const char *why);
	/* text: NUL-terminated, valid during the call. Or NULL, and why. */
	void (*read)(void *arg, uint64_t id, const char *text, size_t len,
		     const char *why);
	/* Once, after the last answer. The descriptor stays readable: stop polling it. */
	void (*ended)(void *arg);
};

/* Processes what both have sent, without waiting. */
void neap_dialer_hear(struct neap_dialer *dialer, const struct neap_dialer_heard *heard,
		      void *arg);

#endif
