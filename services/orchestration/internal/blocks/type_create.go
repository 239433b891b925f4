package blocks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/naming"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// CreateBlockType stores a type. It refuses a duplicate slug and names that begin with a reserved word.
func (s *Service) CreateBlockType(ctx context.Context, r *orchv1.CreateBlockTypeRequest) (*orchv1.BlockType, error) {
	ws, err := s.in(ctx)
	if err != nil {
		return nil, err
	}
	create := r.GetBlockType()
	if err := naming.Dashed(create.GetSlug(), "Block type slug", "slug"); err != nil {
		return nil, err
	}
	if own := s.vocab.String(); reserved(create.GetName(), own) {
		return nil, rpc.Detail(http.StatusForbidden, fmt.Sprintf("Block type names beginning with '%s%s' are reserved.", strings.ToUpper(own[:1]), own[1:]))
	}
	blockType := &orchv1.BlockType{
		Id: s.types.Store().NewID().String(), Name: create.GetName(), Slug: create.GetSlug(), LogoUrl: create.LogoUrl,
		DocumentationUrl: create.DocumentationUrl, Description: create.Description, CodeExample: create.CodeExample,
	}
	created, err := s.typeHappened(ws, blockType, "created")
	if err != nil {
		return nil, err
	}
	err = s.types.Insert(ctx, ws, blockType, created)
	if errors.Is(err, store.ErrDuplicate) {
		return nil, rpc.Detail(http.StatusConflict, fmt.Sprintf("Block type with name \"%s\" already exists", create.GetName())) //nolint:gocritic // Not %q: the text is for people.
	}
	return blockType, err
}

// reserved reports whether a name begins with a word: "Prefect Cloud" with "prefect", but not "Orchard" with "orch".
func reserved(name, prefix string) bool {
	if len(name) < len(prefix) || !strings.EqualFold(name[:len(prefix)], prefix) {
		return false
	}
	next, _ := utf8.DecodeRuneInString(name[len(prefix):])
	return !unicode.IsLower(next)
}
