package query

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Page returns the documents that Visit visits.
func (s *Selection) Page(ctx context.Context, sort bson.D, skip, limit int64) ([]bson.Raw, error) {
	var page []bson.Raw
	err := s.Visit(ctx, sort, skip, limit, func(doc bson.Raw) error {
		page = append(page, slices.Clone(doc))
		return nil
	})
	if err != nil && len(s.probes) > 0 {
		page = nil
	}
	return page, err
}
