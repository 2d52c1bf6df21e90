/* SPDX-License-Identifier: Apache-2.0
 *
 * Cells of declared kinds: parsed paths, and the values that they find. */
#ifndef NEAP_API_KUBE_PRINT_TABLE_PRIV_H
#define NEAP_API_KUBE_PRINT_TABLE_PRIV_H

#include "api/kube/print/table.h"
#include "engine/base/buf.h"

#define NEAP_KUBE_PATH_BYTES   512 /* of one path */
#define NEAP_KUBE_PATH_STEPS   64  /* of one path, including those inside filters */
#define NEAP_KUBE_PATH_FILTERS 4   /* nesting of filters */
/* Values visited by one evaluation; a path that needs more gives no cell. */
#define NEAP_KUBE_PATH_WORK 20000

enum neap_kube_step_type {
	NEAP_KUBE_STEP_NAME,   /* .name ['name'] */
	NEAP_KUBE_STEP_ALL,    /* .* [*] */
	NEAP_KUBE_STEP_BELOW,  /* .. */
	NEAP_KUBE_STEP_SLICE,  /* [2] [-1] [1:3] [::2] */
	NEAP_KUBE_STEP_FILTER, /* [?(@.a == 'b')] */
};

enum neap_kube_path_op {
	NEAP_KUBE_PATH_EXISTS,
	NEAP_KUBE_PATH_EQ,
	NEAP_KUBE_PATH_NE,
	NEAP_KUBE_PATH_LT,
	NEAP_KUBE_PATH_LE,
	NEAP_KUBE_PATH_GT,
	NEAP_KUBE_PATH_GE,
};

/* A comparable value. */
struct neap_kube_scalar {
	json_type type; /* JSON_OBJECT: none */
	const char *text;
	json_int_t integer;
	double real;
};

/* One side of a comparison: a constant, or a path. */
struct neap_kube_operand {
	bool is_path, from_root;
	int first; /* step, -1: none */
	struct neap_kube_scalar constant;
};

struct neap_kube_step {
	enum neap_kube_step_type type;
	bool is_or; /* an alternative to the previous step: [0,2] ['a','b'] */
	int next;   /* -1 ends */
	const char *name;
	bool has_from, has_to;
	int64_t from, to, stride;
	enum neap_kube_path_op op;
	struct neap_kube_operand left, right;
};

/* Names point into the struct: do not copy it. */
struct neap_kube_path {
	int first, count;
	struct neap_kube_step steps[NEAP_KUBE_PATH_STEPS];
	char names[NEAP_KUBE_PATH_BYTES + 2]; /* without quotes and backslashes */
	size_t names_len;
};

/* Values found; they belong to the object. */
struct neap_kube_values {
	const json_t **list; /* NULL: they are in few */
	size_t count, size;
	const json_t *few[4];
};

/* Returns 0, or -NEAP_EINVAL with what is wrong and where. The path keeps no reference to
 * text. */
int neap_kube_path_parse(const char *text, struct neap_kube_path *ret,
			 struct neap_error *err);
/* Finds all values except nulls. Returns 0, -NEAP_ENOMEM, or -NEAP_ETOOLARGE over
 * NEAP_KUBE_PATH_WORK. The caller calls done on *ret in any case. */
int neap_kube_path_walk(const struct neap_kube_path *path, const json_t *object,
			struct neap_kube_values *ret);
const json_t *neap_kube_values_get(const struct neap_kube_values *values, size_t i);
void neap_kube_values_done(struct neap_kube_values *values);

/* Formats one or more values: scalars without quotes, lists and objects as JSON,
 * separated by commas. Returns 0, -NEAP_ENOMEM, or -NEAP_ETOOLARGE above 64 KiB. */
int neap_kube_values_text(const struct neap_kube_values *values, json_t **ret);

/* Parses an RFC 3339 text; NEAP_MISSING for anything else, and for Go's zero time. */
int64_t neap_kube_time(const json_t *time);
/* Writes its age, "<unknown>" when missing; like neap_kube_age. */
char *neap_kube_time_age(const json_t *time, int64_t now, char *buf, size_t size);

#endif
