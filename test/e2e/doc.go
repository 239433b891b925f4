// Package e2e tests the real programs: processes on loopback, killed and started again, watched from outside.
//
// The programs are built once, into a temporary directory. A test starts an [Orch], the single binary or the three
// services on `orch infra`, and talks to it as any client does. The tests take a while and are therefore behind the
// build tag e2e; `make e2e` runs them.
package e2e
