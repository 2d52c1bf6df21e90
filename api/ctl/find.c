/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding the daemon's token, and who would get it. Any user may listen on a port of this machine
 * while neapd does not run, so before a token goes to an address that nobody named, the kernel's
 * list of sockets is asked whose it is. */
#include "api/ctl/find.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/ctl/secure.h"
#include "api/http/server.h"
#include "engine/base/mem.h"

#define TCP_LISTENING 0x0a

static void token_trim(char *text)
{
	text[strcspn(text, " \t\r\n")] = '\0';
}

static int token_read(const char *file, struct neap_token *ret, struct neap_error *err)
{
	neap_auto_fd int fd = open(file, O_RDONLY | O_CLOEXEC);
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return neap_error_sys(err, "--token-file %s", file);
	n = read(fd, ret->text, sizeof(ret->text) - 1);
	if (n < 0)
		return neap_error_sys(err, "--token-file %s", file);
	ret->text[n] = '\0';
	token_trim(ret->text);
	if (!ret->text[0])
		return neap_error_set(err, NEAP_EINVAL, "--token-file %s: is empty",
				      file);
	ret->owner = st.st_uid;
	return 0;
}

int neap_token_find(const struct neap_ctl *ctl, struct neap_token *ret,
		    struct neap_error *err)
{
	const char *text = getenv("NEAP_TOKEN");

	memset(ret, 0, sizeof(*ret));
	ret->owner = geteuid();
	if (ctl->token_file != NULL)
		return token_read(ctl->token_file, ret, err);
	if (text != NULL && *text) {
		if (!neap_strcopy(ret->text, sizeof(ret->text), text))
			return neap_error_set(err, NEAP_EINVAL,
					      "NEAP_TOKEN is longer than a token");
		token_trim(ret->text);
		return 0;
	}
	if ((ctl->server == NULL ||
	     neap_http_listen_is_local(neap_secure_host(ctl->server))) &&
	    token_read(NEAP_FIND_TOKEN_FILE, ret, NULL) < 0)
		ret->text[0] = '\0';
	return 0;
}

/* "0100007F" of /proc/net/tcp, or the four such words of tcp6: the very bytes of the address. */
static bool takes_loopback(const char *hex)
{
	char here[9];

	(void)snprintf(here, sizeof(here), "%08X", (unsigned)htonl(INADDR_LOOPBACK));
	if (strlen(hex) == 8)
		return strcmp(hex, here) == 0 || strcmp(hex, "00000000") == 0;
	if (strspn(hex, "0") == 32)
		return true;
	return strlen(hex) == 32 && strcmp(hex + 24, here) == 0;
}

static void judge_file(const char *file, int port, uid_t too,
		       enum neap_listener *listener, uid_t *ret_uid)
{
	FILE *list = fopen(file, "re");
	char line[512], addr[33];
	unsigned local, state, uid;

	if (list == NULL)
		return;
	while (fgets(line, sizeof(line), list) != NULL) {
		if (sscanf(line,
			   " %*[0-9]: %32[0-9A-F]:%4x %*[0-9A-F]:%*4x %2x "
			   "%*x:%*x %*x:%*x %*x %u",
			   addr, &local, &state, &uid) != 4)
			continue;
		if (state != TCP_LISTENING || local != (unsigned)port ||
		    !takes_loopback(addr))
			continue;
		if (uid == 0 || uid == geteuid() || uid == too) {
			if (*listener == NEAP_LISTENER_NONE)
				*listener = NEAP_LISTENER_TRUSTED;
			continue;
		}
		*listener = NEAP_LISTENER_FOREIGN;
		if (ret_uid != NULL)
			*ret_uid = uid;
	}
	(void)fclose(list);
}

enum neap_listener neap_listener_judge(int port, uid_t too, uid_t *ret_uid)
{
	enum neap_listener listener = NEAP_LISTENER_NONE;

	judge_file("/proc/net/tcp", port, too, &listener, ret_uid);
	judge_file("/proc/net/tcp6", port, too, &listener, ret_uid);
	return listener;
}
