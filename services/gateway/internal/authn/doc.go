// Package authn decides who may ask.
//
//	            ┌─ preflight ──▶ answered here
//	request ────┤
//	            └─ Host ──▶ Origin ──▶ credentials ──▶ on
//	                 403       403         401
//
// A server on loopback is reachable by every web page that its user opens, because the browser runs on the same
// machine. So a page of a foreign origin is refused, and without authentication the Host must be the server's own: a
// page whose name was made to point at 127.0.0.1 sends its own name there. Answers carry CORS headers only for origins
// that are configured.
package authn
