/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a probe's spec. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/agent/pod/probe_priv.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

/* A number of seconds or attempts. Missing and 0 become a kube-apiserver's default. */
static int64_t number_at(const json_t *spec, const char *name, int64_t fallback)
{
	int64_t number = json_integer_value(json_object_get(spec, name));

	if (number > INT32_MAX)
		return INT32_MAX; /* the largest possible value */
	return number > 0 ? number : fallback;
}

/* --- where --- */

static int take_host(const json_t *way, struct probe_target *to, struct neap_error *err)
{
	const char *host = neap_json_text(way, "host");

	to->is_v6 = strcmp(host, "::1") == 0 || strcmp(host, "[::1]") == 0 ||
		    strcmp(host, "localhost") == 0;
	to->is_v4 = !*host || strcmp(host, "127.0.0.1") == 0 ||
		    strcmp(host, "localhost") == 0;
	if (to->is_v4 || to->is_v6)
		return 0;
	return neap_error_field(
		err, NEAP_EUNSUPPORTED, "host",
		"\"%.100s\": probes here ask this machine alone: leave it "
		"empty, or 127.0.0.1, ::1, localhost",
		host);
}

/* Takes a number, or the name of one of the container's ports. */
static int take_port(const json_t *way, const json_t *ports, struct probe_target *to,
		     struct neap_error *err)
{
	const json_t *port = json_object_get(way, "port"), *entry;
	const char *name = neap_json_text(way, "port");
	int64_t number = json_integer_value(port);
	size_t i;

	json_array_foreach (ports, i, entry) {
		if (*name && strcmp(neap_json_text(entry, "name"), name) == 0)
			number = json_integer_value(
				json_object_get(entry, "containerPort"));
	}
	if (*name && number == 0 && neap_int_parse(name, &number, err) < 0)
		return neap_error_field(err, NEAP_EINVAL, "port",
					"the container has no port \"%.64s\"", name);
	if (number < 1 || number > 65535)
		return neap_error_field(err, NEAP_EINVAL, "port",
					"must be between 1 and 65535");
	to->port = (int)number;
	return 0;
}

/* --- requests --- */

/* False if it has a line end, which would start another header. */
static bool is_clean(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return false;
	return true;
}

/* Adds the path in its wire form, up to a fragment. */
static void add_path(struct neap_buf *buf, const char *path)
{
	if (*path != '/')
		neap_buf_addc(buf, '/');
	for (; *path && *path != '#'; path++) {
		unsigned char c = (unsigned char)*path;

		if (c <= 0x20 || c >= 0x7f || strchr("\"<>\\^`{|}", c))
			neap_buf_addf(buf, "%%%02X", c);
		else
			neap_buf_addc(buf, *path);
	}
}

static const json_t *header_find(const json_t *headers, const char *name)
{
	const json_t *header;
	size_t i;

	json_array_foreach (headers, i, header) {
		if (strcasecmp(neap_json_text(header, "name"), name) == 0)
			return header;
	}
	return NULL;
}

/* Adds a header that a kubelet sends by default, if it is not given. A given one without
 * a value is left out. */
static void add_usual(struct neap_buf *buf, const json_t *headers, const char *name,
		      const char *value)
{
	if (!header_find(headers, name))
		neap_buf_addf(buf, "%s: %s\r\n", name, value);
}

static int add_headers(struct neap_buf *buf, const json_t *headers,
		       struct neap_error *err)
{
	static const char *const own[] = {"Connection", "Content-Length",
					  "Transfer-Encoding"};
	const json_t *header;
	size_t i;

	json_array_foreach (headers, i, header) {
		const char *name = neap_json_text(header, "name");
		const char *value = neap_json_text(header, "value");
		bool is_own = false;

		if (!*name || strpbrk(name, ": \t") || !is_clean(name) ||
		    !is_clean(value)) {
			(void)neap_error_field(err, NEAP_EINVAL, "",
					       "is no header that can be sent");
			return neap_error_infield(err, "httpHeaders[%zu]", i);
		}
		for (size_t k = 0; k < NEAP_ARRAY_LEN(own); k++)
			is_own = is_own || strcasecmp(name, own[k]) == 0;
		if (!is_own && *value)
			neap_buf_addf(buf, "%s: %s\r\n", name, value);
	}
	return 0;
}

static int take_request(const json_t *get, struct probe_target *to,
			struct neap_error *err)
{
	const json_t *headers = json_object_get(get, "httpHeaders");
	const char *host = to->is_v4 ? "127.0.0.1" : "[::1]";
	const char *scheme = neap_json_text(get, "scheme");
	neap_auto_buf struct neap_buf path = {0}, buf = {0};
	char usual[64];

	if (*scheme && strcmp(scheme, "HTTP") != 0)
		return neap_error_field(err, NEAP_EUNSUPPORTED, "scheme",
					"\"%.20s\": probes here speak HTTP alone",
					scheme);
	neap_buf_init(&path, PROBE_REQUEST_MAX);
	neap_buf_init(&buf, PROBE_REQUEST_MAX);
	add_path(&path, neap_json_text(get, "path"));
	(void)snprintf(to->url, sizeof(to->url), "http://%s:%d%s", host, to->port,
		       path.data);
	(void)snprintf(usual, sizeof(usual), "%s:%d", host, to->port);
	neap_buf_addf(&buf, "GET %s HTTP/1.1\r\n", path.data);
	add_usual(&buf, headers, "Host", usual);
	add_usual(&buf, headers, "User-Agent", "kube-probe/1.31");
	add_usual(&buf, headers, "Accept", "*/*");
	if (add_headers(&buf, headers, err) < 0)
		return -(int)(err ? err->code : NEAP_EINVAL);
	neap_buf_adds(&buf, "Connection: close\r\n\r\n");
	if (neap_buf_failed(&buf) || neap_buf_failed(&path))
		return neap_buf_error(neap_buf_failed(&path) ? &path : &buf,
				      "the request", err);
	to->request_len = buf.len;
	to->request = neap_buf_take(&buf);
	return to->request ? 0 : neap_error_nomem(err);
}

/* --- commands --- */

char **probe_texts_dup(const char *const *texts)
{
	size_t count = 0;
	char **copy;

	while (texts && texts[count])
		count++;
	copy = neap_alloc_array(count + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < count; i++) {
		copy[i] = neap_strdup(texts[i]);
		if (copy[i])
			continue;
		probe_texts_free(copy);
		return NULL;
	}
	return copy;
}

void probe_texts_free(char **texts)
{
	for (char **at = texts; at && *at; at++)
		free(*at);
	free(texts);
}

static int take_command(const json_t *exec, struct probe_spec *to, struct neap_error *err)
{
	const json_t *command = json_object_get(exec, "command");
	size_t count = json_array_size(command);

	if (count == 0)
		return neap_error_field(err, NEAP_EINVAL, "command", "is empty");
	to->argv = neap_alloc_array(count + 1, sizeof(*to->argv));
	if (!to->argv)
		return neap_error_nomem(err);
	for (size_t i = 0; i < count; i++) {
		const char *word = json_string_value(json_array_get(command, i));

		to->argv[i] = neap_strdup(word ? word : "");
		if (!to->argv[i])
			return neap_error_nomem(err);
	}
	return 0;
}

/* --- all --- */

static int take_http(const json_t *way, const json_t *ports, struct probe_spec *to,
		     struct neap_error *err)
{
	int rc = take_host(way, &to->target, err);

	if (rc == 0)
		rc = take_port(way, ports, &to->target, err);
	return rc < 0 ? rc : take_request(way, &to->target, err);
}

static int take_socket(const json_t *way, const json_t *ports, struct probe_spec *to,
		       struct neap_error *err)
{
	int rc = take_host(way, &to->target, err);

	return rc < 0 ? rc : take_port(way, ports, &to->target, err);
}

static int take_exec(const json_t *way, const json_t *ports, struct probe_spec *to,
		     struct neap_error *err)
{
	(void)ports;
	return take_command(way, to, err);
}

static int take_grpc(const json_t *way, const json_t *ports, struct probe_spec *to,
		     struct neap_error *err)
{
	(void)way;
	(void)ports;
	(void)to;
	return neap_error_field(err, NEAP_EUNSUPPORTED, "",
				"is not done here: use exec, httpGet or tcpSocket");
}

int probe_spec_init(struct probe_spec *ret, const json_t *spec, const json_t *ports,
		    int64_t second_usec, struct neap_error *err)
{
	static const struct {
		const char *name;
		int (*take)(const json_t *way, const json_t *ports, struct probe_spec *to,
			    struct neap_error *err);
	} ways[] = {
		{"exec", take_exec},
		{"httpGet", take_http},
		{"tcpSocket", take_socket},
		{"grpc", take_grpc},
	};

	memset(ret, 0, sizeof(*ret));
	ret->delay_usec = number_at(spec, "initialDelaySeconds", 0) * second_usec;
	ret->period_usec = number_at(spec, "periodSeconds", 10) * second_usec;
	ret->timeout_usec = number_at(spec, "timeoutSeconds", 1) * second_usec;
	ret->success_threshold = number_at(spec, "successThreshold", 1);
	ret->failure_threshold = number_at(spec, "failureThreshold", 3);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(ways); i++) {
		const json_t *way = json_object_get(spec, ways[i].name);
		struct neap_error why = {0};

		if (!way)
			continue;
		if (ways[i].take(way, ports, ret, &why) == 0)
			return 0;
		probe_spec_done(ret);
		(void)neap_error_infield(&why, "%s", ways[i].name);
		if (err)
			*err = why;
		return -(int)why.code;
	}
	return neap_error_field(err, NEAP_EINVAL, "",
				"one of exec, httpGet and tcpSocket is required");
}

void probe_spec_done(struct probe_spec *spec)
{
	probe_texts_free(spec->argv);
	free(spec->target.request);
	spec->argv = NULL;
	spec->target.request = NULL;
}

int neap_probe_check(const json_t *spec, const json_t *ports, struct neap_error *err)
{
	struct probe_spec read;
	int rc = probe_spec_init(&read, spec, ports, 1000000, err);

	if (rc == 0)
		probe_spec_done(&read);
	return rc;
}
