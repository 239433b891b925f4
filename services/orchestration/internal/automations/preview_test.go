package automations

import (
	"strings"
	"testing"

	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestPreviewsAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	total, used := previewTotal{}, 0
	long := strings.Repeat("x", 1<<20)
	testkit.FillBound(t, "rendered texts of a preview of an automation", maxPreviewBytes, func() bool {
		one := &orchv1.AutomationRendering{Value: []byte(long)}
		total.add(one)
		used += len(one.GetValue())
		return one.Error != nil
	}, func() int { return used })
}
