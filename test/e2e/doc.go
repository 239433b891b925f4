// Package e2e tests the real programs: processes on loopback, killed and restarted, observed from outside.
//
// The programs are built once, into a temporary directory. A test starts an [Orch], the single binary or the three
// services on `orch infra`, and uses it as any client does. The tests take minutes, so they have the build tag e2e;
// `make e2e` runs them.
package e2e
