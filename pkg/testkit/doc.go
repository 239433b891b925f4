// Package testkit gives tests real parts: an embedded broker that can be stopped and started, a TCP proxy that misbehaves
// on command, and the leak check that every package's TestMain runs.
package testkit
