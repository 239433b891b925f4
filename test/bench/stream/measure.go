package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/orch-project/orch/test/bench/beside"
)

// readOnly is the bare server: it reads messages; the library responds to pings.
func readOnly(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"orch"}})
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(-1)
	for {
		if _, _, err := conn.Read(r.Context()); err != nil {
			return
		}
	}
}

func dial(ctx context.Context, url string) (*websocket.Conn, error) {
	conn, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{Subprotocols: []string{"orch"}}) //nolint:bodyclose // Dial leaves no body open.
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", url, err)
	}
	conn.SetReadLimit(-1)
	return conn, nil
}

// open opens a socket of the server and authenticates; a non-empty first is then sent.
func open(ctx context.Context, address, path, first string) (*websocket.Conn, error) {
	conn, err := dial(ctx, "ws://"+address+"/api"+path)
	if err != nil {
		return nil, err
	}
	if err := conn.Write(ctx, websocket.MessageText, []byte(`{"type":"auth","token":null}`)); err != nil {
		return nil, fmt.Errorf("authenticate: %w", err)
	}
	if _, _, err := conn.Read(ctx); err != nil {
		return nil, fmt.Errorf("authenticate: %w", err)
	}
	if first == "" {
		return conn, nil
	}
	if err := conn.Write(ctx, websocket.MessageText, []byte(first)); err != nil {
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	return conn, nil
}

// event is an event with the size of the SDK's task run events, in the vocabulary of package beside's server.
func event(name string) []byte {
	id := uuid.Must(uuid.NewV7()).String()
	return fmt.Appendf(nil, `{"occurred":%q,"event":%q,"resource":{"prefect.resource.id":"prefect.task-run.%s","prefect.resource.name":"task-1",`+
		`"prefect.run-count":"1","prefect.state-message":"","prefect.state-name":"Running","prefect.state-type":"RUNNING"},"related":[`+
		`{"prefect.resource.id":"prefect.flow-run.45cf673a-409a-436d-a7e8-10d23989a862","prefect.resource.role":"flow-run","prefect.resource.name":"run-3"},`+
		`{"prefect.resource.id":"prefect.flow.cf4fea56-02b0-4db3-9975-def79e30029e","prefect.resource.role":"flow","prefect.resource.name":"etl"}],`+
		`"payload":{"intended":{"from":"PENDING","to":"RUNNING"},"initial_state":{"type":"PENDING","name":"Pending","message":"",`+
		`"state_details":{}},"validated_state":{"type":"RUNNING","name":"Running","message":"","state_details":{},"data":null}},"id":%q,"follows":null}`,
		time.Now().UTC().Format(time.RFC3339Nano), name, id, id)
}

// measureIn compares the server with the bare one on the same messages.
func measureIn(ctx context.Context, address, bareAddress string, events, sockets int, least float64) error {
	bare, err := rate(ctx, events, sockets, func() (*websocket.Conn, error) { return dial(ctx, "ws://"+bareAddress) })
	if err != nil {
		return fmt.Errorf("measure the bare server: %w", err)
	}
	ours, err := rate(ctx, events, sockets, func() (*websocket.Conn, error) { return open(ctx, address, "/events/in", "") })
	if err != nil {
		return fmt.Errorf("measure /events/in: %w", err)
	}
	fmt.Printf("events in: %.0f/s durable, bare reader %.0f/s, ratio %.2f (bound %.2f; %d events over %d sockets)\n",
		ours, bare, ours/bare, least, events, sockets)
	if ours/bare < least {
		return fmt.Errorf("events in: the ratio to a bare reader is %.2f, less than %.2f", ours/bare, least)
	}
	return nil
}

// rate returns the messages per second until the pong of a last ping on each socket.
func rate(ctx context.Context, events, sockets int, connect func() (*websocket.Conn, error)) (float64, error) {
	messages := make([][]byte, events)
	for i := range messages {
		messages[i] = event("bench.in")
	}
	conns := make([]*websocket.Conn, sockets)
	for i := range conns {
		conn, err := connect()
		if err != nil {
			return 0, err
		}
		defer func() { _ = conn.CloseNow() }()
		conns[i] = conn
		go func() { _, _, _ = conn.Read(ctx) }() // It reads the pongs.
	}
	var wg sync.WaitGroup
	errs := make([]error, sockets)
	began := time.Now()
	for i, conn := range conns {
		wg.Go(func() {
			for j := i; j < events; j += sockets {
				if errs[i] = conn.Write(ctx, websocket.MessageText, messages[j]); errs[i] != nil {
					return
				}
			}
			errs[i] = conn.Ping(ctx)
		})
	}
	wg.Wait()
	return float64(events) / time.Since(began).Seconds(), errors.Join(errs...)
}

// measureThrough sends events at a steady rate and measures the time until a subscriber receives them.
func measureThrough(ctx context.Context, s *beside.Server, perSecond int, during, mostMedian, mostP99 time.Duration) error {
	const name = "bench.through"
	out, err := open(ctx, s.Address, "/events/out", `{"type":"filter","filter":{"event":{"name":["`+name+`"]}}}`)
	if err != nil {
		return err
	}
	defer func() { _ = out.CloseNow() }()
	in, err := open(ctx, s.Address, "/events/in", "")
	if err != nil {
		return err
	}
	defer func() { _ = in.CloseNow() }()
	total := perSecond * int(during/time.Second)
	done := make(chan error, 1)
	took := make([]time.Duration, 0, total)
	go func() {
		for len(took) < total {
			_, data, err := out.Read(ctx)
			now := time.Now()
			if err != nil {
				done <- err
				return
			}
			var m struct{ Event struct{ Occurred time.Time } }
			if err := json.Unmarshal(data, &m); err != nil {
				done <- err
				return
			}
			took = append(took, now.Sub(m.Event.Occurred))
		}
		done <- nil
	}()
	time.Sleep(time.Second) // The subscription is active now; later events are live.
	began := time.Now()
	for i := range total {
		time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(perSecond))))
		if err := in.Write(ctx, websocket.MessageText, event(name)); err != nil {
			return fmt.Errorf("send an event: %w", err)
		}
	}
	if err := <-done; err != nil {
		return fmt.Errorf("receive the events: %w", err)
	}
	slices.Sort(took)
	median, p99 := took[len(took)/2], took[len(took)*99/100]
	fmt.Printf("events through at %d/s: p50 %s, p99 %s (bounds %s, %s; %d events)\n",
		perSecond, median.Round(10*time.Microsecond), p99.Round(10*time.Microsecond), mostMedian, mostP99, total)
	if median > mostMedian || p99 > mostP99 {
		return errors.New("events take too long from /events/in to /events/out")
	}
	return nil
}

// measureIdle opens subscribers that receive nothing.
func measureIdle(ctx context.Context, s *beside.Server, subscribers, most int) error {
	before := int(beside.Resident(s.PID()) >> 20)
	for range subscribers {
		conn, err := open(ctx, s.Address, "/events/out", `{"type":"filter","filter":{"event":{"name":["bench.never"]}}}`)
		if err != nil {
			return err
		}
		defer func() { _ = conn.CloseNow() }()
	}
	time.Sleep(3 * time.Second)
	after := int(beside.Resident(s.PID()) >> 20)
	fmt.Printf("idle subscribers: %d add %d MB to %d MB (bound %d MB)\n", subscribers, after-before, before, most)
	if after-before > most {
		return fmt.Errorf("%d idle subscribers add %d MB, more than %d MB", subscribers, after-before, most)
	}
	return nil
}

// listening waits until a server accepts connections.
func listening(ctx context.Context, address string) error {
	for {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", address, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}
