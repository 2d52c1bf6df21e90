/* SPDX-License-Identifier: Apache-2.0
 *
 * Forms of requests by which servers have been deceived: each is refused, or read in the
 * one way that the standard leaves, and what might have been smuggled behind it is never
 * answered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/http/server.h"
#include "t/lib/http.h"

#define POST     "POST /echo HTTP/1.1\r\n" HOST AUTH
#define CHUNKS   "Transfer-Encoding: chunked\r\n\r\n"
#define CHUNKED  POST CHUNKS
#define PROTOBUF "Content-Type: application/vnd.kubernetes.protobuf\r\n"
#define SMUGGLED "GET /open?smuggled HTTP/1.1\r\n" HOST "\r\n"

static void echo(void *arg, struct neap_http_request *request)
{
	const char *q = neap_http_query_find(request, "smuggled");
	size_t len;

	(void)arg;
	(void)neap_http_body_get(request, &len);
	neap_http_answer_json_take(request, 200,
				   json_pack("{s:s, s:i, s:s}", "path",
					     neap_http_path_get(request), "len", (int)len,
					     "query", q ? "smuggled" : ""));
}

static const struct neap_http_route routes[] = {
	{"GET", "/open", NEAP_HTTP_ANYBODY, echo},
	{"GET", "/echo", NEAP_HTTP_READER, echo},
	{"POST", "/echo", NEAP_HTTP_READER, echo},
	{0},
};

static void setup(struct neap_http *http, struct event_base *base)
{
	struct neap_error err;

	(void)base;
	neap_http_add_routes(http, routes, NULL, &err);
}

#define ROW(name, data, want, closes)                                                    \
	{                                                                                \
		name, data, sizeof(data) - 1, want, closes                               \
	}

static const struct {
	const char *name, *data;
	size_t len;
	const char *want; /* NULL: no answer */
	bool closes;
} rows[] = {
	ROW("a folded length", POST "Content-Length:\r\n 5\r\n\r\nabcde", " 400 ", true),
	ROW("a length that goes on", POST "Content-Length: 5\r\n 0\r\n\r\nabcde" SMUGGLED,
	    " 400 ", true),
	ROW("a folded encoding",
	    POST "Transfer-Encoding: chunked\r\n x\r\n\r\n0\r\n\r\n" SMUGGLED, " 400 ",
	    true),
	ROW("a fold before any header", "GET /open HTTP/1.1\r\n Host: x\r\n\r\n", " 400 ",
	    true),
	ROW("a harmless fold", "GET /open HTTP/1.1\r\n" HOST "X: a\r\n b\r\n\r\n",
	    " 200 ", false),
	ROW("NUL in a value", "GET /open HTTP/1.1\r\n" HOST "X: a\0b\r\n\r\n", " 400 ",
	    true),
	ROW("NUL in a name", "GET /open HTTP/1.1\r\n" HOST "X\0Y: a\r\n\r\n", " 400 ",
	    true),
	ROW("NUL in the address", "GET /op\0en HTTP/1.1\r\n" HOST "\r\n", " 400 ", true),
	ROW("NUL in a length", POST "Content-Length: 5\0 0\r\n\r\nabcde" SMUGGLED,
	    " 400 ", true),
	ROW("NUL behind a length's name", POST "Content-Length\0: 0\r\n\r\n" SMUGGLED,
	    " 400 ", true),
	ROW("NUL in bytes that are no text",
	    POST PROTOBUF "Content-Length: 3\r\n\r\na\0b", " 200 ", false),
	ROW("NUL in them, in chunks", POST PROTOBUF CHUNKS "3\r\na\0b\r\n0\r\n\r\n",
	    " 200 ", true),
	ROW("NUL in them and in a header",
	    POST PROTOBUF "X: a\0\r\nContent-Length: 3\r\n\r\na\0b", " 400 ", true),
	ROW("NUL in their type",
	    POST "Content-Type: application/vnd.kubernetes.protobuf\0\r\n"
		 "Content-Length: 3\r\n\r\na\0b",
	    " 400 ", true),
	ROW("NUL in their length",
	    POST PROTOBUF "Content-Length: 5\0 0\r\n\r\nab\0de" SMUGGLED, " 400 ", true),
	ROW("NUL in the size of their chunk",
	    POST PROTOBUF CHUNKS "1\0\r\n\0\r\n0\r\n\r\n", " 400 ", true),
	ROW("NUL in a body", POST "Content-Length: 3\r\n\r\na\0b", " 400 ", true),
	ROW("CR amid a value", "GET /open HTTP/1.1\r\n" HOST "X: a\rY: b\r\n\r\n",
	    " 400 ", true),
	ROW("CR and a blank amid a value",
	    "GET /open HTTP/1.1\r\n" HOST "X: a\r b\r\n\r\n", " 400 ", true),
	ROW("an escape in a value", "GET /open HTTP/1.1\r\n" HOST "X: a\x1b[0m\r\n\r\n",
	    " 400 ", true),
	ROW("a tab in a value", "GET /open HTTP/1.1\r\n" HOST "X: a\tb\r\n\r\n", " 200 ",
	    false),
	ROW("a version with a sign and a CR", "GET /open HTTP/+1.\r01\r\n" HOST "\r\n",
	    " 400 ", true),
	ROW("a version with zeros", "GET /open HTTP/1.00\r\n" HOST "\r\n", " 400 ", true),
	ROW("a tab in the version", "GET /open HTTP/1.\t1\r\n" HOST "\r\n", " 400 ",
	    true),
	ROW("a blank behind the version", "GET /open HTTP/1.1 \r\n" HOST "\r\n", " 400 ",
	    true),
	ROW("a tab before the version", "GET /open\tHTTP/1.1\r\n" HOST "\r\n", " 400 ",
	    true),
	ROW("two CRs", "GET /open HTTP/1.1\r\r\n" HOST "\r\n", " 400 ", true),
	ROW("a request line without CR", "GET /open HTTP/1.1\n" HOST "\r\n", " 200 ",
	    false),
	ROW("the shortest request line", "GET / HTTP/1.1\r\n" HOST "\r\n", " 401 ",
	    false),
	ROW("a list of lengths", POST "Content-Length: 5, 5\r\n\r\nabcde", " 400 ", true),
	ROW("a length over 64 bits",
	    POST "Content-Length: 18446744073709551621\r\n\r\nabcde" SMUGGLED, " 413 ",
	    true),
	ROW("a hexadecimal length", POST "Content-Length: 0x5\r\n\r\nabcde", " 400 ",
	    true),
	ROW("an empty length", POST "Content-Length: \r\n\r\n" SMUGGLED, " 400 ", true),
	ROW("two encodings",
	    POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n"
		 "0\r\n\r\n" SMUGGLED,
	    " 400 ", true),
	ROW("chunked twice",
	    POST "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n" SMUGGLED, " 400 ",
	    true),
	ROW("a vertical tab before the encoding",
	    POST "Transfer-Encoding:\x0b"
		 "chunked\r\n\r\n0\r\n\r\n" SMUGGLED,
	    " 400 ", true),
	ROW("a blank behind the encoding's name",
	    POST "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" SMUGGLED, " 400 ", true),
	ROW("identity", POST "Transfer-Encoding: identity\r\n\r\n" SMUGGLED, " 400 ",
	    true),
	ROW("chunks in HTTP/1.0",
	    "POST /echo HTTP/1.0\r\n" AUTH
	    "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
	    " 400 ", true),
	ROW("a negative chunk", CHUNKED "-1\r\na\r\n0\r\n\r\n", " 413 ", true),
	ROW("a chunk of 17 digits", CHUNKED "fffffffffffffffff\r\na\r\n0\r\n\r\n",
	    " 413 ", true),
	ROW("a chunk of 63 bits", CHUNKED "7fffffffffffffff\r\na\r\n0\r\n\r\n", " 413 ",
	    true),
	ROW("a chunk size of letters", CHUNKED "zz\r\na\r\n0\r\n\r\n", " 413 ", true),
	ROW("NUL in a chunk size", CHUNKED "1\0\r\na\r\n0\r\n\r\n", " 400 ", true),
	ROW("a chunk longer than it says", CHUNKED "1\r\naxyz\r\n0\r\n\r\n" SMUGGLED,
	    " 413 ", true),
	/* These evhttp takes; nothing behind them is read. */
	ROW("no line end behind a chunk", CHUNKED "1\r\na0\r\n\r\n" SMUGGLED, "\"len\":1",
	    true),
	ROW("0x in a chunk size", CHUNKED "0x1\r\na\r\n0\r\n\r\n" SMUGGLED, "\"len\":1",
	    true),
	ROW("a sign in a chunk size", CHUNKED "+1\r\na\r\n0\r\n\r\n" SMUGGLED,
	    "\"len\":1", true),
	ROW("two chunk sizes", CHUNKED "1 1\r\na\r\n0\r\n\r\n" SMUGGLED, "\"len\":1",
	    true),
	ROW("a smuggler's trailer",
	    CHUNKED "1\r\na\r\n0\r\nContent-Length: 9\r\n\r\n" SMUGGLED, "\"len\":1",
	    true),
	ROW("a body that is a request",
	    POST "Content-Length: 50\r\n\r\n" SMUGGLED "xxxxxxxxxxx", "\"len\":50",
	    false),
	ROW("a HEAD with a body",
	    "HEAD /echo HTTP/1.1\r\n" HOST AUTH "Content-Length: 3\r\n\r\nabc" SMUGGLED,
	    " 400 ", true),
	ROW("two tokens",
	    "GET /echo HTTP/1.1\r\n" HOST AUTH "Authorization: Bearer x\r\n\r\n", " 400 ",
	    true),
	ROW("a whole address", "GET http://x/open HTTP/1.1\r\n" HOST "\r\n",
	    "\"path\":\"/open\"", true),
	ROW("another's whole address", "GET http://evil/echo HTTP/1.1\r\n" HOST "\r\n",
	    " 401 ", true),
	ROW("a whole address without a path", "GET http://x HTTP/1.1\r\n" HOST "\r\n",
	    " 400 ", true),
	ROW("another scheme", "GET ftp://x/open HTTP/1.1\r\n" HOST "\r\n", " 400 ", true),
	ROW("two slashes", "GET //x/open HTTP/1.1\r\n" HOST "\r\n", " 401 ", false),
	ROW("a dotted path", "GET /x/../open HTTP/1.1\r\n" HOST "\r\n", " 401 ", false),
	ROW("no slash", "GET open HTTP/1.1\r\n" HOST "\r\n", " 400 ", true),
	ROW("a star", "GET * HTTP/1.1\r\n" HOST "\r\n", " 400 ", true),
	ROW("a fragment", "GET /open#a HTTP/1.1\r\n" HOST "\r\n", " 400 ", true),
	ROW("a blank in the address", "GET /open x HTTP/1.1\r\n" HOST "\r\n", " 400 ",
	    true),
	ROW("connect", "CONNECT x:80 HTTP/1.1\r\n" HOST "\r\n", " 501 ", false),
	ROW("trace", "TRACE /open HTTP/1.1\r\n" HOST "\r\n", " 501 ", true),
	ROW("small letters", "get /open HTTP/1.1\r\n" HOST "\r\n", " 501 ", true),
	ROW("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", " 400 ", true),
	ROW("HTTP/1.9", "GET /open HTTP/1.9\r\n" HOST "\r\n", " 400 ", true),
	ROW("HTTP/0.9", "GET /open\r\n\r\n", " 400 ", true),
	ROW("a host of two words", "GET /open HTTP/1.1\r\nHost: a b\r\n\r\n", " 400 ",
	    true),
	ROW("a list of hosts", "GET /open HTTP/1.1\r\nHost: a,b\r\n\r\n", " 400 ", true),
	ROW("a host with a port", "GET /open HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", " 200 ",
	    false),
	ROW("a line without a colon", "GET /open HTTP/1.1\r\n" HOST "X\r\n\r\n", " 400 ",
	    true),
	ROW("an unknown expectation",
	    POST "Expect: miracles\r\nContent-Length: 1\r\n\r\na", " 417 ", true),
	ROW("TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
	    "plain HTTP is spoken here, not TLS", true),
};

static int count_of(const char *text, const char *what)
{
	int found = 0;

	for (text = strstr(text, what); text; text = strstr(text + 1, what))
		found++;
	return found;
}

static void test_rows(void **state)
{
	struct http_server server = {0};
	char answer[16384];
	size_t i;

	(void)state;
	http_server_start(&server, 0, setup);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int fd;
		bool is_end;
		size_t len;

		if (getenv("CASE") && *getenv("CASE") &&
		    strcmp(getenv("CASE"), rows[i].name) != 0)
			continue;
		fd = http_dial(&server);
		http_say(fd, rows[i].data, rows[i].len);
		answer[0] = '\0';
		if (!rows[i].closes && rows[i].want)
			(void)http_hear_text(fd, answer, sizeof(answer), rows[i].want);
		len = strlen(answer);
		is_end = rows[i].closes
				 ? http_hear_end(fd, answer, sizeof(answer))
				 : http_hear(fd, answer + len, sizeof(answer) - len, 50);
		close(fd);
		if ((rows[i].want ? !strstr(answer, rows[i].want) : *answer != '\0') ||
		    is_end != rows[i].closes || strstr(answer, "smuggled") ||
		    count_of(answer, "HTTP/1.1 ") > 1)
			fail_msg("%s: %s, answer: %s", rows[i].name,
				 is_end ? "closed" : "left open", answer);
	}
	http_ask(&server, GET("/echo") "\r\n", answer, sizeof(answer));
	assert_non_null(strstr(answer, " 200 "));
	http_server_stop(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
