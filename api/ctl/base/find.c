/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the daemon's token, and checks who would receive it. Any user may listen on a
 * local port while neapd is down, so before a token goes to a default address, the
 * kernel's socket list is checked for the owner. */
#include "api/ctl/base/find.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "api/ctl/base/secure.h"
#include "api/http/server.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"

#define TCP_LISTENING 0x0a
#define OWN_PATHS     2

static void token_trim(char *text)
{
	text[strcspn(text, " \t\r\n")] = '\0';
}

static int token_read(const char *file, struct neap_token *ret, struct neap_error *err)
{
	neap_auto_fd int fd = open(file, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 ||
	    neap_fd_read_text(fd, ret->text, sizeof(ret->text)) < 0)
		return neap_error_sys(err, "--token-file %s", file);
	token_trim(ret->text);
	if (!ret->text[0])
		return neap_error_set(err, NEAP_EINVAL, "--token-file %s: is empty",
				      file);
	ret->owner = st.st_uid;
	return 0;
}

/* Path where t/run.sh keeps the files of an ordinary user's nth neapd. */
static bool own_path(int n, const char *name, char *ret, size_t size)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");
	char program[PATH_MAX], *end;
	ssize_t len;
	int need;

	if (n == 0 && (dir == NULL || *dir != '/'))
		return false;
	if (n == 0) {
		need = snprintf(ret, size, "%s/neap/%s", dir, name);
		return need < (int)size;
	}
	len = readlink("/proc/self/exe", program, sizeof(program) - 1);
	if (len <= 0)
		return false;
	program[len] = '\0';
	end = strrchr(program, '/');
	if (end == NULL)
		return false;
	*end = '\0';
	need = snprintf(ret, size, "%s/state/%s", program, name);
	return need < (int)size;
}

/* Whether somebody listens on a socket of ours: one left by an ended neapd refuses. */
static bool is_answered(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	neap_auto_fd int fd = -1;
	struct stat st;

	if (lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode) || st.st_uid != geteuid() ||
	    !neap_strcopy(addr.sun_path, sizeof(addr.sun_path), path))
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return fd >= 0 && connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0;
}

void neap_socket_find(char *ret, size_t size)
{
	int i;

	for (i = 0; geteuid() != 0 && i < OWN_PATHS; i++) {
		if (own_path(i, "run/neap.sock", ret, size) && is_answered(ret))
			return;
	}
	(void)neap_strcopy(ret, size, NEAP_FIND_SOCKET);
}

static int token_default(struct neap_token *ret)
{
	char path[PATH_MAX];
	int i;

	if (token_read(NEAP_FIND_TOKEN_FILE, ret, NULL) == 0)
		return 0;
	for (i = 0; geteuid() != 0 && i < OWN_PATHS; i++) {
		if (own_path(i, "data/token", path, sizeof(path)) &&
		    token_read(path, ret, NULL) == 0 && ret->owner == geteuid())
			return 0;
	}
	return -NEAP_ENOTFOUND;
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
	    token_default(ret) < 0)
		ret->text[0] = '\0';
	return 0;
}

/* "0100007F" of /proc/net/tcp, or the four such words of tcp6: the bytes of the address
 * itself. */
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
