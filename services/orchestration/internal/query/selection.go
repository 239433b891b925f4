package query

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Filter returns the scoped filter, and whether it is complete. If not, matching documents may still fail a probe, and
// only Visit and Count give the result.
func (s *Selection) Filter() (filter bson.D, complete bool) {
	return slices.Clone(s.filter), len(s.probes) == 0
}

// Visit visits the documents from skip on, at most limit of them (0 = all), in the order of sort. A document is valid until visit
// returns. An error of visit ends the iteration.
func (s *Selection) Visit(ctx context.Context, sort bson.D, skip, limit int64, visit func(bson.Raw) error) error {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return s.failed(err)
	}
	defer end()
	o := StreamOptions{Sort: sort, Skip: skip, Limit: limit}
	if limit > 0 { // Else all matches are read, and the server knows the cheapest index.
		if o.Hint, err = s.hint(ctx, sort); err != nil {
			return s.failed(err)
		}
	}
	_, err = s.visit(ctx, s.resolver.prober(s.resolver.MaxPaged), s.filter, o, visit)
	return s.failed(err)
}

// Count returns the number of documents.
func (s *Selection) Count(ctx context.Context) (int64, error) { return s.CountUpTo(ctx, 0) }

// CountUpTo is Count, and stops at a limit: the cost is then that of so many documents. 0 means none.
func (s *Selection) CountUpTo(ctx context.Context, limit int64) (int64, error) {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return 0, s.failed(err)
	}
	defer end()
	if len(s.probes) == 0 {
		n, err := s.resolver.Reader.Count(ctx, s.own, s.filter, limit)
		return n, s.failed(err)
	}
	var n int64
	err = s.resolver.prober(s.resolver.MaxCounted).scan(ctx, s.own, s.filter, StreamOptions{Fields: localFields(s.probes)}, s.probes, func(bson.Raw) bool {
		n++
		return limit == 0 || n < limit
	})
	return n, s.failed(err)
}

// CountCapped is Count for the number beside a page, whose cost is bounded. capped says that there are more documents.
func (s *Selection) CountCapped(ctx context.Context) (n int64, capped bool, err error) {
	most := s.resolver.OwnCap
	if s.related {
		most = s.resolver.RelatedCap
	}
	n, err = s.CountUpTo(ctx, most+1)
	return min(n, most), n > most, err
}

// Aggregate runs stages on the selected documents that also match within, and visits the rows. A selection with probes
// is aggregated batch by batch: the rows of one group may come several times, and the caller adds them up. A row is
// valid until visit returns.
func (s *Selection) Aggregate(ctx context.Context, within bson.D, stages []bson.D, visit func(bson.Raw) error) error {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return s.failed(err)
	}
	defer end()
	filter := allOf([]bson.D{s.filter, within})
	if len(s.probes) == 0 {
		return s.failed(each(s.resolver.Reader.Aggregate(ctx, s.own, filter, stages), visit))
	}
	ids := make(bson.A, 0, s.resolver.Batch)
	flush := func() error {
		if len(ids) == 0 {
			return nil
		}
		batch := Scope(s.ws, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}})
		err := each(s.resolver.Reader.Aggregate(ctx, s.own, batch, stages), visit)
		ids = ids[:0]
		return err
	}
	var failure error
	err = s.resolver.prober(s.resolver.MaxCounted).scan(ctx, s.own, filter, StreamOptions{Fields: localFields(s.probes)}, s.probes, func(doc bson.Raw) bool {
		ids = append(ids, clone(doc.Lookup("_id")))
		if len(ids) == cap(ids) {
			failure = flush()
		}
		return failure == nil
	})
	if err == nil && failure == nil {
		failure = flush()
	}
	return s.failed(errors.Join(err, failure))
}

// begin begins a read of the selection. With probes it takes several commands.
func (s *Selection) begin(ctx context.Context) (within context.Context, end func(), err error) {
	if len(s.probes) > 0 {
		return s.resolver.BeginSeveral(ctx, s.ws)
	}
	end, err = s.resolver.Begin(ctx, s.ws)
	return ctx, end, err
}

func (s *Selection) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("query: read %s: %w", s.own, err)
}
