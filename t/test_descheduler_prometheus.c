/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounds whose strategies go by the figures of a Prometheus: answers, and what is none;
 * a strategy without its figures fails and the others go on; what comes too late. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/deschedule/play/samples.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "lua/replay/replay.h"
#include "lua/run/registry.h"
#include "t/lib/descheduler_rig.h"
#include "t/lib/patience.h"

/* --- answers --- */

#define VECTOR(list)                                                                     \
	"{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[" list  \
	"]}}"
#define ONE(node, value)                                                                 \
	"{\"metric\":{\"instance\":\"" node "\",\"job\":\"j\"},\"value\":[1.5,\"" value  \
	"\"]}"

static const struct {
	const char *text;
	const char *want; /* "n1=0.5 ", or some of the error */
	enum neap_code code;
} answers[] = {
	{VECTOR(ONE("n1", "0.5") "," ONE("n2", "1")), "n1=0.5 n2=1 ", NEAP_OK},
	{VECTOR(""), "", NEAP_OK},
	{VECTOR(ONE("n1", "0")), "n1=0 ", NEAP_OK},
	{VECTOR(ONE("n1", "2.5e-1")), "n1=0.25 ", NEAP_OK},
	{VECTOR(ONE("n1", "NaN")), "the value of 'n1' is NaN, and must be from 0 to 1",
	 NEAP_EINVAL},
	{VECTOR(ONE("n1", "+Inf")), "is +Inf, and must be", NEAP_EINVAL},
	{VECTOR(ONE("n1", "1.01")), "is 1.01, and must be", NEAP_EINVAL},
	{VECTOR(ONE("n1", "-0.1")), "is -0.1, and must be", NEAP_EINVAL},
	{VECTOR(ONE("n1", "half")), "is not a number: 'half'", NEAP_EINVAL},
	{VECTOR(ONE("n1", "")), "no single value for 'n1'", NEAP_EINVAL},
	{VECTOR("{\"metric\":{\"instance\":\"n1\"},\"value\":[1,0.5]}"),
	 "no single value for 'n1'", NEAP_EINVAL},
	{VECTOR("{\"metric\":{\"instance\":\"n1\"},\"histogram\":[1,{}]}"),
	 "no single value for 'n1'", NEAP_EINVAL},
	{VECTOR("{\"metric\":{\"node\":\"n1\"},\"value\":[1,\"0.5\"]}"),
	 "no label instance", NEAP_EINVAL},
	{VECTOR("7"), "no label instance", NEAP_EINVAL},
	{"{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[]}}",
	 "an instant vector, not 'matrix'", NEAP_EINVAL},
	{"{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":{}}}",
	 "an instant vector", NEAP_EINVAL},
	{"{\"status\":\"error\",\"errorType\":\"timeout\",\"error\":\"too long\"}",
	 "the query failed: too long", NEAP_EINVAL},
	{"{}", "the query failed", NEAP_EINVAL},
	{"[]", "the query failed", NEAP_EINVAL},
	{"<html>", "the answer is not JSON", NEAP_EINVAL},
	{"", "the answer is not JSON", NEAP_EINVAL},
};

static void read_answer(const char *text, size_t len, char *got, size_t size,
			enum neap_code *ret_code)
{
	struct neap_samples *samples = NULL;
	struct neap_error err = {0};
	size_t used = 0;
	int rc = neap_samples_parse(text, len, &samples, &err);

	*ret_code = rc < 0 ? err.code : NEAP_OK;
	assert_true((rc < 0) == (samples == NULL));
	(void)snprintf(got, size, "%s", rc < 0 ? err.msg : "");
	for (size_t i = 0; samples && i < samples->count; i++)
		used += (size_t)snprintf(got + used, size - used, "%s=%g ",
					 samples->list[i].node, samples->list[i].value);
	neap_samples_free(samples);
}

static void test_answers(void **state)
{
	char got[512];
	enum neap_code code;

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(answers); i++) {
		const char *text = answers[i].text;

		read_answer(text, strlen(text), got, sizeof(got), &code);
		if (code != answers[i].code || (code ? !strstr(got, answers[i].want)
						     : strcmp(got, answers[i].want) != 0))
			fail_msg("%s: %s", text, got);
	}
}

/* Both its bytes and its values are bounded, as either costs memory. */
static void test_large_answers(void **state)
{
	neap_auto_free char *text = neap_alloc(NEAP_SAMPLES_BYTES_MAX + 2);
	char got[512];
	enum neap_code code;

	(void)state;
	memset(text, ' ', NEAP_SAMPLES_BYTES_MAX + 1);
	memcpy(text, VECTOR(""), strlen(VECTOR("")));
	read_answer(text, NEAP_SAMPLES_BYTES_MAX, got, sizeof(got), &code);
	assert_int_equal(code, NEAP_OK);
	read_answer(text, NEAP_SAMPLES_BYTES_MAX + 1, got, sizeof(got), &code);
	assert_int_equal(code, NEAP_ETOOLARGE);
	for (size_t i = 0; i + 1 < NEAP_SAMPLES_BYTES_MAX; i += 2)
		memcpy(text + i, i ? ",1" : "[1", 2);
	text[NEAP_SAMPLES_BYTES_MAX - 1] = ']';
	read_answer(text, NEAP_SAMPLES_BYTES_MAX, got, sizeof(got), &code);
	assert_int_equal(code, NEAP_ETOOLARGE);
}

/* --- rounds --- */

/* Every pod leaves the nodes above 0.5. */
static const char by_sample[] =
	"return { api = 1, kind = 'deschedule', name = 'by-sample', plugin = 'BySample',\n"
	"  point = 'balance',\n"
	"  params = { metricsUtilization = { type = 'object', doc = 'd', fields = {\n"
	"    source = { type = 'string', doc = 's' },\n"
	"    prometheus = { type = 'object', doc = 'p', fields = {\n"
	"      query = { type = 'string', doc = 'q' } } } } } },\n"
	"  run = function(ctx, round)\n"
	"    for _, node in ipairs(round:nodes()) do\n"
	"      if not node.sample then error('no sample of ' .. node.name) end\n"
	"    end\n"
	"    for _, node in ipairs(round:nodes()) do\n"
	"      if node.sample > 0.5 then\n"
	"        for _, pod in ipairs(node:pods()) do round:evict(pod, 'full') end\n"
	"      end\n"
	"    end\n"
	"  end }\n";
/* No figures are left over for others. */
static const char has_none[] =
	"return { api = 1, kind = 'deschedule', name = 'has-none', plugin = 'HasNone',\n"
	"  point = 'balance',\n"
	"  run = function(ctx, round)\n"
	"    for _, node in ipairs(round:nodes()) do\n"
	"      if node.sample then error('a sample is left') end\n"
	"    end\n"
	"  end }\n";

#define ARGS(query)                                                                      \
	"{metricsUtilization: {source: Prometheus, prometheus: {query: '" query "'}}}"
#define TEXT(providers, plugins, config)                                                 \
	"apiVersion: descheduler/v1alpha2\n"                                             \
	"kind: DeschedulerPolicy\n" providers "profiles:\n"                              \
	"- name: p\n"                                                                    \
	"  pluginConfig: [{name: DefaultEvictor}, " config ", {name: HasNone}]\n"        \
	"  plugins: {balance: {enabled: [" plugins "]}}\n"
#define URL                                                                              \
	"metricsProviders:\n"                                                            \
	"- source: Prometheus\n"                                                         \
	"  prometheus: {url: 'http://p:9090', authToken: {secretReference: "             \
	"{namespace: m, name: t}}}\n"
#define BY_SAMPLE                                                                        \
	TEXT(URL, "BySample, HasNone", "{name: BySample, args: " ARGS("load") "}")

/* What a Prometheus was asked, and what it says. */
static struct {
	char asked[256]; /* "URL NS/NAME QUERY;" */
	const char *answer;
	const char *why;
	bool is_late;
	neap_deschedule_answered *told;
	void *arg;
} prometheus;

static void answer_late(void)
{
	const char *text = prometheus.answer;

	prometheus.told(prometheus.arg, text ? neap_strdup(text) : NULL,
			text ? strlen(text) : 0, prometheus.why);
}

static void query(void *arg, const struct neap_deschedule_prometheus *from,
		  const char *text, neap_deschedule_answered *told, void *told_arg)
{
	size_t len = strlen(prometheus.asked);

	(void)arg;
	(void)snprintf(prometheus.asked + len, sizeof(prometheus.asked) - len,
		       "%s %s/%s %s;", from->url ? from->url : "", from->secret_ns,
		       from->secret_name, text);
	prometheus.told = told;
	prometheus.arg = told_arg;
	if (!prometheus.is_late)
		answer_late();
}

static struct descheduler_rig *begin(void **state, const char *text)
{
	struct descheduler_rig *rig = *state;

	memset(&prometheus, 0, sizeof(prometheus));
	descheduler_upload(rig, by_sample);
	descheduler_upload(rig, has_none);
	rig->config.query = query;
	descheduler_pod(rig, "a", "n1");
	descheduler_begin(rig);
	descheduler_use(rig, text);
	return rig;
}

static void counts(struct descheduler_rig *rig, int good, int bad)
{
	neap_auto_buf struct neap_buf out = {0};
	char want[256];

	(void)snprintf(want, sizeof(want),
		       "queries_total{result=\"success\"} %d\n"
		       "neap_deschedule_prometheus_queries_total{result=\"error\"} %d\n",
		       good, bad);
	neap_buf_init(&out, NEAP_BUF_FILE);
	neap_descheduler_add_metrics(rig->descheduler, &out);
	if (!strstr(out.data, want))
		fail_msg("%s", out.data);
}

/* Takes the status. */
static void wants_take(json_t *status, const char *const *want)
{
	descheduler_wants(status, want);
	json_decref(status);
}

#define WANTS_TAKE(json, ...) wants_take(json, (const char *const[]){__VA_ARGS__, NULL})

#define FULL VECTOR(ONE("n1", "0.8") "," ONE("n2", "0.1") "," ONE("elsewhere", "0.9"))

static void test_figures(void **state)
{
	struct descheduler_rig *rig = begin(state, BY_SAMPLE);

	prometheus.answer = FULL;
	json_decref(descheduler_rounds(rig, 1));
	WANTS_TAKE(descheduler_run(rig, 2), "round.strategies.0.strategy=BySample",
		   "round.strategies.0.result=ok", "round.strategies.1.strategy=HasNone",
		   "round.strategies.1.result=ok",
		   "prometheus.asked=2026-01-01T00:00:00Z", "!prometheus.error");
	assert_string_equal(descheduler_pods(rig), "");
	assert_string_equal(prometheus.asked,
			    "http://p:9090 m/t load;http://p:9090 m/t load;");
	counts(rig, 2, 0);
}

/* The figures are part of the recording: both versions get them, and no other policy. */
static void test_recorded(void **state)
{
	struct descheduler_rig *rig = *state;
	struct neap_policy *policy = NULL;
	struct neap_inputs inputs = {0};
	struct neap_error err = {0};
	char dir[96], *text, *bound;
	json_t *result = NULL;

	(void)snprintf(dir, sizeof(dir), "%s/rounds", rig->dir);
	rig->config.rounds_dir = dir;
	rig = begin(state, BY_SAMPLE);
	prometheus.answer = FULL;
	json_decref(descheduler_rounds(rig, 1));
	json_decref(descheduler_run(rig, 2));
	descheduler_wait(rig, "recording.rounds=2");
	text = neap_strdup(by_sample);
	bound = strstr(text, "> 0.5");
	assert_non_null(bound);
	bound[4] = '9';
	assert_int_equal(neap_policy_load(text, strlen(text), "t", &policy, &err), 0);
	inputs.rounds = neap_round_tape_new(dir);
	assert_int_equal(neap_policy_replay(NULL, policy, &inputs, INT64_C(60) * SECOND,
					    &result, &err),
			 0);
	WANTS(result, "faults=0", "differences.0.older.0=evict default/a: full",
	      "#differences.0.newer=0");
	json_decref(result);
	neap_inputs_done(&inputs);
	neap_policy_free(policy);
	free(text);
}

static const struct {
	const char *answer, *why, *error, *prometheus;
} failures[] = {
	{NULL, "http://p: no answer", "Prometheus: http://p: no answer",
	 "Prometheus: http://p: no answer"},
	{"<html>", NULL, "Prometheus: the answer is not JSON",
	 "Prometheus: the answer is not JSON"},
	{VECTOR(ONE("n1", "NaN")), NULL, "Prometheus: the value of 'n1' is NaN",
	 "Prometheus: the value of 'n1' is NaN"},
	{VECTOR(ONE("n1", "0.9")), NULL, "no sample of n2", "none"},
};

/* It fails with its reason as often as it takes, the others go on, and nobody leaves. */
static void test_failures(void **state)
{
	struct descheduler_rig *rig = begin(state, BY_SAMPLE);

	for (int i = 0; i < (int)NEAP_ARRAY_LEN(failures); i++) {
		json_t *status;
		const char *error;

		prometheus.answer = failures[i].answer;
		prometheus.why = failures[i].why;
		status = i ? descheduler_run(rig, i + 1) : descheduler_rounds(rig, 1);
		error = json_string_value(kube_at(status, "round.strategies.0.error"));
		if (!error || !strstr(error, failures[i].error))
			fail_msg("row %d: %s", i, error);
		error = json_string_value(kube_at(status, "prometheus.error"));
		if (!strstr(error ? error : "none", failures[i].prometheus))
			fail_msg("row %d: %s", i, error);
		WANTS(status, "round.strategies.0.result=failed",
		      "round.strategies.1.result=ok");
		json_decref(status);
		assert_string_equal(descheduler_pods(rig), "a");
	}
	counts(rig, 1, 3);
}

/* A policy is not blamed for a Prometheus that does not answer, or not for all nodes. */
static void test_no_blame(void **state)
{
	struct descheduler_rig *rig = begin(state, BY_SAMPLE);
	int round = 1;

	prometheus.why = "it is away";
	json_decref(descheduler_rounds(rig, round));
	while (++round < 8)
		json_decref(descheduler_run(rig, round));
	prometheus.answer = VECTOR(ONE("n1", "0.9"));
	for (; round < 14; round++)
		json_decref(descheduler_run(rig, round));
	assert_false(neap_registry_get(rig->registry, 0)->stats.is_failed);
	prometheus.answer = FULL;
	WANTS_TAKE(descheduler_run(rig, round), "round.strategies.0.result=ok");
	assert_string_equal(descheduler_pods(rig), "");
}

/* A round waits for its answer, and the loop does not. */
static void test_late(void **state)
{
	struct descheduler_rig *rig = begin(state, BY_SAMPLE);

	prometheus.answer = FULL;
	prometheus.is_late = true;
	descheduler_wait(rig, "state=running");
	if (!comes_true_in(rig->kube->base, prometheus.told != NULL))
		fail_msg("it was not asked");
	descheduler_pod(rig, "b", "n1");
	assert_string_equal(descheduler_pods(rig), "a b");
	answer_late();
	/* The pod that came meanwhile is in the round, too. */
	json_decref(descheduler_rounds(rig, 1));
	assert_string_equal(descheduler_pods(rig), "");
}

/* --- what changes before the answers are there --- */

static struct descheduler_rig *begin_late(void **state)
{
	struct descheduler_rig *rig = begin(state, BY_SAMPLE);

	prometheus.answer = FULL;
	prometheus.is_late = true;
	if (!comes_true_in(rig->kube->base, prometheus.told != NULL))
		fail_msg("it was not asked");
	return rig;
}

/* What follows asks again, and learns that nothing is to leave. */
static void answer_and_ask_again(struct descheduler_rig *rig, int64_t after_s)
{
	prometheus.is_late = false;
	prometheus.answer = VECTOR(ONE("n1", "0.1") "," ONE("n2", "0.1"));
	prometheus.told(prometheus.arg, neap_strdup(FULL), strlen(FULL), NULL);
	descheduler_now += after_s * SECOND;
	json_decref(descheduler_rounds(rig, 1));
	assert_string_equal(descheduler_pods(rig), "a");
}

static void test_pause_meanwhile(void **state)
{
	struct descheduler_rig *rig = begin_late(state);

	neap_descheduler_pause(rig->descheduler, "nobody");
	prometheus.is_late = false;
	answer_late();
	kube_run(rig->kube, 50);
	WANTS_TAKE(neap_descheduler_status(rig->descheduler, true), "state=paused",
		   "rounds=0", "!round");
	assert_string_equal(descheduler_pods(rig), "a");
	neap_descheduler_resume(rig->descheduler);
	json_decref(descheduler_rounds(rig, 1));
	assert_string_equal(prometheus.asked,
			    "http://p:9090 m/t load;http://p:9090 m/t load;");
	assert_string_equal(descheduler_pods(rig), "");
	counts(rig, 2, 0);
}

/* Who asks for a round gets it also while rounds are paused. */
static void test_asked_meanwhile(void **state)
{
	struct descheduler_rig *rig = begin(state, BY_SAMPLE);
	struct neap_error err = {0};

	prometheus.answer = VECTOR(ONE("n1", "0.1") "," ONE("n2", "0.1"));
	json_decref(descheduler_rounds(rig, 1));
	prometheus.is_late = true;
	prometheus.answer = FULL;
	assert_int_equal(neap_descheduler_run(rig->descheduler, "nobody", &err), 0);
	neap_descheduler_pause(rig->descheduler, "nobody");
	answer_late();
	WANTS_TAKE(descheduler_rounds(rig, 2), "round.because=asked for by nobody",
		   "state=paused");
	assert_string_equal(descheduler_pods(rig), "");
}

static void test_other_config_meanwhile(void **state)
{
	struct descheduler_rig *rig = begin_late(state);

	descheduler_use(rig, TEXT(URL, "BySample, HasNone",
				  "{name: BySample, args: " ARGS("other") "}"));
	answer_and_ask_again(rig, 0);
	assert_string_equal(prometheus.asked,
			    "http://p:9090 m/t load;http://p:9090 m/t other;");
}

static void test_other_policy_meanwhile(void **state)
{
	struct descheduler_rig *rig = begin_late(state);

	descheduler_upload(rig, by_sample);
	answer_and_ask_again(rig, 0);
}

static void told_nothing(void *arg, struct neap_deschedule_config *config,
			 const struct neap_deschedule_lines *lines,
			 const struct neap_error *err)
{
	(void)arg;
	(void)config;
	(void)lines;
	(void)err;
}

/* Somebody else's work keeps the thread busy until the answers are old. */
static void test_old_answers(void **state)
{
	struct descheduler_rig *rig = begin_late(state);
	struct neap_error err = {0};

	assert_int_equal(neap_descheduler_read(rig->descheduler, MOVE, "f.yaml",
					       told_nothing, NULL, &err),
			 0);
	answer_and_ask_again(rig, 31);
}

/* A round or a simulation ends with the descheduler before it is answered. */
static void test_end(void **state)
{
	struct descheduler_rig *rig = begin(state, BY_SAMPLE);

	prometheus.answer = FULL;
	prometheus.is_late = true;
	if (!comes_true_in(rig->kube->base, prometheus.told != NULL))
		fail_msg("it was not asked");
	neap_descheduler_free(rig->descheduler);
	rig->descheduler = NULL;
	answer_late();
	assert_string_equal(descheduler_pods(rig), "a");
}

static void done(void *arg, json_t *record, const struct neap_error *err)
{
	assert_null(record);
	assert_int_equal(err->code, NEAP_EUNAVAILABLE);
	*(bool *)arg = true;
}

static void test_end_of_simulation(void **state)
{
	const struct neap_simulation simulation = {.plugin = "BySample"};
	struct descheduler_rig *rig = begin(state, BY_SAMPLE);
	bool is_done = false;

	prometheus.answer = FULL;
	json_decref(descheduler_rounds(rig, 1));
	prometheus.is_late = true;
	prometheus.told = NULL;
	neap_descheduler_simulate(rig->descheduler, &simulation, done, &is_done);
	if (!comes_true_in(rig->kube->base, prometheus.told != NULL))
		fail_msg("it was not asked");
	assert_false(is_done);
	neap_descheduler_free(rig->descheduler);
	rig->descheduler = NULL;
	assert_true(is_done);
	answer_late();
}

/* A simulation asks for itself; all its rounds go by one answer. */
static void test_simulation(void **state)
{
	struct neap_simulation simulation = {.plugin = "BySample"};
	struct descheduler_rig *rig = begin(state, BY_SAMPLE);

	prometheus.answer = VECTOR(ONE("n1", "0.1") "," ONE("n2", "0.1"));
	json_decref(descheduler_rounds(rig, 1));
	prometheus.answer = FULL;
	descheduler_simulate(rig, &simulation);
	WANTS(rig->record, "evicted.0.pod=a");
	simulation.rounds = 3;
	prometheus.asked[0] = '\0';
	descheduler_simulate(rig, &simulation);
	WANTS(rig->record, "evicted.0.pod=a", "rounds.2.strategies.0.result=ok");
	assert_string_equal(prometheus.asked, "http://p:9090 m/t load;");
	/* One of another strategy has nothing to ask. */
	prometheus.asked[0] = '\0';
	simulation.plugin = "HasNone";
	descheduler_simulate(rig, &simulation);
	assert_string_equal(prometheus.asked, "");
	assert_string_equal(descheduler_pods(rig), "a");
}

/* Nobody to ask, and more queries than a round may make. */
static void test_nobody(void **state)
{
	struct descheduler_rig *rig = begin(state, MOVE);

	rig->config.query = NULL;
	neap_descheduler_free(rig->descheduler);
	descheduler_begin(rig);
	descheduler_use(rig, BY_SAMPLE);
	WANTS_TAKE(descheduler_rounds(rig, 1),
		   "round.strategies.0.error=Prometheus: nobody can be asked");
}

#define FOUR(n) PROFILE(n "0") PROFILE(n "1") PROFILE(n "2") PROFILE(n "3")
#define PROFILE(n)                                                                       \
	"- name: p" n "\n"                                                               \
	"  pluginConfig: [{name: DefaultEvictor}, {name: BySample, args: " ARGS(         \
		"q" n) "}, {name: BySecond, args: " ARGS("r" n) "}]\n"                   \
								"  plugins: {balance: {enabled: [BySample, BySecond]}}\n"

/* A round asks so much and no more. */
static void test_queries(void **state)
{
	struct descheduler_rig *rig = begin(state, MOVE);
	neap_auto_free char *second = neap_strdup(by_sample);

	memcpy(strstr(second, "by-sample"), "bb-sample", 9);
	memcpy(strstr(second, "BySample"), "BySecond", 8);
	descheduler_upload(rig, second);
	prometheus.answer = VECTOR(ONE("n1", "0.1") "," ONE("n2", "0.1"));
	descheduler_use(rig, "apiVersion: descheduler/v1alpha2\n"
			     "kind: DeschedulerPolicy\n"
			     "profiles:\n" FOUR("a") FOUR("b") PROFILE("c"));
	WANTS_TAKE(
		descheduler_rounds(rig, 1), "round.strategies.15.result=ok",
		"round.strategies.16.error=Prometheus: a round makes at most 16 queries",
		"round.strategies.17.result=failed");
	counts(rig, 16, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_large_answers),
#define ROW(test)                                                                        \
	cmocka_unit_test_setup_teardown(test, descheduler_setup, descheduler_teardown)
		ROW(test_figures),
		ROW(test_recorded),
		ROW(test_failures),
		ROW(test_no_blame),
		ROW(test_late),
		ROW(test_pause_meanwhile),
		ROW(test_asked_meanwhile),
		ROW(test_other_config_meanwhile),
		ROW(test_other_policy_meanwhile),
		ROW(test_old_answers),
		ROW(test_end),
		ROW(test_end_of_simulation),
		ROW(test_simulation),
		ROW(test_nobody),
		ROW(test_queries),
	};

	neap_json_setup();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
