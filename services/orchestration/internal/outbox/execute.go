package outbox

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/metadata"

	"github.com/orch-project/orch/pkg/tracing"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// errBlocked means that an effect which others must not overtake is in the dead letters now.
var errBlocked = errors.New("a blocking effect is in the dead letters")

// execute executes one document's effects in order. Permanent failures become dead letters; the effects behind them go on.
// The first other failure ends it; what was executed before is pulled.
func (r *Relay) execute(ctx context.Context, collection query.Collection, box store.Outbox) error {
	var failed error
	done := 0
	for done < len(box.Effects) {
		if box.Effects[done].Kind == store.KindRemove {
			return r.store.Remove(ctx, collection, box.ID)
		}
		run := sameKind(box.Effects[done:])
		var n int
		n, failed = r.executeRun(ctx, collection, box, box.Effects[done:done+run])
		done += n
		if failed != nil {
			break
		}
	}
	if done == 0 && (failed != nil || !box.Deferred) {
		return failed
	}
	executed := store.Outbox{DocumentKey: box.DocumentKey, Effects: box.Effects[:done], Deferred: box.Deferred && failed == nil}
	return errors.Join(failed, r.store.Done(ctx, collection, executed))
}

// executeRun executes consecutive effects of one kind, and returns how many of them are done. After a permanent failure it
// executes them one by one.
func (r *Relay) executeRun(ctx context.Context, collection query.Collection, box store.Outbox, effects []store.Effect) (int, error) {
	err := r.judge(ctx, effects[0].Kind, r.handle(ctx, effects))
	if err == nil {
		return len(effects), nil
	}
	if !r.permanent(err, box.Attempts) {
		return 0, err
	}
	for i, e := range effects {
		if len(effects) > 1 {
			err = r.judge(ctx, e.Kind, r.handle(ctx, effects[i:i+1]))
		}
		if err == nil {
			continue
		}
		if !r.permanent(err, box.Attempts) {
			return i, err
		}
		if err := r.moveToDeadLetters(ctx, collection, box, e, err); err != nil {
			return i, err
		}
	}
	return len(effects), nil
}

// sameKind counts the leading effects of one kind.
func sameKind(effects []store.Effect) int {
	run := 1
	for run < len(effects) && effects[run].Kind == effects[0].Kind {
		run++
	}
	return run
}

// handle passes effects of one kind to their handler, unless the kind is suspended. The handler gets no metadata of a request: a caller that
// flushes a document may execute the effects of another caller's write.
func (r *Relay) handle(ctx context.Context, effects []store.Effect) error {
	kind := effects[0].Kind
	handler := r.handlers.handler(kind)
	if handler.Run == nil {
		return store.Permanent(fmt.Errorf("no handler registered for effect kind %q", kind))
	}
	if err := r.admit(kind); err != nil {
		return fmt.Errorf("execute effect %q: %w", kind, err)
	}
	ctx, span := r.tracer.Continue(metadata.NewIncomingContext(ctx, nil), "effect "+kind, parentOf(effects))
	err := handler.Run(ctx, effects)
	tracing.End(span, err)
	if err != nil {
		return fmt.Errorf("execute effect %q: %w", kind, err)
	}
	r.resume(ctx, kind)
	return nil
}

// parentOf is the first trace of a batch of effects.
func parentOf(effects []store.Effect) tracing.Parent {
	for _, e := range effects {
		if e.Trace.Trace != "" {
			return e.Trace
		}
	}
	return tracing.Parent{}
}
