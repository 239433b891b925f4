package orchestration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// OwnerKey makes another API key for the owner of the database, who lost theirs, and prints it. Services may run meanwhile:
// they take the key as soon as they hear of it.
func OwnerKey(ctx context.Context, cfg Config, out io.Writer, log *slog.Logger) (err error) {
	o, closing, err := open(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closing(context.WithoutCancel(ctx))) }()
	key, err := o.NewOwnerKey(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, key)
	return err
}
