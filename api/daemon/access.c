/* SPDX-License-Identifier: Apache-2.0
 *
 * The users of a running daemon: their tokens are read before root is given up, and by the loop's own
 * user whenever it is told to reload. */
#include <unistd.h>

#include "api/daemon/whole.h"
#include "api/http/users/tokens.h"

int neap_daemon_tokens_load(struct neap_daemon *daemon, struct neap_error *err)
{
	const char *file = daemon->config.token_file;

	return *file != '\0'
		       ? neap_tokens_load(file, daemon->account.uid, &daemon->tokens, err)
		       : 0;
}

void neap_daemon_tokens_tell(const struct neap_daemon *daemon)
{
	const char *file = daemon->config.token_file;

	if (*file == '\0')
		return;
	neap_log_line(&daemon->log, NEAP_LOG_INFO, "tokens: %zu of users",
		      neap_tokens_count(daemon->tokens));
	if (access(file, R_OK) < 0)
		neap_log_line(&daemon->log, NEAP_LOG_WARN,
			      "tokens: uid %u may not read --token-file %s: what changes "
			      "in it will need a restart of neapd",
			      (unsigned)geteuid(), file);
}

void neap_daemon_tokens_look(struct neap_daemon *daemon)
{
	struct neap_tokens *before = daemon->tokens;
	struct neap_error err;

	daemon->tokens = NULL;
	if (neap_daemon_tokens_load(daemon, &err) < 0) {
		daemon->tokens = before;
		neap_log_line(&daemon->log, NEAP_LOG_ERROR,
			      "tokens: they stay as they were: %s", err.msg);
		return;
	}
	neap_http_set_tokens(daemon->http, daemon->tokens);
	neap_tokens_unref(before);
	neap_daemon_tokens_tell(daemon);
}
