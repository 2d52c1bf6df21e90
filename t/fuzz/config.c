/* SPDX-License-Identifier: Apache-2.0
 *
 * Configuration: neap.yaml and flags. Whatever stands there, either a message says what
 * is wrong, with the file's line, or the options hold what their types allow. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/config/config_priv.h"
#include "engine/machine/cpuset.h"
#include "engine/machine/path.h"
#include "t/fuzz/lib/fuzz.h"

#define ARGS_MAX 12

/* A file in memory; its name goes into messages. */
static const char *file_make(const char *text, size_t len)
{
	static char name[64];
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("neap.yaml", MFD_CLOEXEC);
	FUZZ_CHECK(fd >= 0 && ftruncate(fd, 0) == 0 &&
		   pwrite(fd, text, len, 0) == (ssize_t)len);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return name;
}

static void check_texts(const struct neap_config *config)
{
	struct neap_cpuset set;

	FUZZ_CHECK(neap_cpuset_parse(&set, config->reserved_cpus, NULL) == 0);
	FUZZ_CHECK(neap_cpuset_parse(&set, config->system_cpus, NULL) == 0);
	FUZZ_CHECK(!*config->group || neap_path_is_safe(config->group));
	FUZZ_CHECK(memchr(config->node_name, 0, sizeof(config->node_name)) != NULL);
	FUZZ_CHECK(memchr(config->data_dir, 0, sizeof(config->data_dir)) != NULL);
}

static void check_option(const struct neap_config *config,
			 const struct neap_option *option)
{
	const char *at = (const char *)config + option->offset;

	switch (option->type) {
	case NEAP_OPTION_DURATION:
	case NEAP_OPTION_MILLI:
	case NEAP_OPTION_COUNT:
		FUZZ_CHECK(*(const int64_t *)at >= option->min &&
			   *(const int64_t *)at <= option->max);
		break;
	case NEAP_OPTION_TEXT:
	case NEAP_OPTION_LISTEN:
	case NEAP_OPTION_GROUP:
	case NEAP_OPTION_CPUS:
	case NEAP_OPTION_NAME:
		FUZZ_CHECK(memchr(at, 0, option->size) != NULL);
		break;
	default:
		break;
	}
}

static void check_config(const struct neap_config *config)
{
	char path[NEAP_PATH_MAX];
	const struct neap_option *option;

	for (option = neap_config_options(); option->flag || option->key; option++)
		check_option(config, option);
	check_texts(config);
	FUZZ_CHECK(config->policy_count >= 0 &&
		   config->policy_count <= NEAP_POLICIES_MAX);
	FUZZ_CHECK(config->host_app_count >= 0 &&
		   config->host_app_count <= NEAP_HOST_APPS_MAX);
	FUZZ_CHECK(config->node_label_count >= 0 &&
		   config->node_label_count <= NEAP_NODE_LABELS_MAX);
	FUZZ_CHECK(config->roles &&
		   !(config->roles &
		     ~(unsigned)(NEAP_ROLE_API | NEAP_ROLE_NODE | NEAP_ROLE_SCHEDULER |
				 NEAP_ROLE_MANAGER | NEAP_ROLE_CONTROLLERS |
				 NEAP_ROLE_DESCHEDULER)));
	for (int i = 0; i < config->policy_count; i++)
		FUZZ_CHECK(*config->policies[i].source &&
			   config->policies[i].param_count >= 0 &&
			   config->policies[i].param_count <= 16);
	for (int i = 0; i < config->host_app_count; i++) {
		FUZZ_CHECK(neap_path_host_app(NEAP_DRIVER_CGROUPFS, &config->host_apps[i],
					      path, sizeof(path), NULL) == 0);
		FUZZ_CHECK(neap_path_is_safe(path));
	}
}

/* A byte: how many flags; as many lines, each an argument; then the file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct neap_config config;
	enum neap_config_action action = NEAP_CONFIG_RUN;
	struct neap_error err = {0};
	char *argv[ARGS_MAX + 5];
	struct fuzz_in in;
	int argc = 0, flags;
	const char *text;
	size_t len;

	fuzz_in_init(&in, data, size);
	flags = (int)(fuzz_byte(&in) % ARGS_MAX);
	argv[argc++] = (char *)"neapd";
	for (int i = 0; i < flags; i++)
		argv[argc++] = fuzz_line(&in);
	text = fuzz_rest(&in, &len);
	argv[argc++] = (char *)"--config";
	argv[argc++] = (char *)file_make(text, len);
	argv[argc] = NULL;
	memset(&config, 0x55, sizeof(config));
	if (neap_config_parse(argc, argv, &config, &action, &err) < 0)
		FUZZ_CHECK(err.code && *err.msg);
	else if (action == NEAP_CONFIG_RUN)
		check_config(&config);
	fuzz_in_done(&in);
	return 0;
}
