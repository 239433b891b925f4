package hooks_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/hooks"
)

// raw sends bytes as they are and returns the status of the answer.
func raw(t *testing.T, address, text string) int {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	go func() { _, _ = io.WriteString(conn, text) }() // The server may answer before it has read all.
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}

// A body that cannot be decoded makes no event, and the log says why.
func TestUndecodableBodies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	log := w.journal()
	w.put(slug, &orchv1.WebhookDefinition{Template: static})
	for _, c := range []struct {
		name, value string
		status      int
		reason      string
	}{
		{"Content-Encoding", "gzip", http.StatusBadRequest, "decode gzip"},
		{"Content-Encoding", "klingon", http.StatusUnsupportedMediaType, "klingon"},
		{"Content-Type", "text/plain; charset=elvish", http.StatusUnsupportedMediaType, "elvish"},
		{"Content-Type", "text/plain; charset=utf-8", http.StatusBadRequest, "not utf-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.status, w.do("POST", slug, "no such encoding: \xff", c.name, c.value).status, c.value)
			require.Equal(t, "orch-cloud.webhook.failed", w.next().GetEvent())
			logged(t, log, func(d *orchv1.WebhookDelivery) bool {
				return d.GetStatus() == int64(c.status) && strings.Contains(d.GetError(), c.reason)
			})
		})
	}
}

func TestBombs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(slug, &orchv1.WebhookDefinition{Template: static})
	var bomb bytes.Buffer
	z, err := gzip.NewWriterLevel(&bomb, gzip.BestCompression)
	require.NoError(t, err)
	zeros := make([]byte, 1<<20)
	for range 500 {
		_, err := z.Write(zeros)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := w.do("POST", slug, bomb.String(), "Content-Encoding", "gzip", "Content-Type", "application/json")
	runtime.ReadMemStats(&after)
	require.Equal(t, http.StatusRequestEntityTooLarge, got.status, "%d bytes that hold half a gigabyte", bomb.Len())
	require.Less(t, after.HeapInuse, before.HeapInuse+100<<20)
	require.Equal(t, "orch-cloud.webhook.failed", w.next().GetEvent())

	const form = "application/x-www-form-urlencoded"
	for name, c := range map[string]struct {
		contentType, body string
		status            int
	}{
		"deep":            {"application/json", strings.Repeat("[", 2_000_000), http.StatusNoContent},
		"deep and closed": {"application/json", strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), http.StatusNoContent},
		"many keys":       {"application/json", "{" + strings.Repeat(`"k":1,`, 500_000) + `"z":1}`, http.StatusRequestEntityTooLarge},
		"many keys, cut":  {"application/json", "{" + strings.Repeat(`"k":1,`, 500_000), http.StatusRequestEntityTooLarge},
		"many keys in UTF-16": {
			"application/json; charset=utf-16le", strings.Repeat("[\x00]\x00,\x00", 300_000), http.StatusNoContent, // Not JSON: a text.
		},
		"many items in UTF-16": {
			"application/json; charset=utf-16le", "[\x00" + strings.Repeat("{\x00}\x00,\x00", 300_000) + "1\x00]\x00", http.StatusRequestEntityTooLarge,
		},
		"many items after a byte order mark": {"application/json", "\ufeff[" + strings.Repeat("{},", 300_000) + "1]", http.StatusRequestEntityTooLarge},
		"many items beside invalid UTF-8":    {"application/json", "[\"\xff\"," + strings.Repeat("{},", 300_000) + "1]", http.StatusRequestEntityTooLarge},
		"a table with many commas":           {"text/csv", strings.Repeat("1,2,3\n", 300_000), http.StatusNoContent},
		"a long number":                      {"application/json", strings.Repeat("9", 4_000_000), http.StatusNoContent},
		"many form keys":                     {form, strings.Repeat("a=1&", 1_000_000), http.StatusRequestEntityTooLarge},
		"a form as JSON":                     {"application/json", strings.Repeat("a=1&", 1_000_000), http.StatusNoContent},
	} {
		t.Run(name, func(t *testing.T) {
			got := w.do("POST", slug, c.body, "Content-Type", c.contentType)
			if c.status == http.StatusNoContent {
				require.Contains(t, []int{http.StatusNoContent, http.StatusBadRequest}, got.status, name)
			} else {
				require.Equal(t, c.status, got.status, name)
			}
			w.next()
		})
	}
}

// A sender that writes all of a body before it reads must find its answer, not a connection that is gone.
func TestTheSenderOfTooMuchGetsItsAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(slug, &orchv1.WebhookDefinition{Template: static})
	const size = 40 << 20
	chunk := strings.Repeat("x", 1<<20)
	for name, c := range map[string]struct{ head, chunk, end string }{
		"known length": {fmt.Sprintf("Content-Length: %d", size), chunk, ""},
		"chunked":      {"Transfer-Encoding: chunked", "100000\r\n" + chunk + "\r\n", "0\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", w.server.Listener.Addr().String())
			require.NoError(t, err)
			_, err = io.WriteString(conn, "POST /hooks/"+slug+" HTTP/1.1\r\nHost: x\r\n"+c.head+"\r\n\r\n")
			require.NoError(t, err)
			for range size / len(chunk) {
				_, err = io.WriteString(conn, c.chunk)
				require.NoError(t, err, name)
			}
			_, err = io.WriteString(conn, c.end)
			require.NoError(t, err, name)
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err, name)
			require.Equal(t, http.StatusRequestEntityTooLarge, response.StatusCode, name)
			require.EqualValues(t, 0, response.ContentLength, name)
			require.NoError(t, response.Body.Close())
			require.NoError(t, conn.Close())
			require.Equal(t, "orch-cloud.webhook.failed", w.next().GetEvent())
		})
	}
}

func TestHeadersThatAreOdd(t *testing.T) {
	t.Parallel()
	nats := testkit.StartNATS(t, embeddednats.Options{Listen: "127.0.0.1:0"})
	cfg := serve(t, nats.Address())
	head := "POST /hooks/unknown HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n"
	require.Equal(t, http.StatusNotFound, raw(t, cfg.Listen, head+"\r\n"))
	for name, c := range map[string]struct {
		header string
		status []int
	}{
		"folded":                 {"X-A: one\r\n two\r\n", []int{http.StatusNotFound, http.StatusBadRequest}},
		"doubled":                {"X-A: one\r\nX-A: two\r\n", []int{http.StatusNotFound}},
		"a flood of bytes":       {"X-A: " + strings.Repeat("x", 200<<10) + "\r\n", []int{http.StatusRequestHeaderFieldsTooLarge}},
		"a flood of fields":      {strings.Repeat("X-A: b\r\n", 50_000), []int{http.StatusRequestHeaderFieldsTooLarge}},
		"no colon":               {"nonsense\r\n", []int{http.StatusBadRequest}},
		"NUL":                    {"X-A: a\x00b\r\n", []int{http.StatusBadRequest}},
		"two lengths":            {"Content-Length: 5\r\n", []int{http.StatusBadRequest}},
		"a length and chunks":    {"Transfer-Encoding: chunked\r\n", []int{http.StatusNotFound, http.StatusBadRequest}},
		"an unknown encoding":    {"Transfer-Encoding: klingon\r\n", []int{http.StatusNotImplemented, http.StatusBadRequest}},
		"a name with a space":    {"X A: b\r\n", []int{http.StatusBadRequest}},
		"bytes that are no text": {"X-A: \xff\xfe\r\n", []int{http.StatusNotFound}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, c.status, raw(t, cfg.Listen, head+c.header+"Connection: close\r\n\r\n0\r\n\r\n"), name)
		})
	}
}

func TestNULAndInvalidUTF8Survive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(slug, &orchv1.WebhookDefinition{Template: `{"event": "e", "resource": {"orch.resource.id": "r"}, "payload": {"b": {{ body|tojson }}, "h": {{ headers["x-a"]|tojson }}}}`})
	require.Equal(t, http.StatusNoContent, w.do("POST", slug, "a\x00b\xff\xc3", "X-A", "one", "X-A", "two").status)
	require.Equal(t, map[string]any{"b": "a\x00b\ufffd\ufffd", "h": "one, two"}, payload(t, w.next()))
}

// serve runs the service as a process does, and waits until it is ready.
func serve(t *testing.T, nats string) hooks.Config {
	t.Helper()
	cfg, err := config.LoadFrom[hooks.Config](map[string]string{
		"ORCH_HOOKS_LISTEN": free(t), "ORCH_HOOKS_INTERNAL_LISTEN": free(t), "ORCH_NATS_URL": "nats://" + nats,
	})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- hooks.RunProcess(ctx, cfg, "test", slog.New(slog.DiscardHandler), nil) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	require.Eventually(t, func() bool { return hooks.Probe(t.Context(), cfg) == nil }, waitTime, tick)
	return cfg
}

// TestSlowConnections holds 5,000 connections that have sent half a request. The ends of the test are in the same process, and
// counted with them.
func TestSlowConnections(t *testing.T) {
	if testing.Short() {
		t.Skip("it opens thousands of connections")
	}
	nats := testkit.StartNATS(t, embeddednats.Options{Listen: "127.0.0.1:0"})
	cfg := serve(t, nats.Address())
	memory := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	before := memory()
	const connections = 5000
	conns := make([]net.Conn, 0, connections)
	defer func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	for range connections {
		c, err := net.Dial("tcp", cfg.Listen)
		if err != nil {
			t.Skipf("this machine opens %d connections: %v", len(conns), err)
		}
		conns = append(conns, c)
		_, err = fmt.Fprintf(c, "POST /hooks/unknown HTTP/1.1\r\nHost: x\r\nContent-Length: 100")
		require.NoError(t, err)
	}
	grown := int64(memory()) - int64(before)
	t.Logf("%d slow connections take %d MB, both ends", len(conns), grown>>20)
	require.Less(t, grown, int64(100<<20))
	require.Equal(t, http.StatusNotFound, raw(t, cfg.Listen, "POST /hooks/unknown HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"), "others are served")
	require.Eventually(t, func() bool {
		_ = conns[0].SetReadDeadline(time.Now().Add(time.Second))
		_, err := io.ReadAll(conns[0])
		return err == nil
	}, 3*waitTime, tick, "and the slow ones are cut off")
}
