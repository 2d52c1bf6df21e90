/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses numbers in kernel text by hand: sscanf takes longer than reading a small
 * file. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hw/readings_priv.h"

bool neap_text_take_number(const char **at, int64_t *ret)
{
	const char *p = *at;
	uint64_t value = 0;

	if (*p < '0' || *p > '9')
		return false;
	for (; *p >= '0' && *p <= '9'; p++) {
		if (value > (INT64_MAX - (uint64_t)(*p - '0')) / 10)
			return false;
		value = value * 10 + (uint64_t)(*p - '0');
	}
	*at = p;
	*ret = (int64_t)value;
	return true;
}

/* Most lines differ in their first bytes, so calls of the library would cost more than
 * they do. */
int64_t neap_text_find_number(const char *text, const char *name)
{
	while (*text) {
		const char *at = text;
		size_t len = 0;
		int64_t value;

		while (name[len] && at[len] == name[len])
			len++;
		at += len;
		if (!name[len] && (*at == ' ' || *at == ':')) {
			do
				at++;
			while (*at == ' ');
			return neap_text_take_number(&at, &value) ? value : NEAP_MISSING;
		}
		text = strchrnul(at, '\n');
		text += *text == '\n';
	}
	return NEAP_MISSING;
}

int64_t neap_text_number(const char *text)
{
	int64_t value;

	return neap_text_take_number(&text, &value) ? value : NEAP_MISSING;
}

/* The kernel prints two decimals always. */
double neap_text_pressure(const char *text, int64_t *ret_total_usec)
{
	const char *at = text, *total;
	int64_t whole, part;

	*ret_total_usec = NEAP_MISSING;
	if (strncmp(at, "some avg10=", 11) != 0)
		return NAN;
	at += 11;
	if (!neap_text_take_number(&at, &whole) || at[0] != '.' || at[1] < '0' ||
	    at[1] > '9' || at[2] < '0' || at[2] > '9')
		return NAN;
	part = (at[1] - '0') * 10 + (at[2] - '0');
	total = strstr(at, "total=");
	if (total)
		*ret_total_usec = neap_text_number(total + 6);
	return ((double)whole + (double)part / 100) / 100;
}

/* Not by pread(), of which the C library makes a point of cancellation: in a process with
 * threads that costs two atomic operations for each of the some thousand reads of a tick.
 * The offset, 0, has room for every architecture's way to pass it. */
long neap_text_read(int fd, char *buf, size_t size)
{
	long n = syscall(SYS_pread64, fd, buf, size - 1, 0L, 0L, 0L);

	if (n < 0)
		return -1;
	buf[n] = '\0';
	return n;
}
