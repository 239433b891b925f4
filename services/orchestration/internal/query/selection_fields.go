package query

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// VisitFields visits some fields of the selected documents that also match within, in no particular order. A document is valid
// until visit returns. An error of visit ends the iteration.
func (s *Selection) VisitFields(ctx context.Context, within bson.D, fields []string, visit func(bson.Raw) error) error {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return s.failed(err)
	}
	defer end()
	filter := allOf([]bson.D{s.filter, within})
	if len(s.probes) == 0 {
		return s.failed(each(s.resolver.Reader.Stream(ctx, s.own, filter, StreamOptions{Fields: fields}), visit))
	}
	var failure error
	o := StreamOptions{Fields: append(localFields(s.probes), fields...)}
	err = s.resolver.prober(s.resolver.MaxCounted).scan(ctx, s.own, filter, o, s.probes, func(doc bson.Raw) bool {
		failure = visit(doc)
		return failure == nil
	})
	return s.failed(errors.Join(err, failure))
}

// VisitEntries is VisitFields on the entries of an index, without a read of the documents. It returns false, without a visit,
// if the index does not decide the selection, or is being built.
func (s *Selection) VisitEntries(ctx context.Context, within, index bson.D, visit func(entry bson.Raw) error) (decided bool, err error) {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return false, s.failed(err)
	}
	defer end()
	filter := allOf([]bson.D{s.filter, within})
	if len(s.probes) > 0 || !namesOnly(filter, index) {
		return false, nil
	}
	err = each(s.resolver.Reader.Stream(ctx, s.own, filter, StreamOptions{Index: index}), visit)
	if errors.Is(err, ErrIndexIncomplete) {
		return false, nil
	}
	return true, s.failed(err)
}

// namesOnly reports whether a filter has conditions on keys of an index only.
func namesOnly(filter, index bson.D) bool {
	for _, e := range filter {
		if e.Key == "$and" || e.Key == "$or" {
			list, ok := e.Value.(bson.A)
			if !ok {
				return false
			}
			for _, item := range list {
				if below, ok := item.(bson.D); !ok || !namesOnly(below, index) {
					return false
				}
			}
			continue
		}
		found := false
		for _, k := range index {
			found = found || k.Key == e.Key
		}
		if !found {
			return false
		}
	}
	return true
}
