package deploy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/run"
	keyring "github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/gateway"
	"github.com/orch-project/orch/services/hooks"
	"github.com/orch-project/orch/services/orchestration"
)

// violations collects what the log says about missing permissions.
type violations struct {
	slog.Handler
	mu    sync.Mutex
	found []string
}

func (v *violations) Enabled(context.Context, slog.Level) bool { return true }

func (v *violations) WithAttrs([]slog.Attr) slog.Handler { return v }

func (v *violations) WithGroup(string) slog.Handler { return v }

func (v *violations) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += " " + a.String()
		return true
	})
	if strings.Contains(strings.ToLower(text), "permissions violation") {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.found = append(v.found, text)
	}
	return nil
}

// asUser connects a service with its user of NATS, as its process does.
func asUser(t *testing.T, s *server.Server, name string, log *slog.Logger) *broker.Conn {
	t.Helper()
	settings := broker.Settings{URL: strings.Replace(s.ClientURL(), "://", "://"+name+":canary@", 1)}
	conn, err := broker.Connect(t.Context(), settings.Config("orch-"+name, log))
	require.NoError(t, err, name)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return conn
}

// TestEachServiceWorksWithItsUser runs the three services, each with its user of NATS: a webhook becomes an event, events and logs reach
// subscribers, and nothing needs a permission that is missing.
func TestEachServiceWorksWithItsUser(t *testing.T) {
	setPasswords(t)
	nats := start(t, filepath.Join(root, natsConf))
	missing := &violations{}
	log := slog.New(missing)
	keys, err := keyring.Parse(keyring.NewKey())
	require.NoError(t, err)
	database := mongotest.Open(t, embeddedmongo.Options{})
	domain, err := orchestration.New(t.Context(), orchestration.Config{
		MongoDBURI: database.URI, MongoDBDatabase: database.Name, Vocabulary: vocabulary.Orch, Secrets: keys, EventsRetention: time.Hour,
	}, orchestration.Deps{Broker: asUser(t, nats, "orchestration", log), Dialer: database.Dialer, Log: log})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, domain.Close(context.WithoutCancel(t.Context()))) })
	receiver, err := hooks.New(hooks.Config{Vocabulary: vocabulary.Orch, Secrets: keys}, hooks.Deps{Broker: asUser(t, nats, "hooks", log), Log: log})
	require.NoError(t, err)
	calls := rpc.NewLocal(domain.Interceptors()...)
	domain.Register(calls)
	front, err := gateway.New(gateway.Config{Listen: "127.0.0.1:0", Vocabulary: vocabulary.Orch, AuthBasic: "admin:a-long-random-secret"},
		gateway.Deps{Caller: calls, Broker: asUser(t, nats, "gateway", log), Hooks: receiver.Handler(), Log: log})
	require.NoError(t, err)
	group := run.NewGroup(run.Options{Logger: slog.New(slog.DiscardHandler)})
	group.Add(domain.Workers()...)
	group.Add(receiver.Workers()...)
	group.Add(front)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- group.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})

	address := "http://" + front.Addr().String()
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport}
	ask := func(method, path, body string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, address+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.SetBasicAuth("admin", "a-long-random-secret")
		response, err := client.Do(r)
		require.NoError(t, err)
		defer response.Body.Close()
		var text bytes.Buffer
		_, err = text.ReadFrom(response.Body)
		require.NoError(t, err)
		return response.StatusCode, text.String()
	}
	require.Eventually(t, func() bool {
		status, _ := ask("GET", "/api/ready", "")
		return status == 200
	}, time.Minute, 10*time.Millisecond)

	subscribe := func(path, filter string) *websocket.Conn {
		header := http.Header{}
		request := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		request.SetBasicAuth("admin", "a-long-random-secret")
		header.Set("Authorization", request.Header.Get("Authorization"))
		conn, _, err := websocket.Dial(t.Context(), strings.Replace(address, "http", "ws", 1)+"/api"+path, //nolint:bodyclose // Dial leaves none open.
			&websocket.DialOptions{HTTPClient: client, HTTPHeader: header, Subprotocols: []string{"orch"}})
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.CloseNow() })
		require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte(`{"type": "auth", "token": "admin:a-long-random-secret"}`)))
		_, _, err = conn.Read(t.Context())
		require.NoError(t, err)
		require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte(filter)))
		return conn
	}
	await := func(conn *websocket.Conn, text string) {
		within, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for {
			_, message, err := conn.Read(within)
			require.NoError(t, err)
			if strings.Contains(string(message), text) {
				return
			}
		}
	}
	events := subscribe("/events/out", `{"type": "filter", "filter": {"event": {"name": ["user.works"]}}}`)
	logs := subscribe("/logs/out", `{"type": "filter", "filter": {}}`)

	status, made := ask("POST", "/api/webhooks/", `{"name": "w", "template": "{\"event\": \"user.works\", \"resource\": {\"orch.resource.id\": \"r\"}}"}`)
	require.Equal(t, 201, status, made)
	var hook struct{ ID, Slug string }
	require.NoError(t, json.Unmarshal([]byte(made), &hook))
	status, _ = ask("POST", "/hooks/"+hook.Slug, "{}")
	require.Equal(t, 204, status)
	await(events, "user.works")
	require.Eventually(t, func() bool {
		_, found := ask("POST", "/api/events/filter", `{"filter": {"event": {"name": ["user.works"]}}}`)
		return strings.Contains(found, `"total":1`)
	}, time.Minute, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		_, found := ask("POST", "/api/webhooks/"+hook.ID+"/deliveries/filter", "{}")
		return strings.Contains(found, `"status":204`)
	}, time.Minute, 10*time.Millisecond, "the delivery log goes through the journal")
	_, flow := ask("POST", "/api/flows/", `{"name": "f"}`)
	var id struct{ ID string }
	require.NoError(t, json.Unmarshal([]byte(flow), &id))
	_, started := ask("POST", "/api/flow_runs/", fmt.Sprintf(`{"flow_id": %q, "state": {"type": "PENDING"}}`, id.ID))
	require.NoError(t, json.Unmarshal([]byte(started), &id))
	status, answer := ask("POST", "/api/logs/", fmt.Sprintf(`[{"name": "n", "level": 20, "message": "seen live", "timestamp": "2026-11-27T00:00:00Z", "flow_run_id": %q}]`, id.ID))
	require.Equal(t, 201, status, answer)
	await(logs, "seen live")
	status, _ = ask("DELETE", "/api/flow_runs/"+id.ID, "")
	require.Equal(t, 204, status)

	missing.mu.Lock()
	defer missing.mu.Unlock()
	require.Empty(t, missing.found)
}

// TestSessionsAreTheGateways: the gateway reads, writes and watches the sessions of the dashboard.
func TestSessionsAreTheGateways(t *testing.T) {
	setPasswords(t)
	nats := start(t, filepath.Join(root, natsConf))
	missing := &violations{}
	bucket, err := asUser(t, nats, "gateway", slog.New(missing)).KeyValue(t.Context(), "sessions", broker.KVConfig{})
	require.NoError(t, err)
	_, err = bucket.Put(t.Context(), "a", []byte("1"))
	require.NoError(t, err)
	value, err := bucket.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, "1", string(value))
	keys, err := bucket.Keys(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, keys)
	require.NoError(t, bucket.Delete(t.Context(), "a"))
	require.NoError(t, bucket.Compact(t.Context(), 0, func([]byte) bool { return true }))
	require.Empty(t, missing.found)
}

// TestUsersOfNATSDoNothingElse: a service that somebody took over does not write the data of the others, take their events away, or read
// their replies.
func TestUsersOfNATSDoNothingElse(t *testing.T) {
	setPasswords(t)
	s := start(t, filepath.Join(root, natsConf))
	all := []string{"gateway", "hooks", "orchestration"}
	for subject, users := range map[string][]string{
		"$KV.sessions.x":                           {"hooks", "orchestration"},
		"$KV.maintenance.x":                        {"hooks", "orchestration"},
		"$KV.rates.webhook.x":                      {"orchestration"},
		"$KV.directory.account.x":                  {"gateway", "hooks"},
		"$KV.webhooks.x":                           {"gateway", "hooks"},
		"dlq.EVENTS.x":                             {"gateway", "hooks"},
		"live.logs.x":                              {"gateway", "hooks"},
		"journal.deliveries":                       {"gateway"},
		"$JS.API.STREAM.DELETE.EVENTS":             all,
		"$JS.API.STREAM.DELETE.KV_sessions":        all,
		"$JS.API.STREAM.PURGE.EVENTS":              all,
		"$JS.API.STREAM.PURGE.KV_directory":        {"gateway", "hooks"},
		"$JS.API.STREAM.SNAPSHOT.EVENTS":           all,
		"$JS.API.STREAM.UPDATE.EVENTS":             {"gateway", "hooks"},
		"$JS.API.STREAM.CREATE.OTHER":              all,
		"$JS.API.CONSUMER.MSG.NEXT.EVENTS.persist": {"gateway", "hooks"},
		"$JS.API.CONSUMER.DELETE.EVENTS.persist":   {"gateway", "hooks"},
		"$JS.API.CONSUMER.CREATE.KV_sessions.x":    {"hooks", "orchestration"},
		"$JS.API.DIRECT.GET.KV_sessions.$KV.x":     {"hooks", "orchestration"},
		"$JS.API.STREAM.MSG.GET.KV_sessions":       all,
		"$JS.ACK.EVENTS.persist.1.1.1.1.1":         {"gateway", "hooks"},
		"_INBOX.orch-gateway.x":                    {"hooks", "orchestration"},
		"$SYS.REQ.SERVER.PING.CONNZ":               all,
	} {
		for _, user := range users {
			require.ErrorIs(t, denied(t, s, user, func(nc *nats.Conn) error { return nc.Publish(subject, nil) }), nats.ErrPermissionViolation, "%s publishes to %s", user, subject)
		}
	}
	for subject, users := range map[string][]string{
		">": all, "_INBOX.>": all, "_INBOX.orch-gateway.>": {"hooks", "orchestration"}, "events.*": all, "$KV.sessions.>": all, "$JS.API.>": all,
		"live.*.*": {"hooks"}, "journal.*": all,
	} {
		for _, user := range users {
			require.ErrorIs(t, denied(t, s, user, func(nc *nats.Conn) error {
				_, err := nc.SubscribeSync(subject)
				return err
			}), nats.ErrPermissionViolation, "%s subscribes to %s", user, subject)
		}
	}
}

// denied returns the error that the server reports for what a user does.
func denied(t *testing.T, s *server.Server, user string, do func(*nats.Conn) error) error {
	t.Helper()
	reported := make(chan error, 8)
	nc, err := nats.Connect(s.ClientURL(), nats.UserInfo(user, "canary"), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { reported <- err }))
	require.NoError(t, err)
	defer nc.Close()
	require.NoError(t, do(nc))
	require.NoError(t, nc.FlushTimeout(30*time.Second))
	select {
	case err := <-reported:
		return err
	case <-time.After(30 * time.Second):
		return nil
	}
}
