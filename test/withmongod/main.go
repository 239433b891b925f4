// Command withmongod runs a command with a MongoDB server: a new one, with data in a temporary directory, unless ORCH_TEST_MONGODB_URI names
// one. The variable has the server's address for the command. Without a server on this machine it says so and succeeds.
//
//	withmongod COMMAND [ARGUMENT…]
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest"
	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest/mongod"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	var exit *exec.ExitError
	switch {
	case errors.Is(err, mongod.ErrMissing):
		fmt.Fprintln(os.Stdout, "skipped:", err)
	case errors.As(err, &exit) && exit.Exited():
		os.Exit(exit.ExitCode())
	case err != nil:
		fmt.Fprintln(os.Stderr, "withmongod:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, command []string) error {
	if len(command) == 0 {
		return errors.New("name the command to run")
	}
	if os.Getenv(mongotest.Variable) == "" {
		program, err := mongod.Find()
		if err != nil {
			return err
		}
		dir, err := mongod.TempDir()
		if err != nil {
			return fmt.Errorf("make the directory of the server: %w", err)
		}
		defer os.RemoveAll(dir)
		server, err := mongod.Start(ctx, program, dir)
		if err != nil {
			return err
		}
		defer server.Stop()
		fmt.Fprintln(os.Stdout, program, "on", server.URI)
		if err := os.Setenv(mongotest.Variable, server.URI); err != nil {
			return err
		}
	}
	child := exec.CommandContext(ctx, command[0], command[1:]...)
	child.Cancel = func() error { return child.Process.Signal(syscall.SIGTERM) }
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	return child.Run()
}
