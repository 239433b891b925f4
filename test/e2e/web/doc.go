// Package web tests the dashboard in a real Chromium: every page of both forms of the server, with and without scripts.
//
// The tests have the build tag e2eweb. They find Chromium in the path, or at ORCH_TEST_CHROMIUM.
package web
