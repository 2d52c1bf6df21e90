#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# A kube-apiserver of 1.20 as later versions look to a client: versions of groups, lists
# that are streamed through a watch, warnings, strict validation of fields. What is behind
# it stays real; what a later version does otherwise is not here.
#
# newer.py VERSION PORT UPSTREAM CERT KEY CA   VERSION is 1.22, 1.25, 1.32 or 1.35;
# UPSTREAM is HOST:PORT. What it did is counted in lines of standard output.
import collections
import http.client
import http.server
import json
import ssl
import sys
import threading
import urllib.parse

VERSION, PORT, UPSTREAM, CERT, KEY, CA = sys.argv[1:]
MINOR = int(VERSION.split('.')[1])
COUNTS = collections.Counter()
LOCK = threading.Lock()
HOP = {'connection', 'transfer-encoding', 'content-length', 'keep-alive', 'host', 'accept-encoding'}
KNOWN = {'apiVersion', 'kind', 'metadata', 'spec', 'status', 'target', 'deleteOptions', 'data', 'zones', 'topologyPolicies',
         # of events
         'involvedObject', 'reason', 'message', 'source', 'firstTimestamp', 'lastTimestamp', 'count', 'type', 'eventTime',
         'series', 'action', 'related', 'reportingComponent', 'reportingInstance'}


def count(what):
    with LOCK:
        COUNTS[what] += 1
        if COUNTS[what] == 1:
            print(what, flush=True)


def status(code, reason, message):
    return {'kind': 'Status', 'apiVersion': 'v1', 'metadata': {}, 'status': 'Failure', 'message': message,
            'reason': reason, 'code': code}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *args):
        pass

    def answer(self, code, body, headers=()):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(code)
        for name, value in headers:
            if name.lower() not in HOP:
                self.send_header(name, value)
        if not headers:
            self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def ask(self, path, body=None):
        context = ssl.create_default_context(cafile=CA)
        upstream = http.client.HTTPSConnection(UPSTREAM, context=context)
        headers = {k: v for k, v in self.headers.items() if k.lower() not in HOP}
        upstream.request(self.command, path, body, headers)
        return upstream, upstream.getresponse()

    # --- versions ---

    def there(self, data):
        """What the server says, in the words of the later version."""
        return data.replace(b'policy/v1beta1', b'policy/v1') if self.is_policy else data

    def here(self, data):
        return data and data.replace(b'policy/v1"', b'policy/v1beta1"')

    def discover(self, url):
        """True: it was answered here."""
        if url.path == '/version':
            self.answer(200, {'major': '1', 'minor': str(MINOR), 'gitVersion': 'v%s.0' % VERSION})
            return True
        if url.path == '/apis/policy':
            versions = [{'groupVersion': 'policy/' + v, 'version': v} for v in (['v1', 'v1beta1'] if MINOR < 25 else ['v1'])]
            self.answer(200, {'kind': 'APIGroup', 'apiVersion': 'v1', 'name': 'policy', 'versions': versions,
                              'preferredVersion': versions[0]})
            return True
        if url.path.startswith('/apis/policy/v1beta1') and MINOR >= 25:
            self.answer(404, status(404, 'NotFound', 'the server could not find the requested resource'))
            return True
        return False

    def is_strict(self, url, query, body):
        """Fields that nobody knows are refused. True: it was answered here."""
        if MINOR < 25 or not body or self.command not in ('POST', 'PUT', 'PATCH'):
            return False
        if query.get('fieldValidation') != ['Strict'] and '/leases' not in url.path:
            count('not strict: %s %s' % (self.command, url.path))
        names = []

        def pairs(items):
            names.append([k for k, _ in items])
            return dict(items)
        tree = json.loads(body, object_pairs_hook=pairs)
        wrong = ['unknown field "%s"' % k for k in tree if k not in KNOWN]
        wrong += ['duplicate field "%s"' % k for keys in names for k in keys if keys.count(k) > 1]
        if not wrong:
            return False
        count('refused: ' + ', '.join(wrong))
        self.answer(400, status(400, 'BadRequest', 'strict decoding error: ' + ', '.join(wrong)))
        return True

    # --- lists through a watch ---

    def chunk(self, data):
        if data:
            self.wfile.write(b'%x\r\n%s\r\n' % (len(data), data))
            self.wfile.flush()

    def stream_list(self, url, query):
        """What is there first, and where that ends. The version to watch from."""
        if query.get('resourceVersionMatch') != ['NotOlderThan']:
            self.answer(422, status(422, 'Invalid', 'resourceVersionMatch: Required value'))
            return None
        keep = {k: v for k, v in query.items() if k in ('labelSelector', 'fieldSelector')}
        upstream, answer = self.ask(url.path + '?' + urllib.parse.urlencode(keep, doseq=True))
        data = self.there(answer.read())
        upstream.close()
        if answer.status != 200:
            self.answer(answer.status, data)
            return None
        count('streamed list')
        listed = json.loads(data)
        kind, version = listed['kind'][:-len('List')], listed['apiVersion']
        self.begin_stream()
        for item in listed.get('items') or []:
            self.chunk(json.dumps({'type': 'ADDED', 'object': dict(item, kind=kind, apiVersion=version)}).encode() + b'\n')
        now = listed['metadata']['resourceVersion']
        self.chunk(json.dumps({'type': 'BOOKMARK', 'object': {'kind': kind, 'apiVersion': version, 'metadata': {
            'resourceVersion': now, 'annotations': {'k8s.io/initial-events-end': 'true'}}}}).encode() + b'\n')
        return now

    def begin_stream(self):
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Transfer-Encoding', 'chunked')
        self.end_headers()

    def watch(self, url, query):
        has_begun = False
        if 'sendInitialEvents' in query:
            if MINOR >= 32:
                now = self.stream_list(url, query)
                if now is None:
                    return
                query = dict(query, resourceVersion=[now])
                has_begun = True
            elif MINOR >= 27:
                self.answer(422, status(422, 'Invalid', 'sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch '
                                        'unless the WatchList feature gate is enabled'))
                return
            query = {k: v for k, v in query.items() if k not in ('sendInitialEvents', 'resourceVersionMatch')}
        upstream, answer = self.ask(url.path + '?' + urllib.parse.urlencode(query, doseq=True))
        if answer.status != 200:
            if has_begun:
                self.close_connection = True
            else:
                self.answer(answer.status, self.there(answer.read()))
            return
        if not has_begun:
            self.begin_stream()
        while True:
            data = answer.readline() if self.is_policy else answer.read1(65536)
            if not data:
                break
            self.chunk(self.there(data))
        self.wfile.write(b'0\r\n\r\n')
        upstream.close()

    def serve(self):
        try:
            length = int(self.headers.get('Content-Length') or 0)
            body = self.rfile.read(length) if length else None
            url = urllib.parse.urlsplit(self.path)
            query = urllib.parse.parse_qs(url.query, keep_blank_values=True)
            self.is_policy = url.path.startswith('/apis/policy/') or url.path.endswith('/eviction')
            if self.discover(url) or self.is_strict(url, query, body):
                return
            if url.path.startswith('/apis/policy/v1/') or url.path == '/apis/policy/v1':
                count('policy/v1')
                url = url._replace(path=url.path.replace('/policy/v1', '/policy/v1beta1', 1))
            if query.get('watch') in (['true'], ['1']):
                self.watch(url, query)
                return
            upstream, answer = self.ask(urllib.parse.urlunsplit(url), self.here(body) if self.is_policy else body)
            headers = [h for h in answer.getheaders() if h[0].lower() != 'date']
            if self.command != 'GET':
                headers.append(('Warning', '299 - "%s of a later server: \\"%s\\" is watched over"' % (VERSION, self.command)))
            data = self.there(answer.read())
            if url.path == '/api/v1':
                data = data.replace(b'"group":"policy","version":"v1beta1"', b'"group":"policy","version":"v1"')
            self.answer(answer.status, data, headers)
            upstream.close()
        except (OSError, http.client.HTTPException):
            self.close_connection = True  # the server went away, or the client

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(CERT, KEY)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def get_request(self):
        sock, address = super().get_request()
        return context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False), address

    def handle_error(self, request, client_address):
        pass


Server(('127.0.0.1', int(PORT)), Handler).serve_forever()
