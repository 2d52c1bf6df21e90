/* SPDX-License-Identifier: Apache-2.0
 *
 * The policies of the configuration: shipped ones by kind and name, others by file. They are read
 * while neapd still is root (a source tree may lie where nobody else can look) and run only after
 * root was given up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/config/text_file.h"
#include "api/daemon/daemon.h"

/* The file of a choice: as given, or a shipped one by kind and name. */
static void file_of(const struct neap_config *config,
		    const struct neap_policy_choice *choice, char *buf, size_t size)
{
	size_t len = strlen(choice->source);

	if (len > 4 && strcmp(choice->source + len - 4, ".lua") == 0)
		(void)snprintf(buf, size, "%s", choice->source);
	else
		(void)snprintf(buf, size, "%s/policies/%s.lua", config->share_dir,
			       choice->source);
}

static int read_file(const char *file, char **ret_text, size_t *ret_len,
		     struct neap_error *err)
{
	neap_auto_buf struct neap_buf buf = {0};

	neap_buf_init(&buf, NEAP_BUF_FILE);
	if (neap_text_file_read(file, &buf, err) < 0)
		return -(int)err->code;
	*ret_len = buf.len;
	*ret_text = neap_buf_take(&buf);
	return *ret_text ? 0 : neap_error_nomem(err);
}

int neap_policies_read(const struct neap_config *config, struct neap_policy_texts *ret,
		       struct neap_error *err)
{
	int i;

	memset(ret, 0, sizeof(*ret));
	for (i = 0; i < config->policy_count; i++) {
		file_of(config, &config->policies[i], ret->file[i], sizeof(ret->file[i]));
		if (read_file(ret->file[i], &ret->text[i], &ret->len[i], err) < 0) {
			neap_policies_forget(ret);
			return neap_error_wrap(err, "--policy %s",
					       config->policies[i].source);
		}
	}
	return 0;
}

void neap_policies_forget(struct neap_policy_texts *texts)
{
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(texts->text); i++) {
		free(texts->text[i]);
		texts->text[i] = NULL;
	}
}

/* As sources for the live policies; everything is borrowed. */
static void sources_fill(const struct neap_config *config,
			 const struct neap_policy_texts *texts,
			 struct neap_live_source *sources)
{
	int i;

	for (i = 0; i < config->policy_count; i++)
		sources[i] = (struct neap_live_source){
			.text = texts->text[i],
			.len = texts->len[i],
			.origin = texts->file[i],
			.params = config->policies[i].params,
			.param_count = config->policies[i].param_count,
		};
}

int neap_policies_start(const struct neap_config *config,
			const struct neap_policy_texts *texts, struct neap_live *live,
			struct neap_error *err)
{
	struct neap_live_source sources[NEAP_POLICIES_MAX];
	int index = -1;

	sources_fill(config, texts, sources);
	if (neap_live_start(live, sources, config->policy_count, &index, err) == 0)
		return 0;
	return index < 0 ? -(int)err->code
			 : neap_error_wrap(err, "--policy %s",
					   config->policies[index].source);
}

int neap_policies_reconfigure(const struct neap_config *config, struct neap_live *live,
			      struct neap_error *err)
{
	struct neap_live_source sources[NEAP_POLICIES_MAX];
	struct neap_policy_texts texts;
	int rc;

	if (neap_policies_read(config, &texts, err) < 0)
		return -(int)err->code;
	sources_fill(config, &texts, sources);
	rc = neap_live_reconfigure(live, sources, config->policy_count, err);
	neap_policies_forget(&texts);
	return rc;
}
