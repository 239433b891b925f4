package broker

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

func refusal(code jetstream.ErrorCode, description string) error {
	return fmt.Errorf("publish: %w", &jetstream.APIError{Code: 503, ErrorCode: code, Description: description})
}

func TestRefusalsAreTemporaryOrFull(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err             error
		temporary, full bool
	}{
		"no leader":                {err: refusal(jsClusterNotAvailable, "JetStream system temporarily unavailable"), temporary: true},
		"another leader":           {err: refusal(jsClusterNotLeader, "JetStream cluster can not handle request"), temporary: true},
		"a server that starts":     {err: refusal(jsNotEnabled, "JetStream not enabled"), temporary: true},
		"a leader that steps down": {err: refusal(jsStreamStoreFailed, "raft: not leader"), temporary: true},
		"a full stream":            {err: refusal(jsStreamStoreFailed, "maximum bytes exceeded"), full: true},
		"a full account":           {err: refusal(jsAccountResourcesExceeded, "resource limits exceeded for account"), full: true},
		"a full disk":              {err: refusal(jsStorageExceeded, "insufficient storage resources available"), full: true},
		"another stream":           {err: refusal(10060, "expected stream does not match")},
		"no refusal":               {err: errors.New("timeout")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.temporary, isTemporary(test.err))
			require.Equal(t, test.full, isFull(test.err))
		})
	}
}

// refusing is a JetStream that refuses messages a number of times.
type refusing struct {
	jetstream.JetStream
	err      error
	times    int
	attempts int
}

func (r *refusing) PublishMsg(context.Context, *nats.Msg, ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	if r.attempts++; r.attempts <= r.times {
		return nil, r.err
	}
	return &jetstream.PubAck{Sequence: 9}, nil
}

// A short loss of the stream's leader refuses no frame.
func TestAFrameIsSentAgainAfterATemporaryRefusal(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err      error
		times    int
		attempts int
		timeout  time.Duration
		want     error
	}{
		"no leader for a moment": {err: refusal(jsClusterNotAvailable, "JetStream system temporarily unavailable"), times: 3, attempts: 4, timeout: time.Minute},
		"a full stream":          {err: refusal(jsStreamStoreFailed, "maximum bytes exceeded"), times: 3, attempts: 1, timeout: time.Minute, want: ErrUnavailable},
		"no leader for too long": {err: refusal(jsClusterNotLeader, "JetStream cluster can not handle request"), times: 1 << 30, timeout: 50 * time.Millisecond, want: ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, err := Config{URL: "nats://unused", AckTimeout: test.timeout}.withDefaults()
			require.NoError(t, err)
			js := &refusing{err: test.err, times: test.times}
			k := &committer{cfg: cfg, js: js, epoch: newEpoch(), subject: eventSubject(0)}
			number, err := k.send([]byte("[]"), nats.Header{})
			require.ErrorIs(t, err, test.want)
			if test.want == nil {
				require.EqualValues(t, 9, number)
			}
			if test.attempts > 0 {
				require.Equal(t, test.attempts, js.attempts)
			}
		})
	}
}
