// Command scale measures the queries of the contract in a large and a small store: every list in each of its orders, by
// each criterion of its filters and of its related collections, and each count. It prints a table of slowdowns, and exits
// with 1 when a query exceeds its bound or fails.
//
//	make bench-scale SCALE=100000
//	make bench-scale SCALE=10000000 SCALEDATA=/var/tmp/scale   (keeps the stores, and does not fill them again the next time)
//	make bench-scale BENCHFLAGS='-only "flow_run.name"'
//	make bench-scale BENCHFLAGS='-profile scale.pprof'   (what the queries in the large store do)
//	make bench-scale BENCHFLAGS='-cpu'                 (processor time instead of elapsed time, for a busy machine)
//	make bench-growth                                  (the requests of clients to a whole server, see test/bench/growth; this command fills the stores)
//	make bench-tenants                                 (a workspace beside another that asks the worst queries)
//
// The documents are written directly to the embedded store; the queries go through package query, as the services' do.
// Each store is measured in a process of its own, so its memory is that of one store.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// options are the flags.
type options struct {
	few, many   int
	bound       float64
	floor       time.Duration
	dir, fill   string
	uri         string
	growth      bool
	only        string
	measureOnly int
	tenants     time.Duration
	profile     string
	cpu         bool
}

func main() {
	var o options
	flag.IntVar(&o.few, "few", 10_000, "flow runs of the small store")
	flag.IntVar(&o.many, "many", 1_000_000, "flow runs of the large store")
	flag.Float64Var(&o.bound, "bound", 3, "how many times slower a query may be with many")
	flag.DurationVar(&o.floor, "floor", time.Millisecond, "duration up to which a query is never too slow: its ratio is noise")
	flag.StringVar(&o.dir, "dir", "", "where the stores are kept, and found again; when empty they are temporary")
	flag.StringVar(&o.only, "only", "", "regular expression of the queries to measure")
	flag.StringVar(&o.fill, "fill", "", "fill a store in this directory with -many runs, and measure nothing")
	flag.StringVar(&o.uri, "uri", "", "fill the database of the name -fill on this MongoDB server, in place of a directory")
	flag.BoolVar(&o.growth, "growth", false, "fill with runs of 30 days, three task runs, five events and two logs for each")
	flag.IntVar(&o.measureOnly, "measure", 0, "measure the store of this size in -dir, and print JSON; for the command itself")
	flag.DurationVar(&o.tenants, "tenants", 0, "measure a workspace beside the worst queries of another in the large store for this time, and nothing else")
	flag.StringVar(&o.profile, "profile", "", "file for a CPU profile of the queries in the large store")
	flag.BoolVar(&o.cpu, "cpu", false, "measure the processor time of the process instead of elapsed time: other work on the machine then counts less")
	flag.Parse()
	if err := o.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func (o options) run(ctx context.Context) (err error) {
	if o.fill != "" {
		return o.fillOnly(ctx)
	}
	only, err := regexp.Compile(o.only)
	if err != nil {
		return fmt.Errorf("read -only: %w", err)
	}
	if o.measureOnly > 0 {
		return o.measure(ctx, o.measureOnly, only)
	}
	if o.dir == "" {
		o.dir, err = os.MkdirTemp("", "orch-scale-")
		if err != nil {
			return fmt.Errorf("create store directory: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }()
	}
	if o.tenants > 0 {
		return tenants(ctx, o.dir, o.many, o.tenants, only)
	}
	var results [2]result
	for i, n := range []int{o.few, o.many} {
		if results[i], err = o.child(ctx, n); err != nil {
			return err
		}
	}
	return o.report(results)
}

// fillOnly fills the store of a server that does not run, for benchmarks of the whole server.
func (o options) fillOnly(ctx context.Context) (err error) {
	w := &world{}
	if o.uri != "" {
		err = w.connect(ctx, store.Config{URI: o.uri, Database: o.fill})
	} else {
		w, err = open(ctx, o.fill)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close(ctx)) }()
	if !o.growth {
		return w.fill(ctx, o.many)
	}
	spacing = 30 * 24 * time.Hour / time.Duration(o.many)
	if err := w.fill(ctx, o.many); err != nil {
		return err
	}
	return w.fillGrowth(ctx, o.many)
}
