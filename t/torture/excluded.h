/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocations that are never failed, as the library that asks for them ends the process
 * or goes on without saying so, and neap cannot change that. A call stack is left alone
 * when it has a frame in that function of that object. Functions that the object does not
 * export cannot be named. */
#ifndef NEAP_T_TORTURE_EXCLUDED_H
#define NEAP_T_TORTURE_EXCLUDED_H

#include <stddef.h>

static const struct failmalloc_excluded {
	const char *object;   /* part of the file's name */
	const char *function; /* NULL: any */
	const char *why;
} failmalloc_excluded[] = {
	{"ld-linux", NULL, "the dynamic linker ends the process"},
	{"libc.so", "getpwnam_r", "crashes in the name service switch"},
	{"libc.so", "getpwuid_r", "the same"},
	{"libcgroup", "cgroup_init",
	 "leaves a controller out when it cannot copy its line"},
	{"libevent", "evbuffer_readln",
	 "evhttp takes a line without memory for one that has not come; the timeout ends it"},
	{"libevent", "evhttp_connection_base_bufferevent_new",
	 "frees what it did not make, and crashes"},
	{"libevent", "evhttp_request_new", "frees what it did not make, and crashes"},
	{"libhwloc", NULL, "asserts that it has memory, in some hundred places"},
	{"libseccomp", NULL, "crashes while it builds a filter, or says Bad address"},
};

#endif
