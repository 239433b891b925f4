// Command retention measures clients beside the deletion of old runs, and the space that it returns.
//
//	make bench-retention                               1,000,000 of 1,200,000 runs are deleted
//	make bench-retention RETENTIONRUNS=20000 RETENTIONKEEP=4000 BENCHFLAGS="-warm-up 5s -baseline 5s -enforce=false"
//
// Eight clients create runs, change their states and read them: alone, while retention deletes, and alone again. The clients
// themselves enlarge the store, so the figures of both times alone count together. A warm-up precedes them, as the first seconds of
// a server are slower. The directory is measured at the end, and again after a complete compaction, which leaves only what is live.
// Write-ahead logs do not count: a running store has up to 40 MB of them, whatever it stores. A line each half minute has the
// figures of that time. An error of a client ends the run, with the end of the server's log.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/test/bench/beside"
)

func main() { beside.Main("bench-retention", run) }

// The bounds of the figures, which fail a run without -enforce=false.
const (
	maxTail     = 1.5 // 99th percentile beside the deletion, relative to that alone.
	maxSlowdown = 1.1 // Mean time of a request, likewise.
	maxSpace    = 1.2 // Size of the store after the deletion, relative to what is live.
)

// options are the flags.
type options struct {
	orch, dir, newest string
	keep, clients     int
	rate              int
	warmUp, baseline  time.Duration
	settle            time.Duration
	enforce           bool
}

func run(ctx context.Context) (err error) {
	var o options
	flag.StringVar(&o.orch, "orch", "bin/orch", "the binary")
	flag.StringVar(&o.dir, "dir", "", "data directory with the runs of bench-scale, one a second; it is changed")
	flag.StringVar(&o.newest, "newest", "2026-11-22T00:00:00Z", "time of the newest run in the data directory")
	flag.IntVar(&o.keep, "keep", 200_000, "newest runs that stay")
	flag.IntVar(&o.clients, "clients", 8, "concurrent clients")
	flag.IntVar(&o.rate, "rate", 5000, "ORCH_RETENTION_RATE")
	flag.DurationVar(&o.warmUp, "warm-up", 30*time.Second, "time of the clients before anything is measured")
	flag.DurationVar(&o.baseline, "baseline", 2*time.Minute, "time of the clients alone, before the deletion and again after it")
	flag.DurationVar(&o.settle, "settle", time.Minute, "time after the deletion in which the store returns space")
	flag.BoolVar(&o.enforce, "enforce", true, "fail when a ratio exceeds its bound")
	flag.Parse()
	if o.dir == "" {
		return errors.New("no data directory: make bench-retention fills one")
	}
	before, err := size(o.dir)
	if err != nil {
		return err
	}
	alone, busy, err := o.clientsBeside(ctx)
	if err != nil {
		return err
	}
	after, err := size(o.dir)
	if err != nil {
		return err
	}
	live, err := o.compacted(ctx)
	if err != nil {
		return err
	}
	space := float64(after) / float64(live)
	fmt.Printf("store: %d MB before, %d MB after, %d MB of it live: ratio %.2f, bound %.2f\n", before>>20, after>>20, live>>20, space, maxSpace)
	tail, slowdown := float64(busy.p99)/float64(alone.p99), alone.rate()/busy.rate()
	fmt.Printf("p99 ratio %.2f, bound %.2f\n", tail, maxTail)
	fmt.Printf("mean time of a request: ratio %.2f, bound %.2f\n", slowdown, maxSlowdown)
	fmt.Printf("processor time of a request: ratio %.2f\n", float64(busy.cpuPerRequest())/float64(alone.cpuPerRequest()))
	if o.enforce && (tail > maxTail || slowdown > maxSlowdown || space > maxSpace) {
		return errors.New("a ratio exceeds its bound")
	}
	return nil
}

// clientsBeside measures the clients alone, before and after the deletion, and beside it.
func (o options) clientsBeside(ctx context.Context) (alone, busy figures, err error) {
	newest, err := time.Parse(time.RFC3339, o.newest)
	if err != nil {
		return alone, busy, fmt.Errorf("parse -newest: %w", err)
	}
	server, err := beside.StartOrchIn(o.dir, o.orch, fmt.Sprintf("ORCH_RETENTION_RATE=%d", o.rate), "ORCH_LOG_LEVEL=info")
	if err != nil {
		return alone, busy, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w\nThe server's log is %s/orch.log. It ends with:\n%s", err, o.dir, server.Output())
		}
		err = errors.Join(err, server.Stop())
	}()
	clients, err := newClients(server, o.clients)
	if err != nil {
		return alone, busy, err
	}
	if _, err := clients.work(ctx, over(o.warmUp)); err != nil {
		return alone, busy, err
	}
	before, err := clients.work(ctx, over(o.baseline))
	if err != nil {
		return alone, busy, err
	}
	cutoff := newest.Add(-time.Duration(o.keep) * time.Second)
	if err := clients.retain(time.Since(cutoff)); err != nil {
		return alone, busy, err
	}
	during, err := clients.work(ctx, func() (bool, error) { return clients.deleted(cutoff) })
	if err != nil {
		return alone, busy, err
	}
	time.Sleep(o.settle)
	after, err := clients.work(ctx, over(o.baseline))
	if err != nil {
		return alone, busy, err
	}
	alone, busy = figuresOf(before, after), figuresOf(during)
	fmt.Printf("clients alone, before the deletion: %s\nbeside it: %s\nalone, after it: %s\n", figuresOf(before), busy, figuresOf(after))
	return alone, busy, nil
}

// over returns a condition that holds after a time.
func over(after time.Duration) func() (bool, error) {
	until := time.Now().Add(after)
	return func() (bool, error) { return !time.Now().Before(until), nil }
}

// store is the directory of the embedded store.
func (o options) store() string { return filepath.Join(o.dir, "store") }

// compacted compacts the store of the stopped server, and returns the size of the directory: that of live data.
func (o options) compacted(ctx context.Context) (int64, error) {
	server, err := embeddedmongo.Open(o.store(), embeddedmongo.Options{SweepInterval: -1})
	if err != nil {
		return 0, err
	}
	if err := errors.Join(server.Compact(ctx), server.Close()); err != nil {
		return 0, err
	}
	return size(o.dir)
}

// size is the size of the files of the store in bytes, without write-ahead logs.
func size(dir string) (total int64, err error) {
	err = filepath.WalkDir(filepath.Join(dir, "store"), func(_ string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(entry.Name()) == ".log" {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("measure the store: %w", err)
	}
	return total, nil
}
