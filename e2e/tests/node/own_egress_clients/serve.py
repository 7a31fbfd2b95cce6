"""Serves the files of a folder over TLS."""

import functools
import http.server
import ssl

context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
context.load_cert_chain("/host/tls.crt", "/host/tls.key")
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory="/srv")
server = http.server.ThreadingHTTPServer(("", 8443), handler)
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
