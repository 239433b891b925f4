// Command gateway serves the REST API of Orch.
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
	"github.com/orch-project/orch/services/gateway"
)

// version is set by the linker.
var version = "dev"

// settings are the gateway's and those of its logs.
type settings struct {
	Gateway gateway.Config
	Logging telemetry.Logging
}

// Validate implements config.Validator.
func (s *settings) Validate() error { return s.Gateway.Validate() }

func main() {
	check := flag.Bool("check-config", false, "print the settings and exit")
	health := flag.Bool("health", false, "ask the running gateway whether it is ready; exit 0 or 1")
	flag.Parse()
	if err := start(*check, *health); err != nil {
		fmt.Fprintln(os.Stderr, "gateway:", err)
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
		return gateway.Probe(ctx, cfg.Gateway)
	}
	return gateway.RunProcess(ctx, cfg.Gateway, version, telemetry.NewLogger(os.Stderr, "gateway", cfg.Logging))
}
