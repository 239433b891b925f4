package render

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/pkg/webhook/receive"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// rendered returns an event with more fields.
func rendered(fields string) string {
	return `{"event": "e", "resource": {"orch.resource.id": "r"}` + fields + `}`
}

// scanned are texts that usual templates render.
var scanned = []string{
	rendered(""), rendered(`, "payload": null`), rendered(`, "payload": {}`), rendered(`, "received": 1, "x": {"a": [1, {}]}`),
	rendered(`, "payload": {"a" : [1.50, -2e3, true, false, null, "x", [], {}], "b": {"a": {"a": "\u003c\n\/"}}}`),
	rendered(`, "related": []`), rendered(`, "related": [{"orch.resource.id": "a", "orch.resource.role": "b"}, {"x": "\u00e4", "x": "ä"}]`),
	rendered(`, "id": null, "occurred": null, "follows": null`),
	rendered(`, "id": "0190f0f0-1111-7222-8333-4444aaaabbbb", "occurred": "2024-05-06", "follows": "0190f0f01111722283334444aaaabbbb"`),
	rendered(`, "occurred": 1700000000.5`), " \n" + rendered(`, "pa\u0079load": {"a": "\ud800"}`) + "\t",
}

// Usual events are read without a tree.
func TestScanAcceptsUsualEvents(t *testing.T) {
	t.Parallel()
	for _, text := range scanned {
		require.True(t, new(EventMemory).scan(text), text)
	}
}

// FuzzScan: the event of a scan is that of a tree. A memory that is used again has nothing of the event before.
func FuzzScan(f *testing.F) {
	for _, seed := range append(scanned,
		rendered(`, "payload": {"a": 1, "a": 2}`), rendered(`, "payload": {"a": 1, "\u0061": 2}`), rendered(`, "event": 1`),
		rendered(`, "payload": {"a": "\\\"", "\\": "\u005cu005c"}`), rendered(`, "related": [1]`), rendered(`, "occurred": "x"`),
		rendered(`, "payload": {"n": 1`+strings.Repeat("0", 4300)+`}`), rendered(`, "x": `+strings.Repeat("[", 119)+strings.Repeat("]", 119)),
		rendered(`, "x": `+strings.Repeat("[", 120)+strings.Repeat("]", 120)), rendered(`, "payload": {"a": "`+"\xff"+`"}`),
		rendered(`, "payload": {"a":`+strings.Repeat("[", 118)+strings.Repeat("]", 118)+`}`), rendered(`,`), rendered("")+"x", "", "[]", `{"event"`,
		rendered(`, "payload": {"a":`+strings.Repeat("[", 119)+strings.Repeat("]", 119)+`}`),
	) {
		f.Add(rendered(`, "related": [{"orch.resource.id": "a", "orch.resource.role": "b"}], "payload": {"x": [1]}`), seed)
		f.Add(seed, rendered(""))
	}
	f.Fuzz(func(t *testing.T, before, text string) { requireScanIsTree(t, before, text) })
}

// TestScanIsTree compares many texts that are JSON or nearly so.
func TestScanIsTree(t *testing.T) {
	t.Parallel()
	var accepted atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		before, text := nearlyEvent(t), nearlyEvent(t)
		if requireScanIsTree(t, before, text) {
			accepted.Add(1)
		}
	})
	require.Positive(t, accepted.Load())
}

// nearlyEvent draws the text of an event. It may lack fields or have them twice, in any order and of any type.
func nearlyEvent(t *rapid.T) string {
	space := rapid.SampledFrom([]string{"", "", "", " ", "\n\t "})
	plain := rapid.SampledFrom([]string{`"orch.resource.id"`, `"orch.resource.role"`, `"a"`, `"b"`, `"c d"`, `"ä"`, `""`, `"e"`, `"f"`, `"g"`, `"h"`, `"i"`, `"j"`, `"k"`, `"l"`})
	escaped := rapid.SampledFrom([]string{`"\u0061"`, `"\\"`, `"\""`, `"ä\/"`, `"\ud83d"`, `"\u005cu005c"`})
	text := rapid.Custom(func(t *rapid.T) string {
		switch rapid.IntRange(0, 50).Draw(t, "rare") {
		case 0:
			return "\"\xff\""
		case 1, 2, 3, 4, 5:
			return escaped.Draw(t, "escaped")
		}
		return plain.Draw(t, "plain")
	})
	var value func(depth int) string
	list := func(element func() string) string {
		all := make([]string, rapid.IntRange(0, 4).Draw(t, "items"))
		for i := range all {
			all[i] = element() + space.Draw(t, "space")
		}
		return strings.Join(all, ","+space.Draw(t, "space"))
	}
	object := func(element func() string) string {
		return "{" + space.Draw(t, "space") + list(func() string {
			return text.Draw(t, "key") + space.Draw(t, "space") + ":" + space.Draw(t, "space") + element()
		}) + "}"
	}
	value = func(depth int) string {
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			if depth < 3 {
				return object(func() string { return value(depth + 1) })
			}
		case 1:
			if depth < 3 {
				return "[" + list(func() string { return value(depth + 1) }) + "]"
			}
		case 2, 3:
			return text.Draw(t, "text")
		}
		return rapid.SampledFrom([]string{"1", "-0.5e3", "1700000000", "true", "false", "null", `"2024-05-06"`, `"0190f0f0-1111-7222-8333-4444aaaabbbb"`}).Draw(t, "scalar")
	}
	labels := func() string {
		more := object(func() string { return text.Draw(t, "label") })
		return strings.Replace(`{"orch.resource.id":"r", "orch.resource.role":"x", `+more[1:], ", }", "}", 1)
	}
	fields := map[string]func() string{
		"event": func() string { return text.Draw(t, "name") }, "resource": labels, "related": func() string { return "[" + list(labels) + "]" },
		"payload": func() string { return object(func() string { return value(1) }) },
	}
	names := rapid.Permutation([]string{"event", "resource", "related", "payload"}).Draw(t, "order")
	names = append(names, rapid.SliceOfN(rapid.SampledFrom([]string{"occurred", "id", "follows", "received", "x", "y", "z", "payload"}), 0, 2).Draw(t, "more")...)
	parts := make([]string, len(names))
	for i, name := range names {
		content := value(0)
		if usual := fields[name]; usual != nil && rapid.IntRange(0, 30).Draw(t, "usual") > 0 {
			content = usual()
		}
		parts[i] = `"` + name + `":` + space.Draw(t, "space") + content
	}
	return space.Draw(t, "space") + "{" + strings.Join(parts, ",") + "}" + space.Draw(t, "space")
}

// requireScanIsTree reports whether the scan accepts the text.
func requireScanIsTree(t require.TestingT, before, text string) (accepted bool) {
	var byScan, byTree EventMemory
	if accepted = byScan.scan(text); accepted {
		require.NoError(t, byTree.parse(text))
		byScan.event.Related = byScan.list
		require.Empty(t, cmp.Diff(&byTree.event, &byScan.event, protocmp.Transform()))
		require.Equal(t, byTree.event.Payload == nil, byScan.event.Payload == nil)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)
	read := func(m *EventMemory, text string) ([]*orchv1.ReceivedEvent, error) {
		return scanEngine.EventsIn(m, text, &orchv1.WebhookDefinition{Id: uuid.Max.String(), Name: "a hook"}, &receive.Request{Method: "POST", Received: at}, receive.Body{}, uuid.Max)
	}
	var used EventMemory
	_, _ = read(&used, before)
	if !used.Clear() {
		return accepted
	}
	got, err := read(&used, text)
	want, wanted := read(&EventMemory{}, text)
	require.Equal(t, wanted, err)
	require.Empty(t, cmp.Diff(want, got, protocmp.Transform()))
	return accepted
}

var scanEngine = New(Options{Vocabulary: vocabulary.Orch})
