//go:build e2e

package e2e

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

const (
	// deadLetterRoom is what is left in the dead letters, in bytes, and undecodable the number of frames that become some: more than fit.
	deadLetterRoom = 8 << 10
	undecodable    = 500
)

// deadLetterFaults fill the dead letters, and send more frames that can only become some. Events that can be handled are not delayed.
func (w *work) deadLetterFaults() []fault {
	if w.orch.natsURL == "" {
		return nil // Only a broker on TCP can be asked.
	}
	return []fault{{"dead letters full", func(t *testing.T) {
		conn, err := nats.Connect(w.orch.natsURL)
		require.NoError(t, err)
		defer conn.Close()
		js, err := jetstream.New(conn)
		require.NoError(t, err)
		stream, err := js.Stream(t.Context(), "DLQ")
		require.NoError(t, err)
		info, err := stream.Info(t.Context())
		require.NoError(t, err)
		before := info.Config
		full := before
		full.MaxBytes = int64(info.State.Bytes) + deadLetterRoom
		_, err = js.UpdateStream(t.Context(), full)
		require.NoError(t, err)
		for range undecodable {
			_, err := js.Publish(t.Context(), "events.0", []byte("this is no frame, and its dead letter has no room"))
			require.NoError(t, err)
		}
		w.progress(t, healthyWork)
		info, err = stream.Info(t.Context())
		require.NoError(t, err)
		require.Less(t, info.State.Bytes, uint64(full.MaxBytes)+1)
		_, err = js.UpdateStream(t.Context(), before)
		require.NoError(t, err)
	}}}
}
