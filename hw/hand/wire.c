/* SPDX-License-Identifier: Apache-2.0
 *
 * A message is a fixed header followed by up to four NUL-terminated texts. The header has
 * the length of every text (ABSENT for NULL), and their sum must equal the packet's
 * length, so a message has exactly one encoding, and a cut or extended one is refused. */
#include "hw/hand/wire.h"

#include <string.h>

#include "engine/base/mem.h"

#define REQUEST_MAGIC 0x4e485131u /* NHQ1 */
#define ANSWER_MAGIC  0x4e484131u /* NHA1 */
#define TEXTS         4
#define ABSENT        UINT32_MAX

struct head {
	uint32_t magic;
	uint32_t op;
	uint64_t id;
	uint32_t key; /* NEAP_KEY_COUNT where the operation has none */
	int32_t errnum;
	int32_t pid;
	uint32_t reserved; /* 0 */
	uint32_t len[TEXTS];
};

/* The parts of a request, for each operation. */
static const struct shape {
	bool is_request, group, key, value, brings_fd;
} shapes[NEAP_HAND_OP_COUNT] = {
	[NEAP_HAND_SET] = {true, true, true, true},
	[NEAP_HAND_RESTORE] = {true, true, true, false},
	[NEAP_HAND_MAKE] = {true, true, false, false},
	[NEAP_HAND_REMOVE] = {true, true, false, false},
	[NEAP_HAND_MOVE] = {true, true, false, false},
	[NEAP_HAND_FREEZE] = {true, false, false, false},
	[NEAP_HAND_RESUME] = {true, false, false, false},
	[NEAP_HAND_GIVE_BACK] = {true, false, false, false},
	[NEAP_HAND_LIST] = {true, false, false, false},
	[NEAP_HAND_ENTRY] = {false, true, true, false},
	[NEAP_HAND_TRIGGER] = {true, true, false, true, true},
	[NEAP_HAND_KUBELET] = {true, false, false, true, true},
	[NEAP_HAND_MAKE_POD] = {true, true, false, false},
	[NEAP_HAND_FIND] = {true, false, false, false},
	[NEAP_HAND_OWN] = {true, true, true, true},
};

static const size_t request_limits[TEXTS] = {NEAP_PATH_MAX, NEAP_CPUSET_TEXT,
					     NEAP_CPUSET_TEXT, 0};
static const size_t answer_limits[TEXTS] = {NEAP_PATH_MAX, NEAP_CPUSET_TEXT,
					    NEAP_CPUSET_TEXT, NEAP_WIRE_TEXT};

bool neap_wire_brings_fd(enum neap_hand_op op)
{
	return (unsigned)op < NEAP_HAND_OP_COUNT && shapes[op].brings_fd;
}

static int put(struct head *head, const char *const texts[TEXTS],
	       const size_t limits[TEXTS], void *buf, size_t size, size_t *ret_len,
	       struct neap_error *err)
{
	size_t at = sizeof(*head);

	for (int i = 0; i < TEXTS; i++) {
		size_t len = texts[i] ? strlen(texts[i]) : 0;

		if (texts[i] && len >= limits[i])
			return neap_error_set(
				err, NEAP_ETOOLARGE,
				"text of %zu bytes in a message to the hand, %zu at most",
				len, limits[i] - 1);
		head->len[i] = texts[i] ? (uint32_t)len : ABSENT;
		if (!texts[i])
			continue;
		if (at + len + 1 > size)
			return neap_error_set(err, NEAP_ETOOLARGE,
					      "message over %zu bytes", size);
		memcpy((char *)buf + at, texts[i], len + 1);
		at += len + 1;
	}
	if (at > size)
		return neap_error_set(err, NEAP_ETOOLARGE, "message over %zu bytes",
				      size);
	memcpy(buf, head, sizeof(*head));
	*ret_len = at;
	return 0;
}

static int get(const void *msg, size_t len, uint32_t magic, const size_t limits[TEXTS],
	       struct head *head, const char *texts[TEXTS], struct neap_error *err)
{
	const char *bytes = msg;
	size_t at = sizeof(*head);

	if (len < sizeof(*head) || len > NEAP_WIRE_MAX)
		return neap_error_set(err, NEAP_EINVAL, "message of %zu bytes", len);
	memcpy(head, msg, sizeof(*head));
	if (head->magic != magic || head->reserved != 0)
		return neap_error_set(err, NEAP_EINVAL, "not a message of this kind");
	if (head->op >= NEAP_HAND_OP_COUNT)
		return neap_error_set(err, NEAP_EINVAL, "unknown operation %u", head->op);
	if (head->key > NEAP_KEY_COUNT)
		return neap_error_set(err, NEAP_EINVAL, "unknown key %u", head->key);
	for (int i = 0; i < TEXTS; i++) {
		texts[i] = NULL;
		if (head->len[i] == ABSENT)
			continue;
		if (head->len[i] >= limits[i] || head->len[i] >= len - at)
			return neap_error_set(err, NEAP_EINVAL,
					      "text %d reaches over the end", i);
		if (bytes[at + head->len[i]] != '\0' ||
		    memchr(bytes + at, 0, head->len[i]))
			return neap_error_set(err, NEAP_EINVAL,
					      "text %d has a wrong length", i);
		texts[i] = bytes + at;
		at += head->len[i] + 1;
	}
	if (at != len)
		return neap_error_set(err, NEAP_EINVAL, "%zu bytes too many", len - at);
	return 0;
}

int neap_wire_format_request(const struct neap_hand_request *request, void *buf,
			     size_t size, size_t *ret_len, struct neap_error *err)
{
	const char *texts[TEXTS] = {0};
	struct head head = {
		.magic = REQUEST_MAGIC, .id = request->id, .key = NEAP_KEY_COUNT};
	const struct shape *shape;

	if ((unsigned)request->op >= NEAP_HAND_OP_COUNT ||
	    !shapes[request->op].is_request)
		return neap_error_set(err, NEAP_EINVAL,
				      "operation %d is none for the hand",
				      (int)request->op);
	shape = &shapes[request->op];
	head.op = request->op;
	if (shape->group && !request->group)
		return neap_error_set(err, NEAP_EINVAL, "the request names no group");
	if (shape->key && (unsigned)request->key >= NEAP_KEY_COUNT)
		return neap_error_set(err, NEAP_EINVAL, "unknown key %d",
				      (int)request->key);
	if (shape->value && !request->value)
		return neap_error_set(err, NEAP_EINVAL, "the request has no value");
	if (shape->group)
		texts[0] = request->group;
	if (shape->value) {
		texts[1] = request->value;
		texts[2] = shape->key ? request->found : NULL;
	}
	if (shape->key)
		head.key = request->key;
	return put(&head, texts, request_limits, buf, size, ret_len, err);
}

int neap_wire_parse_request(const void *msg, size_t len, struct neap_hand_request *ret,
			    struct neap_error *err)
{
	const char *texts[TEXTS];
	const struct shape *shape;
	struct head head;
	int rc = get(msg, len, REQUEST_MAGIC, request_limits, &head, texts, err);

	if (rc < 0)
		return rc;
	shape = &shapes[head.op];
	if (!shape->is_request)
		return neap_error_set(err, NEAP_EINVAL,
				      "operation %u is none for the hand", head.op);
	if (head.errnum || head.pid || shape->group != !!texts[0] ||
	    shape->value != !!texts[1] || (texts[2] && !(shape->value && shape->key)) ||
	    texts[3] || shape->key != (head.key < NEAP_KEY_COUNT))
		return neap_error_set(err, NEAP_EINVAL, "operation %u with wrong parts",
				      head.op);

	*ret = (struct neap_hand_request){
		.id = head.id,
		.op = head.op,
		.group = texts[0],
		.key = head.key,
		.value = texts[1],
		.found = texts[2],
		.fd = -1,
	};
	return 0;
}

int neap_wire_format_answer(const struct neap_hand_answer *answer, void *buf, size_t size,
			    size_t *ret_len, struct neap_error *err)
{
	char text[NEAP_WIRE_TEXT] = "";
	const char *texts[TEXTS] = {
		answer->group ? answer->group : "",
		answer->old_value ? answer->old_value : "",
		answer->new_value ? answer->new_value : "",
		text,
	};
	struct head head = {
		.magic = ANSWER_MAGIC,
		.op = answer->op,
		.id = answer->id,
		.key = answer->key,
		.errnum = answer->errnum,
		.pid = answer->pid,
	};

	if (answer->text)
		(void)neap_strcopy(text, sizeof(text), answer->text); /* cut is fine */
	if (head.op >= NEAP_HAND_OP_COUNT || head.key > NEAP_KEY_COUNT ||
	    head.errnum < 0 || head.pid < 0)
		return neap_error_set(err, NEAP_EINVAL, "not an answer");
	return put(&head, texts, answer_limits, buf, size, ret_len, err);
}

int neap_wire_parse_answer(const void *msg, size_t len, struct neap_hand_answer *ret,
			   struct neap_error *err)
{
	const char *texts[TEXTS];
	struct head head;
	int rc = get(msg, len, ANSWER_MAGIC, answer_limits, &head, texts, err);

	if (rc < 0)
		return rc;
	for (int i = 0; i < TEXTS; i++)
		if (!texts[i])
			return neap_error_set(err, NEAP_EINVAL,
					      "an answer without text %d", i);
	if (head.errnum < 0 || head.pid < 0)
		return neap_error_set(err, NEAP_EINVAL,
				      "an answer with a negative number");

	*ret = (struct neap_hand_answer){
		.id = head.id,
		.op = head.op,
		.key = head.key,
		.errnum = head.errnum,
		.pid = head.pid,
		.group = texts[0],
		.old_value = texts[1],
		.new_value = texts[2],
		.text = texts[3],
		.fd = -1,
	};
	return 0;
}

size_t neap_wire_length(const void *bytes, size_t len)
{
	struct head head;
	size_t sum = sizeof(head);

	if (len < sizeof(head))
		return len;
	memcpy(&head, bytes, sizeof(head));
	for (int i = 0; i < TEXTS; i++) {
		if (head.len[i] == ABSENT)
			continue;
		if (head.len[i] >= len - sum)
			return len;
		sum += (size_t)head.len[i] + 1;
	}
	return sum;
}

void neap_wire_guess(const void *msg, size_t len, uint64_t *ret_id,
		     enum neap_hand_op *ret_op)
{
	struct head head;

	*ret_id = 0;
	*ret_op = NEAP_HAND_SET;
	if (len < sizeof(head))
		return;
	memcpy(&head, msg, sizeof(head));
	if (head.magic != REQUEST_MAGIC)
		return;
	*ret_id = head.id;
	if (head.op < NEAP_HAND_OP_COUNT)
		*ret_op = head.op;
}
