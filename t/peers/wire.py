# SPDX-License-Identifier: Apache-2.0
"""One server that is asked: kube-apiserver or neapd. Answers are (code, headers, bytes)."""
import http.client
import json
import socket
import ssl


class Server:
    """A server at http(s)://127.0.0.1:PORT with a bearer token. One connection, opened again when it went."""

    def __init__(self, name, url, token, cafile=None):
        self.name = name
        self.token = token
        scheme, rest = url.split('://')
        self.host, _, port = rest.partition(':')
        self.port = int(port)
        self.tls = None
        if scheme == 'https':
            self.tls = ssl.create_default_context(cafile=cafile)
        self.connection = None

    def connect(self, timeout=60):
        if self.tls:
            return http.client.HTTPSConnection(self.host, self.port, timeout=timeout, context=self.tls)
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def headers(self, extra):
        all_of_them = {'Authorization': 'Bearer ' + self.token, 'Accept': 'application/json'}
        all_of_them.update(extra or {})
        return {k: v for k, v in all_of_them.items() if v is not None}

    def ask(self, method, path, body=None, headers=None):
        """Sends one request. A body that is a dict or list is written as JSON."""
        extra = dict(headers or {})
        if body is not None and not isinstance(body, bytes):
            if not isinstance(body, str):
                body = json.dumps(body)
            body = body.encode()
        if body is not None:
            extra.setdefault('Content-Type', 'application/json')
        for again in (True, False):
            if self.connection is None:
                self.connection = self.connect()
            try:
                self.connection.request(method, path, body, self.headers(extra))
                answer = self.connection.getresponse()
                return answer.status, dict(answer.getheaders()), answer.read()
            except (http.client.HTTPException, OSError):
                self.connection.close()
                self.connection = None
                if not again:
                    raise

    def watch(self, path, headers=None, frames=1, timeout=20):
        """Reads the first frames of what may be a watch; on a plain answer the whole of it."""
        connection = self.connect(timeout)
        try:
            connection.request('GET', path, None, self.headers(headers))
            answer = connection.getresponse()
            lines = []
            try:
                while len(lines) < frames:
                    line = answer.readline()
                    if not line:
                        break
                    lines.append(line)
            except (socket.timeout, TimeoutError):
                pass
            return answer.status, dict(answer.getheaders()), b''.join(lines)
        finally:
            connection.close()

    def json(self, method, path, body=None, headers=None):
        code, _, text = self.ask(method, path, body, headers)
        try:
            return code, json.loads(text)
        except ValueError:
            return code, None
