package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// Defaults of a Resolver's zero fields.
const (
	defaultMaxIDs     = 10_000
	defaultMaxScanned = 100_000
	defaultBatch      = 500
	defaultOwnCap     = 100_000
	defaultRelatedCap = 10_000
)

// Resolver turns plans into selections: it queries the store for the matches of related filters.
type Resolver struct {
	Reader Reader
	// MaxIDs bounds the ids that a related filter adds to `$in`; beyond it documents are probed. 0: 10,000.
	MaxIDs int
	// MaxScanned bounds the documents that the probes of one call may scan before ErrTooBroad. 0: 100,000.
	MaxScanned int
	// Batch is how many documents are probed together. 0: 500.
	Batch int
	// OwnCap and RelatedCap are the numbers at which Selection.CountCapped stops: of own fields, and of related filters, whose matches
	// cost more. 0: 100,000 and 10,000.
	OwnCap, RelatedCap int64
	// Begin waits until a read of the workspace may begin; the caller calls end when it has ended. nil: reads begin at once.
	Begin func(ctx context.Context, ws uuid.UUID) (end func(), err error)
	// Limit bounds the time of a read that takes several commands, beside the bound of each command. It covers the commands that
	// resolve related filters together, and those of each later call together. 0: none.
	Limit time.Duration

	idsOnly bool // Below or_, where a probe is impossible.
	within  bool // Below another relation, which needs the ids for its own.
}

func (r Resolver) withDefaults() Resolver {
	if r.MaxIDs == 0 {
		r.MaxIDs = defaultMaxIDs
	}
	if r.MaxScanned == 0 {
		r.MaxScanned = defaultMaxScanned
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
	narrow   *narrowing
	related  bool     // The plan has a related filter.
	stages   []bson.D // Of a reader that joins: they select by related documents, in place of probes.
}

// probe is a relation that is tested for each document.
type probe struct {
	rel    relation
	filter bson.D // Of the far side, scoped.
	probes []probe
	not    bool
	open   bool // The far side may have as few ids as a filter takes.
}

// Select resolves a plan within a workspace. The ids of related documents are a snapshot of this moment.
func (r Resolver) Select(ctx context.Context, ws uuid.UUID, p Plan) (*Selection, error) {
	r = r.withDefaults()
	root := p.root
	if root == nil {
		root = always{}
	}
	if r.Reader.Joins() && related(root) {
		return r.selectJoined(ws, p.own, root)
	}
	filter, probes, err := r.resolveWithin(ctx, ws, root)
	if err != nil {
		return nil, fmt.Errorf("query: select %s: %w", p.own, err)
	}
	return &Selection{resolver: r, ws: ws, own: p.own, filter: Scope(ws, filter), probes: probes, narrow: &narrowing{}, related: related(root)}, nil
}

// resolveWithin is resolve within the workspace's share of reads.
func (r Resolver) resolveWithin(ctx context.Context, ws uuid.UUID, n node) (bson.D, []probe, error) {
	if !related(n) {
		return r.resolve(ctx, ws, n)
	}
	ctx, end, err := r.BeginSeveral(ctx, ws)
	if err != nil {
		return nil, nil, err
	}
	defer end()
	return r.resolve(ctx, ws, n)
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

// related reports whether a criterion reads other collections.
func related(n node) bool {
	switch n := n.(type) {
	case exists:
		return true
	case join:
		return slices.ContainsFunc(n.kids, related)
	}
	return false
}

// resolve returns the filter for a criterion, and the probes that it does not express.
func (r Resolver) resolve(ctx context.Context, ws uuid.UUID, n node) (bson.D, []probe, error) {
	switch n := n.(type) {
	case exists:
		return r.resolveExists(ctx, ws, n)
	case join:
		r.idsOnly = r.idsOnly || n.or
		var list []bson.D
		var probes []probe
		for _, k := range n.kids {
			d, more, err := r.resolve(ctx, ws, k)
			if err != nil {
				return nil, nil, err
			}
			if n.or && len(more) > 0 {
				return nil, nil, fmt.Errorf("%s by %s, below or_: %w", more[0].rel.from, more[0].rel.to, ErrTooBroad)
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

const (
	// fewIDs is the number of ids that a relation adds to the filter at once. Whether more are worth it depends on what is read.
	fewIDs = 200
	// lookupIDs is the number of values of the near side that one batch looks up at most.
	lookupIDs = 1000
)

// resolveExists fetches the ids of the far side if they are few, or if few values of the near side refer to it; else it returns a
// probe.
func (r Resolver) resolveExists(ctx context.Context, ws uuid.UUID, e exists) (bson.D, []probe, error) {
	inner := r
	inner.within = true
	in, probes, err := inner.resolve(ctx, ws, e.in)
	if err != nil {
		return nil, nil, err
	}
	p := probe{rel: e.rel, filter: Scope(ws, in), probes: probes, not: e.not}
	if e.rel.from != FlowRun && e.rel.from != TaskRun {
		filter, few, err := r.referred(ctx, ws, p, min(fewIDs, r.MaxIDs))
		if err != nil || few {
			return filter, nil, err
		}
	}
	if len(probes) > 0 {
		return bson.D{}, []probe{p}, nil
	}
	limit := r.MaxIDs
	if !r.idsOnly && !r.within {
		if limit = min(fewIDs, r.MaxIDs); limit < r.MaxIDs {
			p.open = true
		}
	}
	filter, few, err := r.among(ctx, p, limit)
	if err != nil {
		return nil, nil, err
	}
	if !few {
		return bson.D{}, []probe{p}, nil
	}
	return filter, nil, nil
}

// referred returns the filter of the near side that has those ids of the far side to which the near side refers. few is false if they
// are more than the limit, or may be as many as the near side has documents. The far side is then a lookup of these ids, whatever its
// size. It must be runs: ids of a small collection cost less than those of the near side.
func (r Resolver) referred(ctx context.Context, ws uuid.UUID, p probe, limit int) (filter bson.D, few bool, err error) {
	if p.rel.foreign != "_id" || p.rel.to != FlowRun && p.rel.to != TaskRun {
		return nil, false, nil
	}
	refer := Scope(ws, bson.D{{Key: p.rel.local, Value: bson.D{{Key: "$gte", Value: leastID}}}})
	values, err := r.Reader.Groups(ctx, p.rel.from, p.rel.local, refer, limit+1)
	if err != nil {
		return nil, false, fmt.Errorf("values of %s: %w", p.rel.from, err)
	}
	if len(values) > limit {
		return nil, false, nil
	}
	found, err := r.prober().related(ctx, p, array(values))
	if errors.Is(err, ErrTooBroad) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	values = slices.DeleteFunc(values, func(v bson.RawValue) bool { return !found[keyOf(v)] })
	return p.having(values), true, nil
}

// among returns the filter of the near side that has the ids of the far side. few is false if they are more than the limit.
func (r Resolver) among(ctx context.Context, p probe, limit int) (filter bson.D, few bool, err error) {
	ids, err := r.Reader.Groups(ctx, p.rel.to, p.rel.foreign, p.rel.referring(p.filter), limit+1)
	if err != nil {
		return nil, false, fmt.Errorf("%s by %s: %w", p.rel.from, p.rel.to, err)
	}
	if len(ids) > limit {
		return nil, false, nil
	}
	return p.having(ids), true, nil
}

// having is the filter of the near side for all ids of the far side to which it refers.
func (p probe) having(ids []bson.RawValue) bson.D {
	op := "$in"
	if p.not {
		op = "$nin"
	}
	return bson.D{{Key: p.rel.local, Value: bson.D{{Key: op, Value: array(ids)}}}}
}

// referring restricts a filter of the far side to documents that refer to any document of the near side. An index lists the others
// too, and each would be read.
func (r relation) referring(filter bson.D) bson.D {
	if r.foreign == "_id" {
		return filter
	}
	return allOf([]bson.D{filter, {{Key: r.foreign, Value: bson.D{{Key: "$gte", Value: leastID}}}}})
}

// leastID is not greater than any id.
var leastID = bson.Binary{Subtype: uuidSubtype, Data: make([]byte, len(uuid.UUID{}))}

func array(values []bson.RawValue) bson.A {
	a := make(bson.A, len(values))
	for i, v := range values {
		a[i] = v
	}
	return a
}
