// Command hooks receives webhooks for Orch.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/telemetry"
	"github.com/orch-project/orch/services/hooks"
)

// version is set by the linker.
var version = "dev"

// settings are the service's and those of its logs.
type settings struct {
	Hooks   hooks.Config
	Logging telemetry.Logging
}

// Validate implements config.Validator.
func (s *settings) Validate() error { return s.Hooks.Validate() }

func main() {
	check := flag.Bool("check-config", false, "print the settings and exit")
	health := flag.Bool("health", false, "ask the running service whether it is ready; exit 0 or 1")
	flag.Parse()
	if err := start(*check, *health); err != nil {
		fmt.Fprintln(os.Stderr, "hooks:", err)
		os.Exit(1)
	}
}

func start(check, health bool) error {
	cfg, err := config.Load[settings]()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch {
	case check:
		return config.Print(os.Stdout, cfg)
	case health:
		return hooks.Probe(ctx, cfg.Hooks)
	}
	return hooks.RunProcess(ctx, cfg.Hooks, version, telemetry.NewLogger(os.Stderr, "hooks", cfg.Logging))
}
