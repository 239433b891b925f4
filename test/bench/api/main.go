// Command api measures the REST API beside the Python server, on one machine in one run. It exits with 1 when a row
// misses its floor. Package beside describes the method.
//
//	make bench-api BENCHFLAGS="-round 10s -rows create,get"
//	make bench-api-mongo                                    (three services on a MongoDB server)
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/orch-project/orch/test/bench/beside"
)

func main() { beside.Main("bench-api", run) }

func run(ctx context.Context) (err error) {
	orch := flag.String("orch", "bin/orch", "our binary")
	prefect := flag.String("prefect", ".venv/prefect/bin/prefect", "the Python server's program")
	servers := flag.String("servers", "both", "both, orch or reference")
	names := flag.String("rows", "", "comma-separated names; all when empty")
	seed := flag.Int("seed", 10_000, "flow runs that are stored before the reading rows")
	var load beside.Load
	flag.IntVar(&load.Conns, "c", 8, "connections")
	flag.DurationVar(&load.Round, "round", 4*time.Second, "the counted time of a round")
	flag.DurationVar(&load.Warm, "warm", time.Second, "the time before it that is not counted")
	flag.IntVar(&load.Rounds, "rounds", 2, "rounds of each server in each row")
	mongodb := flag.String("mongodb", "", "measure the three services on this MongoDB server, in a database of their own, in place of the single binary")
	env := flag.String("env", "", "comma-separated settings of our server, NAME=value")
	pause := flag.Bool("hold", false, "keep the servers running after the table until interrupted")
	flag.Parse()

	floors := singleFloors
	if *mongodb != "" {
		floors = servicesFloors
	}
	b := &bench{floors: floors, seed: *seed, conns: load.Conns, flows: map[*beside.Server]string{}, stock: map[*beside.Server]chan string{}}
	rows, err := b.rows(*names)
	if err != nil {
		return err
	}
	var reference, ours *beside.Server
	stopAll := func() {
		for _, s := range []*beside.Server{reference, ours} {
			if s != nil {
				err = errors.Join(err, s.Stop())
			}
		}
	}
	defer func() { stopAll() }()
	if *servers != "orch" {
		if reference, err = beside.StartReference(*prefect); err != nil {
			return err
		}
	}
	if *servers != "reference" {
		settings := strings.FieldsFunc(*env, func(r rune) bool { return r == ',' })
		if *mongodb != "" {
			ours, err = beside.StartServices(filepath.Dir(*orch), *mongodb, append([]string{fmt.Sprintf("ORCH_MONGODB_DATABASE=bench_api_%d", os.Getpid())}, settings...)...)
		} else {
			ours, err = beside.StartOrch(*orch, settings...)
		}
		if err != nil {
			return err
		}
	}
	for _, s := range []*beside.Server{reference, ours} {
		if s == nil {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s: process %d on %s\n", s.Name, s.PID(), s.Address)
		if err := b.prepare(ctx, s); err != nil {
			return err
		}
	}
	outcomes, err := beside.Compare(ctx, rows, reference, ours, load, os.Stderr)
	if err != nil {
		return err
	}
	demands := beside.Demands{Memory: 100 << 20, P99: 0.1}
	if *mongodb != "" {
		demands = beside.Demands{} // The memory is that of orchestration alone, and MongoDB decides on the slowest requests.
	}
	if *servers != "both" {
		_ = beside.Report(os.Stdout, outcomes, beside.Demands{}) // Nothing to compare with.
	} else {
		err = beside.Report(os.Stdout, outcomes, demands)
	}
	if *pause {
		<-ctx.Done()
	}
	return err
}
