// Package testkit provides real parts for tests: an embedded broker that can restart, a TCP proxy that injects field errors,
// the harness of bounds in bytes, and the goroutine leak check of every TestMain.
package testkit
