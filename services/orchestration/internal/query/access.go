package query

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"golang.org/x/sync/errgroup"
)

const (
	// mostPoints is the number of ranges of one index that a server merges in the order of a sort. Of more it sorts all matches.
	mostPoints = 200
	// mostGathered is the number of matches of an index that are read and sorted for a page.
	mostGathered = 5000
	// mostCounts is the number of indexes whose matches are counted for a choice.
	mostCounts = 4
)

// hinted are the collections whose reads name their index. The others are small, or have one index for each of their queries.
var hinted = []Collection{FlowRun, TaskRun, Event, Log, Artifact}

// access is how a page is read. The service decides it, and sends the index as a hint, so no server compares plans:
//
//	_id among the points ..................................... that index
//	an index has all criteria as points, then the sort ....... that index: it reads the rows of the page
//	bounded counts of the indexed criteria ................... at most mostGathered matches: the index of the smallest, and a sort
//	else the index of the sort, with most points before it ... the other criteria are tested
type access struct {
	ordered bson.D   // The keys of an index with points, then the sort; nil when there is none.
	whole   bool     // The index has all criteria.
	gathers []gather // Alternatives that are counted, at most mostCounts.
}

// gather is an index that is read completely. Its filter has the criteria that bound the index, and those that imply its partial condition.
type gather struct {
	index  bson.D
	filter bson.D
}

// accessOf decides how the documents of a scoped filter are read in an order. It returns nothing for collections without hints, and for
// filters that are not scoped.
func accessOf(c Collection, filter, sort bson.D) access {
	if !slices.Contains(hinted, c) || len(filter) == 0 || filter[0].Key != workspaceKey {
		return access{}
	}
	all := conditionsOf(filter[1:])
	if all["_id"].points > 0 {
		return access{ordered: keys("_id"), whole: true}
	}
	var a access
	best := -1
	for _, ix := range indexesOf(c) {
		if !ix.hasAll(all) {
			continue
		}
		if within, n := ix.ordered(all, sort); n > best {
			a.ordered, best = ix.Keys, n
			a.whole = within == len(all)
		}
		a.addGather(ix, all, filter)
	}
	if a.whole {
		a.gathers = nil
	}
	a.gathers = a.gathers[:min(len(a.gathers), mostCounts)]
	return a
}

// conditionKind is how the conditions on a field bound an index.
type conditionKind struct {
	points int  // The number of values; 0 when the field is not compared with values.
	ranged bool // A range of values that are not null.
	exact  bool // The bounds express all conditions on the field.
	null   bool // A point may be null.
}

// conditionsOf returns the conditions of a conjunction by field. Conditions that no index can bound have the zero kind; those without one
// field have the name of their operator.
func conditionsOf(filter bson.D) map[string]conditionKind {
	all := map[string]conditionKind{}
	add := func(field string, k conditionKind) {
		if have, ok := all[field]; ok { // One of them bounds the index, and the others are tested.
			k.exact = false
			if have.points > 0 {
				k.points, k.null = have.points, have.null
			}
			k.ranged = k.ranged || have.ranged
		}
		all[field] = k
	}
	for _, e := range filter {
		list, isList := e.Value.(bson.A)
		if e.Key == "$and" && isList {
			for _, d := range list {
				d, _ := d.(bson.D)
				for field, k := range conditionsOf(d) {
					add(field, k)
				}
			}
			continue
		}
		add(e.Key, kindOf(e.Value))
	}
	return all
}

// kindOf classifies the conditions on one field.
func kindOf(condition any) conditionKind {
	d, ok := condition.(bson.D)
	if !ok {
		return conditionKind{points: 1, exact: true, null: isNull(condition)}
	}
	k := conditionKind{exact: true}
	for _, e := range d {
		switch {
		case e.Key == "$eq":
			k.points, k.null = 1, isNull(e.Value)
		case e.Key == "$in":
			values := valuesOf(e.Value)
			k.points, k.null = max(1, len(values)), slices.ContainsFunc(values, isNull)
		case e.Key == "$all": // One value bounds an index.
			k.points, k.exact = 1, len(valuesOf(e.Value)) == 1
		case isBound(e.Key):
			k.ranged = true
		default:
			k.exact = false
		}
	}
	return k
}

func isNull(v any) bool {
	raw, ok := v.(bson.RawValue)
	return v == nil || ok && raw.Type == bson.TypeNull
}

// valuesOf returns the values of an operand that is a list.
func valuesOf(operand any) (list []any) {
	switch operand := operand.(type) {
	case bson.A:
		return operand
	case bson.RawValue:
		for _, v := range items(operand) {
			list = append(list, v)
		}
	case []string:
		list = make([]any, len(operand))
		for i, v := range operand {
			list[i] = v
		}
	}
	return list
}

// indexesOf returns the indexes of a collection for the documents of one workspace, by which a filter can be read.
func indexesOf(c Collection) (list []Index) {
	for _, ix := range Indexes() {
		if ix.Collection == c && !ix.Sparse && !ix.TTL && ix.Keys[0].Key == workspaceKey {
			list = append(list, ix)
		}
	}
	return list
}

// hasAll reports whether the index has all documents that match: the criteria imply the condition of a partial index.
func (i Index) hasAll(all map[string]conditionKind) bool {
	for _, e := range i.Partial {
		k := all[e.Key]
		if condition, ok := e.Value.(bson.D); !ok || condition[0].Key != "$exists" || k.null || k.points == 0 && !k.ranged {
			return false
		}
	}
	return true
}

// ordered returns how many criteria the bounds of the index express if it gives the order of a sort, and a rank among such
// indexes: -1 for none. An index is better by more points before the sort, then by criteria that its keys can test.
func (i Index) ordered(all map[string]conditionKind, sort bson.D) (within, rank int) {
	rest := i.Keys[1:]
	points := 1
	for len(rest) > 0 && (len(sort) == 0 || rest[0].Key != sort[0].Key) {
		k := all[rest[0].Key]
		if k.points == 0 || points*k.points > mostPoints {
			break
		}
		points *= k.points
		if rank += 100; k.exact {
			within++
		}
		rest = rest[1:]
	}
	if len(rest) < len(sort) {
		return 0, -1
	}
	for j, field := range sort {
		if rest[j].Key != field.Key || field.Value != sort[0].Value {
			return 0, -1
		}
	}
	for j, key := range rest {
		k, present := all[key.Key]
		switch {
		case !present:
		case j == 0 && k.exact && (k.points > 0 || k.ranged):
			within++
			rank += 10
		default:
			rank++
		}
	}
	return within, rank
}

// covering returns the keys of an index whose entries have all fields that a scoped filter tests and a read returns, besides _id: no
// document is read. Of several it returns the one with most points. It returns nil if there is none, or if another index may have fewer matches.
func covering(c Collection, filter bson.D, fields []string) (index bson.D) {
	if !slices.Contains(hinted, c) || len(filter) == 0 || filter[0].Key != workspaceKey {
		return nil
	}
	all := conditionsOf(filter[1:])
	best := -1
	for _, ix := range indexesOf(c) {
		within := func(field string) bool {
			return slices.ContainsFunc(ix.Keys, func(key bson.E) bool { return key.Key == field })
		}
		if !ix.hasAll(all) || !within("_id") || !namesOnly(filter, ix.Keys) || slices.ContainsFunc(fields, func(field string) bool { return !within(field) }) {
			continue
		}
		if _, rank := ix.ordered(all, nil); rank > best {
			index, best = ix.Keys, rank
		}
	}
	a := accessOf(c, filter, nil)
	if a.whole && len(all) > 0 {
		a.gathers = []gather{{index: a.ordered}}
	}
	if slices.ContainsFunc(a.gathers, func(g gather) bool { return !slices.Equal(g.index, index) }) {
		return nil
	}
	return index
}

// addGather adds the index as an alternative if criteria bound it, and no other alternative has these criteria.
func (a *access) addGather(ix Index, all map[string]conditionKind, filter bson.D) {
	var fields []string
	for _, key := range ix.Keys[1:] {
		k := all[key.Key]
		if k.points > 0 || k.ranged {
			fields = append(fields, key.Key)
		}
		if k.points == 0 {
			break
		}
	}
	if len(fields) == 0 {
		return
	}
	// A server refuses a partial index whose condition the filter does not imply.
	for _, e := range ix.Partial {
		if !slices.Contains(fields, e.Key) {
			fields = append(fields, e.Key)
		}
	}
	g := gather{index: ix.Keys, filter: bson.D{filter[0]}}
	for _, e := range filter[1:] {
		if slices.Contains(fields, e.Key) {
			g.filter = append(g.filter, e)
		}
	}
	if len(g.filter) <= len(fields) { // A condition is below $and.
		return
	}
	for j, have := range a.gathers {
		switch {
		case hasFields(have.filter, g.filter):
			return
		case hasFields(g.filter, have.filter):
			a.gathers[j] = g
			return
		}
	}
	a.gathers = append(a.gathers, g)
}

// hasFields reports whether a filter has the fields of another one.
func hasFields(filter, other bson.D) bool {
	return !slices.ContainsFunc(other, func(e bson.E) bool {
		return !slices.ContainsFunc(filter, func(have bson.E) bool { return have.Key == e.Key })
	})
}

// hint returns the keys of the index by which a page of the selection is read; nil leaves the choice to the server.
func (s *Selection) hint(ctx context.Context, sort bson.D) (bson.D, error) {
	a := accessOf(s.own, s.filter, sort)
	if a.whole {
		return a.ordered, nil
	}
	// In the order of the sort an index reads no more than all matches of its criteria.
	inOrder := func(g gather) bool { return slices.Equal(g.index, a.ordered) }
	if at := slices.IndexFunc(a.gathers, inOrder); at >= 0 {
		matches, err := s.matches(ctx, a.gathers[at])
		if err != nil || matches <= mostGathered {
			return a.ordered, err
		}
		a.gathers = slices.Delete(a.gathers, at, at+1)
	}
	matches := make([]int64, len(a.gathers))
	group, ctx := errgroup.WithContext(ctx)
	for i, g := range a.gathers {
		group.Go(func() (err error) {
			matches[i], err = s.matches(ctx, g)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	hint, least := a.ordered, int64(mostGathered)
	for i, n := range matches {
		if n <= least {
			hint, least = a.gathers[i].index, n
		}
	}
	return hint, nil
}

// matches counts the matches of an index, up to more than a page gathers. The rarest of several values that a list must have bounds the
// index.
func (s *Selection) matches(ctx context.Context, g gather) (int64, error) {
	least := int64(mostGathered + 1)
	for _, filter := range eachOfAll(g.filter) {
		n, err := s.resolver.Reader.CountBy(ctx, s.own, g.index, filter, least)
		if err != nil || n == 0 {
			return 0, err
		}
		least = min(least, n)
	}
	return least, nil
}

// eachOfAll returns a filter for each value of the first $all, at most mostCounts; the filter itself without one.
func eachOfAll(filter bson.D) []bson.D {
	for i, e := range filter {
		condition, ok := e.Value.(bson.D)
		if !ok || len(condition) != 1 || condition[0].Key != "$all" {
			continue
		}
		values := valuesOf(condition[0].Value)
		each := make([]bson.D, min(len(values), mostCounts))
		for j := range each {
			each[j] = slices.Clone(filter)
			each[j][i] = bson.E{Key: e.Key, Value: values[j]}
		}
		return each
	}
	return []bson.D{filter}
}

// Hint returns the keys of the index by which a page of the selection is read, for a caller that reads it; nil leaves the choice to the
// server. The caller has begun the read.
func (s *Selection) Hint(ctx context.Context, sort bson.D) (bson.D, error) {
	hint, err := s.hint(ctx, sort)
	return hint, s.failed(err)
}
