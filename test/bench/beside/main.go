package beside

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Main runs a measurement until it ends or is interrupted, and exits the process: with 1 and a line on standard error
// when the measurement failed or missed a bound.
func Main(name string, measure func(ctx context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := measure(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
