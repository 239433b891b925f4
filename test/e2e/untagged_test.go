//go:build !e2e

package e2e

import (
	"testing"

	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
