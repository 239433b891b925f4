// Command growth measures requests of the stock dashboard, of the SDK and of the command line with many flow runs beside few. It starts the
// server on two filled stores, one after the other, and fails for a request that costs more than its bound, answers with an error of
// the server, or is refused although it should not be.
//
//	make bench-growth                                 (the single binary)
//	make bench-growth-mongo                           (three services on a MongoDB server)
//	make bench-growth GROWTHRUNS=100000 BENCHFLAGS='-only "count|history"'
//
// services/orchestration/bench/scale fills the stores.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/orch-project/orch/test/bench/beside"
)

func main() { beside.Main("bench-growth", run) }

// options are the flags.
type options struct {
	few, many int
	dir, bin  string
	mongodb   string
	rounds    int
	ratio     float64
	floor     time.Duration
	enough    time.Duration
	only      *regexp.Regexp
}

func run(ctx context.Context) error {
	var o options
	var only string
	flag.IntVar(&o.few, "few", 10_000, "flow runs of the small store")
	flag.IntVar(&o.many, "many", 1_000_000, "flow runs of the large store")
	flag.StringVar(&o.dir, "dir", "", "directory with a data directory for each number of runs")
	flag.StringVar(&o.mongodb, "mongodb", "", "measure the three services on this MongoDB server, with a database growth_N for each number of runs")
	flag.StringVar(&o.bin, "bin", "bin", "the directory of the programs")
	flag.IntVar(&o.rounds, "rounds", 30, "how often a request is measured")
	flag.Float64Var(&o.ratio, "ratio", 3, "how many times slower a request may be with many runs")
	flag.DurationVar(&o.floor, "floor", 100*time.Millisecond, "duration up to which a request is never too slow")
	flag.DurationVar(&o.enough, "enough", 10*time.Second, "ends the rounds of a slow request, after five at least")
	flag.StringVar(&only, "only", "", "regular expression of the requests to measure")
	flag.Parse()
	var err error
	if o.only, err = regexp.Compile(only); err != nil {
		return fmt.Errorf("read -only: %w", err)
	}
	var measured [2][]figure
	for i, n := range []int{o.few, o.many} {
		if measured[i], err = o.measure(ctx, n); err != nil {
			return fmt.Errorf("measure %d flow runs: %w", n, err)
		}
	}
	return o.report(measured[0], measured[1])
}

// figure is a measured request.
type figure struct {
	request
	median, p95 time.Duration
	status      int
	text        string // Of a response that is not a success.
}

// measure starts the server on the store of n runs and measures all requests.
func (o options) measure(ctx context.Context, n int) (list []figure, err error) {
	server, err := o.start(n)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	conn := server.Conn()
	defer conn.Close()
	for _, r := range requests(n) {
		if !o.only.MatchString(r.name) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f, err := o.one(server, conn, r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", r.name, err, server.Output())
		}
		list = append(list, f)
		fmt.Fprintf(os.Stderr, "%9d %-64s %s\n", n, r.name, f)
	}
	return list, nil
}

func (o options) start(n int) (*beside.Server, error) {
	if o.mongodb == "" {
		return beside.StartOrchIn(filepath.Join(o.dir, strconv.Itoa(n)), filepath.Join(o.bin, "orch"))
	}
	return beside.StartServices(o.bin, o.mongodb, "ORCH_MONGODB_DATABASE=growth_"+strconv.Itoa(n))
}

// warmUps is how often a request is sent before it is measured.
const warmUps = 3

// fewest is the number of rounds of a slow request.
const fewest = 5

// one measures a request. A response that is no success is not repeated.
func (o options) one(server *beside.Server, conn *beside.Conn, r request) (figure, error) {
	f := figure{request: r}
	if r.prepare != nil {
		var err error
		if r, err = r.prepare(server.Address, r); err != nil {
			return f, fmt.Errorf("prepare: %w", err)
		}
	}
	method := http.MethodPost
	if r.body == "" {
		method = http.MethodGet
	}
	var took []time.Duration
	began := time.Now()
	for i := range warmUps + o.rounds {
		sent := time.Now()
		answer, err := conn.Call(method, r.path, []byte(r.body))
		var refused *beside.StatusError
		switch {
		case errors.As(err, &refused):
			f.status, f.text = refused.Status, refused.Error()
			return f, nil
		case err != nil:
			return f, err
		}
		if f.status = answer.Status; i >= warmUps {
			took = append(took, time.Since(sent))
		}
		if len(took) >= fewest && time.Since(began) > o.enough {
			break
		}
	}
	slices.Sort(took)
	f.median, f.p95 = took[len(took)/2], took[len(took)*95/100]
	return f, nil
}

func (f figure) String() string {
	if f.status >= http.StatusMultipleChoices {
		return fmt.Sprintf("status %d", f.status)
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return fmt.Sprintf("p50 %8.1f ms, p95 %8.1f ms", ms(f.median), ms(f.p95))
}

// report prints the table, and the errors of the requests that exceed their bounds.
func (o options) report(few, many []figure) error {
	fmt.Printf("%-64s %34s %34s %7s\n", "request", strconv.Itoa(o.few)+" runs", strconv.Itoa(o.many)+" runs", "ratio")
	var errs []error
	for i, large := range many {
		small := few[i]
		ratio := "-"
		switch {
		case large.refused:
			if large.status != http.StatusUnprocessableEntity {
				errs = append(errs, fmt.Errorf("%s: status %d, want 422", large.name, large.status))
			}
		case large.status >= http.StatusMultipleChoices || small.status >= http.StatusMultipleChoices:
			errs = append(errs, fmt.Errorf("%s: %s%s", large.name, small.text, large.text))
		default:
			r := float64(large.p95) / float64(small.p95)
			ratio = strconv.FormatFloat(r, 'f', 1, 64)
			if large.p95 > o.floor && r > o.ratio {
				errs = append(errs, fmt.Errorf("%s: %.1f times as slow, at most %.1f or %s", large.name, r, o.ratio, o.floor))
			}
		}
		fmt.Printf("%-64s %34s %34s %7s\n", large.name, small, large, ratio)
	}
	return errors.Join(errs...)
}
