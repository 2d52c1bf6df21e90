#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A server with the API of a Prometheus, over TLS, for whoever sends the right token:
prometheus.py PORT CERT KEY TOKENFILE. It answers every query with what n1 and n2 use."""
import http.server
import json
import ssl
import sys

FIGURES = {"n1": "0.9", "n2": "0.1"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with open(sys.argv[4], encoding="ascii") as file:
            wanted = "Bearer " + file.read().strip()
        if self.headers.get("Authorization") != wanted:
            self.send_error(401)
            return
        result = [{"metric": {"instance": name}, "value": [0, value]} for name, value in FIGURES.items()]
        body = json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[2], sys.argv[3])
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
