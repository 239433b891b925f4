package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"

	"github.com/orch-project/orch/pkg/request"
)

// All reads all pages of a filter operation, of a size, by page tokens: rows that others write or delete meanwhile neither repeat
// nor hide another row. It does not change the query. A server of an earlier version has no tokens and is read by offset.
func (s *Server) All(ctx context.Context, path string, query map[string]any, size int) ([]json.RawMessage, error) {
	var all []json.RawMessage
	query = maps.Clone(query)
	query["limit"] = size
	for {
		answer, header, err := s.exchange(ctx, http.MethodPost, path, query)
		if err != nil {
			return nil, err
		}
		page, err := Decode[[]json.RawMessage](answer)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", http.MethodPost, path, err)
		}
		all = append(all, page...)
		if len(page) < size {
			return all, nil
		}
		if next := header.Get(request.NextPageTokenHeader); next != "" {
			query[request.PageTokenField] = next
		} else {
			query["offset"] = len(all)
		}
	}
}
