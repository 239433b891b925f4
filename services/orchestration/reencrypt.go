package orchestration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/pkg/telemetry"
)

// ErrReencrypt reports secrets that could not be encrypted with the first key.
var ErrReencrypt = errors.New("some secrets are still encrypted with other keys")

// reencryptedPerReport is the number of secrets after which the progress is reported.
const reencryptedPerReport = 1000

// reencrypted is the progress with the secrets of one kind.
type reencrypted struct{ examined, changed, failed int }

// reencryption encrypts every stored secret with the first key, so that the other keys can go. It skips secrets that have this key
// already: after an interruption the next pass continues. Services may run meanwhile.
type reencryption struct {
	keys  secrets.Keyring
	kinds []secretKind
	log   *slog.Logger
	// progress is that of the current pass, or of the last one.
	progress *prometheus.GaugeVec
	complete bool // The last pass found nothing to do, and the log says so.
}

// secretKind is a kind of documents with secrets. each calls done for each document, also after a failure. Without write, each
// changes nothing, and changed says that another key encrypted the document.
type secretKind struct {
	name string
	each func(ctx context.Context, write bool, done func(changed bool, err error) error) error
}

func newReencryption(keys secrets.Keyring, registry prometheus.Registerer, log *slog.Logger, kinds ...secretKind) *reencryption {
	return &reencryption{
		keys: keys, kinds: kinds, log: log,
		progress: telemetry.Register(registry, prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "orch_reencryption_secrets",
			Help: "Documents with secrets that the current or last pass of the re-encryption examined, encrypted with the first key, and failed to encrypt.",
		}, []string{"kind", "state"})),
	}
}

// run encrypts the secrets of all kinds, or only examines them. It calls report at intervals, and at the end of each kind.
func (r *reencryption) run(ctx context.Context, write bool, report func(kind string, p reencrypted) error) (total reencrypted, err error) {
	for _, kind := range r.kinds {
		var p reencrypted
		err := kind.each(ctx, write, func(changed bool, err error) error {
			p.examined++
			switch {
			case err != nil && ctx.Err() != nil:
				return err
			case err != nil:
				p.failed++
				r.log.ErrorContext(ctx, "failed to encrypt a secret with the first key", "kind", kind.name, "error", err)
			case changed:
				p.changed++
			}
			if p.examined%reencryptedPerReport == 0 {
				return report(kind.name, p)
			}
			return nil
		})
		total = reencrypted{total.examined + p.examined, total.changed + p.changed, total.failed + p.failed}
		if err := errors.Join(err, report(kind.name, p)); err != nil {
			return total, fmt.Errorf("encrypt the secrets of %s with the first key: %w", kind.name, err)
		}
	}
	if total.failed > 0 {
		return total, fmt.Errorf("%w: %d failed; the log names them", ErrReencrypt, total.failed)
	}
	return total, nil
}

// Pass is one pass of the background task. With a single key there is nothing to do. It returns the number of secrets that it encrypted.
func (r *reencryption) Pass(ctx context.Context) (changed int, err error) {
	if !r.keys.Rotating() {
		return 0, nil
	}
	total, err := r.run(ctx, true, func(kind string, p reencrypted) error {
		for state, n := range map[string]int{"examined": p.examined, "encrypted": p.changed, "failed": p.failed} {
			r.progress.WithLabelValues(kind, state).Set(float64(n))
		}
		if p.changed > 0 {
			r.log.InfoContext(ctx, "encrypted secrets with the first key", "kind", kind, "examined", p.examined, "encrypted", p.changed, "failed", p.failed)
		}
		return nil
	})
	complete := err == nil && total.changed == 0
	if complete && !r.complete {
		r.log.InfoContext(ctx, "every secret is encrypted with the first key: the other keys can be removed", "secrets", total.examined)
	}
	r.complete = complete
	return total.changed, err
}

// Reencrypt encrypts every stored secret with the first key now, and prints its progress.
func (o *Orchestration) Reencrypt(ctx context.Context, out io.Writer) error {
	_, err := o.reencryption.run(ctx, true, func(kind string, p reencrypted) error {
		_, err := fmt.Fprintf(out, "%s: %d examined, %d encrypted with the first key, %d failed\n", kind, p.examined, p.changed, p.failed)
		return err
	})
	return err
}

// ReencryptionStatus prints how many stored secrets are encrypted with the first key, and how many are left.
func (o *Orchestration) ReencryptionStatus(ctx context.Context, out io.Writer) error {
	_, err := o.reencryption.run(ctx, false, func(kind string, p reencrypted) error {
		_, err := fmt.Fprintf(out, "%s: %d examined, %d encrypted with the first key, %d left\n", kind, p.examined, p.examined-p.changed, p.changed)
		return err
	})
	return err
}

// Reencrypt is Orchestration.Reencrypt as a task of the program.
func Reencrypt(ctx context.Context, cfg Config, out io.Writer, log *slog.Logger) error {
	return withOpen(ctx, cfg, log, func(o *Orchestration) error { return o.Reencrypt(ctx, out) })
}

// ReencryptionStatus is Orchestration.ReencryptionStatus as a task of the program.
func ReencryptionStatus(ctx context.Context, cfg Config, out io.Writer, log *slog.Logger) error {
	return withOpen(ctx, cfg, log, func(o *Orchestration) error { return o.ReencryptionStatus(ctx, out) })
}

func withOpen(ctx context.Context, cfg Config, log *slog.Logger, do func(o *Orchestration) error) (err error) {
	o, closing, err := open(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closing(context.WithoutCancel(ctx))) }()
	return do(o)
}
