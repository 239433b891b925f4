package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// result is what was measured in one store.
type result struct {
	Answers []answer `json:"answers"`
	// Opened and Peak are the memory of the process before the queries and at most, in bytes.
	Opened int64 `json:"opened"`
	Peak   int64 `json:"peak"`
}

// answer is the duration of a query, or its error.
type answer struct {
	Name   string        `json:"name"`
	Median time.Duration `json:"median"`
	Rows   int64         `json:"rows"` // Of the page; the number of a count.
	Error  string        `json:"error,omitempty"`
}

// child measures a store in another process.
func (o options) child(ctx context.Context, n int) (r result, err error) {
	self, err := os.Executable()
	if err != nil {
		return r, fmt.Errorf("find own program: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, "-measure", strconv.Itoa(n), "-dir", o.dir, "-only", o.only, "-profile", o.profileOf(n), "-cpu="+strconv.FormatBool(o.cpu)) //nolint:gosec // This program with its own flags.
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return r, fmt.Errorf("measure %d flow runs: %w", n, err)
	}
	if err := json.Unmarshal(out, &r); err != nil {
		return r, fmt.Errorf("decode results of %d flow runs: %w", n, err)
	}
	return r, nil
}

// profileOf is the file for a profile of the queries in a store.
func (o options) profileOf(n int) string {
	if n != o.many {
		return ""
	}
	return o.profile
}

// measure fills a store if it is new, measures it and prints the result.
func (o options) measure(ctx context.Context, n int, only *regexp.Regexp) (err error) {
	dir := filepath.Join(o.dir, strconv.Itoa(n), "store")
	began := time.Now()
	w, err := open(ctx, dir)
	if err != nil {
		return err
	}
	if err := errors.Join(w.fill(ctx, n), w.fillRelated(ctx, n), w.close(ctx)); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(os.Stderr, "%d flow runs are stored after %s\n", n, time.Since(began).Round(time.Millisecond))
	if w, err = open(ctx, dir); err != nil {
		return err
	}
	stop, err := profiled(o.profile)
	if err != nil {
		return errors.Join(err, w.close(ctx))
	}
	defer func() { err = errors.Join(err, stop()) }()
	r := result{Opened: memory("VmRSS")}
	more, err := dashboards()
	if err != nil {
		return errors.Join(err, w.close(ctx))
	}
	for _, q := range slices.Concat(contract(n), deep(), more) {
		if !only.MatchString(q.name) {
			continue
		}
		if err := w.prepare(ctx, &q, n); err != nil {
			return errors.Join(err, w.close(ctx))
		}
		r.Answers = append(r.Answers, w.median(ctx, q, n, o.clock()))
	}
	r.Peak = memory("VmHWM")
	return errors.Join(json.NewEncoder(os.Stdout).Encode(r), w.close(ctx))
}

// profiled begins a CPU profile in a file, and returns what ends it; an empty name means none.
func profiled(name string) (stop func() error, err error) {
	if name == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("create profile: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(fmt.Errorf("start profile: %w", err), f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}

// memory is a figure of the process in bytes; 0 where the system has none.
func memory(figure string) int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == figure+":" {
			kB, _ := strconv.ParseInt(fields[1], 10, 64)
			return kB << 10
		}
	}
	return 0
}

const (
	// rounds is how often a query is measured at most; the median counts.
	rounds = 7
	// warmUp is how often it is asked before, at least: the first count of a kind creates a counter.
	warmUp = 2
	// enough ends the rounds of a slow query, after one at least.
	enough = 250 * time.Millisecond
	// building is the time, for each run, in which the store builds counters for later queries.
	building = 500 * time.Nanosecond
)

// clock returns what durations are measured by.
func (o options) clock() func() time.Duration {
	if o.cpu {
		return processorTime
	}
	began := time.Now()
	return func() time.Duration { return time.Since(began) }
}

// processorTime is the time that the process has used in user mode and in the kernel; 0 where the system does not tell.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func (w *world) median(ctx context.Context, q question, n int, clock func() time.Duration) answer {
	a := answer{Name: q.name}
	if err := w.warm(ctx, q, n); err != nil {
		a.Error = err.Error()
		return a
	}
	var took []time.Duration
	for total := time.Duration(0); len(took) == 0 || len(took) < rounds && total < enough; {
		began := clock()
		var err error
		if a.Rows, err = w.ask(ctx, q, n); err != nil {
			a.Error = err.Error()
			return a
		}
		took = append(took, clock()-began)
		total += took[len(took)-1]
	}
	slices.Sort(took)
	a.Median = took[len(took)/2]
	return a
}

// warm asks a query before it is measured. While it is slow, the store may be building what makes it faster.
func (w *world) warm(ctx context.Context, q question, n int) error {
	began := time.Now()
	for asked := 1; ; asked++ {
		sent := time.Now()
		if _, err := w.ask(ctx, q, n); err != nil {
			return err
		}
		if asked >= warmUp && (time.Since(sent) < enough || time.Since(began) > time.Duration(n)*building) {
			return nil
		}
	}
}

// page is the default size of the contract's pages.
const page = 200

// ask runs a query in the workspace with the runs, as the services do.
func (w *world) ask(ctx context.Context, q question, n int) (int64, error) {
	return w.askIn(ctx, request.DefaultWorkspace, q, n)
}

func (w *world) askIn(ctx context.Context, ws uuid.UUID, q question, n int) (int64, error) {
	plan, err := query.NewPlan(q.own, q.body)
	if err != nil {
		return 0, err
	}
	selection, err := w.store.Resolver().Select(ctx, ws, plan)
	if err != nil {
		return 0, err
	}
	if q.count {
		return selection.Count(ctx)
	}
	sort, err := q.sort()
	if err != nil {
		return 0, err
	}
	rows := int64(0)
	count := func(bson.Raw) error {
		rows++
		return nil
	}
	if q.byToken {
		err = selection.VisitAfter(ctx, sort, q.after, page, count)
	} else {
		err = selection.Visit(ctx, sort, int64(q.deep*float64(n)), page, count)
	}
	return rows, err
}

// prepare does what a client has done before it requests a deep page: it has the token of the page before, or it has counted the
// rows to know the page's number.
func (w *world) prepare(ctx context.Context, q *question, n int) error {
	if q.deep == 0 {
		return nil
	}
	selection := query.Resolver{Reader: w.store.Reader()}.Matching(request.DefaultWorkspace, q.own, nil)
	for range warmUp {
		if _, err := selection.Count(ctx); err != nil {
			return err
		}
	}
	if !q.byToken {
		return nil
	}
	sort, err := q.sort()
	if err != nil {
		return err
	}
	return selection.Visit(ctx, sort, int64(q.deep*float64(n))-1, 1, func(doc bson.Raw) error {
		q.after = query.PositionOf(sort, doc)
		return nil
	})
}
