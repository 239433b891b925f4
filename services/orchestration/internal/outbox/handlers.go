package outbox

import (
	"context"
	"fmt"

	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Handlers is what a package carries out, by the kind of effect.
type Handlers = map[string]func(ctx context.Context, effects []store.Effect) error

// Merge joins the handlers of several packages. Two for one kind are an error: one of them would never be called.
func Merge(all ...Handlers) (map[string]Handler, error) {
	merged := map[string]Handler{}
	for _, some := range all {
		for kind, handler := range some {
			if _, taken := merged[kind]; taken {
				return nil, fmt.Errorf("wire the effects: two packages carry out %q", kind)
			}
			merged[kind] = handler
		}
	}
	return merged, nil
}
