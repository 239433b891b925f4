// Package program is what the programs of the services have in common: flags, settings, logs and signals.
//
//	flags ──► settings from the environment ──┬─ --check-config: print them
//	                                          ├─ --health: ask the running service
//	                                          ├─ a task of the service's own
//	                                          └─ run until SIGTERM or an interrupt
package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/telemetry"
)

// Program is a service with settings of type C.
type Program[C any] struct {
	// Name is the service's, in logs and messages.
	Name string
	// Probe asks the service that runs with these settings whether it is ready.
	Probe func(ctx context.Context, cfg C) error
	// Run runs the service until ctx ends.
	Run func(ctx context.Context, cfg C, log *slog.Logger) error
	// Tasks are what the program can do instead of running.
	Tasks []Task[C]
}

// Task is something that a program does and then ends.
type Task[C any] struct {
	// Name is the flag that asks for it, Usage what it does.
	Name, Usage string
	Do          func(ctx context.Context, cfg C, out io.Writer, log *slog.Logger) error
}

// settings are the service's and those of its logs.
type settings[C any] struct {
	Service C
	Logging telemetry.Logging
}

// Validate implements config.Validator.
func (s *settings[C]) Validate() error {
	if v, ok := any(&s.Service).(config.Validator); ok {
		return v.Validate()
	}
	return nil
}

// Main runs the program and ends the process: 0 when all went well, 1 with a line on standard error when not, 2 for
// wrong flags.
func Main[C any](p Program[C]) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := p.Execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	case errors.Is(err, errFlags):
		os.Exit(2)
	case err != nil:
		fmt.Fprintf(os.Stderr, "%s: %v\n", p.Name, err)
		os.Exit(1)
	}
}

// errFlags means that the arguments were wrong; the flag package has said how.
var errFlags = errors.New("wrong flags")

// Execute runs the program with arguments and returns how it ended.
func (p Program[C]) Execute(ctx context.Context, args []string, out, errs io.Writer) error {
	flags := flag.NewFlagSet(p.Name, flag.ContinueOnError)
	flags.SetOutput(errs)
	check := flags.Bool("check-config", false, "print the settings and exit")
	health := flags.Bool("health", false, "ask the running service whether it is ready; exit 0 or 1")
	asked := make([]*bool, len(p.Tasks))
	for i, task := range p.Tasks {
		asked[i] = flags.Bool(task.Name, false, task.Usage)
	}
	if err := flags.Parse(args); err != nil {
		return errors.Join(errFlags, err)
	}
	cfg, err := config.Load[settings[C]]()
	if err != nil {
		return err
	}
	switch {
	case *check:
		return config.Print(out, cfg)
	case *health:
		return p.Probe(ctx, cfg.Service)
	}
	log := telemetry.NewLogger(errs, p.Name, cfg.Logging)
	for i, task := range p.Tasks {
		if *asked[i] {
			return task.Do(ctx, cfg.Service, out, log)
		}
	}
	return p.Run(ctx, cfg.Service, log)
}
