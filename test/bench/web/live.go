package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/orch-project/orch/test/bench/beside"
)

// follow opens a live page, and calls changed for each invalidation until the context ends.
func (b *bench) follow(ctx context.Context, changed func()) error {
	conn, _, err := websocket.Dial(ctx, "ws://"+b.server.Address+"/live?topic=runs", nil) //nolint:bodyclose // The connection is the body.
	if err != nil {
		return fmt.Errorf("open a live page: %w", err)
	}
	if _, _, err := conn.Read(ctx); err != nil {
		return fmt.Errorf("follow runs: %w", err)
	}
	go func() {
		defer func() { _ = conn.CloseNow() }() // The measurement has ended.
		for {
			if _, _, err := conn.Read(ctx); err != nil {
				return
			}
			changed()
		}
	}()
	return nil
}

// open opens all live pages.
func (b *bench) open(ctx context.Context, changed func()) error {
	for range b.live {
		if err := b.follow(ctx, changed); err != nil {
			return err
		}
	}
	return nil
}

// idleLive measures what open pages cost while nothing changes.
func (b *bench) idleLive(ctx context.Context, t *table) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	before := beside.Resident(b.server.PID())
	if err := b.open(ctx, func() {}); err != nil {
		return err
	}
	cpu, _ := b.server.Taken()
	pause(ctx, b.round)
	after, _ := b.server.Taken()
	t.cost(fmt.Sprintf("%d idle live pages, memory", b.live), float64(beside.Resident(b.server.PID())-before)/1e6, 40, "MB")
	t.cost(fmt.Sprintf("%d idle live pages, cores", b.live), (after-cpu).Seconds()/b.round.Seconds(), 0.01, "cores")
	return nil
}

// busyLive measures equal pages that ask again after each invalidation, while a hundred runs a second change.
func (b *bench) busyLive(ctx context.Context, t *table) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	defer client.CloseIdleConnections()
	var fragments atomic.Int64
	var group sync.WaitGroup
	err := b.open(ctx, func() {
		group.Go(func() {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.address("/runs"), nil)
			if err != nil {
				return
			}
			request.Header.Set("Accept", "text/html;fragment=main")
			if response, err := client.Do(request); err == nil {
				_ = response.Body.Close() // Its size is measured elsewhere.
				fragments.Add(1)
			}
		})
	})
	if err != nil {
		return err
	}
	const changes = 100
	cpu, _ := b.server.Taken()
	start, done := time.Now(), 0
	ticker := time.NewTicker(time.Second / changes)
	defer ticker.Stop()
	for time.Since(start) < b.round && ctx.Err() == nil {
		<-ticker.C
		if err := b.post("/flow_runs/"+b.run+"/set_state", object{"state": object{"type": "RUNNING"}, "force": true}, nil); err != nil {
			return err
		}
		done++
	}
	took := time.Since(start).Seconds()
	after, _ := b.server.Taken()
	cancel()
	group.Wait()
	t.cost(fmt.Sprintf("%d equal live pages, %.0f changes and %.0f fragments a second, cores", b.live, float64(done)/took, float64(fragments.Load())/took), (after-cpu).Seconds()/took, 0.3, "cores")
	return nil
}

// pause waits for a time, or the end of the context.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
