//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/request"
)

const (
	// maxSlowdown is how many times longer the slowest hundredth of a tenant's requests may take beside a hostile tenant.
	maxSlowdown = 2
	// hostileClients send a hostile tenant's requests at once.
	hostileClients = 8
	// windows is how often a tenant is measured in each way. The ways alternate and the median window counts, so that a change of the
	// machine's load affects all ways, or is left out.
	windows = 5
	// settle is how long hostile clients send before a window begins.
	settle = 200 * time.Millisecond
)

// hostility is the worst that a tenant can do in one way, within the limits of the API.
type hostility struct {
	name string
	// begin prepares the tenant, and returns the request that its clients repeat.
	begin func(ctx context.Context, t *testing.T, h *tenant) func(ctx context.Context)
}

var hostilities = []hostility{
	{"events of 1.5 MB made of <", func(_ context.Context, _ *testing.T, h *tenant) func(context.Context) {
		return h.events(1, `"payload":{"text":"`+strings.Repeat("<", 1_490_000)+`"}`)
	}},
	{"labels of 1 MB", func(_ context.Context, _ *testing.T, h *tenant) func(context.Context) {
		return h.events(1, `"related":[{"orch.resource.id":"a","orch.resource.role":"b","label":"`+strings.Repeat("l", 1<<20)+`"}]`)
	}},
	{"events that follow an unknown one", func(_ context.Context, _ *testing.T, h *tenant) func(context.Context) {
		return h.events(200, fmt.Sprintf(`"follows":%q`, uuid.NewString()))
	}},
	{"huge filters", func(_ context.Context, t *testing.T, h *tenant) func(context.Context) {
		ids := make([]string, 10_000)
		for i := range ids {
			ids[i] = uuid.NewString()
		}
		body, err := json.Marshal(map[string]any{
			"flow_runs": map[string]any{"id": map[string]any{"not_any_": ids}, "name": map[string]any{"like_": "%a%"}},
			"task_runs": map[string]any{"name": map[string]any{"like_": "%b%"}}, "sort": "NAME_DESC",
		})
		require.NoError(t, err)
		return func(ctx context.Context) { h.send(ctx, http.MethodPost, h.base+"/flow_runs/filter", body, nil) }
	}},
	{"holders of a limit", func(ctx context.Context, t *testing.T, h *tenant) func(context.Context) {
		require.Equal(t, http.StatusCreated, h.post(ctx, "/v2/concurrency_limits/", map[string]any{"name": "held", "limit": 100_000}))
		return func(ctx context.Context) {
			h.post(ctx, "/v2/concurrency_limits/increment-with-lease", map[string]any{
				"names": []string{"held"}, "slots": 1, "lease_duration": 3600, "holder": map[string]string{"type": "flow_run", "id": uuid.NewString()},
			})
		}
	}},
	{"flood of webhooks", func(ctx context.Context, t *testing.T, h *tenant) func(context.Context) {
		var made struct{ URL string }
		require.Equal(t, http.StatusCreated, h.call(ctx, http.MethodPost, h.base+"/webhooks/", map[string]any{
			"name": "flood", "template": `{"event": "flood", "resource": {"orch.resource.id": "{% for i in range(200) %}{{ i }}{% endfor %}"}}`,
		}, &made))
		return func(ctx context.Context) { h.call(ctx, http.MethodPost, made.URL, map[string]any{"a": 1}, nil) }
	}},
	{"sockets", func(_ context.Context, _ *testing.T, h *tenant) func(context.Context) {
		return func(ctx context.Context) {
			socket, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(h.base, "http")+"/events/out",
				&websocket.DialOptions{HTTPClient: h.http, Subprotocols: []string{"prefect"}})
			if err != nil {
				pause(ctx)
				return
			}
			defer func() { _ = socket.CloseNow() }()
			for _, text := range []string{
				fmt.Sprintf(`{"type":"auth","token":%q}`, h.key), `{"type":"filter","filter":{"event":{"prefix":["orch.","a","b"]}}}`,
			} {
				_ = socket.Write(ctx, websocket.MessageText, []byte(text))
			}
			wait(ctx, 50*time.Millisecond)
		}
	}},
}

// events returns a request of n events with a further field each. They are encoded once, because clients share the processors with the
// server that is measured.
func (w *tenant) events(n int, field string) func(ctx context.Context) {
	const id, numberLength = "00000000-0000-4000-8000-", 12
	now := time.Now().UTC().Format(time.RFC3339Nano)
	var ids []int
	var template []byte
	for i := range n {
		separator := byte(',')
		if i == 0 {
			separator = '['
		}
		template = append(append(template, separator), `{"id":"`...)
		ids = append(ids, len(template)+len(id))
		template = fmt.Appendf(template, `%s%012d","occurred":%q,"event":"hostile","resource":{"orch.resource.id":"hostile"},%s}`, id, 0, now, field)
	}
	template = append(template, ']')
	var number atomic.Int64
	return func(ctx context.Context) {
		body := bytes.Clone(template)
		for _, at := range ids {
			copy(body[at:], fmt.Sprintf("%0*d", numberLength, number.Add(1)))
		}
		w.send(ctx, http.MethodPost, w.base+"/events", body, nil)
	}
}

// TestFaultsOfTenants measures the latency of a workspace alone and beside another that does the worst it may. The slowest hundredth of its
// requests takes no more than twice as long. The hostile clients use the processors of the server, so the workspace is also measured while
// they send the same requests, as many, to a server that discards them. The short form prints that and measures too little to judge.
func TestFaultsOfTenants(t *testing.T) {
	scale := requireFaultScale(t)
	measuredForms := forms
	if scale.short {
		measuredForms = forms[:1]
	}
	for _, form := range measuredForms {
		t.Run(form.name, func(t *testing.T) {
			o := form.start(t, "ORCH_AUTH=keys")
			key := o.OwnerKey(t)
			account := o.API() + "/accounts/" + request.DefaultAccount.String()
			measured := &tenant{http: tenantClient(t), key: key, base: account + "/workspaces/" + request.DefaultWorkspace.String()}
			measured.measure(t, scale.measured/windows) // The first requests open connections and fill caches.
			for _, hostility := range hostilities {
				t.Run(hostility.name, func(t *testing.T) {
					var workspace struct{ ID string }
					require.Equal(t, http.StatusCreated, measured.call(t.Context(), http.MethodPost, account+"/workspaces/",
						map[string]any{"name": "hostile " + uuid.NewString()[:8]}, &workspace))
					hostile := &tenant{http: tenantClient(t), key: key, base: account + "/workspaces/" + workspace.ID}
					diversion := divert(t, hostile.http)
					do := hostility.begin(t.Context(), t, hostile)
					row := FaultRow{Fault: "tenant: " + hostility.name, Form: form.name, Lasts: scale.measured}
					window := func() []time.Duration { return measured.measure(t, scale.measured/windows) }
					attacked := func() (took []time.Duration) {
						attack(t, do, func() { took = window() })
						return took
					}
					var alone, contended, beside []time.Duration
					for range windows {
						count := func(took []time.Duration) time.Duration { row.Acknowledged += len(took); return p99(took) }
						alone = append(alone, count(window()))
						sent := diversion.sent.Load()
						took := attacked()
						row.Unavailable = max(row.Unavailable, slices.Max(took))
						beside = append(beside, count(took))
						diversion.to(scale.measured/windows, diversion.sent.Load()-sent)
						contended = append(contended, count(attacked()))
						diversion.end()
					}
					before, shared, with := median(alone), median(contended), median(beside)
					slowdown := float64(with) / float64(max(before, shared))
					row.Remark = fmt.Sprintf("p99 %.1f ms alone, %.1f ms beside the clients of another server, %.1f ms beside: %.1f times",
						before.Seconds()*1000, shared.Seconds()*1000, with.Seconds()*1000, slowdown)
					faultTable.Add(t, row)
					if !scale.short && slowdown > maxSlowdown {
						t.Errorf("%s: %s", row.Fault, row.Remark)
					}
				})
			}
		})
	}
}

// attack sends a request from hostile clients, again and again, while another function runs.
func attack(t *testing.T, do func(ctx context.Context), during func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for range hostileClients {
		clients.Go(func() {
			for ctx.Err() == nil {
				do(ctx)
			}
		})
	}
	defer clients.Wait()
	defer stop()
	wait(ctx, settle)
	during()
}

// diversion is the transport of hostile clients. While it is on, their requests go to a server that discards them, at a rate.
type diversion struct {
	http.RoundTripper
	sink string // Host and port of that server.
	sent atomic.Int64

	pace atomic.Pointer[pace] // Nil while it is off.
}

// pace is when diverted requests are sent: one after each interval.
type pace struct {
	began    time.Time
	interval time.Duration
	taken    atomic.Int64
}

// divert lets the requests of a client be diverted.
func divert(t *testing.T, client *http.Client) *diversion {
	t.Helper()
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(sink.Close)
	d := &diversion{RoundTripper: client.Transport, sink: sink.Listener.Addr().String()}
	client.Transport = d
	return d
}

// to diverts requests from now on, so many in a time.
func (d *diversion) to(within time.Duration, requests int64) {
	d.pace.Store(&pace{began: time.Now(), interval: within / time.Duration(max(requests, 1))})
}

// end ends the diversion.
func (d *diversion) end() { d.pace.Store(nil) }

// RoundTrip implements [http.RoundTripper].
func (d *diversion) RoundTrip(r *http.Request) (*http.Response, error) {
	d.sent.Add(1)
	p := d.pace.Load()
	if p == nil {
		return d.RoundTripper.RoundTrip(r)
	}
	wait(r.Context(), time.Until(p.began.Add(time.Duration(p.taken.Add(1))*p.interval)))
	r = r.Clone(r.Context())
	r.URL.Host = d.sink
	return d.RoundTripper.RoundTrip(r)
}

// median returns the middle of an odd number of durations. It sorts them.
func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// p99 is what 99 of 100 requests do not exceed. It sorts them.
func p99(took []time.Duration) time.Duration {
	slices.Sort(took)
	return took[(len(took)-1)*99/100]
}

func tenantClient(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: hostileClients}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Timeout: 30 * time.Second, Transport: transport}
}

// tenant is a workspace with a client.
type tenant struct {
	http      *http.Client
	key, base string
}

// post sends JSON, and returns the status; 0 without a response.
func (w *tenant) post(ctx context.Context, path string, body any) int {
	return w.call(ctx, http.MethodPost, w.base+path, body, nil)
}

func (w *tenant) call(ctx context.Context, method, url string, body, out any) int {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // The tests encode only maps and slices.
	}
	return w.send(ctx, method, url, text, out)
}

// send is call with an encoded body.
func (w *tenant) send(ctx context.Context, method, url string, body []byte, out any) int {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0
	}
	request.Header.Set("Authorization", "Bearer "+w.key)
	request.Header.Set("Content-Type", "application/json")
	response, err := w.http.Do(request)
	if err != nil {
		pause(ctx)
		return 0
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && out != nil {
		err = json.Unmarshal(answer, out)
	}
	if err != nil {
		return 0
	}
	return response.StatusCode
}

// measure runs flows for a while, and returns how long each request took. All must succeed.
func (w *tenant) measure(t *testing.T, length time.Duration) (took []time.Duration) {
	t.Helper()
	timed := func(want int, method, path string, body, out any) {
		began := time.Now()
		status := w.call(t.Context(), method, w.base+path, body, out)
		took = append(took, time.Since(began))
		require.Equal(t, want, status, path)
	}
	var flow, run struct{ ID string }
	timed(http.StatusCreated, http.MethodPost, "/flows/", map[string]any{"name": "measured " + uuid.NewString()}, &flow)
	for began := time.Now(); time.Since(began) < length; {
		timed(http.StatusCreated, http.MethodPost, "/flow_runs/", map[string]any{"flow_id": flow.ID}, &run)
		timed(http.StatusCreated, http.MethodPost, "/flow_runs/"+run.ID+"/set_state", map[string]any{"state": map[string]any{"type": "RUNNING"}, "force": true}, nil)
		timed(http.StatusOK, http.MethodGet, "/flow_runs/"+run.ID, nil, nil)
		timed(http.StatusOK, http.MethodPost, "/flow_runs/filter", map[string]any{"limit": 10, "sort": "START_TIME_DESC"}, nil)
		timed(http.StatusNoContent, http.MethodPost, "/events", []any{map[string]any{
			"id": uuid.NewString(), "occurred": time.Now().UTC(), "event": "measured", "resource": map[string]string{"orch.resource.id": "measured"},
		}}, nil)
	}
	return took
}
