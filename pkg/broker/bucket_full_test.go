package broker

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/testkit"
)

// A full bucket refuses changes, such as the revocation of a key. The gauges say so, and a larger setting, applied to the existing bucket,
// lets the change arrive.
func TestAFullBucketTakesChangesAgainAfterALargerSetting(t *testing.T) {
	t.Parallel()
	server := testkit.StartNATS(t, embeddednats.Options{})
	const size = 64 << 10
	c := connectTo(t, Config{InProcess: server, BucketBytes: size})
	kv, err := c.KeyValue(t.Context(), "directory", KVConfig{})
	require.NoError(t, err)
	var refused error
	i := 0
	testkit.FillBound(t, "definitions of webhooks, the directory and sessions, each", size, func() bool {
		_, refused = kv.Put(t.Context(), fmt.Sprintf("user.%d", i), bytes.Repeat([]byte("x"), 1000))
		i++
		return refused != nil
	}, func() int { return 1000 * (i - 1) })
	require.ErrorIs(t, refused, ErrUnavailable)
	status, err := c.Status(t.Context())
	require.NoError(t, err)
	full := false
	for _, s := range status.Streams {
		full = full || s.Name == "KV_directory" && s.MaxBytes == size && float64(s.Bytes) > 0.8*size
	}
	require.True(t, full, "%v", status.Streams)
	require.NoError(t, testutil.CollectAndCompare(NewMetrics(c), strings.NewReader(`
# HELP orch_broker_stream_max_bytes Size at which a stream refuses new messages.
# TYPE orch_broker_stream_max_bytes gauge
orch_broker_stream_max_bytes{stream="DLQ"} 2.68435456e+08
orch_broker_stream_max_bytes{stream="EVENTS"} 8.589934592e+09
orch_broker_stream_max_bytes{stream="KV_directory"} 65536
`), "orch_broker_stream_max_bytes"))

	larger := connectTo(t, Config{InProcess: server, BucketBytes: 4 * size})
	again, err := larger.KeyValue(t.Context(), "directory", KVConfig{})
	require.NoError(t, err)
	_, err = again.Put(t.Context(), "revoked", []byte("x"))
	require.NoError(t, err)
	value, err := kv.Get(t.Context(), "revoked")
	require.NoError(t, err)
	require.Equal(t, "x", string(value))

	smaller := connectTo(t, Config{InProcess: server, BucketBytes: size / 2})
	kept, err := smaller.KeyValue(t.Context(), "directory", KVConfig{})
	require.NoError(t, err)
	value, err = kept.Get(t.Context(), "user.0")
	require.NoError(t, err, "a smaller setting refuses changes and removes nothing")
	require.Len(t, value, 1000)
}

// Compaction removes old tombstones and old markers of removed keys. It keeps young ones, and all other values.
func TestOldTombstonesAreCompacted(t *testing.T) {
	t.Parallel()
	c := connectInProcess(t)
	kv, err := c.KeyValue(t.Context(), "compacted", KVConfig{})
	require.NoError(t, err)
	tombstone := func(value []byte) bool { return string(value) == "gone" }
	for key, value := range map[string]string{"a": "here", "b": "gone", "c": "gone", "d": "removed"} {
		_, err := kv.Put(t.Context(), key, []byte(value))
		require.NoError(t, err)
	}
	require.NoError(t, kv.Delete(t.Context(), "d"))
	require.NoError(t, kv.Compact(t.Context(), time.Hour, tombstone))
	keys := func() (list []string) {
		require.NoError(t, kv.Entries(t.Context(), func(e Entry) error { list = append(list, e.Key); return nil }))
		return list
	}
	require.ElementsMatch(t, []string{"a", "b", "c"}, keys())
	require.NoError(t, kv.Compact(t.Context(), 0, tombstone))
	require.Equal(t, []string{"a"}, keys())
	require.NoError(t, kv.Compact(t.Context(), time.Nanosecond, tombstone))
	messages := func() uint64 {
		stream, err := c.js.Stream(t.Context(), bucketPrefix+"compacted")
		require.NoError(t, err)
		return stream.CachedInfo().State.Msgs
	}
	require.EqualValues(t, 1, messages(), "no markers remain")

	require.NoError(t, kv.Delete(t.Context(), "a"))
	require.NoError(t, kv.CompactDeleted(t.Context(), time.Hour))
	require.EqualValues(t, 1, messages())
	require.NoError(t, kv.CompactDeleted(t.Context(), time.Nanosecond))
	require.Zero(t, messages())
}

// A receiver that was cut off while a key was removed and compacted learns of it.
func TestAWatchReportsKeysThatVanishedMeanwhile(t *testing.T) {
	t.Parallel()
	c := connectInProcess(t)
	kv, err := c.KeyValue(t.Context(), "vanishing", KVConfig{})
	require.NoError(t, err)
	for _, key := range []string{"stays", "vanishes"} {
		_, err := kv.Put(t.Context(), key, []byte("x"))
		require.NoError(t, err)
	}
	present := map[string]bool{}
	view := map[string]bool{}
	round := func() {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		err := kv.watch(ctx, present, func(change Change) {
			switch {
			case change.InitialDone:
				cancel()
			case change.Deleted:
				delete(view, change.Key)
			default:
				view[change.Key] = true
			}
		})
		require.ErrorIs(t, err, context.Canceled)
	}
	round()
	require.Len(t, view, 2)
	require.NoError(t, kv.kv.Purge(t.Context(), "vanishes"))
	stream, err := c.js.Stream(t.Context(), bucketPrefix+"vanishing")
	require.NoError(t, err)
	require.NoError(t, stream.Purge(t.Context())) // Markers too; the other key is written again.
	_, err = kv.Put(t.Context(), "stays", []byte("y"))
	require.NoError(t, err)
	round()
	require.Equal(t, map[string]bool{"stays": true}, view)
}

// The clock of a bucket is the broker's, here the machine's.
func TestClockOfABucket(t *testing.T) {
	t.Parallel()
	c := connectTo(t, Config{InProcess: testkit.StartNATS(t, embeddednats.Options{})})
	kv, err := c.KeyValue(t.Context(), "rates", KVConfig{Memory: 1 << 20, MaxAge: time.Hour})
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), kv.Now(), time.Minute)
	require.Equal(t, time.UTC, kv.Now().Location())
	require.WithinDuration(t, time.Now(), (&KV{}).Now(), time.Minute, "before the first response it is the machine's")
}
