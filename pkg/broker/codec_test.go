package broker

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// fullEvent returns an event with every attribute.
func fullEvent() Event {
	return Event{
		ID:          uuid.MustParse("018f4f2c-0000-7000-8000-000000000001"),
		Source:      "/a?b&c",
		Type:        "orch.test",
		Subject:     `a "quoted" <name>`,
		Time:        time.Date(2026, 1, 2, 3, 4, 5, 678_900_999, time.FixedZone("", 3600)),
		Workspace:   uuid.MustParse("018f4f2c-0000-7000-8000-000000000002"),
		Data:        json.RawMessage(" {\"n\": 1.00, \"h\": \"<&>\"}\n"),
		TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	}
}

func TestEventOnTheWire(t *testing.T) {
	t.Parallel()
	const want = `{"specversion":"1.0","id":"018f4f2c-0000-7000-8000-000000000001","source":"/a?b&c","type":"orch.test",` +
		`"subject":"a \"quoted\" <name>","time":"2026-01-02T02:04:05.6789Z",` +
		`"orchworkspace":"018f4f2c-0000-7000-8000-000000000002",` +
		`"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",` +
		`"datacontenttype":"application/json","data":{"n": 1.00, "h": "<&>"}}`
	require.Equal(t, want, string(appendEvent(nil, new(fullEvent()))))
}

// The fast decoder decodes every frame of this server, with the same result as encoding/json.
func TestOwnFrames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z<&>/:€.]{1,20}`)
		var waiters []*waiter
		for range rapid.IntRange(1, 5).Draw(t, "events") {
			e := Event{ID: uuid.New(), Source: word.Draw(t, "source"), Type: word.Draw(t, "type")}
			if rapid.Bool().Draw(t, "more") {
				e.Subject, e.TraceParent, e.TraceState = word.Draw(t, "subject"), word.Draw(t, "parent"), word.Draw(t, "state")
				e.Workspace, e.Time = uuid.New(), time.UnixMicro(rapid.Int64Range(0, 1<<52).Draw(t, "time"))
			}
			e.Data = json.RawMessage(rapid.SampledFrom([]string{"", "null", `{"a": [1,"x\ny"]}`, ` "€" `}).Draw(t, "data"))
			require.NoError(t, e.Validate())
			waiters = append(waiters, &waiter{body: appendEvent(nil, &e)})
		}
		frame := appendFrame(nil, waiters)
		own, ok := ownFrame(nil, frame)
		require.True(t, ok, "%s", frame)
		foreign, err := foreignFrame(nil, frame)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(foreign, own))
	})
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	const id = `"id":"018f4f2c-0000-7000-8000-000000000001"`
	for name, text := range map[string]string{
		"an object":     `{}`,
		"no version":    `[{` + id + `,"source":"s","type":"t"}]`,
		"other version": `[{"specversion":"0.3",` + id + `,"source":"s","type":"t"}]`,
		"no id":         `[{"specversion":"1.0","source":"s","type":"t"}]`,
		"id no UUID":    `[{"specversion":"1.0","id":"1","source":"s","type":"t"}]`,
		"no source":     `[{"specversion":"1.0",` + id + `,"type":"t"}]`,
		"binary data":   `[{"specversion":"1.0",` + id + `,"source":"s","type":"t","data_base64":"AA=="}]`,
		"other data":    `[{"specversion":"1.0",` + id + `,"source":"s","type":"t","datacontenttype":"text/xml","data":"<a/>"}]`,
		"bad time":      `[{"specversion":"1.0",` + id + `,"source":"s","type":"t","time":"yesterday"}]`,
		"bad workspace": `[{"specversion":"1.0",` + id + `,"source":"s","type":"t","orchworkspace":"w"}]`,
		"truncated":     `[{"specversion":"1.0"`,
	} {
		_, err := decodeFrame(nil, []byte(text))
		require.Error(t, err, name)
	}
}

// FuzzDecodeFrame checks that no input causes a panic, and that decoded frames survive a round trip.
func FuzzDecodeFrame(f *testing.F) {
	f.Add([]byte(`[]`))
	f.Add([]byte(`null`))
	f.Add(appendFrame(nil, []*waiter{{body: appendEvent(nil, new(fullEvent()))}, {body: appendEvent(nil, new(testEvent()))}}))
	f.Add([]byte(`[{"specversion":"1.0","id":"018f4f2c-0000-7000-8000-000000000001","source":"s","type":"t","data":null}]`))
	f.Add([]byte(`[{"specversion":"1.0","id":"018f4f2c-0000-7000-8000-000000000001","source":"s","type":"t",` +
		`"time":"2026-01-02T03:04:05.123456789+01:00","data":{"a":[1e999,"\ud800"]}}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		events, err := decodeFrame(nil, data)
		if own, ok := ownFrame(nil, data); ok {
			foreign, err := foreignFrame(nil, data)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(foreign, own))
		}
		if err != nil {
			return
		}
		waiters := make([]*waiter, len(events))
		for i := range events {
			waiters[i] = &waiter{body: appendEvent(nil, &events[i])}
		}
		again, err := decodeFrame(nil, appendFrame(nil, waiters))
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(events, again))
	})
}

// Workspaces are distributed over the shards, and each stays on its own.
func TestShard(t *testing.T) {
	t.Parallel()
	const shards, workspaces = 8, 8000
	var count [shards]float64
	for range workspaces {
		w := uuid.Must(uuid.NewV7())
		n := shard(w, shards)
		require.Equal(t, n, shard(w, shards))
		count[n]++
	}
	for _, n := range count {
		require.Less(t, math.Abs(n-workspaces/shards), 0.25*workspaces/shards)
	}
	require.Zero(t, shard(uuid.New(), 1))
}
