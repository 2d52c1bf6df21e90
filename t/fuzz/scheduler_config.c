/* SPDX-License-Identifier: Apache-2.0
 *
 * Configurations of the scheduler. Either a message names the file, or there are profiles
 * within all bounds. */
#include <string.h>

#include "api/schedule/config.h"
#include "engine/decide/settings.h"
#include "t/fuzz/lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct neap_schedule_config *config = NULL;
	struct neap_error err = {0};
	struct fuzz_in in;
	const char *text;
	size_t len;
	int r;

	fuzz_in_init(&in, data, size);
	text = fuzz_rest(&in, &len);
	r = neap_schedule_config_parse(text, len, "fuzz.yaml", &config, &err);
	if (r < 0) {
		FUZZ_CHECK(config == NULL && (int)err.code == -r);
		FUZZ_CHECK(r == -NEAP_EINVAL || r == -NEAP_ETOOLARGE);
		FUZZ_CHECK(strncmp(err.msg, "fuzz.yaml:", 10) == 0);
	} else {
		FUZZ_CHECK(config->profile_count > 0 &&
			   config->profile_count <= NEAP_SCHEDULE_PROFILES_MAX);
		FUZZ_CHECK(config->pause_usec > 0 &&
			   config->pause_usec <= config->pause_max_usec);
		for (size_t i = 0; i < config->profile_count; i++) {
			const struct neap_settings *settings =
				config->profiles[i].settings;

			FUZZ_CHECK(settings->percentage >= 0 &&
				   settings->percentage <= 100);
			for (int n = 0; n < NEAP_SCORE_COUNT; n++)
				FUZZ_CHECK(settings->weights[n] >= 0);
		}
	}
	(void)neap_schedule_config_unref(config);
	fuzz_in_done(&in);
	return 0;
}
