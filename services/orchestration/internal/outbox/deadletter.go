package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// effectField binds the encrypted body of a dead letter to it.
func effectField(d store.DeadLetter) secrets.FieldRef {
	return secrets.FieldRef{Workspace: d.Workspace, Document: d.ID, Field: "dead_letter.body"}
}

// ErrRetryFailed means that the effect of a dead letter failed again.
var ErrRetryFailed = errors.New("retry failed")

// RetryDeadLetter executes the effect of a dead letter now, and removes the letter when that succeeds; a blocked document
// goes on. Otherwise the letter records the attempt, and the error matches ErrRetryFailed and its cause. It returns
// store.ErrNotFound for an unknown id. Two concurrent retries may both execute the effect; effects are idempotent.
func (r *Relay) RetryDeadLetter(ctx context.Context, id uuid.UUID) error {
	letter, err := r.store.DeadLetter(ctx, id)
	if err != nil {
		return err
	}
	body, err := r.secrets.Open(effectField(letter), letter.Body)
	if err != nil {
		return fmt.Errorf("decrypt a dead letter: %w", err)
	}
	effect := store.Effect{ID: letter.ID, At: letter.At, Kind: letter.Kind, Body: body}
	if failed := r.handle(ctx, []store.Effect{effect}); failed != nil {
		letter.Attempts++
		letter.FailedAt, letter.Reason = r.store.Now(), text(failed)
		if err := r.write(ctx, letter); err != nil {
			r.log.WarnContext(ctx, "failed to record a failed retry of a dead letter", "id", id, "error", err)
		}
		return fmt.Errorf("%w: %w", ErrRetryFailed, failed)
	}
	return r.resolve(ctx, letter)
}

// write stores a dead letter with the time at which it expires, if it does.
func (r *Relay) write(ctx context.Context, letter store.DeadLetter) error {
	letter.Expires = time.Time{}
	if r.retention > 0 && !letter.Blocking {
		letter.Expires = letter.FailedAt.Add(r.retention)
	}
	return r.store.InsertDeadLetter(ctx, letter)
}

// DiscardDeadLetter removes a dead letter without executing its effect; a blocked document goes on. It returns
// store.ErrNotFound for an unknown id.
func (r *Relay) DiscardDeadLetter(ctx context.Context, id uuid.UUID) error {
	letter, err := r.store.DeadLetter(ctx, id)
	if err != nil {
		return err
	}
	return r.resolve(ctx, letter)
}

// resolve removes a dead letter. A blocked document loses the effect first, on a majority, so that a crash or a failover between the
// two leaves a letter whose retry does nothing new.
func (r *Relay) resolve(ctx context.Context, letter store.DeadLetter) error {
	if letter.Blocking {
		box := store.Outbox{DocumentKey: store.DocumentKey{Workspace: letter.DocumentWorkspace, ID: letter.Document}, Effects: []store.Effect{{ID: letter.ID}}, Deferred: true}
		if err := r.store.DoneDurably(ctx, letter.Collection, box); err != nil {
			return err
		}
	}
	if err := r.store.RemoveDeadLetter(ctx, letter.ID); err != nil {
		return err
	}
	if letter.Blocking {
		r.Wake(letter.Collection, letter.DocumentWorkspace, letter.Document)
	}
	return nil
}
