/* SPDX-License-Identifier: Apache-2.0
 *
 * Areas cpuset-format, conversions, cgroup_paths. */
#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/machine/cpuset.h"
#include "engine/machine/key.h"
#include "engine/machine/path.h"
#include "t/vectors/vectors.h"

/* beyond: ids that no machine has, above all of the set. */
static int cpus_array(const struct neap_cpuset *set, const int *beyond, size_t count,
		      json_t **ret, struct neap_error *err)
{
	json_t *array = json_array();
	bool is_whole = array;
	int os_cpu;

	for (os_cpu = neap_cpuset_next(set, -1); os_cpu >= 0;
	     os_cpu = neap_cpuset_next(set, os_cpu))
		is_whole = is_whole &&
			   json_array_append_new(array, json_integer(os_cpu)) == 0;
	for (size_t i = 0; i < count; i++)
		is_whole = is_whole &&
			   json_array_append_new(array, json_integer(beyond[i])) == 0;
	if (!is_whole) {
		json_decref(array);
		return neap_error_nomem(err);
	}
	return vector_answer_new(array, ret, err);
}

static json_int_t id_at(const json_t *cpus, size_t i)
{
	return json_integer_value(json_array_get(cpus, i));
}

/* As neap_cpuset_format writes it, with ids that fit no set. */
static void write_list(const json_t *cpus, struct neap_buf *to)
{
	for (size_t i = 0, end; i < json_array_size(cpus); i = end) {
		for (end = i + 1; end < json_array_size(cpus); end++)
			if (id_at(cpus, end) != id_at(cpus, end - 1) + 1)
				break;
		neap_buf_addf(to, "%s%" JSON_INTEGER_FORMAT, i > 0 ? "," : "",
			      id_at(cpus, i));
		if (end - i > 1)
			neap_buf_addf(to, "-%" JSON_INTEGER_FORMAT, id_at(cpus, end - 1));
	}
}

/* A list that cannot be parsed is an answer here, not a failure. */
static int cpuset_parse(struct vector_context *context, json_t *given, json_t **ret,
			struct neap_error *err)
{
	neap_auto_free char *known = neap_alloc(NEAP_CPUSET_TEXT);
	neap_auto_free int *beyond = NULL;
	const char *input = vector_text(given, "input");
	struct neap_cpuset set, again;
	struct neap_buf canonical;
	json_t *cpus = NULL;
	size_t count = 0;
	bool failed;
	int rc;

	(void)context;
	if (input == NULL)
		return vector_bad(err, "input is no text");
	if (known == NULL)
		return neap_error_nomem(err);
	failed = neap_cpuset_parse_beyond(&set, input, &beyond, &count, NULL) < 0;
	if (failed)
		neap_cpuset_clear(&set);
	(void)neap_cpuset_format(&set, known, NEAP_CPUSET_TEXT);
	if (neap_cpuset_parse_kernel(&again, known, NULL) < 0 ||
	    !neap_cpuset_is_equal(&set, &again))
		return vector_bad(err, "'%.80s' does not read back", known);
	rc = cpus_array(&set, beyond, count, &cpus, err);
	if (rc < 0)
		return rc;
	neap_buf_init(&canonical, NEAP_BUF_LINE * 2);
	write_list(cpus, &canonical);
	if (count == 0 && strcmp(canonical.data, known) != 0)
		rc = vector_bad(err, "'%.80s' is written as '%.80s'", canonical.data,
				known);
	if (rc == 0)
		rc = vector_answer_new(json_pack("{s:b, s:O, s:s}", "want_error", failed,
						 "want_cpus", cpus, "want_canonical",
						 canonical.data),
				       ret, err);
	json_decref(cpus);
	neap_buf_done(&canonical);
	return rc;
}

static int integer(const json_t *given, const char *key, int64_t *ret,
		   struct neap_error *err)
{
	const json_t *value = json_object_get(given, key);

	if (!json_is_integer(value))
		return vector_bad(err, "%s is no whole number", key);
	*ret = json_integer_value(value);
	return 0;
}

static int answer_integer(const char *key, int64_t value, json_t **ret,
			  struct neap_error *err)
{
	return vector_answer_new(json_pack("{s:I}", key, (json_int_t)value), ret, err);
}

/* The shares are the text of a file, so that they may be no number at all. */
static int shares_to_weight(struct vector_context *context, json_t *given, json_t **ret,
			    struct neap_error *err)
{
	const char *text = vector_text(given, "shares");
	int64_t shares = 0, weight = 0;
	int rc = text != NULL ? neap_int_parse(text, &shares, err)
			      : integer(given, "shares", &shares, err);

	(void)context;
	if (rc == 0)
		rc = neap_shares_to_weight(shares, NEAP_WEIGHT_LINEAR, &weight, err);
	return rc < 0 ? rc : answer_integer("weight", weight, ret, err);
}

static int weight_to_shares(struct vector_context *context, json_t *given, json_t **ret,
			    struct neap_error *err)
{
	int64_t weight = 0, shares = 0;
	int rc = integer(given, "weight", &weight, err);

	(void)context;
	if (rc == 0)
		rc = neap_weight_to_shares(weight, &shares, err);
	return rc < 0 ? rc : answer_integer("shares", shares, ret, err);
}

static int cpu_max_quota(struct vector_context *context, json_t *given, json_t **ret,
			 struct neap_error *err)
{
	const char *text = vector_text(given, "text");
	int64_t quota = 0;
	int rc;

	(void)context;
	if (text == NULL)
		return vector_bad(err, "text is no text");
	rc = neap_cpu_max_parse(text, &quota, err);
	return rc < 0 ? rc : answer_integer("quota", quota, ret, err);
}

static int milli_to_shares(struct vector_context *context, json_t *given, json_t **ret,
			   struct neap_error *err)
{
	int64_t milli = 0;
	int rc = integer(given, "milli", &milli, err);

	(void)context;
	return rc < 0 ? rc
		      : answer_integer("shares", neap_milli_to_shares(milli), ret, err);
}

static int milli_to_quota(struct vector_context *context, json_t *given, json_t **ret,
			  struct neap_error *err)
{
	int64_t milli = 0;
	int rc = integer(given, "milli", &milli, err);

	(void)context;
	return rc < 0 ? rc
		      : answer_integer("quota", neap_milli_to_quota(milli), ret, err);
}

static int answer_text(const char *key, int rc, const char *text, json_t **ret,
		       struct neap_error *err)
{
	return rc < 0 ? rc : vector_answer_new(json_pack("{s:s}", key, text), ret, err);
}

static int driver_of(const json_t *given, enum neap_cgroup_driver *ret,
		     struct neap_error *err)
{
	const char *text = vector_text(given, "driver");

	if (text == NULL ||
	    (strcmp(text, "systemd") != 0 && strcmp(text, "cgroupfs") != 0))
		return vector_bad(err, "driver is not known");
	*ret = text[0] == 's' ? NEAP_DRIVER_SYSTEMD : NEAP_DRIVER_CGROUPFS;
	return 0;
}

static int pod_dir(struct vector_context *context, json_t *given, json_t **ret,
		   struct neap_error *err)
{
	const char *qos_text = vector_text(given, "kubeQOS"),
		   *uid = vector_text(given, "uid");
	enum neap_cgroup_driver driver = NEAP_DRIVER_SYSTEMD;
	enum neap_kube_qos qos = NEAP_KUBE_GUARANTEED;
	char path[NEAP_PATH_MAX];
	int rc = driver_of(given, &driver, err);

	(void)context;
	if (rc < 0)
		return rc;
	if (qos_text == NULL || uid == NULL)
		return vector_bad(err, "kubeQOS or uid is no text");
	rc = neap_kube_qos_parse(qos_text, &qos, err);
	if (rc == 0)
		rc = neap_path_pod_dir(driver, neap_path_kube_root(driver), qos, uid,
				       path, sizeof(path), err);
	return answer_text("path", rc, path, ret, err);
}

typedef int parse_fn(enum neap_cgroup_driver driver, const char *name, char *buf,
		     size_t size, struct neap_error *err);

static int parse_name(parse_fn *parse, json_t *given, json_t **ret,
		      struct neap_error *err)
{
	const char *name = vector_text(given, "name");
	enum neap_cgroup_driver driver = NEAP_DRIVER_SYSTEMD;
	char id[NEAP_PATH_MAX];
	int rc = driver_of(given, &driver, err);

	if (rc == 0 && name == NULL)
		rc = vector_bad(err, "name is no text");
	if (rc == 0)
		rc = parse(driver, name, id, sizeof(id), err);
	return answer_text("id", rc, id, ret, err);
}

static int pod_id(struct vector_context *context, json_t *given, json_t **ret,
		  struct neap_error *err)
{
	(void)context;
	return parse_name(neap_path_parse_pod, given, ret, err);
}

static int container_id(struct vector_context *context, json_t *given, json_t **ret,
			struct neap_error *err)
{
	(void)context;
	return parse_name(neap_path_parse_container, given, ret, err);
}

/* A text that may be missing; false when it is too long or no text. */
static bool take_text(const json_t *object, const char *key, char *to, size_t size)
{
	const json_t *value = json_object_get(object, key);

	to[0] = '\0';
	return value == NULL || json_is_null(value) ||
	       (json_is_string(value) &&
		neap_strcopy(to, size, json_string_value(value)));
}

static int host_app_of(const json_t *from, struct neap_host_app *app,
		       struct neap_error *err)
{
	const json_t *path = json_object_get(from, "cgroupPath");
	char qos[16], base[32];

	memset(app, 0, sizeof(*app));
	if (!take_text(from, "name", app->name, sizeof(app->name)) ||
	    !take_text(from, "qos", qos, sizeof(qos)))
		return vector_bad(err, "name or qos is no text");
	app->qos = neap_qos_parse(qos);
	if (path == NULL || json_is_null(path))
		return 0;
	app->has_path = true;
	if (!take_text(path, "base", base, sizeof(base)) ||
	    !take_text(path, "parentDir", app->parent_dir, sizeof(app->parent_dir)) ||
	    !take_text(path, "relativePath", app->relative_path,
		       sizeof(app->relative_path)))
		return vector_bad(err, "cgroupPath holds no texts");
	/* Without a base the path starts at the hierarchy's root. */
	return base[0] == '\0' ? 0 : neap_host_base_parse(base, &app->base, err);
}

static int host_app_dir(struct vector_context *context, json_t *given, json_t **ret,
			struct neap_error *err)
{
	const json_t *from = json_object_get(given, "app");
	enum neap_cgroup_driver driver = NEAP_DRIVER_SYSTEMD;
	struct neap_host_app app;
	char path[NEAP_PATH_MAX] = "";
	int rc = driver_of(given, &driver, err);

	(void)context;
	/* No application has no directory. */
	if (rc < 0 || from == NULL || json_is_null(from))
		return answer_text("path", rc, path, ret, err);
	rc = host_app_of(from, &app, err);
	if (rc == 0)
		rc = neap_path_host_app(driver, &app, path, sizeof(path), err);
	return answer_text("path", rc, path, ret, err);
}

static const char *const input_keys[] = {"input", NULL};
static const char *const shares_keys[] = {"shares", NULL};
static const char *const weight_keys[] = {"weight", NULL};
static const char *const text_keys[] = {"text", NULL};
static const char *const milli_keys[] = {"milli", NULL};
static const char *const pod_dir_keys[] = {"driver", "kubeQOS", "uid", NULL};
static const char *const name_keys[] = {"driver", "name", NULL};
static const char *const host_app_keys[] = {
	"driver",
	"app",
	"app.name",
	"app.qos",
	"app.priority",
	"app.cgroupPath",
	"app.cgroupPath.base",
	"app.cgroupPath.parentDir",
	"app.cgroupPath.relativePath",
	NULL,
};

const struct vector_row vector_cpuset_rows[] = {
	{"cpuset-format", "parse", input_keys, cpuset_parse, .null_is_any = true},
	{0},
};

const struct vector_row vector_conversion_rows[] = {
	{"conversions", "shares_to_weight", shares_keys, shares_to_weight},
	{"conversions", "weight_to_shares", weight_keys, weight_to_shares},
	{"conversions", "cpu_max_quota", text_keys, cpu_max_quota},
	{"conversions", "milli_to_shares", milli_keys, milli_to_shares},
	{"conversions", "milli_to_quota", milli_keys, milli_to_quota},
	{0},
};

const struct vector_row vector_path_rows[] = {
	{"cgroup_paths", "pod_dir", pod_dir_keys, pod_dir},
	{"cgroup_paths", "pod_id", name_keys, pod_id},
	{"cgroup_paths", "container_id", name_keys, container_id},
	{"cgroup_paths", "host_app_dir", host_app_keys, host_app_dir},
	{0},
};
