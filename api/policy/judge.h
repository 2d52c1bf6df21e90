/* SPDX-License-Identifier: Apache-2.0
 *
 * Decides whether a text may go live. The checks of an upload, in order: size and text,
 * compilation, the chunk under its budget, the table against its kind, the parameters in
 * force against its schema, its examples, the recorded inputs of its kind, and without
 * either the kind's default input. It reads no file, touches nothing that runs, and may
 * be called on any thread.
 *
 * Up to the table only the first problem is reported; parameters and examples are checked
 * completely. Recorded inputs refuse a version only if its faults on them would take it
 * out of service ("is_failed" of lua/replay/replay.h); differences are listed. The whole
 * has 2 s of CPU time. */
#ifndef NEAP_API_POLICY_JUDGE_H
#define NEAP_API_POLICY_JUDGE_H

#include <jansson.h>

#include "lua/call/policy.h"
#include "lua/replay/inputs.h"

/* A text with the parameters it would run with. Borrowed by the judge. */
struct neap_judge_side {
	const char *text; /* NULL: there is none */
	size_t len;
	const char *origin;                 /* name in messages */
	const struct neap_param_text *base; /* from the configuration, as text */
	int base_count;
	const json_t *params; /* set over the API, JSON values by name; may be NULL */
};

struct neap_judge_input {
	struct neap_judge_side newer;
	struct neap_judge_side
		older;           /* the live version of the same name; text NULL: none */
	const char *kind, *name; /* expected in the table; NULL: any */
	const struct neap_inputs *inputs; /* NULL: no replay */
	/* skip the examples: a version that passed them before */
	bool has_examples_off;
	/* The uploader is not an admin, or nobody uploaded it: texts that require an
	 * admin (lua/run/kind.c) are refused. */
	bool is_by_editor;
	/* Name of the policy that already replaces owners, of which there can be one;
	 * NULL: none. */
	const char *replacer;
};

/* One problem. line 0: unknown. */
struct neap_problem {
	int line;
	char example[80]; /* "" when it is not about an example */
	char what[400];   /* what is wrong and what would be right */
};

#define NEAP_PROBLEMS_MAX 16

struct neap_judgement {
	struct neap_policy *policy; /* ready for service, memo empty; NULL when refused */
	/* The first problem as one line with origin and line. NEAP_EUNAVAILABLE: the
	 * machine was too busy, and the text is not at fault. NEAP_ECONFLICT: the text is
	 * right, but not with the parameters in force, or its examples expect something
	 * else. */
	struct neap_error err;
	struct neap_problem problems[NEAP_PROBLEMS_MAX];
	int problem_count;             /* of those listed */
	int examples, examples_failed; /* how many ran, and how many failed */
	/* without examples and recorded inputs, the default input was tried */
	bool is_made;
	/* lua/replay/replay.h; NULL without one, or when something else is wrong */
	json_t *replay;
	int64_t cpu_usec; /* of all checks */
};

/* Returns 0 when fit; -code when refused or without memory. Call neap_judgement_done in
 * both cases (after moving policy out, if wanted). */
int neap_judge(const struct neap_judge_input *input, struct neap_judgement *ret,
	       struct neap_error *err);
void neap_judgement_done(struct neap_judgement *verdict);
/* Splits "ORIGIN:12: what" into line number and rest; 0 when there is no line (the rest
 * is then without the origin). Handles a long origin that Lua shortened. */
int neap_problem_cut(const char *message, const char *origin, const char **ret_rest);

#endif
