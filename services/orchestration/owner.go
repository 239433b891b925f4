package orchestration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/orch-project/orch/pkg/atomicfile"
)

// welcome makes the owner's first API key, once for a database, and writes it into a file that only its owner reads. Standard output
// would be kept as a log. Without a file no key is made.
func (o *Orchestration) welcome(ctx context.Context, file string) error {
	if file == "" {
		welcomed, err := o.hosted.registry.Welcomed(ctx)
		if err == nil && !welcomed {
			o.log.WarnContext(ctx, "the owner has no API key yet: orchestration --owner-key prints one, and ORCH_OWNER_KEY_FILE names a file for it")
		}
		return err
	}
	key, err := o.BootstrapOwnerKey(ctx)
	if err != nil || key == "" {
		return err
	}
	if err := atomicfile.Replace(file, []byte(key+"\n")); err != nil {
		return fmt.Errorf("write the owner's API key, which --owner-key replaces: %w", err)
	}
	o.log.InfoContext(ctx, "the owner's first API key is in a file that only its owner reads", "file", file)
	return nil
}

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
