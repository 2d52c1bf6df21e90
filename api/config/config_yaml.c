/* SPDX-License-Identifier: Apache-2.0
 *
 * The configuration file. Its keys are the options of the table; every error has file and
 * line. The file is read whole with a size limit, and walked only as deep as its known
 * form, so neither depth nor aliases cost anything. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

#include "api/config/config_priv.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"

struct reader {
	struct neap_config *config;
	yaml_document_t *document;
	const char *file;
	struct neap_error *err;
};

/* "file:line: " before the message. */
static int located(struct reader *reader, const yaml_node_t *node)
{
	return neap_error_wrap(reader->err, "%s:%zu", reader->file,
			       node->start_mark.line + 1);
}

static const char *scalar(const yaml_node_t *node)
{
	const char *text;

	if (!node || node->type != YAML_SCALAR_NODE)
		return NULL;
	text = (const char *)node->data.scalar.value;
	return strlen(text) == node->data.scalar.length ? text : NULL;
}

static int want_form(struct reader *reader, const yaml_node_t *node,
		     yaml_node_type_t type, const char *what, const char *form)
{
	if (node->type == type)
		return 0;
	neap_error_set(reader->err, NEAP_EINVAL, "%s: must be %s", what, form);
	return located(reader, node);
}

typedef int on_pair(struct reader *reader, void *arg, const char *key,
		    yaml_node_t *key_node, yaml_node_t *value);

/* Each pair of a mapping, once: a repeated key is an error. */
static int walk_mapping(struct reader *reader, yaml_node_t *node, const char *what,
			on_pair *pair_cb, void *arg)
{
	yaml_node_pair_t *pair, *earlier;
	int r = want_form(reader, node, YAML_MAPPING_NODE, what,
			  "a mapping (key: value)");

	if (r < 0)
		return r;
	for (pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top;
	     pair++) {
		yaml_node_t *key_node =
			yaml_document_get_node(reader->document, pair->key);
		yaml_node_t *value =
			yaml_document_get_node(reader->document, pair->value);
		const char *key = scalar(key_node);

		if (!key) {
			neap_error_set(reader->err, NEAP_EINVAL, "%s: a key is no text",
				       what);
			return located(reader, key_node);
		}
		for (earlier = node->data.mapping.pairs.start; earlier < pair;
		     earlier++) {
			yaml_node_t *other =
				yaml_document_get_node(reader->document, earlier->key);

			if (strcmp(scalar(other), key) == 0) {
				neap_error_set(reader->err, NEAP_EINVAL,
					       "'%s' is there already, in line %zu", key,
					       other->start_mark.line + 1);
				return located(reader, key_node);
			}
		}
		r = pair_cb(reader, arg, key, key_node, value);
		if (r < 0)
			return r;
	}
	return 0;
}

typedef int on_item(struct reader *reader, yaml_node_t *item);

static int walk_list(struct reader *reader, yaml_node_t *node, const char *what,
		     on_item *item_cb)
{
	yaml_node_item_t *item;
	int r = want_form(reader, node, YAML_SEQUENCE_NODE, what, "a list");

	for (item = node->data.sequence.items.start;
	     r == 0 && item < node->data.sequence.items.top; item++)
		r = item_cb(reader, yaml_document_get_node(reader->document, *item));
	return r;
}

static int unknown_key(struct reader *reader, const char *key, const yaml_node_t *node,
		       const char *const *names, size_t count)
{
	neap_auto_buf struct neap_buf all = {0};
	const char *nearest = neap_config_nearest(key, names, count);
	size_t i;

	neap_buf_init(&all, NEAP_BUF_LINE);
	for (i = 0; i < count; i++)
		neap_buf_addf(&all, "%s%s", i ? ", " : "", names[i]);
	if (nearest)
		neap_error_set(reader->err, NEAP_EINVAL,
			       "unknown key '%.40s', did you mean '%s'? there are %s",
			       key, nearest, all.data);
	else
		neap_error_set(reader->err, NEAP_EINVAL,
			       "unknown key '%.40s': there are %s", key, all.data);
	return located(reader, node);
}

/* Copies a text value; the name is for the message. */
static int take_text(struct reader *reader, const char *name, const yaml_node_t *value,
		     char *to, size_t size)
{
	const char *text = scalar(value);

	if (text && *text && neap_strcopy(to, size, text))
		return 0;
	neap_error_set(reader->err, NEAP_EINVAL, "%s: must be a text of 1 to %zu bytes",
		       name, size - 1);
	return located(reader, value);
}

/* --- policies --- */

static int param_pair(struct reader *reader, void *arg, const char *key,
		      yaml_node_t *key_node, yaml_node_t *value)
{
	const char *text = scalar(value);
	struct neap_policy_choice *choice = arg;

	if (!text) {
		neap_error_set(reader->err, NEAP_EINVAL,
			       "params.%s: must be a single value; write lists as text",
			       key);
		return located(reader, value);
	}
	if (neap_config_policy_add_param(choice, key, text, reader->err) < 0)
		return located(reader, key_node);
	choice->params[choice->param_count - 1].line = key_node->start_mark.line + 1;
	return 0;
}

static int policy_pair(struct reader *reader, void *arg, const char *key,
		       yaml_node_t *key_node, yaml_node_t *value)
{
	static const char *const names[] = {"policy", "params"};
	struct neap_policy_choice *choice = arg;

	if (strcmp(key, "policy") == 0)
		return take_text(reader, "policy", value, choice->source,
				 sizeof(choice->source));
	if (strcmp(key, "params") == 0)
		return walk_mapping(reader, value, "params", param_pair, choice);
	return unknown_key(reader, key, key_node, names, NEAP_ARRAY_LEN(names));
}

static int policy_item(struct reader *reader, yaml_node_t *item)
{
	struct neap_config *config = reader->config;
	struct neap_policy_choice *choice;
	const char *text = scalar(item);
	int r;

	if (text) {
		r = neap_config_add_policy(config, text, reader->err);
		return r < 0 ? located(reader, item) : 0;
	}
	if (config->policy_count == NEAP_POLICIES_MAX) {
		neap_error_set(reader->err, NEAP_ETOOLARGE, "more than %d policies",
			       NEAP_POLICIES_MAX);
		return located(reader, item);
	}
	choice = &config->policies[config->policy_count];
	memset(choice, 0, sizeof(*choice));
	r = walk_mapping(reader, item, "an entry of policies", policy_pair, choice);
	if (r == 0 && !*choice->source) {
		neap_error_set(reader->err, NEAP_EINVAL,
			       "policies: this entry has no 'policy', for example "
			       "{policy: qos/cpu-share}");
		return located(reader, item);
	}
	if (r == 0)
		config->policy_count++;
	return r;
}

/* --- node-labels --- */

static int label_pair(struct reader *reader, void *arg, const char *key,
		      yaml_node_t *key_node, yaml_node_t *value)
{
	const char *text = scalar(value);

	(void)arg;
	if (!text) {
		neap_error_set(reader->err, NEAP_EINVAL, "%s: must be a text", key);
		return located(reader, value);
	}
	if (neap_config_add_label(reader->config, key, text, reader->err) < 0)
		return located(reader, key_node);
	return 0;
}

/* --- grants --- */

static int grant_item(struct reader *reader, yaml_node_t *item)
{
	const char *text = scalar(item);

	if (!text) {
		neap_error_set(reader->err, NEAP_EINVAL,
			       "grants: an entry is a text, for example "
			       "reader=group:developers");
		return located(reader, item);
	}
	if (neap_grants_parse(&reader->config->grants, text, reader->err) < 0) {
		neap_error_wrap(reader->err, "grants");
		return located(reader, item);
	}
	return 0;
}

/* --- hostApplications --- */

static int path_pair(struct reader *reader, void *arg, const char *key,
		     yaml_node_t *key_node, yaml_node_t *value)
{
	static const char *const names[] = {"base", "parentDir", "relativePath"};
	struct neap_host_app *app = arg;
	char base[32];

	if (strcmp(key, "parentDir") == 0)
		return take_text(reader, key, value, app->parent_dir,
				 sizeof(app->parent_dir));
	if (strcmp(key, "relativePath") == 0)
		return take_text(reader, key, value, app->relative_path,
				 sizeof(app->relative_path));
	if (strcmp(key, "base") != 0)
		return unknown_key(reader, key, key_node, names, NEAP_ARRAY_LEN(names));
	if (take_text(reader, key, value, base, sizeof(base)) < 0)
		return -NEAP_EINVAL;
	if (neap_host_base_parse(base, &app->base, NULL) == 0)
		return 0;
	neap_error_set(reader->err, NEAP_EINVAL,
		       "base: '%s' is unknown: there are CgroupRoot, Kubepods, "
		       "KubepodsBurstable, KubepodsBesteffort",
		       base);
	return located(reader, value);
}

static int app_pair(struct reader *reader, void *arg, const char *key,
		    yaml_node_t *key_node, yaml_node_t *value)
{
	static const char *const names[] = {"name", "qos", "cgroupPath"};
	struct neap_host_app *app = arg;
	char qos[16];

	if (strcmp(key, "name") == 0)
		return take_text(reader, key, value, app->name, sizeof(app->name));
	if (strcmp(key, "cgroupPath") == 0) {
		app->has_path = true;
		return walk_mapping(reader, value, key, path_pair, app);
	}
	if (strcmp(key, "qos") != 0)
		return unknown_key(reader, key, key_node, names, NEAP_ARRAY_LEN(names));
	if (take_text(reader, key, value, qos, sizeof(qos)) < 0)
		return -NEAP_EINVAL;
	app->qos = neap_qos_parse(qos);
	if (app->qos != NEAP_QOS_NONE)
		return 0;
	neap_error_set(reader->err, NEAP_EINVAL,
		       "qos: '%s' is unknown: there are LSE, LSR, LS, BE, SYSTEM", qos);
	return located(reader, value);
}

static int app_item(struct reader *reader, yaml_node_t *item)
{
	struct neap_config *config = reader->config;
	struct neap_host_app *app = &config->host_apps[config->host_app_count];
	char path[NEAP_PATH_MAX];
	int r, i;

	if (config->host_app_count == NEAP_HOST_APPS_MAX) {
		neap_error_set(reader->err, NEAP_ETOOLARGE,
			       "more than %d hostApplications", NEAP_HOST_APPS_MAX);
		return located(reader, item);
	}
	memset(app, 0, sizeof(*app));
	r = walk_mapping(reader, item, "an entry of hostApplications", app_pair, app);
	if (r < 0)
		return r;
	if (!*app->name || app->qos == NEAP_QOS_NONE) {
		neap_error_set(reader->err, NEAP_EINVAL,
			       "hostApplications: '%s' is missing here",
			       *app->name ? "qos" : "name");
		return located(reader, item);
	}
	for (i = 0; i < config->host_app_count; i++)
		if (strcmp(config->host_apps[i].name, app->name) == 0) {
			neap_error_set(reader->err, NEAP_EEXISTS,
				       "hostApplications: '%s' is there twice",
				       app->name);
			return located(reader, item);
		}
	/* Both drivers use the same relative parts at the end; a wrong path is best
	 * reported here. */
	if (neap_path_host_app(NEAP_DRIVER_CGROUPFS, app, path, sizeof(path),
			       reader->err) < 0)
		return located(reader, item);
	if (!neap_path_is_safe(path)) {
		neap_error_set(reader->err, NEAP_EINVAL,
			       "cgroupPath of '%s': '%s' is no path below a hierarchy",
			       app->name, path);
		return located(reader, item);
	}
	config->host_app_count++;
	return 0;
}

/* --- the whole --- */

static int top_pair(struct reader *reader, void *arg, const char *key,
		    yaml_node_t *key_node, yaml_node_t *value)
{
	const struct neap_option *options = neap_config_options(), *option;
	const char *names[NEAP_CONFIG_OPTIONS_MAX];
	const char *text;
	size_t count = 0;

	(void)arg;
	for (option = options; option->flag || option->key; option++)
		if (option->key) {
			if (strcmp(option->key, key) == 0)
				break;
			if (count < NEAP_ARRAY_LEN(names))
				names[count++] = option->key;
		}
	if (!option->flag && !option->key)
		return unknown_key(reader, key, key_node, names, count);
	neap_config_note_given(reader->config, option);
	if (option->type == NEAP_OPTION_POLICY) {
		reader->config->policy_count = 0;
		return walk_list(reader, value, key, policy_item);
	}
	if (option->type == NEAP_OPTION_LABEL)
		return walk_mapping(reader, value, key, label_pair, NULL);
	if (option->type == NEAP_OPTION_GRANT)
		return walk_list(reader, value, key, grant_item);
	if (option->type == NEAP_OPTION_APPS)
		return walk_list(reader, value, key, app_item);
	text = scalar(value);
	if (!text)
		neap_error_set(reader->err, NEAP_EINVAL, "must be a single value");
	if (!text || neap_config_set(reader->config, option, text, reader->err) < 0) {
		neap_error_wrap(reader->err, "%s", key);
		return located(reader, value);
	}
	return 0;
}

static int read_whole(const char *file, struct neap_buf *text, struct neap_error *err)
{
	neap_auto_fd int fd = open(file, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return neap_error_sys(err, "--config %s", file);
	if (neap_fd_read_rest(fd, file, text, err) < 0)
		return neap_error_wrap(err, "--config");
	return 0;
}

static int parser_error(const yaml_parser_t *parser, const char *file,
			struct neap_error *err)
{
	/* libyaml does not note the error in some places where a copy fails. */
	if (parser->error == YAML_MEMORY_ERROR || parser->error == YAML_NO_ERROR)
		return neap_error_nomem(err);
	if (parser->error == YAML_READER_ERROR)
		return neap_error_set(err, NEAP_EINVAL, "%s: %s at byte %zu", file,
				      parser->problem, parser->problem_offset);
	return neap_error_set(err, NEAP_EINVAL, "%s:%zu: %s", file,
			      parser->problem_mark.line + 1, parser->problem);
}

static int read_document(struct neap_config *config, yaml_parser_t *parser,
			 const char *file, struct neap_error *err)
{
	yaml_document_t document, second;
	struct reader reader = {config, &document, file, err};
	yaml_node_t *root;
	int r = 0;

	if (!yaml_parser_load(parser, &document))
		return parser_error(parser, file, err);
	root = yaml_document_get_root_node(&document);
	/* An empty file, or one of comments only, is a configuration too. */
	if (root && !(scalar(root) && !*scalar(root)))
		r = walk_mapping(&reader, root, "the file", top_pair, NULL);
	if (r == 0 && root) {
		if (!yaml_parser_load(parser, &second)) {
			r = parser_error(parser, file, err);
		} else {
			root = yaml_document_get_root_node(&second);
			if (root) {
				neap_error_set(err, NEAP_EINVAL,
					       "a second document starts");
				r = located(&reader, root);
			}
			yaml_document_delete(&second);
		}
	}
	yaml_document_delete(&document);
	return r;
}

int neap_config_read_file(struct neap_config *config, const char *file,
			  struct neap_error *err)
{
	neap_auto_buf struct neap_buf text = {0};
	yaml_parser_t parser;
	int r;

	neap_buf_init(&text, NEAP_BUF_FILE);
	r = read_whole(file, &text, err);
	if (r < 0)
		return r;
	if (!yaml_parser_initialize(&parser))
		return neap_error_nomem(err);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text.data, text.len);
	r = read_document(config, &parser, file, err);
	yaml_parser_delete(&parser);
	return r;
}
