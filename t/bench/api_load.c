/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends requests to a kube-apiserver as fast as it answers, and nothing else: the limit
 * of whoever has to write there. URL CAFILE TOKEN AT-ONCE FILE [RATE]; each line of FILE
 * is METHOD, PATH and BODY, with tabs between. Says how many were done a second, from the
 * first tenth on, as connections are made before. RATE: no more than so many a second.
 * Ends with 1 when one is not answered with 200 or 201. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/mem.h"

#define LINE_MAX_BYTES 8192

struct load {
	CURLM *multi;
	struct curl_slist *post, *patch;
	const char *url, *ca;
	FILE *lines;
	size_t sent, done, failed, count, first;
	int64_t began_usec, from_usec, rate;
	char line[LINE_MAX_BYTES];
};

static size_t drop(char *bytes, size_t size, size_t count, void *arg)
{
	(void)bytes, (void)arg;
	return size * count;
}

static bool is_due(const struct load *load)
{
	int64_t passed = neap_clock_steady() - load->began_usec;

	return load->rate == 0 || (int64_t)load->sent * 1000000 <= passed * load->rate;
}

/* False: there is no more. */
static bool start(struct load *load, CURL *easy)
{
	char *path, *body, url[1024];

	if (fgets(load->line, sizeof(load->line), load->lines) == NULL)
		return false;
	load->line[strcspn(load->line, "\n")] = '\0';
	path = strchr(load->line, '\t');
	body = path != NULL ? strchr(path + 1, '\t') : NULL;
	if (body == NULL)
		return false;
	*path++ = *body++ = '\0';
	(void)snprintf(url, sizeof(url), "%s%s", load->url, path);
	(void)curl_easy_setopt(easy, CURLOPT_URL, url);
	(void)curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, body);
	(void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, load->line);
	(void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER,
			       strcmp(load->line, "PATCH") == 0 ? load->patch
								: load->post);
	(void)curl_multi_add_handle(load->multi, easy);
	load->sent++;
	return true;
}

static CURL *make(const struct load *load)
{
	CURL *easy = curl_easy_init();

	if (easy == NULL)
		exit(1);
	(void)curl_easy_setopt(easy, CURLOPT_CAINFO, load->ca);
	(void)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	(void)curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, drop);
	return easy;
}

/* Those that ended begin the next one. */
static void reap(struct load *load, CURL **idle, size_t *idle_count)
{
	CURLMsg *message;
	long status;
	int left;

	while ((message = curl_multi_info_read(load->multi, &left)) != NULL) {
		CURL *easy = message->easy_handle;

		status = 0;
		(void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
		if (message->data.result != CURLE_OK || status < 200 || status > 201) {
			load->failed++;
			fprintf(stderr, "status %ld: %s\n", status,
				curl_easy_strerror(message->data.result));
		}
		(void)curl_multi_remove_handle(load->multi, easy);
		idle[(*idle_count)++] = easy;
		if (++load->done == load->first)
			load->from_usec = neap_clock_steady();
	}
}

static void run(struct load *load, size_t at_once)
{
	CURL **all = neap_alloc_array(at_once, sizeof(*all));
	size_t idle = at_once;
	bool has_more = true;
	int running = 0;

	for (size_t i = 0; i < at_once; i++)
		all[i] = make(load);
	load->began_usec = neap_clock_steady();
	while (has_more || idle < at_once) {
		while (has_more && idle > 0 && is_due(load)) {
			has_more = start(load, all[idle - 1]);
			idle -= has_more;
		}
		(void)curl_multi_perform(load->multi, &running);
		(void)curl_multi_poll(load->multi, NULL, 0, load->rate ? 1 : 100, NULL);
		reap(load, all, &idle);
	}
	for (size_t i = 0; i < at_once; i++)
		curl_easy_cleanup(all[i]);
	free(all);
}

static size_t count_lines(FILE *file)
{
	size_t count = 0;
	int c;

	while ((c = getc(file)) != EOF)
		count += c == '\n';
	rewind(file);
	return count;
}

int main(int argc, char **argv)
{
	struct load load = {0};
	char token[1024];
	double passed;

	if (argc < 6) {
		fprintf(stderr, "api_load URL CAFILE TOKEN AT-ONCE FILE [RATE]\n");
		return 2;
	}
	load.url = argv[1];
	load.ca = argv[2];
	load.rate = argc > 6 ? atoll(argv[6]) : 0;
	if (curl_global_init(CURL_GLOBAL_ALL) != CURLE_OK)
		return 1;
	load.lines = fopen(argv[5], "re");
	if (load.lines == NULL)
		return 1;
	load.count = count_lines(load.lines);
	load.first = load.count / 10 > 0 ? load.count / 10 : 1;
	(void)snprintf(token, sizeof(token), "Authorization: Bearer %s", argv[3]);
	load.post = curl_slist_append(curl_slist_append(NULL, token),
				      "Content-Type: application/json");
	load.patch = curl_slist_append(curl_slist_append(NULL, token),
				       "Content-Type: application/merge-patch+json");
	load.multi = curl_multi_init();
	run(&load, (size_t)atoll(argv[4]));
	passed = (double)(neap_clock_steady() - load.from_usec) / 1e6;
	printf("%.1f\n", (double)(load.done - load.first) / passed);
	(void)curl_multi_cleanup(load.multi);
	curl_slist_free_all(load.post);
	curl_slist_free_all(load.patch);
	fclose(load.lines);
	return load.failed > 0;
}
