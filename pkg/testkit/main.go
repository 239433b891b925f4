package testkit

import (
	"testing"

	"go.uber.org/goleak"
)

// Main runs the tests of a package and fails on leaked goroutines. Use it as the body of TestMain.
func Main(m *testing.M, options ...goleak.Option) {
	goleak.VerifyTestMain(m, options...)
}
