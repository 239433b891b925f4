package beside

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Main runs a measurement until it is done or interrupted, and ends the process: with 1 and a line on standard error when
// it could not be made, or when a bound was missed.
func Main(name string, measure func(ctx context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := measure(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
