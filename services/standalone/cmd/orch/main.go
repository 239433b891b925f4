// Command orch is the single binary of Orch: the server and the command line.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	_ "golang.org/x/crypto/x509roots/fallback" // Authorities for machines and images without a list of their own.

	"github.com/orch-project/orch/services/standalone/internal/cli"
)

// version is set by the linker.
var version = "0.0.0+dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := cli.New(version).ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "orch:", err)
		stop()
		os.Exit(cli.ExitCode(err)) //nolint:gocritic // The deferred stop ran above.
	}
}
