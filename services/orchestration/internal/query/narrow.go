package query

import (
	"context"
	"errors"
	"slices"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// trialScanned is the number of documents that a page probes before ids of the far side replace the probes, as far as they can. Pages
// of filters that many documents match then need no ids.
const trialScanned = 4000

// trialSample is the number of documents that a trial probes first, at least. Their share of matches predicts how many more it takes.
const trialSample = 50

// errSparse ends a trial whose page takes too many documents.
var errSparse = errors.New("few documents match")

// trial is the page that a trial has found so far:
//
//	sample ──▶ matches are many ──▶ batches of the expected size ──▶ page is full, or near side is read
//	   │                                      │
//	   └── matches are few ─────────────▶ errSparse
type trial struct {
	end           int64 // The wanted documents, with those before the page.
	scanned, left int64
	page          []bson.Raw
}

// next is the size of the batch that is expected to fill the page; errSparse if it takes more documents than the trial may probe.
func (t *trial) next(most int) (int, error) {
	found := int64(len(t.page))
	switch {
	case t.scanned == 0:
		return int(max(trialSample, t.end/4)), nil
	case found == 0:
		return 0, errSparse
	}
	need := (t.end - found) * t.scanned / found
	if need > t.left {
		return 0, errSparse
	}
	return int(min(need+need/8+1, int64(most))), nil
}

// try visits a page if few documents have to be probed for it. done is false, and nothing is visited, if they are more.
func (s *Selection) try(ctx context.Context, filter bson.D, o StreamOptions, visit func(bson.Raw) error) (n int64, done bool, err error) {
	skip := o.Skip
	t := &trial{end: skip + o.Limit, left: trialScanned}
	if !slices.ContainsFunc(s.probes, isOpen) || o.Limit == 0 || t.end > trialScanned {
		return 0, false, nil
	}
	p := s.resolver.prober()
	first, _ := t.next(p.Batch)
	// The limit makes the store read in order instead of sorting all documents. No trial reaches it.
	o = StreamOptions{Sort: o.Sort, Limit: 2 * trialScanned, First: min(first, p.Batch), Batch: int(min(t.end, int64(p.Batch)))}
	err = p.scanBy(ctx, s.own, filter, o, s.probes, func(doc bson.Raw) bool {
		t.page = append(t.page, doc)
		return int64(len(t.page)) < t.end
	}, func(scanned int) (int, error) {
		t.scanned, t.left = t.scanned+int64(scanned), t.left-int64(scanned)
		return t.next(p.Batch)
	})
	if errors.Is(err, errSparse) || errors.Is(err, ErrTooBroad) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	for _, doc := range t.page[min(skip, int64(len(t.page))):] {
		n++
		if err := visit(doc); err != nil {
			return n, true, err
		}
	}
	return n, true, nil
}

func isOpen(p probe) bool { return p.open }

// narrowing replaces the open probes of a selection by ids, once.
type narrowing struct {
	mu      sync.Mutex
	done    bool
	filters []bson.D
	probes  []probe
}

// narrowed returns the selection with ids in place of probes where the far side has few enough, or the near side refers to few.
func (s *Selection) narrowed(ctx context.Context) (*Selection, error) {
	if !slices.ContainsFunc(s.probes, isOpen) {
		return s, nil
	}
	s.narrow.mu.Lock()
	defer s.narrow.mu.Unlock()
	if !s.narrow.done {
		if err := s.narrow.gather(ctx, s); err != nil {
			return nil, err
		}
	}
	out := *s
	out.probes = s.narrow.probes
	out.filter = allOf(append([]bson.D{s.filter}, s.narrow.filters...))
	return &out, nil
}

func (n *narrowing) gather(ctx context.Context, s *Selection) error {
	n.filters, n.probes = nil, nil
	for _, p := range s.probes {
		if p.open {
			filter, few, err := s.byIDs(ctx, p)
			if err != nil {
				return err
			}
			if few {
				n.filters = append(n.filters, filter)
				continue
			}
			p.open = false
		}
		n.probes = append(n.probes, p)
	}
	n.done = true
	return nil
}

// byIDs returns the filter of the near side that has the ids of a probe, or its own ids; few is false if they are too many.
func (s *Selection) byIDs(ctx context.Context, p probe) (filter bson.D, few bool, err error) {
	r := s.resolver
	far, err := r.Reader.Count(ctx, p.rel.to, p.filter, lookupIDs+1)
	if err != nil {
		return nil, false, err
	}
	if far > lookupIDs {
		if filter, few, err = r.referred(ctx, s.ws, p, min(lookupIDs, r.MaxIDs)); few || err != nil {
			return filter, few, err
		}
	}
	if filter, few, err = r.among(ctx, p, r.MaxIDs); few || err != nil {
		return filter, few, err
	}
	return s.byOwnIDs(ctx, p)
}

// byOwnIDs returns the filter of the documents of the near side that have a related document, by their own ids; few is false if they
// are more than Resolver.MaxIDs. It looks up the ids of the far side in batches, and serves far sides of many documents to which few
// documents of the near side refer. A scan of the near side would read far until the first match, or be ErrTooBroad.
func (s *Selection) byOwnIDs(ctx context.Context, p probe) (filter bson.D, few bool, err error) {
	if p.not || p.rel.local == "_id" || len(p.probes) > 0 {
		return nil, false, nil
	}
	r := s.resolver
	limit := joinedIDs * r.MaxIDs
	far, err := r.Reader.Groups(ctx, p.rel.to, p.rel.foreign, p.rel.referring(p.filter), limit+1)
	if err != nil || len(far) > limit {
		return nil, false, err
	}
	own := bson.A{}
	for batch := range slices.Chunk(far, lookupIDs) {
		among := Scope(s.ws, bson.D{{Key: p.rel.local, Value: bson.D{{Key: "$in", Value: array(batch)}}}})
		o := StreamOptions{Limit: int64(r.MaxIDs - len(own) + 1), Fields: []string{"_id"}}
		err := each(r.Reader.Stream(ctx, p.rel.from, among, o), func(doc bson.Raw) error {
			own = append(own, clone(doc.Lookup("_id")))
			return nil
		})
		if err != nil {
			return nil, false, err
		}
		if len(own) > r.MaxIDs {
			return nil, false, nil
		}
	}
	return bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: own}}}}, true, nil
}
