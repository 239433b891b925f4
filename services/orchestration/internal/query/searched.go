package query

import (
	"context"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// MaxSearched bounds the documents that a search for a text reads.
const MaxSearched = 100_000

// checkSearch returns ErrBroadSearch if the selection searches the texts of logs, and its other criteria select more than MaxSearched of
// them.
func (s *Selection) checkSearch(ctx context.Context) error {
	if s.own != Log {
		return nil
	}
	others, searches := withoutTexts(s.filter, logTexts)
	if !searches {
		return nil
	}
	end, err := s.resolver.Begin(ctx, s.ws)
	if err != nil {
		return err
	}
	defer end()
	n, err := s.resolver.Reader.Count(ctx, s.own, others, s.resolver.MaxSearched+1)
	if err == nil && n > s.resolver.MaxSearched {
		err = fmt.Errorf("more than %d %ss: %w", s.resolver.MaxSearched, s.own, ErrBroadSearch)
	}
	return err
}

// withoutTexts returns a filter without its searches in texts, and whether it has any. So it matches at least what the filter matches.
func withoutTexts(filter bson.D, texts []string) (rest bson.D, searches bool) {
	for _, e := range filter {
		list, _ := e.Value.(bson.A)
		switch {
		case slices.Contains(texts, e.Key) && isSearchOperand(e.Value):
			searches = true
			continue
		case e.Key == "$or":
			all := len(list) > 0
			for _, alternative := range list {
				d, _ := alternative.(bson.D)
				left, found := withoutTexts(d, texts)
				all, searches = all && len(left) == 0, searches || found
			}
			if all {
				continue
			}
		case e.Key == "$and":
			kept := bson.A{}
			for _, part := range list {
				d, _ := part.(bson.D)
				left, found := withoutTexts(d, texts)
				if searches = searches || found; len(left) > 0 {
					kept = append(kept, left)
				}
			}
			if len(kept) == 0 {
				continue
			}
			e.Value = kept
		}
		rest = append(rest, e)
	}
	return rest, searches
}

// isSearchOperand reports whether a condition is a regular expression, or its negation.
func isSearchOperand(condition any) bool {
	d, ok := condition.(bson.D)
	return ok && len(d) > 0 && (d[0].Key == "$regex" || d[0].Key == "$not")
}
