package orchestration

import (
	"context"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/orchestration/internal/imports"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// Importer stores resources of another server in the default workspace.
type Importer = imports.Importer

// ImportResource is a resource that an Importer stores.
type ImportResource = imports.Resource

// ImportRefusal is a resource that an Importer did not store.
type ImportRefusal = imports.Refusal

// Importer returns an importer. It writes the vocabulary into data that has none, and refuses data of another one. Services must not
// use the data.
func (d *Data) Importer(ctx context.Context, vocab vocabulary.Vocabulary) (*Importer, error) {
	if err := d.Unused(ctx); err != nil {
		return nil, err
	}
	if err := d.store.Claim(ctx, vocab); err != nil {
		return nil, err
	}
	if err := d.store.EnsureIndexes(ctx, query.Indexes()); err != nil {
		return nil, err
	}
	return imports.New(imports.Config{
		Store: d.store, Workspace: request.DefaultWorkspace, Vocabulary: vocab, Keys: d.cfg.Secrets,
		EventsRetention: d.cfg.EventsRetention, LogsRetention: d.cfg.LogsRetention,
	}), nil
}
