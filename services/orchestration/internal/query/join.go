package query

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

const (
	// joinedIDs is the number of ids that a join has in memory at most, for each id that a filter may have.
	joinedIDs = 20
	// lookupCost is the cost of a document that is looked up by its id, in ids that are read from an index.
	lookupCost = 8
	// farShare is how many times larger the near side must be to be counted by the ids of the far side.
	farShare = 4
)

// joiner counts the documents of a selection that have a related document, as a hash join. The smaller side is in memory; the other
// one is read from index keys, or looked up where that is cheaper:
//
//	far side much smaller     ids of the far side ──▶ counts of the near side, by batches of $in
//	near side in memory       values of the near side ──▶ ids of the far side pass by
//	near side much smaller    values of the near side ──▶ lookups in the far side, by batches of $in
//	far side but few          values of the near side ──▶ without the ids of the few ──▶ lookups of those that exist
//
// Either side may have more documents than a selection may scan, but not both.
type joiner struct {
	*Selection
	by   probe
	most int // Of the ids in memory.
}

// join counts the documents that pass the probe. joined is false when there are several probes, or both sides are too large.
func (s *Selection) join(ctx context.Context) (n int64, joined bool, err error) {
	if len(s.probes) != 1 || len(s.probes[0].probes) > 0 {
		return 0, false, nil
	}
	j := joiner{s, s.probes[0], joinedIDs * s.resolver.MaxIDs}
	limit := int64(farShare * j.most) // A larger near side changes nothing below.
	if j.by.not {
		limit = 0 // The result is a difference.
	}
	near, err := s.resolver.Reader.Count(ctx, s.own, s.filter, limit)
	if err != nil {
		return 0, false, err
	}
	far := min(int64(j.most), near/farShare)
	if _, ok := j.rest(); ok {
		far = min(far, lookupIDs) // The filter is a negation, which most documents match.
	}
	n, joined, err = j.byFar(ctx, int(far))
	if err == nil && !joined && near <= int64(j.most) {
		n, joined, err = j.byNear(ctx)
	}
	if j.by.not {
		n = near - n
	}
	if err != nil {
		err = fmt.Errorf("join %s: %w", j.by.rel.to, err)
	}
	return n, joined, err
}

// byFar counts by the ids of the far side, unless they are more than a limit.
func (j joiner) byFar(ctx context.Context, limit int) (n int64, joined bool, err error) {
	ids, err := j.resolver.Reader.Groups(ctx, j.by.rel.to, j.by.rel.foreign, j.by.rel.referring(j.by.filter), limit+1)
	if err != nil || len(ids) > limit {
		return 0, false, err
	}
	for batch := range slices.Chunk(ids, lookupIDs) {
		among := bson.D{{Key: j.by.rel.local, Value: bson.D{{Key: "$in", Value: array(batch)}}}}
		found, err := j.resolver.Reader.Count(ctx, j.own, allOf([]bson.D{j.filter, among}), 0)
		if err != nil {
			return 0, false, err
		}
		n += found
	}
	return n, true, nil
}

// byNear counts by the values of the near side.
func (j joiner) byNear(ctx context.Context) (n int64, joined bool, err error) {
	values := map[string]int64{} // The number of documents with each.
	err = each(j.values(ctx, j.own, j.by.rel.local, j.filter), func(row bson.Raw) error {
		if v := row.Lookup("_id"); v.Type != bson.TypeNull {
			documents, ok := row.Lookup("n").AsInt64OK()
			if !ok {
				documents = 1 // The row is a document.
			}
			values[keyOf(v)] = documents
		}
		return nil
	})
	if err != nil {
		return 0, false, err
	}
	if len(values) > lookupIDs {
		if n, done, err := j.byRest(ctx, values); done || err != nil {
			return n, err == nil, err
		}
	}
	left := lookupCost * len(values)
	if len(values) > lookupIDs {
		err = each(j.ids(ctx, left, j.by.filter), func(row bson.Raw) error {
			v := keyOf(row.Lookup("_id"))
			n += values[v]
			delete(values, v)
			if left--; len(values) == 0 {
				return errStop
			}
			return nil
		})
	}
	if err == nil && left == 0 || len(values) <= lookupIDs {
		var more int64
		more, err = j.lookUp(ctx, values)
		n += more
	}
	if errors.Is(err, errStop) {
		err = nil
	}
	return n, err == nil, err
}

// rest is the filter of the documents of the far side that do not match, if byRest can count by them. That takes a near side
// that refers to the far side by its ids.
func (j joiner) rest() (filter bson.D, ok bool) {
	if j.by.rel.foreign != "_id" {
		return nil, false
	}
	return complement(j.by.rel.to, j.by.filter)
}

// byRest counts by the documents of the far side that do not match, and removes their ids from the values. Those that are left match if
// they exist. done is false if the documents are too many; the values that are left are then still to be tested.
func (j joiner) byRest(ctx context.Context, values map[string]int64) (n int64, done bool, err error) {
	rest, ok := j.rest()
	if !ok || len(values) > j.resolver.MaxScanned {
		return 0, false, nil
	}
	left := lookupCost * len(values)
	err = each(j.ids(ctx, left, rest), func(row bson.Raw) error {
		delete(values, keyOf(row.Lookup("_id")))
		left--
		return nil
	})
	if err != nil || left == 0 {
		return 0, false, err
	}
	j.by.filter = Scope(j.ws, nil)
	n, err = j.lookUp(ctx, values)
	return n, err == nil, err
}

// ids yields rows with the ids of a filter of the far side as their _id, up to a limit.
func (j joiner) ids(ctx context.Context, limit int, filter bson.D) iter.Seq2[bson.Raw, error] {
	filter = j.by.rel.referring(filter)
	if j.by.rel.foreign == "_id" {
		return j.resolver.Reader.Stream(ctx, j.by.rel.to, filter, StreamOptions{Limit: int64(limit), Fields: []string{"_id"}})
	}
	return j.resolver.Reader.Aggregate(ctx, j.by.rel.to, filter, groupsOf(j.by.rel.foreign, limit))
}

// values yields rows with the values of a field as their _id. A field other than _id also has the number n of its documents.
func (j joiner) values(ctx context.Context, c Collection, field string, filter bson.D) iter.Seq2[bson.Raw, error] {
	if field == "_id" {
		return j.resolver.Reader.Stream(ctx, c, filter, StreamOptions{Fields: []string{"_id"}})
	}
	group := bson.D{{Key: "_id", Value: "$" + field}, {Key: "n", Value: bson.D{{Key: "$sum", Value: 1}}}}
	return j.resolver.Reader.Aggregate(ctx, c, filter, []bson.D{{{Key: "$group", Value: group}}})
}

// lookUp counts the documents with values that the far side has.
func (j joiner) lookUp(ctx context.Context, values map[string]int64) (n int64, err error) {
	if len(values) > j.resolver.MaxScanned {
		return 0, fmt.Errorf("more than %d values to look up: %w", j.resolver.MaxScanned, ErrTooBroad)
	}
	ids := make([]bson.RawValue, 0, len(values))
	for _, v := range slices.Sorted(maps.Keys(values)) { // Each batch then reads neighbouring keys.
		ids = append(ids, valueOf(v))
	}
	for batch := range slices.Chunk(ids, lookupIDs) {
		among := bson.D{{Key: j.by.rel.foreign, Value: bson.D{{Key: "$in", Value: array(batch)}}}}
		among = allOf([]bson.D{j.by.filter, among})
		if len(j.by.filter) == 1 && j.by.rel.foreign == "_id" { // Almost always all exist.
			found, err := j.resolver.Reader.Count(ctx, j.by.rel.to, among, 0)
			if err != nil {
				return 0, err
			}
			if found == int64(len(batch)) {
				for _, v := range batch {
					n += values[keyOf(v)]
				}
				continue
			}
		}
		hits, err := j.resolver.Reader.Groups(ctx, j.by.rel.to, j.by.rel.foreign, among, len(batch))
		if err != nil {
			return 0, err
		}
		for _, v := range hits {
			n += values[keyOf(v)]
		}
	}
	return n, nil
}
