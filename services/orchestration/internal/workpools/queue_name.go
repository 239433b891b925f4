package workpools

import (
	"slices"
	"strings"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// checkQueueName refuses a new name that no path could hold; the contract checks those of new queues.
func checkQueueName(update *orchv1.WorkQueueUpdate, mask []string) error {
	if !slices.Contains(mask, "name") || update.Name == nil {
		return nil
	}
	if update.GetName() == "" || strings.ContainsAny(update.GetName(), "/%&><") {
		return rpc.Invalid(rpc.BodyError("string_pattern_mismatch", "String should match pattern '^[^/%&><]+$'", "name"))
	}
	return nil
}
