// Package program is the shared main function of the services: flags, settings, logs and signals.
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

	_ "golang.org/x/crypto/x509roots/fallback" // Authorities for machines and images without a list of their own.

	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/otlp"
	"github.com/orch-project/orch/pkg/processors"
	"github.com/orch-project/orch/pkg/telemetry"
	"github.com/orch-project/orch/pkg/tracing"
)

// Program is a service with settings of type C.
type Program[C any] struct {
	// Name identifies the service in logs and messages.
	Name string
	// Version is the version of the program.
	Version string
	// Probe checks the readiness of the service that runs with these settings.
	Probe func(ctx context.Context, cfg C) error
	// Run runs the service until ctx ends. A nil provider means that traces are off.
	Run func(ctx context.Context, cfg C, log *slog.Logger, traces *tracing.Provider) error
	// Tasks are the one-off commands of the program.
	Tasks []Task[C]
}

// Task is a one-off command that a flag starts instead of the service.
type Task[C any] struct {
	// Name is the flag, Usage its help text.
	Name, Usage string
	Do          func(ctx context.Context, cfg C, out io.Writer, log *slog.Logger) error
}

// settings are the service's and the logger's.
type settings[C any] struct {
	Service C
	Logging telemetry.Logging
	Tracing tracing.Settings
}

// Validate implements config.Validator.
func (s *settings[C]) Validate() error {
	if v, ok := any(&s.Service).(config.Validator); ok {
		return v.Validate()
	}
	return nil
}

// Main runs the program and exits with 0 on success, 1 on an error, which it prints to standard error, or 2 for invalid
// flags.
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

// errFlags reports invalid arguments, which the flag package has already described.
var errFlags = errors.New("invalid flags")

// Execute runs the program with arguments and returns its error.
func (p Program[C]) Execute(ctx context.Context, args []string, out, errs io.Writer) error {
	flags := flag.NewFlagSet(p.Name, flag.ContinueOnError)
	flags.SetOutput(errs)
	check := flags.Bool("check-config", false, "print the settings and exit")
	health := flags.Bool("health", false, "check the readiness of the running service; exit with 0 or 1")
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
		sources, err := config.EnvironmentSources[settings[C]]()
		if err != nil {
			return err
		}
		return config.Print(out, cfg, sources)
	case *health:
		return p.Probe(ctx, cfg.Service)
	}
	log := telemetry.NewLogger(errs, p.Name, cfg.Logging)
	telemetry.WarnUnknownSettings(ctx, log)
	for i, task := range p.Tasks {
		if *asked[i] {
			return task.Do(ctx, cfg.Service, out, log)
		}
	}
	processors.AddThreads()
	traces, err := tracing.Open(ctx, cfg.Tracing, otlp.Process{Name: "orch-" + p.Name, Version: p.Version, Log: log})
	if err != nil {
		return err
	}
	err = p.Run(ctx, cfg.Service, log, traces)
	return errors.Join(err, traces.Close(context.WithoutCancel(ctx)))
}
