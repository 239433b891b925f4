package action

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/leader"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// endWithin bounds what is stored of an execution when the process ends.
const endWithin = 2 * time.Second

// errTaken reports a run that another replica executes, or that has ended.
var errTaken = errors.New("another replica executes the action, or it has ended")

// claim is the right to execute a run: a lease of leader.Duration. The number of the attempt identifies it, because each claim increments
// that.
type claim struct {
	runner *Runner
	ws, id uuid.UUID
	run    *orchv1.AutomationActionRun // As claimed.
}

// claim takes a run that is due. Its error is errTaken if the run is not due any more.
func (r *Runner) claim(ctx context.Context, ws, id uuid.UUID) (*claim, error) {
	run, err := r.runs.Mutate(ctx, ws, id, store.Edit(func(next *orchv1.AutomationActionRun) error {
		now := r.Store.Now()
		if next.Next == nil || next.GetNext() > now.UnixMicro() {
			return errTaken
		}
		next.Attempts++
		next.Next = proto.Int64(now.Add(leader.Duration).UnixMicro())
		return nil
	}, nil))
	if err != nil {
		return nil, err
	}
	return &claim{runner: r, ws: ws, id: id, run: run}, nil
}

// edit changes the run unless another replica has claimed it since: then the error is errTaken.
func (c *claim) edit(ctx context.Context, change func(next *orchv1.AutomationActionRun)) error {
	_, err := c.runner.runs.Mutate(ctx, c.ws, c.id, store.Edit(func(next *orchv1.AutomationActionRun) error {
		if next.Next == nil || next.GetAttempts() != c.run.GetAttempts() {
			return errTaken
		}
		change(next)
		return nil
	}, nil))
	return err
}

// renew extends the claim. It returns false when the claim is lost.
func (c *claim) renew(ctx context.Context) (held bool, err error) {
	err = c.edit(ctx, func(next *orchv1.AutomationActionRun) {
		next.Next = proto.Int64(c.runner.Store.Now().Add(leader.Duration).UnixMicro())
	})
	if errors.Is(err, errTaken) || errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// release makes the run due at once, as if this attempt had not been. A process that ends calls it, so another replica or the next
// process does not wait for the end of the lease.
func (c *claim) release(ctx context.Context) error {
	return c.edit(ctx, func(next *orchv1.AutomationActionRun) {
		next.Attempts--
		next.Next = proto.Int64(c.runner.Store.Now().UnixMicro())
	})
}
