package action

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// maxKeys bounds the keys of an automation, and maxKeyBytes one of them.
	maxKeys     = 10_000
	maxKeyBytes = 1024
	// keyPage is how many due keys one read returns.
	keyPage = 100
	// idleKey is how long a key without work is kept. A process that slept for less adds no action run twice.
	idleKey = 10 * time.Minute
)

var (
	errTooManyKeys = fmt.Errorf("the actions of the automation have %d keys already", maxKeys)
	errKeyChanged  = errors.New("another action run changed the key")
)

// KindCollected is the effect that stores the action run of collected firings.
const KindCollected = "automation.collected"

// StoreCollected executes effects of KindCollected.
func (r *Runner) StoreCollected(ctx context.Context, effects []store.Effect) error {
	if err := store.InsertMessages(ctx, r.runs, effects, nil); err != nil {
		return err
	}
	r.Wake()
	return nil
}

// renderKey renders the key of an action run, or says in the result why it cannot.
func (r *Runner) renderKey(ctx context.Context, o *result, run *orchv1.AutomationActionRun, template string) (string, bool) {
	key, err := r.keyText(ctx, run, template)
	switch invalid, isInvalid := errors.AsType[*keyError](err); {
	case err == nil:
		return key, true
	case isInvalid:
		o.fail("%s", invalid)
	default:
		r.templateFailed(o, err, err.Error(), template)
	}
	return "", false
}

// keyError reports that a rendered text cannot be a key.
type keyError struct{ reason string }

func (e *keyError) Error() string { return e.reason }

// keyText renders a key. A *keyError reports that the text cannot be one.
func (r *Runner) keyText(ctx context.Context, run *orchv1.AutomationActionRun, template string) (string, error) {
	key, err := r.render(ctx, run, template)
	if err != nil {
		return "", err
	}
	switch key = strings.TrimSpace(key); {
	case key == "" && template != "":
		return "", &keyError{"The key is empty: " + template}
	case len(key) > maxKeyBytes:
		return "", &keyError{fmt.Sprintf("The key has %d bytes, more than %d", len(key), maxKeyBytes)}
	}
	return key, nil
}

// newKey is a key of an action before anything is kept for it. feature is the field of the action that has the key.
func newKey(run *orchv1.AutomationActionRun, feature, key string) (*orchv1.AutomationKey, error) {
	automation, err := uuid.Parse(run.GetAutomation().GetId())
	if err != nil {
		return nil, fmt.Errorf("read the automation of an action: %w", err)
	}
	name := fmt.Appendf(nil, "%s %s %d %s", feature, run.GetFiring().GetState(), run.GetIndex(), key)
	return &orchv1.AutomationKey{Id: uuid.NewSHA1(automation, name).String(), AutomationId: automation.String()}, nil
}

// changeKey changes the document of a key, and inserts the document if the key has none.
func (r *Runner) changeKey(ctx context.Context, ws uuid.UUID, key *orchv1.AutomationKey, decide store.Decide[*orchv1.AutomationKey]) error {
	id, err := uuid.Parse(key.GetId())
	if err != nil {
		return fmt.Errorf("read the id of a key: %w", err)
	}
	for range 3 { // The clean-up may remove the key in between, once it was idle.
		_, err = r.keys.Mutate(ctx, ws, id, decide)
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if err := r.insertKey(ctx, ws, key); err != nil {
			return err
		}
	}
	return err
}

func (r *Runner) insertKey(ctx context.Context, ws uuid.UUID, key *orchv1.AutomationKey) error {
	automation, err := uuid.Parse(key.GetAutomationId())
	if err != nil {
		return fmt.Errorf("read the automation of a key: %w", err)
	}
	n, err := r.keys.Count(ctx, ws, store.Query{Filter: bson.D{{Key: "automation_id", Value: store.Binary(automation)}}, Limit: maxKeys})
	if err != nil {
		return err
	}
	if n >= maxKeys {
		return errTooManyKeys
	}
	fresh := proto.CloneOf(key)
	fresh.Due = r.Store.Now().Add(idleKey).UnixMicro()
	if err := r.keys.Insert(ctx, ws, fresh); err != nil && !errors.Is(err, store.ErrDuplicate) {
		return err
	}
	return nil
}

// keyFailed notes why a key could not be changed.
func keyFailed(o *result, err error) *result {
	if errors.Is(err, errTooManyKeys) {
		return o.fail("Unable to create flow run from deployment: %s", err)
	}
	return o.later(err)
}

// examineKeys examines the keys that are due. A key that fails is examined again by the next pass, and delays no other one.
func (r *Runner) examineKeys(ctx context.Context) error {
	pass := r.Store.Pass(ctx, "examine the keys of automations")
	for after := int64(0); ; {
		window := bson.D{{Key: "$gt", Value: after}, {Key: "$lte", Value: r.Store.Now().UnixMicro()}}
		found, err := r.keys.FindAcross(ctx, store.Query{
			Filter: bson.D{{Key: "due", Value: window}}, Sort: bson.D{{Key: "due", Value: 1}}, Limit: keyPage,
		})
		if err != nil {
			return err
		}
		for _, one := range found {
			if pass.Record(r.examineKey(ctx, one.Workspace, one.Message), "key", one.Message.GetId()) != nil {
				return pass.Err()
			}
			after = one.Message.GetDue()
		}
		if len(found) < keyPage {
			return pass.Err()
		}
	}
}

// examineKey completes the collected run of a key, wakes its queue, or removes it when it is idle. Other replicas may examine the key at the
// same time, so each write is a compare-and-set on the document that was read.
func (r *Runner) examineKey(ctx context.Context, ws uuid.UUID, key *orchv1.AutomationKey) error {
	ctx, err := r.outgoing(ctx, ws, &orchv1.Automation{Id: key.GetAutomationId()})
	if err != nil {
		return err
	}
	switch {
	case key.GetCollected() != nil:
		err = r.completeDue(ctx, ws, key)
	case len(key.GetQueue()) > 0:
		err = r.wakeQueue(ctx, ws, key)
	default:
		err = r.removeIdle(ctx, ws, key)
	}
	if errors.Is(err, errKeyChanged) || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// removeIdle removes a key without work, unless an action run that it knows may be executed again or its flow run is unfinished.
func (r *Runner) removeIdle(ctx context.Context, ws uuid.UUID, key *orchv1.AutomationKey) error {
	id, err := uuid.Parse(key.GetId())
	if err != nil {
		return fmt.Errorf("read the id of a key: %w", err)
	}
	unfinished, err := r.unfinished(ctx, ws, key.GetLedger())
	if err != nil {
		return err
	}
	free, _, err := r.free(ctx, ws, key)
	if err != nil {
		return err
	}
	unchanged := func(current *orchv1.AutomationKey) error {
		if !proto.Equal(current, key) {
			return errKeyChanged
		}
		return nil
	}
	if free && len(unfinished) == 0 {
		return r.keys.Delete(ctx, ws, id, func(current *orchv1.AutomationKey) ([]store.Effect, error) { return nil, unchanged(current) })
	}
	_, err = r.keys.Mutate(ctx, ws, id, store.Edit(func(next *orchv1.AutomationKey) error {
		if err := unchanged(next); err != nil {
			return err
		}
		next.Due = r.Store.Now().Add(idleKey).UnixMicro()
		return nil
	}, nil))
	return err
}

// unfinished are the action runs of a ledger that may be executed again.
func (r *Runner) unfinished(ctx context.Context, ws uuid.UUID, ledger []byte) (map[uuid.UUID]bool, error) {
	found := map[uuid.UUID]bool{}
	if len(ledger) == 0 {
		return found, nil
	}
	runs, err := r.runs.Find(ctx, ws, store.Query{
		Filter: bson.D{{Key: "_id", Value: store.OneOf(ledgerIDs(ledger))}}, Fields: []string{"_id", "next"},
	})
	if err != nil {
		return nil, err
	}
	for _, run := range runs {
		if id, err := uuid.Parse(run.GetId()); err == nil && run.Next != nil {
			found[id] = true
		}
	}
	return found, nil
}

func ledgerIDs(ledger []byte) []uuid.UUID {
	ids := make([]uuid.UUID, 0, len(ledger)/len(uuid.UUID{}))
	for entry := range slices.Chunk(ledger, len(uuid.UUID{})) {
		ids = append(ids, uuid.UUID(entry))
	}
	return ids
}

func inLedger(ledger []byte, id uuid.UUID) bool {
	for entry := range slices.Chunk(ledger, len(id)) {
		if bytes.Equal(entry, id[:]) {
			return true
		}
	}
	return false
}
