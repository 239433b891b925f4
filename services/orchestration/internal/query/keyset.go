package query

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// Position is the place of a document in a sorted list: its values of the sort's fields, the last of them its _id. The value of an
// absent field is null.
type Position []bson.RawValue

// PositionOf returns the position of a document. It shares no memory with the document.
func PositionOf(sort bson.D, doc bson.Raw) Position {
	p := make(Position, len(sort))
	for i, field := range sort {
		p[i] = bson.RawValue{Type: bson.TypeNull}
		if v, err := doc.LookupErr(strings.Split(field.Key, ".")...); err == nil {
			p[i] = clone(v)
		}
	}
	return p
}

// VisitAfter visits the documents behind a position, at most limit of them (0 = all), in the order of sort. Each range of the
// position is a query of its own, whose bounds both stores find in the index of the sort. So no earlier document is read, and the
// first range almost always fills the page. A document is valid until visit returns. An error of visit ends the iteration.
func (s *Selection) VisitAfter(ctx context.Context, sort bson.D, after Position, limit int64, visit func(bson.Raw) error) error {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return s.failed(err)
	}
	defer end()
	hint, err := s.hint(ctx, sort)
	if err != nil {
		return s.failed(err)
	}
	p := s.resolver.prober(s.resolver.MaxPaged)
	left := limit
	for _, within := range after.behind(sort) {
		n, err := s.visit(ctx, p, allOf([]bson.D{s.filter, within}), StreamOptions{Sort: sort, Limit: left, Hint: hint}, visit)
		if err != nil {
			return s.failed(err)
		}
		if left -= n; limit > 0 && left <= 0 {
			break
		}
	}
	return nil
}

// visit visits the documents of a filter that pass the probes, and returns their number.
func (s *Selection) visit(ctx context.Context, p *prober, filter bson.D, o StreamOptions, visit func(bson.Raw) error) (n int64, err error) {
	if len(s.probes) == 0 {
		err = each(s.resolver.Reader.Stream(ctx, s.own, filter, o), func(doc bson.Raw) error {
			n++
			return visit(doc)
		})
		return n, err
	}
	skip, limit := o.Skip, o.Limit
	var failure error
	err = p.scan(ctx, s.own, filter, StreamOptions{Sort: o.Sort, Hint: o.Hint}, s.probes, func(doc bson.Raw) bool {
		if skip > 0 {
			skip--
			return true
		}
		n++
		failure = visit(doc)
		return failure == nil && (limit == 0 || n < limit)
	})
	return n, errors.Join(err, failure)
}

// behind returns the ranges that hold the documents behind the position, in the order of the sort:
//
//	sort      a: 1, _id: 1                     a: -1, _id: -1
//	position  a: 5, _id: x                     a: 5, _id: x
//	ranges    a = 5 and _id > x; a > 5         a = 5 and _id < x; a < 5; a = null
//
// Null precedes numbers, and numbers precede texts, in both stores. A comparison with a number or a text matches values of that
// type only. A field has values of one type, or null.
func (p Position) behind(sort bson.D) []bson.D {
	var ranges []bson.D
	for i, field := range slices.Backward(sort) {
		for _, beyond := range limits(p[i], field.Value == -1) {
			within := make(bson.D, 0, i+1)
			for j := range i {
				within = append(within, bson.E{Key: sort[j].Key, Value: p[j]})
			}
			within = append(within, bson.E{Key: field.Key, Value: beyond})
			ranges = append(ranges, within)
			if field.Key == "_id" {
				break // No id is null.
			}
		}
	}
	return ranges
}

// limits returns the conditions on one field that hold for the values behind one, in order.
func limits(v bson.RawValue, descending bool) []any {
	null := v.Type == bson.TypeNull
	switch {
	case descending && null:
		return nil
	case descending:
		return []any{bson.D{{Key: "$lt", Value: v}}, nil}
	case null:
		return []any{bson.D{{Key: "$gte", Value: math.Inf(-1)}}, bson.D{{Key: "$gte", Value: ""}}}
	}
	return []any{bson.D{{Key: "$gt", Value: v}}}
}

// Locate returns the position of a document of the workspace, whether or not it is selected. The position is nil if there is no
// such document.
func (s *Selection) Locate(ctx context.Context, sort bson.D, id bson.RawValue) (Position, error) {
	filter := Scope(s.ws, bson.D{{Key: "_id", Value: id}})
	o := StreamOptions{Limit: 1}
	for _, field := range sort {
		o.Fields = append(o.Fields, field.Key)
	}
	var p Position
	err := each(s.resolver.Reader.Stream(ctx, s.own, filter, o), func(doc bson.Raw) error {
		p = PositionOf(sort, doc)
		return nil
	})
	return p, s.failed(err)
}

// Matching returns the documents of one owner that match a filter of the store, which the caller has compiled.
func (r Resolver) Matching(ws uuid.UUID, own Collection, filter bson.D) *Selection {
	return &Selection{resolver: r.withDefaults(), ws: ws, own: own, filter: Scope(ws, filter)}
}
