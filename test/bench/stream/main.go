// Command stream measures the websockets of a running server beside a bare websocket server that only reads the same
// messages:
//
//   - events in: messages per second until all of them are durable, and the ratio to the bare server's;
//   - events through: how long after it was sent an event reaches a subscriber, at 1,000 events a second;
//   - idle subscribers: what a thousand of them add to the server's memory.
//
// It prints the figures and exits with 1 when one falls short of its bound.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"time"

	"github.com/orch-project/orch/test/bench/beside"
)

func main() { beside.Main("bench-stream", run) }

func run(ctx context.Context) error {
	orch := flag.String("orch", "bin/orch", "the binary")
	events := flag.Int("events", 40_000, "how many events are sent")
	sockets := flag.Int("sockets", 4, "over how many sockets")
	ratio := flag.Float64("ratio", 0.3, "the least ratio to the bare server")
	internal := flag.String("internal", "127.0.0.1:0", "the server's internal address, for who takes profiles")
	only := flag.String("only", "", "the one part that is measured: idle, through or in")
	bare := flag.String("bare", "", "serve as the bare server on this address (used by the command itself)")
	flag.Parse()
	if *bare != "" {
		return http.ListenAndServe(*bare, http.HandlerFunc(readOnly))
	}
	return measure(ctx, *orch, *internal, *only, *events, *sockets, *ratio)
}

func measure(ctx context.Context, orch, internal, only string, events, sockets int, ratio float64) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	server, err := beside.StartOrch(orch, "ORCH_INTERNAL_LISTEN="+internal)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this command: %w", err)
	}
	bareAddress, err := beside.FreeAddress()
	if err != nil {
		return err
	}
	bare := exec.CommandContext(ctx, self, "-bare", bareAddress)
	if err := bare.Start(); err != nil {
		return fmt.Errorf("start the bare server: %w", err)
	}
	defer func() {
		_ = bare.Process.Kill() // It has nothing to flush.
		_ = bare.Wait()
	}()
	if err := listening(ctx, bareAddress); err != nil {
		return err
	}
	var errs []error
	for _, part := range []struct {
		name    string
		measure func() error
	}{
		{"idle", func() error { return measureIdle(ctx, server, 1000, 60) }},
		{"through", func() error {
			return measureThrough(ctx, server, 1000, 10*time.Second, 10*time.Millisecond, 50*time.Millisecond)
		}},
		{"in", func() error { return measureIn(ctx, server.Address, bareAddress, events, sockets, ratio) }},
	} {
		if only == "" || only == part.name {
			errs = append(errs, part.measure())
		}
	}
	return errors.Join(errs...)
}
