package query

import (
	"context"
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// trialScanned is the number of documents that a page probes before ids of the far side replace the probes, as far as they can. Pages
// of filters that many documents match then need no ids.
const trialScanned = 4000

// trialPage is the size of the page for which a trial is judged at least. It bounds the documents of the near side that are counted.
const trialPage = 20

// promising reports whether a trial may fill a page: so many documents of the far side match that they are expected among the near
// side's first ones. Otherwise their ids are few enough for a filter.
func (s *Selection) promising(ctx context.Context, end int64) (bool, error) {
	// More documents of the near side would change nothing: the number to expect is bounded.
	end, most := max(end, trialPage), int64(s.resolver.MaxIDs)+1
	near, err := s.resolver.Reader.Count(ctx, s.own, Scope(s.ws, nil), most*trialScanned/end+1)
	if err != nil {
		return false, err
	}
	for _, p := range s.probes {
		enough := min(end*near/trialScanned, most)
		if !p.open || p.not || enough <= fewIDs {
			continue
		}
		far, err := s.resolver.Reader.Count(ctx, p.rel.to, p.filter, enough)
		if err != nil {
			return false, err
		}
		if far < enough {
			return false, nil
		}
	}
	return true, nil
}

// trial visits a page if few documents have to be probed for it. done is false, and nothing is visited, if they are more.
func (s *Selection) trial(ctx context.Context, filter bson.D, o StreamOptions, visit func(bson.Raw) error) (n int64, done bool, err error) {
	end := o.Skip + o.Limit
	if !slices.ContainsFunc(s.probes, isOpen) || o.Limit == 0 || end > trialScanned {
		return 0, false, nil
	}
	if promising, err := s.promising(ctx, end); !promising || err != nil {
		return 0, false, err
	}
	p := &prober{Resolver: s.resolver, left: trialScanned}
	var page []bson.Raw
	err = p.scan(ctx, s.own, filter, StreamOptions{Sort: o.Sort}, s.probes, func(doc bson.Raw) bool {
		page = append(page, doc)
		return int64(len(page)) < end
	})
	if errors.Is(err, ErrTooBroad) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	for _, doc := range page[min(o.Skip, int64(len(page))):] {
		n++
		if err := visit(doc); err != nil {
			return n, true, err
		}
	}
	return n, true, nil
}

func isOpen(p probe) bool { return p.open }

// narrowed returns the selection with ids in place of probes where the far side has few enough.
func (s *Selection) narrowed(ctx context.Context) (*Selection, error) {
	if !slices.ContainsFunc(s.probes, isOpen) {
		return s, nil
	}
	out := *s
	out.probes = nil
	filters := []bson.D{s.filter}
	for _, p := range s.probes {
		if p.open {
			filter, few, err := s.resolver.among(ctx, p, s.resolver.MaxIDs)
			if err != nil {
				return nil, err
			}
			if few {
				filters = append(filters, filter)
				continue
			}
			p.open = false
		}
		out.probes = append(out.probes, p)
	}
	out.filter = allOf(filters)
	return &out, nil
}
