/* SPDX-License-Identifier: Apache-2.0
 *
 * Policies of the configuration: shipped ones by kind and name, others by file. neapd
 * reads them while it is still root (a source tree may be closed to others), and runs
 * them only after it gave up root. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "api/daemon/roles.h"
#include "api/daemon/start.h"
#include "engine/base/file.h"

/* The file of a configured policy: as given, or a shipped one by kind and name. */
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
	if (neap_file_load(file, &buf, err) < 0)
		return -(int)err->code;
	*ret_len = buf.len;
	*ret_text = neap_buf_take(&buf);
	return *ret_text ? 0 : neap_error_nomem(err);
}

static void texts_free(struct neap_policy_texts *texts)
{
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(texts->text); i++) {
		free(texts->text[i]);
		texts->text[i] = NULL;
	}
}

static int texts_read(struct neap_policy_texts *ret, const struct neap_config *config,
		      struct neap_error *err)
{
	int i;

	memset(ret, 0, sizeof(*ret));
	for (i = 0; i < config->policy_count; i++) {
		file_of(config, &config->policies[i], ret->file[i], sizeof(ret->file[i]));
		if (read_file(ret->file[i], &ret->text[i], &ret->len[i], err) < 0) {
			texts_free(ret);
			return neap_error_wrap(err, "--policy %s",
					       config->policies[i].source);
		}
	}
	return 0;
}

int neap_role_policies_read(struct neap_role_policies *role,
			    const struct neap_config *config, struct neap_error *err)
{
	return texts_read(&role->texts, config, err);
}

/* Makes the sources for the live policies; everything is borrowed. */
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

json_t *neap_config_labels(const struct neap_config *config)
{
	json_t *labels;
	struct utsname system;
	int i;

	(void)uname(&system); /* cannot fail */
	labels = json_pack("{s:s, s:s, s:s}", "kubernetes.io/hostname", config->node_name,
			   "kubernetes.io/os", "linux", "kubernetes.io/arch",
			   strcmp(system.machine, "x86_64") == 0    ? "amd64"
			   : strcmp(system.machine, "aarch64") == 0 ? "arm64"
								    : system.machine);
	for (i = 0; labels != NULL && i < config->node_label_count; i++) {
		if (json_object_set_new(labels, config->node_labels[i].key,
					json_string(config->node_labels[i].value)) == 0)
			continue;
		/* with labels missing a policy would run on the wrong nodes */
		json_decref(labels);
		return NULL;
	}
	return labels;
}

int neap_role_policies_open(struct neap_role_policies *role,
			    const struct neap_process *process,
			    void (*note)(void *arg, const char *label, const char *what),
			    void (*describe)(void *arg, const char *label, json_t *row),
			    void *arg, struct neap_error *err)
{
	const struct neap_config *config = &process->config;
	struct neap_live_config live = {
		.base = process->base,
		.own_uid = process->account.uid,
		.deleted_bytes = config->deleted_policies_bytes,
		.log = process->log,
		.note = note,
		.describe = describe,
		.arg = arg,
	};

	live.registry = role->registry = neap_registry_new();
	live.recorders = &role->recorders;
	role->recorders.samples = neap_record_new(0, 0);
	role->recorders.decisions = neap_decisions_new(0, 0);
	(void)snprintf(role->rounds_dir, sizeof(role->rounds_dir), "%s/rounds",
		       config->data_dir);
	role->recorders.rounds_dir = role->rounds_dir;
	live.labels = role->labels = neap_config_labels(config);
	if (!role->registry || !role->recorders.samples || !role->recorders.decisions ||
	    !role->labels)
		return neap_error_nomem(err);
	(void)snprintf(live.dir, sizeof(live.dir), "%s/policies", config->data_dir);
	if (neap_live_new(&live, &role->live, err) < 0)
		return -(int)err->code;
	return neap_stuck_start(config, role->live, &process->log, err);
}

static int configured_start(const struct neap_role_policies *role,
			    const struct neap_config *config, struct neap_error *err)
{
	struct neap_live_source sources[NEAP_POLICIES_MAX];
	int index = -1;

	sources_fill(config, &role->texts, sources);
	if (neap_live_start(role->live, sources, config->policy_count, &index, err) == 0)
		return 0;
	return index < 0 ? -(int)err->code
			 : neap_error_wrap(err, "--policy %s",
					   config->policies[index].source);
}

int neap_role_policies_start(struct neap_role_policies *role,
			     const struct neap_config *config, struct neap_error *err)
{
	const char *dir = config->policy_dir;

	if (configured_start(role, config, err) < 0)
		return -(int)err->code;
	texts_free(&role->texts);
	if (dir[0] != '\0' && neap_live_watch(role->live, dir, err) < 0)
		return neap_error_wrap(err, "--policy-dir");
	return 0;
}

int neap_role_policies_reload(struct neap_live *live, const struct neap_config *config,
			      struct neap_error *err)
{
	struct neap_live_source sources[NEAP_POLICIES_MAX];
	struct neap_policy_texts texts;
	int rc;

	if (texts_read(&texts, config, err) < 0)
		return -(int)err->code;
	sources_fill(config, &texts, sources);
	rc = neap_live_reconfigure(live, sources, config->policy_count, err);
	texts_free(&texts);
	return rc;
}

void neap_role_policies_stop(struct neap_role_policies *role)
{
	neap_live_free(role->live);
	role->live = NULL;
}

void neap_role_policies_free(struct neap_role_policies *role)
{
	neap_registry_free(role->registry);
	neap_record_free(role->recorders.samples);
	neap_decisions_free(role->recorders.decisions);
	json_decref(role->labels);
	texts_free(&role->texts);
}
