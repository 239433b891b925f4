package apicall

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/orch-project/orch/pkg/clock"
)

// TestAnswersAreShared asks twice, with a pause between the calls.
func TestAnswersAreShared(t *testing.T) {
	t.Parallel()
	outage := errors.New("store unavailable")
	for name, c := range map[string]struct {
		took, pause, least time.Duration
		err                error
		sends              int
	}{
		"a chart of a second is shared for ten":              {took: time.Second, pause: 10*time.Second - 1, sends: 1},
		"and then asked for again":                           {took: time.Second, pause: 10*time.Second + 1, sends: 2},
		"a chart of a minute is shared for the longest time": {took: time.Minute, pause: maxAge - 1, sends: 1},
		"and no longer":                                      {took: time.Minute, pause: maxAge + 1, sends: 2},
		"a timeout is shared":                                {took: ReadTimeout, pause: maxAge - 1, err: slowError{outage}, sends: 1},
		"a fast call is shared for its least time":           {took: time.Millisecond, pause: 5*time.Second - 1, least: 5 * time.Second, sends: 1},
		"and asked for again after it":                       {took: time.Millisecond, pause: 5*time.Second + 1, least: 5 * time.Second, sends: 2},
		"an outage ends at any time":                         {took: time.Second, err: outage, sends: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := clock.NewManual(time.Unix(1_900_000_000, 0))
			answers, sends := NewCache(now), 0
			ask := func() {
				got, err := answers.get(t.Context(), "key", c.least, func(context.Context) (proto.Message, error) {
					sends++
					now.Advance(c.took)
					if c.err != nil {
						return nil, c.err
					}
					return wrapperspb.String("chart"), nil
				})
				require.ErrorIs(t, err, c.err)
				if c.err == nil {
					require.Equal(t, "chart", got.(*wrapperspb.StringValue).GetValue())
				}
			}
			ask()
			now.Advance(c.pause)
			ask()
			require.Equal(t, c.sends, sends)
		})
	}
}
