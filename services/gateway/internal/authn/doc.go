// Package authn authenticates callers and checks permissions, hosts and origins.
//
//	            ┌─ preflight ──▶ response here
//	request ────┤
//	            └─ Host ──▶ Origin ──▶ credentials ──▶ on
//	                 403       403         401
//
// Every web page that a user opens can reach a server on loopback, because the browser runs on the same machine. So a
// request from a foreign origin gets a 403. Without authentication the Host must be the server's own, which defeats DNS
// rebinding. Responses carry CORS headers only for configured origins.
package authn
