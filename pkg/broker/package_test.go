package broker_test

import (
	"os"
	"testing"

	"github.com/orch-project/orch/pkg/testkit"
)

// TestMain runs the tests, or, in the processes that the crash test starts, a broker with publishers.
func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		crashVictim(dir)
	}
	testkit.Main(m)
}
