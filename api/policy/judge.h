/* SPDX-License-Identifier: Apache-2.0
 *
 * Is this text fit to go live? The checks of an upload, in order: size and text, compile, the chunk
 * under its budget, the table against its kind, parameters in force against its schema, its
 * examples, the recorded inputs of this node, and without either an input made up for its kind. Pure: it reads no file, touches nothing
 * that runs, and may be called on any thread.
 *
 * Up to the table only the first problem can be known; parameters and examples are checked as a whole.
 * Recorded inputs refuse a version only if its faults on them would take it out of service
 * ("is_failed" of lua/run/replay.h); differences are listed. Everything together has 2 s of CPU time. */
#ifndef NEAP_API_POLICY_JUDGE_H
#define NEAP_API_POLICY_JUDGE_H

#include <jansson.h>

#include "lua/run/policy.h"
#include "lua/run/record.h"

/* A text with the parameters that it is to run under. Borrowed by the judge. */
struct neap_judge_side {
	const char *text; /* NULL: there is none */
	size_t len;
	const char *origin;                 /* name in messages */
	const struct neap_param_text *base; /* of the configuration, as text */
	int base_count;
	const json_t *params; /* set while it ran, JSON values by name; may be NULL */
};

struct neap_judge_input {
	struct neap_judge_side newer;
	struct neap_judge_side
		older;           /* what runs under the same name; text NULL: nothing */
	const char *kind, *name; /* as the table must name them; NULL: whatever it says */
	const struct neap_tape *tape; /* NULL: no replay */
	bool has_examples_off;        /* a version that passed them before */
	/* Whoever brings it is no admin, or it comes by itself: what only an admin may load (lua/run/kind.c) is refused. */
	bool is_by_editor;
	/* Name of the policy with that in service, of which one at a time can be; NULL: none. */
	const char *replacer;
};

/* One thing that is wrong. line 0: of no line. */
struct neap_problem {
	int line;
	char example[80]; /* "" when it is not about one */
	char what[400];   /* with what would be right */
};

#define NEAP_PROBLEMS_MAX 16

struct neap_verdict {
	struct neap_policy *policy; /* ready for service, memo empty; NULL when refused */
	/* The first problem, as one line with origin and line. NEAP_EUNAVAILABLE: the machine was too
	 * busy to tell; no fault of the text. NEAP_ECONFLICT: the text is right, but not with the
	 * parameters in force, or its examples want something else. */
	struct neap_error err;
	struct neap_problem problems[NEAP_PROBLEMS_MAX];
	int problem_count;             /* of those listed */
	int examples, examples_failed; /* that were run, and of these */
	bool is_made; /* there were neither examples nor recorded inputs: a made one was tried */
	json_t *replay; /* lua/run/replay.h, NULL without or when something else is wrong */
	int64_t cpu_usec; /* of all of it */
};

/* 0: fit; -code: refused or no memory. neap_verdict_done in both cases (unless policy is taken out). */
int neap_judge(const struct neap_judge_input *input, struct neap_verdict *ret,
	       struct neap_error *err);
void neap_verdict_done(struct neap_verdict *verdict);
/* "ORIGIN:12: what" cut into its line and the rest; 0 when there is no line (the rest is then without
 * the origin). Also when Lua has shortened a long origin to its end. */
int neap_problem_cut(const char *message, const char *origin, const char **ret_rest);

#endif
