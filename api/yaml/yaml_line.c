/* SPDX-License-Identifier: Apache-2.0
 *
 * The line of a field: walks the text again and compares each node's path. Only for
 * messages. */
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "api/yaml/yaml.h"

#define DEPTH_MAX 64
#define PATH_SIZE 256

struct frame {
	size_t path_len; /* of the node itself */
	size_t index;    /* of the next item */
	bool is_list, has_key;
};

struct walk {
	const char *wanted;
	char path[PATH_SIZE];
	struct frame frames[DEPTH_MAX];
	size_t depth;
	size_t best_len, line;
};

static void set_path(struct walk *walk, size_t len, const char *dot, const char *name)
{
	if (len < sizeof(walk->path))
		(void)snprintf(walk->path + len, sizeof(walk->path) - len, "%s%s",
			       len ? dot : "", name);
}

/* The longest beginning of the path counts. */
static void compare(struct walk *walk, size_t line)
{
	size_t len = strlen(walk->path);
	char after;

	if (strncmp(walk->wanted, walk->path, len) != 0 || len < walk->best_len ||
	    (walk->line && len == walk->best_len))
		return;
	after = walk->wanted[len];
	if (after != '\0' && after != '.' && after != '[')
		return;
	walk->best_len = len;
	walk->line = line;
}

/* Whether it is the key of a member. */
static bool take_key(struct walk *walk, const yaml_event_t *event)
{
	struct frame *top = walk->depth ? &walk->frames[walk->depth - 1] : NULL;

	if (!top || top->is_list || top->has_key || event->type != YAML_SCALAR_EVENT)
		return false;
	set_path(walk, top->path_len, ".", (const char *)event->data.scalar.value);
	top->has_key = true;
	compare(walk, event->start_mark.line + 1);
	return true;
}

static bool take_value(struct walk *walk, const yaml_event_t *event)
{
	struct frame *top = walk->depth ? &walk->frames[walk->depth - 1] : NULL;
	bool opens = event->type == YAML_MAPPING_START_EVENT ||
		     event->type == YAML_SEQUENCE_START_EVENT;
	char item[32];

	if (top && top->is_list) {
		(void)snprintf(item, sizeof(item), "[%zu]", top->index++);
		set_path(walk, top->path_len, "", item);
		compare(walk, event->start_mark.line + 1);
	} else if (top) {
		top->has_key = false;
	}
	if (!opens)
		return true;
	if (walk->depth == DEPTH_MAX)
		return false;
	walk->frames[walk->depth++] =
		(struct frame){.path_len = strlen(walk->path),
			       .is_list = event->type == YAML_SEQUENCE_START_EVENT};
	return true;
}

static bool take(struct walk *walk, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
	case YAML_ALIAS_EVENT:
	case YAML_MAPPING_START_EVENT:
	case YAML_SEQUENCE_START_EVENT:
		return take_key(walk, event) || take_value(walk, event);
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		walk->depth--;
		return true;
	default:
		return event->type != YAML_DOCUMENT_END_EVENT;
	}
}

size_t neap_yaml_line(const char *text, size_t len, const char *path)
{
	struct walk walk = {.wanted = path};
	yaml_parser_t parser;
	yaml_event_t event;
	bool goes_on = true;

	if (!yaml_parser_initialize(&parser))
		return 0;
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	while (goes_on && yaml_parser_parse(&parser, &event)) {
		goes_on = event.type != YAML_STREAM_END_EVENT && take(&walk, &event);
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	return walk.line;
}
