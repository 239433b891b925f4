package query

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// prober tests documents with probes, within the budget of one call.
type prober struct {
	Resolver
	left int // Documents that may still be scanned.
}

func (r Resolver) prober() *prober { return &prober{Resolver: r, left: r.MaxScanned} }

// errStop ends a stream early.
var errStop = errors.New("enough")

// scan streams documents and passes those that pass the probes to next, in order. next owns its document. The scan ends
// when next returns false.
func (p *prober) scan(
	ctx context.Context, c Collection, filter bson.D, o StreamOptions, probes []probe, next func(bson.Raw) bool,
) error {
	return p.scanBy(ctx, c, filter, o, probes, next, func(int) (int, error) { return p.Batch, nil })
}

// scanBy is scan with batches of varying size: after returns the size of the next one, after a batch of scanned documents. Its error
// ends the scan.
func (p *prober) scanBy(
	ctx context.Context, c Collection, filter bson.D, o StreamOptions, probes []probe, next func(bson.Raw) bool, after func(scanned int) (int, error),
) error {
	size := p.Batch
	if o.First > 0 {
		size = o.First
	}
	batch := make([]bson.Raw, 0, size)
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
		if len(batch) == size {
			if size, err = after(len(batch)); err != nil {
				return err
			}
		}
		batch = batch[:0]
		return nil
	}
	if o.Batch == 0 {
		o.Batch = p.Batch
	}
	err := each(p.Reader.Stream(ctx, c, filter, o), func(doc bson.Raw) error {
		if p.left--; p.left < 0 {
			return fmt.Errorf("%s: more than %d documents to look at: %w", c, p.MaxScanned, ErrTooBroad)
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
			return nil, err
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
	if len(pr.probes) == 0 {
		hits, err := p.Reader.Groups(ctx, pr.rel.to, pr.rel.foreign, filter, len(values))
		if err != nil {
			return nil, fmt.Errorf("%s by %s: %w", pr.rel.from, pr.rel.to, err)
		}
		for _, v := range hits {
			found[keyOf(v)] = true
		}
		return found, nil
	}
	fields := localFields(pr.probes, pr.rel.foreign)
	err := p.scan(ctx, pr.rel.to, filter, StreamOptions{Fields: fields}, pr.probes, func(doc bson.Raw) bool {
		found[keyOf(doc.Lookup(pr.rel.foreign))] = true
		return len(found) < len(values)
	})
	return found, err
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

// valueOf returns the value of a key.
func valueOf(key string) bson.RawValue {
	return bson.RawValue{Type: bson.Type(key[0]), Value: []byte(key[1:])}
}
