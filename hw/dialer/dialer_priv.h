/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the loop's side and both processes: packets, and the first steps of a
 * process. */
#ifndef NEAP_HW_DIALER_DIALER_PRIV_H
#define NEAP_HW_DIALER_DIALER_PRIV_H

#include <netdb.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "engine/base/buf.h"
#include "hw/dialer/dialer.h"

#define NEAP_DIALER_MAGIC     0x4e444c52u
#define NEAP_DIALER_PIECE     (32 * 1024) /* bytes of text in a packet */
#define NEAP_DIALER_WHY       256
#define NEAP_DIALER_ADDRESSES 16 /* of a name; more are not tried */

enum neap_dialer_op { NEAP_DIALER_CONNECT, NEAP_DIALER_READ, NEAP_DIALER_HELLO };

/* A request consists of this header. An answer may also have text: the reason of a
 * failure, or a piece of a file. */
struct neap_dialer_packet {
	uint32_t magic;
	uint32_t op;
	uint32_t index; /* server or file; HELLO: version of Landlock */
	int32_t code;   /* answers: 0, or an enum neap_code */
	uint64_t id;    /* answers: as in the request */
	uint32_t is_last;
	uint32_t len; /* of the text that follows */
};

enum { NEAP_DIALER_DIALS, NEAP_DIALER_READS, NEAP_DIALER_ENDS };

struct neap_dialer {
	struct {
		int sock, pid, landlock; /* sock -1: there is no such process */
		size_t count;            /* servers or files */
	} ends[NEAP_DIALER_ENDS];
	int epoll_fd;
	bool has_ended;
	uint64_t last_number;
	struct neap_dialer_asked {
		uint64_t number; /* in the packets; 0: free */
		uint64_t id;
		enum neap_dialer_op op;
		struct neap_buf text;
	} asked[NEAP_DIALER_REQUESTS];
};

_Noreturn void neap_dialer_serve(const struct neap_dialer_config *config, int sock);
_Noreturn void neap_reader_serve(const struct neap_dialer_config *config, int sock);

/* --- first steps of both processes --- */

struct neap_dialer_jail {
	enum neap_jail_kind kind;
	bool keeps_user; /* stays root, without capabilities */
	const char *const *folders;
	size_t folder_count;
	const uint16_t *ports;
	size_t port_count;
};

/* Leaves the daemon's session, and drops its signal handlers and descriptors. */
int neap_dialer_begin(const struct neap_dialer_config *config, const char *name, int sock,
		      struct neap_error *err);
/* Returns the folder of a file, as named (real is false) or with all symbolic links
 * resolved; "" when it does not exist. */
void neap_dialer_folder(const char *file, bool real, char *ret, size_t size);
/* Drops all privileges that are not needed. Returns the version of Landlock in force. */
int neap_dialer_confine(const struct neap_dialer_config *config,
			const struct neap_dialer_jail *jail, const struct neap_log *log,
			struct neap_error *err);
/* Sends the first packet: ready (code is the version of Landlock), or why not. */
void neap_dialer_hello(int sock, int code, const struct neap_error *err);
/* Sends one packet without waiting, with fd (-1: none). Returns 1; 0 when there is no
 * room now; -1 when the loop is gone. */
int neap_dialer_send(int sock, const struct neap_dialer_packet *head, const char *text,
		     int fd);

/* --- look-ups of names --- */

struct neap_dialer_addresses {
	struct sockaddr_storage list[NEAP_DIALER_ADDRESSES];
	socklen_t len[NEAP_DIALER_ADDRESSES];
	size_t count; /* 0: why says it */
	char why[NEAP_DIALER_WHY];
};

struct neap_lookups;

/* Look-ups run in a few threads at most. NULL without memory. */
struct neap_lookups *neap_lookups_new(void);
/* Returns a descriptor that is readable when a look-up has ended. */
int neap_lookups_fd(const struct neap_lookups *lookups);
/* Returns whether another one may be started now. */
bool neap_lookups_has_room(const struct neap_lookups *lookups);
/* host must stay. False without memory or threads. */
bool neap_lookups_start(struct neap_lookups *lookups, const char *host, uint16_t port,
			uint64_t id);
/* Returns the result of an ended look-up; false when there is none. */
bool neap_lookups_next(struct neap_lookups *lookups, uint64_t *ret_id,
		       struct neap_dialer_addresses *ret);
/* Converts an address, which needs no thread. False for a name. */
bool neap_lookup_is_address(const char *host, uint16_t port,
			    struct neap_dialer_addresses *ret);

#endif
