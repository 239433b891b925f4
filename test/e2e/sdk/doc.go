// Package sdk runs the unmodified Python SDK against the real programs. It checks that its features work, take no
// longer than against the Python server, and survive the death of any process.
//
// The tests need the pinned Python environment and take minutes; they are behind the build tag e2esdk. `make e2e-sdk` and
// `make e2e-sdk-faults` run them.
package sdk
