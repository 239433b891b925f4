// Command scale measures creating flow runs and changing their states in a large store beside an empty one, the memory of the server, and
// a scrape of its metrics.
//
//	make bench-scale SCALE=1000000
//
// The large store is that of services/orchestration/bench/scale. The server works on a backup of it, so the store is not
// changed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/test/bench/beside"
)

func main() { beside.Main("bench-scale", run) }

// The bounds, which fail a run with -enforce.
const (
	minRate   = .7
	maxMemory = 400 << 20
	maxScrape = 50 * time.Millisecond
)

// scrapes is the number of scrapes.
const scrapes = 200

func run(ctx context.Context) (err error) {
	orch := flag.String("orch", "bin/orch", "the binary")
	dir := flag.String("dir", "", "data directory of the large store")
	load := beside.Load{Warm: time.Second}
	flag.IntVar(&load.Conns, "conns", 8, "concurrent connections")
	flag.DurationVar(&load.Round, "round", 10*time.Second, "time of a round")
	flag.IntVar(&load.Rounds, "rounds", 3, "rounds of each server, in turns")
	enforce := flag.Bool("enforce", true, "fail when a figure exceeds its bound")
	flag.Parse()
	if *dir == "" {
		return errors.New("no data directory: make bench-scale fills one")
	}
	data := filepath.Clean(*dir) + "-written"
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	if err := backUp(ctx, filepath.Join(*dir, "store"), filepath.Join(data, "store")); err != nil {
		return err
	}
	empty, err := beside.StartOrch(*orch)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, empty.Stop()) }()
	internal, err := beside.FreeAddress()
	if err != nil {
		return err
	}
	large, err := beside.StartOrchIn(data, *orch, "ORCH_INTERNAL_LISTEN="+internal)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, large.Stop()) }()
	rows := []beside.Row{
		{Name: "create", Unit: "run", Per: 1, Prepare: prepareCreate},
		{Name: "set_state", Unit: "state", Per: 1, Prepare: prepareStates},
	}
	outcomes, err := beside.Compare(ctx, rows, empty, large, load, os.Stderr)
	if err != nil {
		return err
	}
	took, err := beside.Scrapes(internal, scrapes)
	if err != nil {
		return err
	}
	var errs []error
	for _, o := range outcomes {
		fmt.Printf("%-10s empty %7.0f/s, large %7.0f/s: ratio %.2f, at least %.2f; memory of the server %d MB, at most %d MB\n",
			o.Row.Name, o.Reference.PerSecond(), o.Ours.PerSecond(), o.Ratio(), minRate, o.Ours.Resident>>20, maxMemory>>20)
		if o.Ours.FirstError != nil {
			errs = append(errs, fmt.Errorf("%s: %w", o.Row.Name, o.Ours.FirstError))
		}
		if *enforce && (o.Ratio() < minRate || o.Ours.Resident > maxMemory) {
			errs = append(errs, fmt.Errorf("%s exceeds a bound", o.Row.Name))
		}
	}
	p99 := took[scrapes*99/100]
	fmt.Printf("%-10s p50 %s, p99 %s, at most %s\n", "scrape", took[scrapes/2], p99, maxScrape)
	if *enforce && p99 > maxScrape {
		errs = append(errs, fmt.Errorf("the p99 of scrapes is %s, above %s", p99, maxScrape))
	}
	return errors.Join(errs...)
}

// backUp makes a copy of a store that no server has open. It shares the files that do not change.
func backUp(ctx context.Context, from, to string) error {
	if err := os.RemoveAll(filepath.Dir(to)); err != nil {
		return fmt.Errorf("remove former copy: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fmt.Errorf("create directory of the copy: %w", err)
	}
	server, err := embeddedmongo.Open(from, embeddedmongo.Options{})
	if err != nil {
		return fmt.Errorf("open large store: %w", err)
	}
	return errors.Join(server.Backup(ctx, to), server.Close())
}

// create returns the request that creates a flow run of a new flow, and the id of the run.
func create(s *beside.Server) (func(c *beside.Conn) (string, error), error) {
	c := s.Conn()
	defer c.Close()
	flow, err := post(c, "/flows/", `{"name":"bench-scale"}`)
	if err != nil {
		return nil, err
	}
	body := `{"flow_id":"` + flow + `","state":{"type":"PENDING","name":"Pending"}}`
	return func(c *beside.Conn) (string, error) { return post(c, "/flow_runs/", body) }, nil
}

// post creates a resource and returns its id.
func post(c *beside.Conn, path, body string) (string, error) {
	answer, err := c.Call(http.MethodPost, path, []byte(body))
	if err != nil {
		return "", err
	}
	text, err := answer.Text()
	if err != nil {
		return "", err
	}
	var created struct{ ID string }
	if err := json.Unmarshal(text, &created); err != nil {
		return "", fmt.Errorf("decode id: %w", err)
	}
	return created.ID, nil
}

func prepareCreate(_ context.Context, s *beside.Server) (beside.Op, error) {
	run, err := create(s)
	return func(c *beside.Conn, _ int) error {
		_, err := run(c)
		return err
	}, err
}

// prepareStates creates a run for each worker, whose state alternates.
func prepareStates(_ context.Context, s *beside.Server) (beside.Op, error) {
	run, err := create(s)
	if err != nil {
		return nil, err
	}
	states := []string{`{"type":"RUNNING","name":"Running"}`, `{"type":"PENDING","name":"Pending"}`}
	type worker struct {
		id   string
		next int
	}
	workers := make([]worker, 1024)
	return func(c *beside.Conn, n int) error {
		w := &workers[n]
		if w.id == "" {
			var err error
			if w.id, err = run(c); err != nil {
				return err
			}
		}
		body := `{"force":true,"state":` + states[w.next%len(states)] + `}`
		w.next++
		_, err := c.Call(http.MethodPost, "/flow_runs/"+w.id+"/set_state", []byte(body), http.StatusCreated)
		return err
	}, nil
}
