package blocks

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/jsontree"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// presentation holds the documents, types and schemas that responses need.
type presentation struct {
	service     *Service
	ws          uuid.UUID
	withSecrets bool

	documents map[string]*orchv1.BlockDocument
	schemas   map[string]*orchv1.BlockSchema
	types     map[string]*orchv1.BlockType
	secret    map[string][]string // The secret fields, by schema.
}

// present adds the computed fields of documents. It obfuscates secrets unless they are requested.
func (s *Service) present(ctx context.Context, ws uuid.UUID, withSecrets bool, documents ...*orchv1.BlockDocument) error {
	p := &presentation{service: s, ws: ws, withSecrets: withSecrets, secret: map[string][]string{}}
	if err := p.collect(ctx, documents); err != nil {
		return err
	}
	for _, document := range documents {
		budget := maxReferred
		data, referred, err := p.resolve(document, nil, &budget)
		if err != nil {
			return err
		}
		document.Data = jsontree.Text(data)
		document.BlockDocumentReferences = nil
		for _, m := range referred.Members() {
			if document.BlockDocumentReferences == nil {
				document.BlockDocumentReferences = map[string][]byte{}
			}
			document.BlockDocumentReferences[m.Key] = jsontree.Text(m.Value)
		}
		document.BlockSchema = p.schemas[document.GetBlockSchemaId()]
		document.BlockType = p.types[document.GetBlockTypeId()]
	}
	return nil
}

// collect reads all referenced documents level by level, and the types and schemas of all.
func (p *presentation) collect(ctx context.Context, documents []*orchv1.BlockDocument) error {
	p.documents = map[string]*orchv1.BlockDocument{}
	all := documents
	level := documents
	for depth := 0; len(level) > 0 && depth <= maxReferenceDepth; depth++ {
		var wanted []string
		for _, document := range level {
			for _, id := range document.GetRefersTo() {
				if p.documents[id] == nil {
					wanted = append(wanted, id)
				}
			}
		}
		found, err := byID(ctx, p.service.documents, p.ws, ids(wanted, func(id string) string { return id }))
		if err != nil {
			return err
		}
		level = nil
		for id, document := range found {
			p.documents[id] = document
			level = append(level, document)
			all = append(all, document)
		}
	}
	var err error
	if p.schemas, err = byID(ctx, p.service.schemas, p.ws, ids(all, (*orchv1.BlockDocument).GetBlockSchemaId)); err != nil {
		return err
	}
	if p.types, err = byID(ctx, p.service.types, p.ws, ids(all, (*orchv1.BlockDocument).GetBlockTypeId)); err != nil {
		return err
	}
	for _, schema := range p.schemas {
		schema.BlockType = p.types[schema.GetBlockTypeId()]
	}
	return nil
}

// resolve decrypts a document and replaces its references by the referenced data; path holds the documents on the way.
// It omits dangling and circular references, which deletions and concurrent writes leave behind.
func (p *presentation) resolve(
	document *orchv1.BlockDocument, path []string, budget *int,
) (data, referred *jsontree.Object, err error) {
	if *budget < 0 || len(path) > maxReferenceDepth {
		return nil, nil, tooManyReferences()
	}
	if data, err = p.service.open(p.ws, document); err != nil {
		return nil, nil, err
	}
	refers, err := references(data)
	if err != nil {
		return nil, nil, err
	}
	if !p.withSecrets {
		if err := p.redact(document, data, refers); err != nil {
			return nil, nil, err
		}
	}
	referred = &jsontree.Object{}
	path = append(path, document.GetId())
	for _, r := range refers {
		other := p.documents[r.id.String()]
		if other == nil || slices.Contains(path, other.GetId()) {
			data.Delete(r.field)
			continue
		}
		*budget--
		itsData, itsReferred, err := p.resolve(other, path, budget)
		if err != nil {
			return nil, nil, err
		}
		described, err := p.describe(other, itsReferred)
		if err != nil {
			return nil, nil, err
		}
		data.Set(r.field, itsData)
		referred.Set(r.field, described)
	}
	return data, referred, nil
}

// redact obfuscates the values that a document's schema marks as secret, or that were stored as secrets. References are not secret; the referenced document has a
// schema of its own.
func (p *presentation) redact(document *orchv1.BlockDocument, data *jsontree.Object, refers []reference) error {
	schema := p.schemas[document.GetBlockSchemaId()]
	if schema == nil {
		// Without a schema the secrets are unknown.
		for _, m := range data.Members() {
			data.Set(m.Key, obfuscated)
		}
		return nil
	}
	secret, ok := p.secret[schema.GetId()]
	if !ok {
		var err error
		if secret, err = secretFields(schema); err != nil {
			return err
		}
		p.secret[schema.GetId()] = secret
	}
	kept := make([]jsontree.Value, len(refers))
	for i, r := range refers {
		kept[i], _ = data.Get(r.field)
		data.Set(r.field, nil)
	}
	redact(data, parsePaths(union(secret, document.GetSecretFields())))
	for i, r := range refers {
		data.Set(r.field, kept[i])
	}
	return nil
}

// describe returns the description of a document that replaced a reference.
func (p *presentation) describe(document *orchv1.BlockDocument, referred *jsontree.Object) (jsontree.Value, error) {
	blockType, err := asJSON(p.types[document.GetBlockTypeId()])
	if err != nil {
		return nil, err
	}
	described := &jsontree.Object{}
	described.Set("id", document.GetId())
	described.Set("name", document.GetName())
	described.Set("block_type", blockType)
	described.Set("is_anonymous", document.GetIsAnonymous())
	described.Set("block_document_references", referred)
	outer := &jsontree.Object{}
	outer.Set("block_document", described)
	return outer, nil
}
