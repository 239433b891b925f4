package query

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"golang.org/x/sync/errgroup"
)

const (
	// firstBatch is the number of documents that are probed first. Filters that most documents match need no more for a page.
	firstBatch = 100
	// firstMatches is how many searches for a first match are in progress at once.
	firstMatches = 8
)

// probe is a relation that is tested for each document.
type probe struct {
	rel    relation
	filter bson.D // Of the far side, scoped.
	probes []probe
	not    bool
}

// prober tests documents with probes, within the budget of one call.
type prober struct {
	Resolver
	most, left int // Documents that may be scanned, and those of them that still may.
}

func (r Resolver) prober(most int) *prober { return &prober{Resolver: r, most: most, left: most} }

// errStop ends a stream early.
var errStop = errors.New("enough")

// scan streams documents and passes those that pass the probes to next, in order. next owns its document. The scan ends
// when next returns false.
func (p *prober) scan(
	ctx context.Context, c Collection, filter bson.D, o StreamOptions, probes []probe, next func(bson.Raw) bool,
) error {
	size := min(firstBatch, p.Batch)
	// The limit makes a server read in order instead of sorting all matches. The scan never reaches it.
	o.First, o.Batch, o.Limit = size, p.Batch, int64(p.left)+1
	if len(o.Sort) == 0 && len(o.Fields) > 0 {
		o.Hint = covering(c, filter, o.Fields)
	}
	batch := make([]bson.Raw, 0, p.Batch)
	flush := func() error {
		passed, err := p.passing(ctx, batch, probes)
		if err != nil {
			return err
		}
		for _, doc := range passed {
			if !next(doc) {
				return errStop
			}
		}
		batch, size = batch[:0], p.Batch
		return nil
	}
	err := each(p.Reader.Stream(ctx, c, filter, o), func(doc bson.Raw) error {
		if p.left--; p.left < 0 {
			return fmt.Errorf("more than %d documents of %s to test: %w", p.most, c, ErrTooBroad)
		}
		batch = append(batch, append(bson.Raw(nil), doc...))
		if len(batch) < size {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

func each(docs iter.Seq2[bson.Raw, error], do func(bson.Raw) error) error {
	for doc, err := range docs {
		if err != nil {
			return err
		}
		if err := do(doc); err != nil {
			return err
		}
	}
	return nil
}

// passing returns the documents that pass all probes, in order.
func (p *prober) passing(ctx context.Context, docs []bson.Raw, probes []probe) ([]bson.Raw, error) {
	for _, pr := range probes {
		if len(docs) == 0 {
			return nil, nil
		}
		found, err := p.related(ctx, pr, localValues(docs, pr.rel.local))
		if err != nil {
			return nil, fmt.Errorf("%s by %s: %w", pr.rel.from, pr.rel.to, err)
		}
		var rest []bson.Raw
		for _, doc := range docs {
			v, err := doc.LookupErr(pr.rel.local)
			if hit := err == nil && found[keyOf(v)]; hit != pr.not {
				rest = append(rest, doc)
			}
		}
		docs = rest
	}
	return docs, nil
}

// related returns the values that have a related document.
func (p *prober) related(ctx context.Context, pr probe, values bson.A) (map[string]bool, error) {
	found := make(map[string]bool, len(values))
	if len(values) == 0 {
		return found, nil
	}
	among := bson.D{{Key: pr.rel.foreign, Value: bson.D{{Key: "$in", Value: values}}}}
	filter := allOf([]bson.D{pr.filter, among})
	switch {
	case len(pr.probes) > 0:
		fields := localFields(pr.probes, pr.rel.foreign)
		err := p.scan(ctx, pr.rel.to, filter, StreamOptions{Fields: fields}, pr.probes, func(doc bson.Raw) bool {
			found[keyOf(doc.Lookup(pr.rel.foreign))] = true
			return len(found) < len(values)
		})
		return found, err
	case pr.rel.many():
		return found, p.firstMatches(ctx, pr, values, found)
	}
	hits, err := p.Reader.Groups(ctx, pr.rel.to, nil, pr.rel.foreign, filter, len(values))
	for _, v := range hits {
		found[keyOf(v)] = true
	}
	return found, err
}

// many reports whether a large part of the far side may refer to one document of the near side. A list of the references would read
// all of it.
func (r relation) many() bool {
	return r.foreign != "_id" && (r.from == Flow || r.from == Deployment)
}

// firstMatches adds the values that have a related document to found. It searches one document for each.
func (p *prober) firstMatches(ctx context.Context, pr probe, values bson.A, found map[string]bool) error {
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(firstMatches)
	for _, value := range values {
		group.Go(func() error {
			filter := allOf([]bson.D{pr.filter, {{Key: pr.rel.foreign, Value: value}}})
			return each(p.Reader.Stream(ctx, pr.rel.to, filter, StreamOptions{Limit: 1, Fields: []string{pr.rel.foreign}}), func(bson.Raw) error {
				mu.Lock()
				defer mu.Unlock()
				found[keyOf(value.(bson.RawValue))] = true
				return nil
			})
		})
	}
	return group.Wait()
}

// localFields returns the fields that probes read, and others, each once. A projection must not name a path twice, nor
// a path below another.
func localFields(probes []probe, others ...string) []string {
	fields := slices.Clone(others)
	for _, pr := range probes {
		fields = append(fields, pr.rel.local)
	}
	slices.Sort(fields)
	fields = slices.Compact(fields)
	return slices.DeleteFunc(fields, func(field string) bool {
		return slices.ContainsFunc(fields, func(other string) bool { return strings.HasPrefix(field, other+".") })
	})
}

// localValues returns the distinct values of a field. They share the memory of the documents.
func localValues(docs []bson.Raw, field string) bson.A {
	seen := map[string]bool{}
	var values bson.A
	for _, doc := range docs {
		v, err := doc.LookupErr(field)
		if err != nil || v.Type == bson.TypeNull || seen[keyOf(v)] {
			continue
		}
		seen[keyOf(v)] = true
		values = append(values, v)
	}
	return values
}

// keyOf makes a value comparable. All ids have one type, so equal bytes are equal values.
func keyOf(v bson.RawValue) string { return string([]byte{byte(v.Type)}) + string(v.Value) }
