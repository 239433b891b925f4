package broker

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// TestExceedsStorage: a stream that is too large is halved on one server and in a cluster; other refusals are errors.
func TestExceedsStorage(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"none":             {nil, false},
		"another error":    {errors.New("insufficient storage"), false},
		"one server":       {&jetstream.APIError{ErrorCode: 10047, Description: "insufficient storage resources available"}, true},
		"cluster":          {&jetstream.APIError{ErrorCode: 10005, Description: "no suitable peers for placement, insufficient storage"}, true},
		"wrapped":          {fmt.Errorf("create stream: %w", &jetstream.APIError{ErrorCode: 10047}), true},
		"a server is away": {&jetstream.APIError{ErrorCode: 10005, Description: "no suitable peers for placement, peer offline, insufficient storage"}, false},
		"too few servers":  {&jetstream.APIError{ErrorCode: 10005, Description: "no suitable peers for placement, peer offline"}, false},
		"another refusal":  {&jetstream.APIError{ErrorCode: 10023, Description: "insufficient resources"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, exceedsStorage(test.err))
		})
	}
}
