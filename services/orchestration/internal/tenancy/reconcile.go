package tenancy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/directory"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Reconciler makes the directory equal to the store. A broker that lost its data gets every entry again; after a
// restore of the store, newer entries are removed. Several replicas may run it.
type Reconciler struct{ Registry *Registry }

const (
	// reconcileEvery is the interval between two comparisons of the directory with the store.
	reconcileEvery = 5 * time.Minute
	// retryEvery is the delay after a failed comparison.
	retryEvery = 5 * time.Second
	// compactEvery is the interval between compactions of the directory, and tombstoneAge how long a tombstone remains: much longer than a
	// writer can be delayed that would restore the entry.
	compactEvery = time.Hour
	tombstoneAge = 24 * time.Hour
)

// Name implements run.Worker.
func (r Reconciler) Name() string { return "directory reconciler" }

// Run compares immediately, then periodically until ctx ends.
func (r Reconciler) Run(ctx context.Context) error {
	var compacted time.Time
	for {
		wait := reconcileEvery
		err := r.Registry.Reconcile(ctx)
		if time.Since(compacted) >= compactEvery { // Also after a failure: the bucket may be full.
			compacted = time.Now()
			err = errors.Join(err, r.Registry.directory.Compact(ctx, tombstoneAge, tombstone))
		}
		if err != nil {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // The requested shutdown.
			}
			r.Registry.log.WarnContext(ctx, "failed to reconcile the directory", "error", err)
			wait = retryEvery
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// Reconcile writes every missing or stale entry. An entry that fails is logged and leaves the others alone. It returns an outage:
// after one, it is unknown which entries are present.
func (r *Registry) Reconcile(ctx context.Context) error {
	present := map[string]bool{}
	for _, walk := range []func() error{
		func() error { return each(ctx, r, directory.Account, r.Accounts, present) },
		func() error { return each(ctx, r, directory.Workspace, r.Workspaces, present) },
		func() error { return each(ctx, r, directory.User, r.Users, present) },
		func() error { return each(ctx, r, directory.ServiceAccount, r.ServiceAccounts, present) },
		func() error { return each(ctx, r, directory.Membership, r.Memberships, present) },
		func() error { return each(ctx, r, directory.Access, r.Access, present) },
		func() error { return each(ctx, r, directory.Role, r.Roles, present) },
		func() error { return each(ctx, r, directory.Team, r.Teams, present) },
	} {
		if err := walk(); err != nil {
			return err
		}
	}
	keys, err := r.directory.Keys(ctx)
	if err != nil {
		return fmt.Errorf("list directory: %w", err)
	}
	pass := r.Store.Pass(ctx, "remove an entry of the directory")
	for _, key := range keys {
		if present[key] || key == directory.Complete {
			continue
		}
		if pass.Record(r.writeTombstone(ctx, key), "key", key) != nil {
			break
		}
	}
	if err := pass.Outage(); err != nil {
		return err
	}
	err = r.directory.Swap(ctx, directory.Complete, func(current []byte) ([]byte, error) {
		if current != nil {
			return nil, nil
		}
		return []byte(r.Store.Now().Format(time.RFC3339)), nil
	})
	if err != nil {
		return fmt.Errorf("mark directory complete: %w", err)
	}
	return nil
}

// each updates the entries of one collection and records their keys.
func each[M proto.Message](ctx context.Context, r *Registry, kind directory.Kind, from *store.Collection[M], present map[string]bool) error {
	type owned struct{ owner, id uuid.UUID }
	var all []owned
	pass := r.Store.Pass(ctx, "write an entry of the directory")
	err := from.EachAcross(ctx, store.Query{}, func(owner uuid.UUID, m M) error {
		fields := m.ProtoReflect().Descriptor().Fields()
		text := m.ProtoReflect().Get(fields.ByName(protoreflect.Name("id"))).String()
		id, err := uuid.Parse(text)
		if err == nil {
			all = append(all, owned{owner, id})
		}
		return pass.Record(err, "kind", kind, "owner", owner, "id", text)
	})
	if err != nil {
		return err
	}
	for _, one := range all {
		present[directory.Key(kind, one.id.String())] = true
		if pass.Record(r.write(ctx, kind, one.owner, one.id), "kind", kind, "owner", one.owner, "id", one.id) != nil {
			break
		}
	}
	return pass.Outage()
}

// tombstone reports whether an entry is that of a deleted document.
func tombstone(value []byte) bool {
	e, err := directory.Decode(value)
	return err == nil && e.GetRevision() == deletedRevision
}

// writeTombstone writes a tombstone for the entry of a missing document, unless the document was created in the meantime. It
// reads the document at the place that its entry names.
func (r *Registry) writeTombstone(ctx context.Context, key string) error {
	kind, text, _ := strings.Cut(key, ".")
	id, err := uuid.Parse(text)
	if err != nil {
		return fmt.Errorf("parse directory key %q: %w", key, err)
	}
	value, err := r.directory.Get(ctx, key)
	if err != nil {
		return err
	}
	entry, err := directory.Decode(value)
	if err != nil {
		return err
	}
	owner := Server
	for _, id := range []string{
		entry.GetWorkspace().GetAccountId(), entry.GetActor().GetAccountId(), entry.GetMembership().GetAccountId(),
		entry.GetAccess().GetWorkspaceId(), entry.GetRole().GetAccountId(),
		entry.GetTeam().GetAccountId(),
	} {
		if id != "" {
			if owner, err = uuid.Parse(id); err != nil {
				return fmt.Errorf("decode directory entry %q: %w", key, err)
			}
		}
	}
	return r.write(ctx, directory.Kind(kind), owner, id)
}
