/* SPDX-License-Identifier: Apache-2.0
 *
 * The kubelet: its groups, if it started after neapd, and its files. The kubelet replaces
 * its files by renaming new ones, so they are checked every second. Only plain files of
 * limited size are read. The hand opens those that the loop's user may not read. When a
 * file cannot be read, the last reading counts. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/run/node.h"
#include "api/run/node_priv.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

/* At each tick of a second: a plan must not take CPUs back that the kubelet just gave to
 * a pod. */
#define LOOK_USEC INT64_C(900000)

static int read_all(int fd, const char *name, struct neap_buf *to, struct neap_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return neap_error_sys(err, "%s", name);
	if (!S_ISREG(st.st_mode))
		return neap_error_set(err, NEAP_EINVAL, "%s is no plain file", name);
	return neap_fd_read_rest(fd, name, to, err);
}

/* Takes the state over. On an error the old state stays. */
static int set_state(struct neap_node *node, json_t *state, struct neap_error *err)
{
	struct node_kubelet *kubelet = &node->given.kubelet;
	struct neap_kubelet_facts facts;
	int rc = neap_kubelet_facts_read(state, NULL, &facts, err);

	if (rc < 0) {
		neap_kubelet_facts_done(&facts);
		json_decref(state);
		return rc;
	}
	neap_kubelet_facts_done(&kubelet->facts);
	kubelet->facts = facts;
	json_decref(kubelet->state);
	kubelet->state = state;
	(void)neap_strcopy(node->given.kubelet_cpu_policy,
			   sizeof(node->given.kubelet_cpu_policy), facts.cpu_policy);
	return 0;
}

static int parse_state(struct neap_node *node, const struct neap_buf *buf,
		       struct neap_error *err)
{
	json_error_t where;
	json_t *state = NULL;
	int rc = neap_json_parse(buf->data, buf->len, 0, &state, &where);

	if (rc == -NEAP_ENOMEM)
		return neap_error_nomem(err);
	if (rc < 0)
		return neap_error_set(err, NEAP_EINVAL, "%s:%d: no JSON: %s",
				      neap_kubelet_file_names[NEAP_KUBELET_STATE],
				      where.line, where.text);
	return set_state(node, state, err);
}

static int take(struct neap_node *node, enum neap_kubelet_file file, int fd,
		struct neap_error *err)
{
	neap_auto_buf struct neap_buf buf = {0};
	int rc;

	neap_buf_init(&buf, NEAP_KUBELET_FILE_MAX);
	rc = read_all(fd, neap_kubelet_file_names[file], &buf, err);
	if (rc == 0 && file == NEAP_KUBELET_STATE)
		return parse_state(node, &buf, err);
	if (rc == 0) {
		struct neap_buf before = node->given.kubelet.config;

		node->given.kubelet.config = buf;
		node->given.kubelet.has_config = true;
		buf = before;
	}
	return rc;
}

static void is_not_there(struct neap_node *node, enum neap_kubelet_file file)
{
	if (file == NEAP_KUBELET_CONFIG)
		node->given.kubelet.has_config = false;
	else if (node->given.kubelet.state)
		(void)set_state(node, NULL, NULL); /* needs no memory */
}

/* Logs the first error of a look, and no other until a look has none. */
static void end_look(struct neap_node *node)
{
	struct node_kubelet *kubelet = &node->given.kubelet;
	bool was_wrong = kubelet->is_wrong;

	if (kubelet->asked > 0)
		return;
	kubelet->is_known = true;
	kubelet->is_wrong = kubelet->trouble.code != NEAP_OK;
	if (kubelet->is_wrong && !was_wrong)
		neap_log_line(&node->config.log, NEAP_LOG_WARN,
			      "kubelet in %s: %s: what it gives to pods is not known; "
			      "--kubelet-dir names its folder",
			      node->config.kubelet_dir, kubelet->trouble.msg);
	else if (was_wrong && !kubelet->is_wrong)
		neap_log_line(&node->config.log, NEAP_LOG_INFO,
			      "the kubelet's files can be read again");
}

static void note(struct neap_node *node, const struct neap_error *err)
{
	if (node->given.kubelet.trouble.code == NEAP_OK)
		node->given.kubelet.trouble = *err;
}

static void opened(struct neap_node *node, void *arg,
		   const struct neap_hand_answer *answer)
{
	enum neap_kubelet_file file = (enum neap_kubelet_file)(uintptr_t)arg;
	struct neap_error err = {0};

	node->given.kubelet.asked--;
	if (answer->errnum == 0) {
		neap_auto_fd int fd = answer->fd;

		if (take(node, file, fd, &err) < 0)
			note(node, &err);
	} else if (answer->errnum == ENOENT) {
		is_not_there(node, file);
	} else {
		(void)neap_error_set(&err, NEAP_ESYS, "%s", answer->text);
		note(node, &err);
	}
	end_look(node);
}

static int ask_hand(struct neap_node *node, enum neap_kubelet_file file,
		    struct neap_error *err)
{
	struct neap_hand_request request = {.op = NEAP_HAND_KUBELET,
					    .value = neap_kubelet_file_names[file]};
	struct node_pending pending = {.answered = opened,
				       .arg = (void *)(uintptr_t)file};
	int rc = neap_node_send(&node->write, &request, &pending, err);

	node->given.kubelet.asked += rc == 0;
	return rc;
}

static int look_at(struct neap_node *node, enum neap_kubelet_file file,
		   struct neap_error *err)
{
	char path[600];
	int fd, rc;

	(void)snprintf(path, sizeof(path), "%s%s/%s", node->config.sys_root,
		       node->config.kubelet_dir, neap_kubelet_file_names[file]);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
		is_not_there(node, file);
		return 0;
	}
	if (fd < 0 && (errno == EACCES || errno == EPERM) && node->write.hand)
		return ask_hand(node, file, err);
	if (fd < 0)
		return neap_error_sys(err, "open %s", path);
	rc = take(node, file, fd, err);
	(void)close(fd); /* only read from */
	return rc;
}

void neap_node_kubelet_look(struct neap_node *node)
{
	struct node_kubelet *kubelet = &node->given.kubelet;

	if (!node->config.kubelet_dir || !node->config.kubelet_dir[0])
		kubelet->is_known = true;
	if (!node->config.kubelet_dir || !node->config.kubelet_dir[0] ||
	    kubelet->asked > 0)
		return;
	kubelet->looked_usec = node->observe.mono_usec;
	memset(&kubelet->trouble, 0, sizeof(kubelet->trouble));
	for (int file = 0; file < NEAP_KUBELET_FILES; file++) {
		struct neap_error err = {0};

		if (look_at(node, (enum neap_kubelet_file)file, &err) < 0)
			note(node, &err);
	}
	neap_node_flush(&node->write);
	end_look(node);
}

void neap_kubelet_open(struct neap_node *node)
{
	neap_buf_init(&node->given.kubelet.config, NEAP_KUBELET_FILE_MAX);
	(void)set_state(node, NULL, NULL);
	neap_node_kubelet_look(node);
}

/* --- its groups --- */

static void tree_add(struct neap_node *node, const char *root)
{
	struct neap_tree *tree = &node->config.trees[node->config.tree_count];
	struct neap_scan *scan;
	struct neap_error err;

	memset(tree, 0, sizeof(*tree));
	(void)neap_strcopy(tree->root, sizeof(tree->root), root);
	tree->driver = neap_path_root_driver(root);
	if (neap_scan_new(node->cgroup, node->config.trees,
			  (size_t)node->config.tree_count + 1, &scan, &err) < 0) {
		neap_log_line(&node->config.log, NEAP_LOG_WARN,
			      "the kubelet's group %s: %s", root, err.msg);
		return;
	}
	neap_scan_free(node->observe.scan);
	node->observe.scan = scan;
	node->observe.has_found = false;
	node->config.tree_count++;
	node->config.finds_kubelet = false;
	neap_log_line(&node->config.log, NEAP_LOG_INFO,
		      "a kubelet has come: its pods are below %s", root);
	if (node->config.kubelet_came != NULL)
		node->config.kubelet_came(node->config.arg);
}

static void found(struct neap_node *node, void *arg,
		  const struct neap_hand_answer *answer)
{
	(void)arg;
	if (answer->errnum == 0 && node->config.finds_kubelet)
		tree_add(node, answer->new_value);
}

/* The hand looks by itself, so that no group name is sent to it. */
static void group_look(struct neap_node *node)
{
	const struct neap_hand_request request = {.op = NEAP_HAND_FIND};
	const struct node_pending pending = {.answered = found};
	struct neap_tree tree;
	struct neap_error err;

	if (!node->config.finds_kubelet || !neap_scan_find_kubelet(node->cgroup, &tree))
		return;
	if (!neap_node_writes(&node->write))
		tree_add(node, tree.root);
	else
		(void)neap_node_send(&node->write, &request, &pending,
				     &err); /* or the next look */
}

void neap_kubelet_tick(struct neap_node *node)
{
	if (node->observe.mono_usec - node->given.kubelet.looked_usec < LOOK_USEC)
		return;
	node->given.kubelet.looked_usec = node->observe.mono_usec;
	group_look(node);
	neap_node_kubelet_look(node);
}

void neap_kubelet_close(struct neap_node *node)
{
	json_decref(node->given.kubelet.state);
	neap_kubelet_facts_done(&node->given.kubelet.facts);
	neap_buf_done(&node->given.kubelet.config);
}

const json_t *neap_node_kubelet_state(const struct neap_node *node)
{
	return node->given.kubelet.state;
}

const char *neap_node_kubelet_config(const struct neap_node *node, size_t *ret_len)
{
	*ret_len = node->given.kubelet.config.len;
	return node->given.kubelet.has_config ? node->given.kubelet.config.data : NULL;
}
