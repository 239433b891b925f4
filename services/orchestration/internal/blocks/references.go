package blocks

import (
	"context"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// referenceKey marks an object that references another document.
const referenceKey = "$ref"

// reference is a field of a document that references another one.
type reference struct {
	field string
	id    uuid.UUID
}

// The bounds on the documents that one document includes. Each reference is resolved separately, so chains of double
// references would otherwise grow exponentially.
const (
	maxReferenceDepth = 50
	maxReferred       = 1000
)

// references lists the references in data. Only values of fields can be references; deeper occurrences are plain data.
func references(data *jsontree.Object) ([]reference, error) {
	var found []reference
	for _, m := range data.Members() {
		object, ok := m.Value.(*jsontree.Object)
		if !ok {
			continue
		}
		marked, ok := object.Get(referenceKey)
		if !ok {
			continue
		}
		target, _ := marked.(*jsontree.Object)
		id, err := uuid.Parse(target.Text("block_document_id"))
		if err != nil {
			return nil, rpc.Detail(http.StatusBadRequest, "Received block reference without a block_document_id in key "+m.Key)
		}
		found = append(found, reference{m.Key, id})
	}
	return found, nil
}

// checkReferences refuses dangling and circular references, and too many of them.
func (s *Service) checkReferences(ctx context.Context, ws uuid.UUID, document *orchv1.BlockDocument, refers []reference) error {
	if len(refers) == 0 {
		return nil
	}
	level := ids(refers, func(r reference) string { return r.id.String() })
	referenced := map[string]*orchv1.BlockDocument{}
	for depth := 0; len(level) > 0; depth++ {
		if depth > maxReferenceDepth || len(referenced) > maxReferred {
			return tooManyReferences()
		}
		found, err := byID(ctx, s.documents, ws, level)
		if err != nil {
			return err
		}
		var next []string
		for _, id := range level {
			referred := found[id]
			switch {
			case id == document.GetId():
				return rpc.Detail(http.StatusBadRequest, fmt.Sprintf(
					"Cannot create block document reference: block document %s would refer to itself.", id))
			case referred == nil && depth == 0:
				return rpc.Detail(http.StatusConflict, fmt.Sprintf("Block document %s not found.", id))
			case referred == nil:
				continue
			}
			referenced[id] = referred
			for _, further := range referred.GetRefersTo() {
				if referenced[further] == nil {
					next = append(next, further)
				}
			}
		}
		level = ids(next, func(id string) string { return id })
	}
	return nil
}

func tooManyReferences() error {
	return rpc.Detail(http.StatusBadRequest, fmt.Sprintf(
		"The block document refers to too many others: at most %d, and at most %d deep, counting those that they refer to.", maxReferred, maxReferenceDepth))
}
