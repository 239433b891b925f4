package hooks_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhookdef"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/hooks"
)

// hostile is a request with the worst body of one parser.
type hostile struct {
	name, slug string
	body       string
	header     []string
	decoded    int // The length of the body after decompression, in bytes.
	stranger   bool
	statuses   []int
}

// hostileRequests puts the webhooks of every path that reads a body, and returns the worst body of each path.
func hostileRequests(t *testing.T) (*world, []hostile) {
	t.Helper()
	ring, keyed := withKeys(t)
	_, trusted := withSNS(t)
	w := newWorld(t, keyed, trusted)
	w.put("github", signed(t, ring, static))
	w.put("twilio", &orchv1.WebhookDefinition{
		Template: static, Verification: &orchv1.WebhookVerification{Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_TWILIO},
		SealedSecrets: []string{seal(t, ring, webhookdef.FieldSecrets, signing)},
	})
	w.put("amazon", snsWebhook(static))
	w.put("payload", &orchv1.WebhookDefinition{Template: static})
	w.put("length", &orchv1.WebhookDefinition{Template: `{"event": "e", "resource": {"orch.resource.id": "r.{{ body | length }}"}, "payload": {}}`})
	w.put("cloud", &orchv1.WebhookDefinition{Template: `{{ body | from_cloud_event(headers) }}`})

	const (
		values = receive.MaxValues - 2
		length = 5<<20 - 100
	)
	many := "[" + strings.Repeat("{},", 1_740_000) + "{}]"
	var keys strings.Builder
	for i := range values {
		fmt.Fprintf(&keys, `"%d":{},`, i)
	}
	wide := "{" + keys.String() + `"z":1}`
	fields := strings.Repeat("a=1&", length/4)
	var form strings.Builder
	for i := range receive.MaxValues - 1 {
		form.WriteString(strconv.Itoa(i) + "=&")
	}
	text := `{"text": "` + strings.Repeat("x", length-100) + `"}`
	escaped := `["` + strings.Repeat(`\u00e9`, length/6) + `"]`
	nested := `{"specversion": "1.0", "id": "1", "source": "s", "type": "t", "datacontenttype": "application/json", "data_base64": "` +
		base64.StdEncoding.EncodeToString([]byte(many[:3<<20]+"{}]")) + `"}`

	const (
		jsonType = "application/json"
		formType = "application/x-www-form-urlencoded"
	)
	unsigned := []string{"X-Hub-Signature-256", "sha256=" + strings.Repeat("0", 64)}
	unsignedTwilio := []string{"X-Twilio-Signature", "AAAA"}
	validation := []string{"Aeg-Event-Type", "SubscriptionValidation"}
	all := []hostile{
		{name: "a wrong signature", slug: "github", body: text, header: unsigned, stranger: true, statuses: []int{401}},
		{name: "a wrong signature of many values", slug: "github", body: many, header: unsigned, stranger: true, statuses: []int{413}},
		{name: "a handshake", slug: "github", body: many, header: validation, stranger: true, statuses: []int{401, 413}},
		{name: "a handshake without a length", slug: "payload", body: text, header: validation, statuses: []int{204, 400}},
		{name: "a message of SNS", slug: "amazon", body: text, stranger: true, statuses: []int{401}},
		{name: "a message of SNS with many values", slug: "amazon", body: "[" + strings.Repeat("{},", values) + "{}]", stranger: true, statuses: []int{401}},
		{name: "a form of Twilio", slug: "twilio", body: fields, header: append(unsignedTwilio, "Content-Type", formType), stranger: true, statuses: []int{401, 413}},
		{name: "a form of Twilio with distinct names", slug: "twilio", body: form.String(), header: append(unsignedTwilio, "Content-Type", formType), stranger: true, statuses: []int{401}},
		{name: "many values", slug: "payload", body: many, statuses: []int{413}},
		{name: "the payload by default, of values", slug: "payload", body: "[" + strings.Repeat("{},", values) + "{}]", statuses: []int{204}},
		{name: "the payload by default, of keys", slug: "payload", body: wide, statuses: []int{204}},
		{name: "the payload by default, of a form", slug: "payload", body: form.String(), header: []string{"Content-Type", formType}, statuses: []int{204, 400}},
		{name: "the payload by default, of a text", slug: "payload", body: text, statuses: []int{204, 400}},
		{name: "a template, of values", slug: "length", body: "[" + strings.Repeat("{},", values) + "{}]", statuses: []int{204}},
		{name: "a template, of keys", slug: "length", body: wide, statuses: []int{204}},
		{name: "a template, of escapes", slug: "length", body: escaped, statuses: []int{204}},
		{name: "a template, of a charset", slug: "length", body: strings.Repeat("\xe9", length), header: []string{"Content-Type", "text/plain; charset=latin1"}, statuses: []int{204}},
		{name: "JSON inside of a CloudEvent", slug: "cloud", body: nested, statuses: []int{204, 400}},
	}
	for i := range all {
		all[i].decoded = len(all[i].body)
		if all[i].header == nil || all[i].header[0] != "Content-Type" && all[i].slug != "twilio" {
			all[i].header = append(all[i].header, "Content-Type", jsonType)
		}
	}
	for coding, compress := range map[string]func(*testing.T, string) string{"gzip": gzipped, "br": brotlied, "zstd": zstded} {
		for name, content := range map[string]string{"zeros": strings.Repeat("\x00", 100<<20), "values": many} {
			all = append(all, hostile{
				name: name + " in " + coding, slug: "github", body: compress(t, content), decoded: 5 << 20,
				header: append([]string{"Content-Encoding", coding}, unsigned...), stranger: true, statuses: []int{401, 413},
			})
		}
	}
	return w, all
}

// TestASmallRequestDoesNotTakeMuchMemory posts the worst body of every parser. The allocation of a stranger's request stays within a
// small factor of the decompressed body; that of an accepted one within the bound of its values.
func TestASmallRequestDoesNotTakeMuchMemory(t *testing.T) { //nolint:paralleltest // It measures the memory of the process.
	w, all := hostileRequests(t)
	const (
		strangerFactor = 8
		most           = 128 << 20 // Of an accepted request.
		noise          = 2 << 20   // Of the test's client and the broker.
	)
	for _, c := range all {
		w.do(http.MethodGet, c.slug, "") // The webhook is loaded.
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := w.do(http.MethodPost, c.slug, c.body, c.header...)
		runtime.ReadMemStats(&after)
		allocated := int(after.TotalAlloc - before.TotalAlloc)
		require.Contains(t, c.statuses, got.status, c.name)
		bound := most
		if c.stranger {
			bound = noise + strangerFactor*c.decoded
		}
		if allocated > bound {
			t.Errorf("%s: a request of %d bytes, %d decoded, makes the service allocate %d kB", c.name, len(c.body), c.decoded, allocated>>10)
		}
	}
}

// TestWorstBodiesAtOnce posts each of the worst bodies ten times at once.
func TestWorstBodiesAtOnce(t *testing.T) { //nolint:paralleltest // It measures the memory of the process.
	w, all := hostileRequests(t)
	const most = 256 << 20
	defer debug.SetGCPercent(debug.SetGCPercent(20)) // The memory of the test itself must not delay collections.
	highest := uint64(0)
	for _, c := range all {
		runtime.GC()
		before := heap()
		var clients sync.WaitGroup
		statuses, peak := make([]int, 10), uint64(0)
		for i := range statuses {
			clients.Go(func() { statuses[i] = w.do(http.MethodPost, c.slug, c.body, c.header...).status })
		}
		ended := make(chan struct{})
		go func() { clients.Wait(); close(ended) }()
		for running := true; running; {
			select {
			case <-ended:
				running = false
			default:
				peak = max(peak, heap())
				runtime.Gosched()
			}
		}
		for _, status := range statuses {
			require.Contains(t, append(c.statuses, http.StatusServiceUnavailable), status, c.name)
		}
		highest = max(highest, peak-min(peak, before))
		if peak > before+most {
			t.Errorf("%s: ten requests at once raise the heap by %d MiB", c.name, (peak-before)>>20)
		}
	}
	t.Logf("ten requests at once raise the heap by at most %d MiB", highest>>20)
}

// heap returns the bytes of live and dead objects on the heap.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// TestAnAccountLeavesMemoryToOthers: while one account's requests hold its half, another account's webhook accepts requests.
func TestAnAccountLeavesMemoryToOthers(t *testing.T) {
	t.Parallel()
	const memory = 24 << 20 // The minimum for a body of 1 MiB.
	w := newWorld(t, func(c *hooks.Config, _ *hooks.Deps) { c.MaxBody, c.BodyMemory = 1<<20, memory })
	w.put("busy", &orchv1.WebhookDefinition{Template: static})
	w.putAs("other", &orchv1.WebhookDefinition{
		Id: "01890000-0000-7000-8000-00000000000d", Account: "01890000-0000-7000-8000-00000000000e", Workspace: workspace, Template: static, Enabled: true,
	})
	require.Equal(t, http.StatusNoContent, w.do(http.MethodPost, "busy", "{}").status)
	w.next()
	require.Equal(t, http.StatusNoContent, w.do(http.MethodPost, "other", "{}").status)
	w.next()

	// Uploads that never end hold what they sent.
	sent := strings.Repeat("x", 900<<10)
	busy := func() answer { return w.do(http.MethodPost, "busy", strings.Repeat("x", 1<<20)) }
	for range memory / 2 / (1 << 20) {
		w.upload("busy", 1<<20, sent)
	}
	require.Eventually(t, func() bool { return busy().status == http.StatusServiceUnavailable }, 3*waitTime, tick)
	require.NotEmpty(t, busy().header.Get("Retry-After"))
	require.Contains(t, w.measured(), "orch_hooks_overloads_total")
	require.Equal(t, http.StatusNoContent, w.do(http.MethodPost, "other", "{}").status)
}

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	require.NoError(t, err)
	_, err = z.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.String()
}

func brotlied(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := brotli.NewWriterLevel(&b, 5)
	_, err := z.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.String()
}

func zstded(t *testing.T, text string) string {
	t.Helper()
	z, err := zstd.NewWriter(nil, zstd.WithWindowSize(8<<20))
	require.NoError(t, err)
	return string(z.EncodeAll([]byte(text), nil))
}
