/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests of a kube-scheduler, read in place: the first byte chooses which. What is read
 * lies in the request. */
#include <string.h>

#include "api/extender/args.h"
#include "t/fuzz/lib/fuzz.h"

static void check_text(const struct neap_text *text, const char *body, size_t len)
{
	FUZZ_CHECK(!text->at || (text->at >= body && text->at + text->len <= body + len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char text[] = "\"a\",\"bc\"";
	struct neap_text names[] = {{text + 1, 1}, {text + 5, 2}};
	const struct neap_extender_list likely = {text, sizeof(text) - 1, names, 2};
	struct neap_extender_args args = {0};
	struct neap_error err = {0};
	char node[NEAP_OBJECT_NAME];
	struct fuzz_in in;
	unsigned which;
	size_t len;
	char *body;
	int r;

	fuzz_in_init(&in, data, size);
	which = fuzz_byte(&in) % 3;
	body = fuzz_rest(&in, &len);
	r = which == 0   ? neap_extender_read_nodes(body, len, &likely, &args, &err)
	    : which == 1 ? neap_extender_read_victims(body, len, &args, &err)
			 : neap_extender_read_binding(body, len, &args, node, &err);
	if (r < 0) {
		FUZZ_CHECK(*err.msg != '\0');
	} else {
		FUZZ_CHECK(*args.name && *args.ns && *args.uid);
		for (size_t i = 0; i < args.count; i++) {
			check_text(&args.names[i], body, len);
			if (!args.nodes)
				continue;
			check_text(&args.nodes[i].whole, body, len);
			check_text(&args.nodes[i].violations, body, len);
			FUZZ_CHECK(args.nodes[i].victims + args.nodes[i].victim_count <=
				   args.victim_count);
		}
		for (size_t i = 0; i < args.victim_count; i++)
			check_text(&args.victims[i], body, len);
		neap_extender_args_done(&args);
	}
	fuzz_in_done(&in);
	return 0;
}
