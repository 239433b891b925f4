// Package blocks manages blocks: configuration and credentials that runs load by name.
//
//	type ──► schemas, known by their checksums ──► documents: data, sealed in the store
//	  ▲                                               │
//	  └── the server's own types (system/*.json)   └──► documents that they refer to
//
// A document's data is encrypted as a whole before it is stored. Reading replaces references by the referenced data,
// and obfuscates secrets unless the caller requests them. A document stores what was secret when it was written, so
// another schema reveals nothing:
//
//	stored ─► open ─► redact ─► put referred documents in their places ─► answer
//
// Deleting a type or a schema deletes its documents, as an effect that runs before the call returns where possible.
// Deleting a document leaves documents that reference it; they lack the field from then on.
package blocks

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/quotas"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Service serves block types, schemas, documents and capabilities.
type Service struct {
	orchv1.UnimplementedBlockTypeServiceServer
	orchv1.UnimplementedBlockSchemaServiceServer
	orchv1.UnimplementedBlockCapabilityServiceServer
	orchv1.UnimplementedBlockDocumentServiceServer

	types     *store.Collection[*orchv1.BlockType]
	schemas   *store.Collection[*orchv1.BlockSchema]
	documents *store.Collection[*orchv1.BlockDocument]

	typeSource     pagination.Source[*orchv1.BlockType]
	schemaSource   pagination.Source[*orchv1.BlockSchema]
	documentSource pagination.Source[*orchv1.BlockDocument]

	keys   secrets.Keyring
	scopes Scopes
	vocab  vocabulary.Vocabulary
	flush  outbox.Flusher
	quotas *quotas.Service

	installed sync.Map // The workspaces in which the system types are known to exist.
}

// Scopes are the permissions of callers.
type Scopes interface {
	WorkspaceScopes(ctx context.Context, info request.Info, workspace uuid.UUID) (access.Set, error)
}

// Deps are the dependencies of the service.
type Deps struct {
	Store *store.Store
	// Keys encrypt and decrypt the data of documents.
	Keys secrets.Keyring
	// Scopes decide who may reveal secrets by a change.
	Scopes Scopes
	// Quotas admit new documents; nil admits all.
	Quotas *quotas.Service
	// Flush executes the effects of a write before its call returns.
	Flush      outbox.Flusher
	Vocabulary vocabulary.Vocabulary
}

// New returns the service.
func New(d Deps) *Service {
	s := &Service{
		types:     store.NewCollection(d.Store, query.BlockType, &orchv1.BlockType{}),
		schemas:   store.NewCollection(d.Store, query.BlockSchema, &orchv1.BlockSchema{}),
		documents: store.NewCollection(d.Store, query.BlockDocument, &orchv1.BlockDocument{}),
		keys:      d.Keys,
		scopes:    d.Scopes,
		vocab:     d.Vocabulary,
		flush:     d.Flush,
		quotas:    d.Quotas,
	}
	// Lists are sorted by name, except schemas, of which the newest comes first.
	s.typeSource = pagination.NewSource(s.types, orchv1.BlockDocumentSort_BLOCK_DOCUMENT_SORT_NAME_ASC)
	s.schemaSource = pagination.NewSource(s.schemas, orchv1.BlockDocumentSort_BLOCK_DOCUMENT_SORT_CREATED_DESC)
	s.documentSource = pagination.NewSource(s.documents, orchv1.BlockDocumentSort_BLOCK_DOCUMENT_SORT_NAME_ASC)
	return s
}

// The texts of the 404s for unknown resources.
const (
	noType     crud.NotFound = "Block type not found"
	noSchema   crud.NotFound = "Block schema not found"
	noDocument crud.NotFound = "Block document not found"
)
