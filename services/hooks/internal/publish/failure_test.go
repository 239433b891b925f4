package publish_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/pkg/webhook/receive"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/hooks/internal/publish"
)

var hook = &orchv1.WebhookDefinition{Id: uuid.Max.String(), Workspace: uuid.Max.String(), Name: "a hook"}

func failure(r *receive.Request, change func(*publish.Failure)) *orchv1.ReceivedEvent {
	f := publish.Failure{Hook: hook, Request: r, Err: errors.New("boom")}
	if change != nil {
		change(&f)
	}
	return f.Event(vocabulary.Orch, id.System())
}

func TestTheWorstFailureFits(t *testing.T) {
	t.Parallel()
	worst := strings.Repeat("\x01", 5<<20)
	r := &receive.Request{Method: "POST", Raw: []byte(worst), TooLarge: true, Received: time.Now()}
	for size := 0; size < 64<<10; size += 1 << 10 { // The most that the HTTP server takes.
		r.Header = append(r.Header, receive.Field{Name: "x-" + strings.Repeat("n", 20), Value: strings.Repeat(`"`, 1000)})
	}
	e := failure(r, func(f *publish.Failure) { f.Rendered, f.Err = &worst, errors.New(worst) })
	b, err := events.ToBroker(vocabulary.Orch, e, uuid.Max)
	require.NoError(t, err)
	require.Less(t, len(b.Data), broker.MaxEventBytes-10_000)
}

func TestAnExcerptEndsBetweenCharacters(t *testing.T) {
	t.Parallel()
	text := "x" + strings.Repeat("é", 64<<10)
	e := failure(&receive.Request{Raw: []byte(text)}, func(f *publish.Failure) { f.Rendered = &text })
	var p map[string]any
	require.NoError(t, json.Unmarshal(e.GetPayload(), &p))
	require.Equal(t, true, p["rendered_truncated"])
	require.NotContains(t, p["rendered"], "\ufffd")
	require.True(t, strings.HasPrefix(text, p["rendered"].(string)))
}

// scriptedBroker responds with an error.
type scriptedBroker struct{ err error }

func (b scriptedBroker) PublishWithin(context.Context, time.Duration, ...broker.Event) error {
	return b.err
}

func (scriptedBroker) Acquire(context.Context, int, time.Duration) error { return nil }

func (scriptedBroker) Release(int) {}

func TestWhatBecameOfAnEvent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ broker, want error }{
		{nil, nil},
		{broker.ErrUnavailable, publish.ErrUnavailable},
		{broker.ErrClosed, publish.ErrUnavailable},
		{context.DeadlineExceeded, publish.ErrUnavailable},
		{errors.New("anything else"), publish.ErrUnavailable},
		{broker.ErrTooLarge, publish.ErrRefused},
		{broker.ErrInvalidEvent, publish.ErrRefused},
	} {
		t.Run(fmt.Sprint(c.broker), func(t *testing.T) {
			var answer error
			if c.broker != nil {
				answer = fmt.Errorf("wrapped: %w", c.broker)
			}
			p := publish.New(publish.Options{Broker: scriptedBroker{answer}, Timeout: time.Second})
			ended, cancel := context.WithCancel(t.Context())
			cancel() // The sender has hung up; nothing changes.
			err := p.Publish(ended, hook.GetWorkspace(), failure(&receive.Request{Received: time.Now()}, nil))
			if c.want == nil {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, c.want)
				require.ErrorIs(t, err, c.broker)
			}
		})
	}
}
