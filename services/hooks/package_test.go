package hooks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/webhookdef"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/hooks"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	account   = "01890000-0000-7000-8000-00000000000a"
	workspace = "01890000-0000-7000-8000-00000000000b"
	hookID    = "01890000-0000-7000-8000-00000000000c"
	// slug is as long as a real one; no output may ever contain it.
	slug = "Canary_slug-0123456789"
	// static renders without looking at the request.
	static = `{"event": "e", "resource": {"orch.resource.id": "r"}}`
	// How long, and how often, tests look for what must become true.
	waitTime = 10 * time.Second
	tick     = 5 * time.Millisecond
)

// world is the service on a real broker, and a consumer that collects what comes out.
type world struct {
	t        *testing.T
	nats     *testkit.NATS
	conn     *broker.Conn
	bucket   *broker.KV
	hooks    *hooks.Hooks
	registry *prometheus.Registry
	server   *httptest.Server
	logs     *logs

	events chan *orchv1.ReceivedEvent
}

// logs is a writer for several goroutines.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newWorld starts everything and waits until the definition bucket is loaded.
func newWorld(t *testing.T, change ...func(*hooks.Config, *hooks.Deps)) *world {
	t.Helper()
	w := &world{t: t, logs: &logs{}, registry: prometheus.NewRegistry(), events: make(chan *orchv1.ReceivedEvent, 100)}
	log := slog.New(slog.NewJSONHandler(w.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w.nats = testkit.StartNATS(t, embeddednats.Options{})
	var err error
	w.conn, err = broker.Connect(t.Context(), broker.Config{InProcess: w.nats, Logger: log})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.conn.Close()) })
	w.bucket, err = w.conn.KeyValue(t.Context(), webhookdef.Bucket, broker.KVConfig{})
	require.NoError(t, err)

	cfg, deps := hooks.Config{}, hooks.Deps{Broker: w.conn, Log: log, Registry: w.registry}
	for _, c := range change {
		c(&cfg, &deps)
	}
	w.hooks, err = hooks.New(cfg, deps)
	require.NoError(t, err)
	w.server = httptest.NewServer(w.hooks.Handler())
	t.Cleanup(w.server.Close)

	w.start(w.hooks.Run)
	w.start(func(ctx context.Context) error {
		return w.conn.Consume(ctx, broker.DurablePersist, broker.ConsumeOptions{}, w.collect)
	})
	require.Eventually(t, func() bool { return w.hooks.Ready() == nil }, waitTime, tick)
	return w
}

// start runs f until the test ends.
func (w *world) start(f func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() { _ = f(ctx) }) // It ends with the test.
	w.t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
}

func (w *world) collect(ctx context.Context, batch []broker.Event) error {
	for _, b := range batch {
		e, ws, err := events.FromBroker(b)
		if err != nil {
			return err
		}
		if ws.String() == workspace {
			select {
			case w.events <- e:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

// next is the next event that came out.
func (w *world) next() *orchv1.ReceivedEvent {
	w.t.Helper()
	select {
	case e := <-w.events:
		return e
	case <-time.After(waitTime):
		require.FailNow(w.t, "no event came")
		return nil
	}
}

// none makes sure that nothing came out: an event that is published now is the first to come.
func (w *world) none() {
	w.t.Helper()
	w.put("marker", &orchv1.WebhookDefinition{Template: `{"event": "marker", "resource": {"orch.resource.id": "r"}}`})
	require.Equal(w.t, http.StatusNoContent, w.do("GET", "marker", "").status)
	require.Equal(w.t, "marker", w.next().GetEvent())
}

// answer is what a sender gets.
type answer struct {
	status int
	header http.Header
	body   string
}

// put writes a definition into the definition bucket, as orchestration does.
func (w *world) put(slug string, d *orchv1.WebhookDefinition) {
	w.t.Helper()
	d.Id, d.Account, d.Workspace, d.Name, d.Enabled = hookID, account, workspace, "a hook", true
	w.putAs(slug, d)
}

// disable switches a webhook off for ever.
func (w *world) disable(slug string) {
	w.t.Helper()
	w.putAs(slug, &orchv1.WebhookDefinition{Id: hookID, Account: account, Workspace: workspace, Template: static, Revision: 1 << 40})
}

func (w *world) putAs(slug string, d *orchv1.WebhookDefinition) {
	w.t.Helper()
	entry, err := webhookdef.Encode(d)
	require.NoError(w.t, err)
	_, err = w.bucket.Put(w.t.Context(), webhookdef.Key(slug), entry)
	require.NoError(w.t, err)
}

// do sends a request to a webhook.
func (w *world) do(method, slug, body string, header ...string) answer {
	w.t.Helper()
	return w.send(method, "/hooks/"+slug, bytes.NewReader([]byte(body)), header...)
}

func (w *world) send(method, path string, body io.Reader, header ...string) answer {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.server.URL+path, body)
	require.NoError(w.t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	response, err := w.server.Client().Do(r)
	require.NoError(w.t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(w.t, err)
	return answer{response.StatusCode, response.Header, string(text)}
}

// payload is the payload of an event.
func payload(t *testing.T, e *orchv1.ReceivedEvent) map[string]any {
	t.Helper()
	var p map[string]any
	require.NoError(t, json.Unmarshal(e.GetPayload(), &p))
	return p
}

// measured is what the metrics say.
func (w *world) measured() string {
	w.t.Helper()
	families, err := w.registry.Gather()
	require.NoError(w.t, err)
	text, err := json.Marshal(families)
	require.NoError(w.t, err)
	return string(text)
}

// upload begins a request with a body of size bytes, sends a part of it, and leaves the connection open until the test ends.
func (w *world) upload(slug string, size int, part string) {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.server.Listener.Addr().String())
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprintf(conn, "POST /hooks/%s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", slug, size, part)
	require.NoError(w.t, err)
}
