package orchestration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// ErrReencrypt reports secrets that could not be encrypted with the first key.
var ErrReencrypt = errors.New("some secrets are still encrypted with other keys")

// reencryptedPerLine is the number of secrets after which the progress is printed.
const reencryptedPerLine = 1000

// Reencrypt encrypts every stored secret with the first key, so that the other keys can go, and prints its progress. Secrets that
// have this key already are skipped: after an interruption another call continues. Services may run meanwhile.
func (o *Orchestration) Reencrypt(ctx context.Context, out io.Writer) error {
	failures := 0
	for _, kind := range []struct {
		name string
		do   func(ctx context.Context, done func(changed bool, err error) error) error
	}{
		{"blocks", o.blocks.Reencrypt},
		{"webhooks", o.webhooks.Reencrypt},
		{"dead letters", o.relay.Reencrypt},
	} {
		seen, changed, failed := 0, 0, 0
		progress := func() error {
			_, err := fmt.Fprintf(out, "%s: %d examined, %d encrypted with the first key, %d failed\n", kind.name, seen, changed, failed)
			return err
		}
		err := kind.do(ctx, func(encrypted bool, err error) error {
			seen++
			switch {
			case err != nil && ctx.Err() != nil:
				return err
			case err != nil:
				failed++
				o.log.ErrorContext(ctx, "failed to encrypt a secret with the first key", "kind", kind.name, "error", err)
			case encrypted:
				changed++
			}
			if seen%reencryptedPerLine == 0 {
				return progress()
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("encrypt the secrets of %s with the first key: %w", kind.name, err)
		}
		if err := progress(); err != nil {
			return err
		}
		failures += failed
	}
	if failures > 0 {
		return fmt.Errorf("%w: %d failed; the log names them", ErrReencrypt, failures)
	}
	return nil
}

// Reencrypt is Orchestration.Reencrypt as a task of the program.
func Reencrypt(ctx context.Context, cfg Config, out io.Writer, log *slog.Logger) (err error) {
	o, closing, err := open(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closing(context.WithoutCancel(ctx))) }()
	return o.Reencrypt(ctx, out)
}
