package query

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// Defaults of a Resolver's zero fields.
const (
	defaultMaxIDs     = 10_000
	defaultMaxPaged   = 20_000
	defaultMaxCounted = 100_000
	defaultBatch      = 500
	defaultOwnCap     = 100_000
	defaultRelatedCap = 10_000
)

// Resolver turns plans into selections: it queries the store for the matches of related filters.
//
//	far side ≤ MaxIDs documents   ids of the reference ──▶ $in on the near side
//	more                          near side in its order, in batches ──▶ one probe of the far side for each batch
//	near side beyond the bound    ErrTooBroad
type Resolver struct {
	Reader Reader
	// MaxIDs bounds the matches of a related filter whose ids become `$in`; beyond it documents are probed. 0: 10,000.
	MaxIDs int
	// MaxPaged and MaxCounted bound the documents that the probes of one page, or of one count or aggregation, read before ErrTooBroad.
	// 0: 20,000 and 100,000.
	MaxPaged, MaxCounted int
	// MaxSearched bounds the documents that a search for a text reads, before ErrBroadSearch. 0: MaxSearched.
	MaxSearched int64
	// Batch is how many documents are probed together. 0: 500.
	Batch int
	// OwnCap and RelatedCap are the numbers at which Selection.CountCapped stops: of own fields, and of related filters, whose matches
	// cost more. 0: 100,000 and 10,000.
	OwnCap, RelatedCap int64
	// Begin waits until a read of the workspace may begin; the caller calls end when it has ended. nil: reads begin at once.
	Begin func(ctx context.Context, ws uuid.UUID) (end func(), err error)
	// Names lists the names of a collection's documents that match a search for a text, which condition tests. ok is false if it does not
	// know them, or they are many; the names of the documents are tested then. nil knows none.
	Names func(ctx context.Context, ws uuid.UUID, c Collection, text string, condition any) (names []string, ok bool, err error)
	// Limit bounds the time of a read that takes several commands, beside the bound of each command. It covers the commands that
	// resolve related filters together, and those of each later call together. 0: none.
	Limit time.Duration
}

func (r Resolver) withDefaults() Resolver {
	if r.MaxIDs == 0 {
		r.MaxIDs = defaultMaxIDs
	}
	if r.MaxPaged == 0 {
		r.MaxPaged = defaultMaxPaged
	}
	if r.MaxCounted == 0 {
		r.MaxCounted = defaultMaxCounted
	}
	if r.MaxSearched == 0 {
		r.MaxSearched = MaxSearched
	}
	if r.Batch == 0 {
		r.Batch = defaultBatch
	}
	if r.OwnCap == 0 {
		r.OwnCap = defaultOwnCap
	}
	if r.RelatedCap == 0 {
		r.RelatedCap = defaultRelatedCap
	}
	if r.Begin == nil {
		r.Begin = func(context.Context, uuid.UUID) (func(), error) { return func() {}, nil }
	}
	return r
}

// Selection is a resolved plan: one filter, and probes for related filters that were too broad for it.
type Selection struct {
	resolver Resolver
	ws       uuid.UUID
	own      Collection
	filter   bson.D // Scoped.
	probes   []probe
	related  bool // The plan has a related filter.
}

// Select resolves a plan within a workspace. The ids of related documents are a snapshot of this moment.
func (r Resolver) Select(ctx context.Context, ws uuid.UUID, p Plan) (*Selection, error) {
	r = r.withDefaults()
	root := p.root
	if root == nil {
		root = matchAll{}
	}
	filter, probes, err := r.resolveWithin(ctx, ws, p.own, root)
	if err != nil {
		return nil, fmt.Errorf("query: select %s: %w", p.own, err)
	}
	s := &Selection{resolver: r, ws: ws, own: p.own, filter: Scope(ws, filter), probes: probes, related: includes(root, isExists)}
	if err := s.checkSearch(ctx); err != nil {
		return nil, s.failed(err)
	}
	return s, nil
}

// resolveWithin is resolve within the workspace's share of reads.
func (r Resolver) resolveWithin(ctx context.Context, ws uuid.UUID, own Collection, n node) (bson.D, []probe, error) {
	if !includes(n, isExists) && (r.Names == nil || !includes(n, isSearch)) {
		return r.resolve(ctx, ws, own, n)
	}
	ctx, end, err := r.BeginSeveral(ctx, ws)
	if err != nil {
		return nil, nil, err
	}
	defer end()
	return r.resolve(ctx, ws, own, n)
}

// BeginSeveral begins a read of several commands, which share the time limit.
func (r Resolver) BeginSeveral(ctx context.Context, ws uuid.UUID) (within context.Context, end func(), err error) {
	leave, err := r.Begin(ctx, ws)
	if err != nil || r.Limit == 0 {
		return ctx, leave, err
	}
	within, cancel := context.WithTimeoutCause(ctx, r.Limit, ErrTimeLimit)
	return within, func() { cancel(); leave() }, nil
}

// includes reports whether a criterion, or one that it joins, is of a kind.
func includes(n node, is func(node) bool) bool {
	if n, ok := n.(join); ok {
		return slices.ContainsFunc(n.kids, func(k node) bool { return includes(k, is) })
	}
	return is(n)
}

func isExists(n node) bool { _, ok := n.(exists); return ok }

func isSearch(n node) bool { _, ok := n.(search); return ok }

// resolve returns the filter for a criterion on documents of own, and the probes that it does not express. Below or_ a probe is ErrTooBroad.
func (r Resolver) resolve(ctx context.Context, ws uuid.UUID, own Collection, n node) (bson.D, []probe, error) {
	switch n := n.(type) {
	case search:
		d, err := r.resolveSearch(ctx, ws, own, n)
		return d, nil, err
	case exists:
		return r.resolveExists(ctx, ws, n)
	case join:
		var list []bson.D
		var probes []probe
		for _, k := range n.kids {
			d, more, err := r.resolve(ctx, ws, own, k)
			if err != nil {
				return nil, nil, err
			}
			if n.or && len(more) > 0 {
				return nil, nil, fmt.Errorf("%s by more than %d documents of %s, below or_: %w", more[0].rel.from, r.MaxIDs, more[0].rel.to, ErrTooBroad)
			}
			if n.or && len(d) == 0 {
				return bson.D{}, nil, nil // One alternative always holds.
			}
			list = append(list, d)
			probes = append(probes, more...)
		}
		if n.or {
			return anyOf(list), nil, nil
		}
		return allOf(list), probes, nil
	}
	d, err := toBSON(n)
	return d, nil, err
}

// resolveSearch returns the filter of the names that match a search, or its own condition where they are not known.
func (r Resolver) resolveSearch(ctx context.Context, ws uuid.UUID, own Collection, n search) (bson.D, error) {
	if r.Names == nil || n.match[0].Key != "name" {
		return bson.D(n.match), nil
	}
	names, ok, err := r.Names(ctx, ws, own, n.text, n.match[0].Value)
	if err != nil || !ok {
		return bson.D(n.match), err
	}
	return bson.D(criterion("name", "$in", array(names))), nil
}

// resolveExists returns the filter of the ids to which the far side refers, or a probe if the far side matches too many documents.
func (r Resolver) resolveExists(ctx context.Context, ws uuid.UUID, e exists) (bson.D, []probe, error) {
	in, probes, err := r.resolve(ctx, ws, e.rel.to, e.in)
	if err != nil {
		return nil, nil, err
	}
	p := probe{rel: e.rel, filter: Scope(ws, in), probes: probes, not: e.not}
	if len(probes) > 0 {
		return bson.D{}, []probe{p}, nil
	}
	ids, few, err := r.references(ctx, e.rel, p.filter)
	if err != nil {
		return nil, nil, fmt.Errorf("%s by %s: %w", e.rel.from, e.rel.to, err)
	}
	if !few {
		return bson.D{}, []probe{p}, nil
	}
	op := "$in"
	if e.not {
		op = "$nin"
	}
	return bson.D{{Key: e.rel.local, Value: bson.D{{Key: op, Value: array(ids)}}}}, nil, nil
}

// references returns the ids of the near side to which the far side's matches refer. few is false if the matches are more than MaxIDs.
func (r Resolver) references(ctx context.Context, rel relation, filter bson.D) (ids []bson.RawValue, few bool, err error) {
	filter = rel.referring(filter)
	var index bson.D
	if rel.foreign == "_id" {
		index = covering(rel.to, filter, nil)
	} else { // Many documents may refer to one id, and a list of ids reads all of them.
		if index, few, err = r.fewMatches(ctx, rel.to, filter); err != nil || !few {
			return nil, false, err
		}
	}
	ids, err = r.Reader.Groups(ctx, rel.to, index, rel.foreign, filter, r.MaxIDs+1)
	return ids, err == nil && len(ids) <= r.MaxIDs, err
}

// fewMatches reports whether a filter has at most MaxIDs matches. It returns the index of the most selective criteria to read the matches by,
// or nil if each index has more than MaxIDs matches: then the server chooses.
func (r Resolver) fewMatches(ctx context.Context, c Collection, filter bson.D) (index bson.D, few bool, err error) {
	most := int64(r.MaxIDs) + 1
	least := most
	for _, g := range accessOf(c, filter, nil).gathers {
		n, err := r.Reader.CountBy(ctx, c, g.index, g.filter, most)
		if err != nil {
			return nil, false, err
		}
		if n < least {
			index, least = g.index, n
		}
	}
	if least < most {
		return index, true, nil
	}
	n, err := r.Reader.Count(ctx, c, filter, most)
	return nil, n < most, err
}

// referring restricts a filter of the far side to documents that refer to any document of the near side. An index lists the others
// too, and each would be read.
func (r relation) referring(filter bson.D) bson.D {
	if r.foreign == "_id" {
		return filter
	}
	return allOf([]bson.D{filter, {{Key: r.foreign, Value: bson.D{{Key: "$gte", Value: minUUID}}}}})
}

// minUUID is not greater than any id.
var minUUID = bson.Binary{Subtype: uuidSubtype, Data: make([]byte, len(uuid.UUID{}))}

func array[V any](values []V) bson.A {
	a := make(bson.A, len(values))
	for i, v := range values {
		a[i] = v
	}
	return a
}
