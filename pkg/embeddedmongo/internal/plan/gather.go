package plan

import (
	"bytes"
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// gatherer lists the values of a path among the matches of a filter, encoded in ascending order; a value may come several times. It
// prefers what reads no document:
//
//	existing  all ids of an index but few           (ids only; nothing is listed)
//	keys      the keys of one index decide          ws, state.type, _id
//	sets      ids of other indexes decide the rest  ws, flow_id, _id  without the ids of  ws, work_queue_name
//	documents
type gatherer struct {
	c        *storage.Reader
	q        Query
	con      *conjunction
	path     string
	prefer   string                 // Keys in the order of this field come first, of equally many.
	most     int                    // Bounds the values in memory.
	every    bool                   // Each document counts, also those with a value that is listed already.
	expected int64                  // The number of ids that will be looked up in existing; 0 when it is not known.
	spend    func(cost int64) error // Is called with the cost of each step, in units of reading one key.
	// reduction is that of the semi-join whose values are listed; nil for others.
	reduction *reduction

	existing *existing
	base     *Plan // nil: documents.
	tests    *keyTests
	at       int // The position of the path in the keys of base; -1 for ids.
	ins      []*valueSet
	outs     []*valueSet
	pending  int64 // The cost that is not spent yet.
	estimate int64 // The cost of run, once prepare has ended; -1 when it is not known.
}

// newGatherer returns a gatherer that does not pause.
func newGatherer(c *storage.Reader, q Query, path string) *gatherer {
	return &gatherer{c: c, q: q, path: path, most: maxJoined, spend: func(int64) error {
		if q.Expired != nil {
			return q.Expired()
		}
		return nil
	}}
}

// outside returns the plan of the keys that do not match a condition, where the last bound of an exact plan expresses it alone: those
// before, between and behind its points, or outside of its range. nil when the keys do not tell.
func (p *Plan) outside(n filter.Node) *Plan {
	last := len(p.bounds) - 1
	if last < 0 || !p.exact || p.ix.IsID() || p.ix.Multikey() != 0 || p.ix.Partial != nil || p.ix.Spec.Sparse || len(p.spans) == 0 {
		return nil
	}
	leaf, ok := n.(*filter.Leaf)
	b := p.bounds[last]
	if !ok || len(b.used) != 1 || b.used[0] != leaf || !b.exact || slices.ContainsFunc(p.bounds[:last], func(b *bound) bool { return !b.equal }) {
		return nil
	}
	at := p.spans[0].at
	if b.points != nil { // The points of the last field are part of the prefix.
		at = p.prefixBefore(last)
	}
	prefix := p.spans[0].lo[:at]
	out := *p
	out.merge, out.reverse, out.dedupe, out.also, out.spans, out.reached = false, false, false, nil, nil, 0
	out.bounds, out.inside = p.bounds[:last], p
	lo, end := prefix, successor(prefix)
	add := func(hi []byte) {
		if hi == nil || bytes.Compare(lo, hi) < 0 {
			out.spans = append(out.spans, span{lo: lo, hi: hi, at: at})
		}
	}
	for _, s := range p.spans {
		add(s.lo)
		if lo = s.hi; lo == nil {
			return &out
		}
	}
	if end == nil || bytes.Compare(lo, end) < 0 {
		add(end)
	}
	return &out
}

// decides reports whether the keys decide a conjunction.
func (p *Plan) decidesAll(con *conjunction) bool {
	t := p.keyTests(con)
	return p.exact || t != nil && t.whole
}

// deciding lists the plans whose keys decide a conjunction and have a path.
func (g *gatherer) deciding(con *conjunction, path string) (list []*Plan) {
	add := func(p *Plan) {
		if p != nil && !p.ix.IsID() && (path == "_id" || p.position(path) >= 0) && p.decidesAll(con) {
			p.con = con
			list = append(list, p)
		}
	}
	for _, ix := range g.c.Indexes() {
		add(candidate(g.c, g.q, con, ix, true))
	}
	for i, n := range con.nodes {
		if not, ok := n.(filter.Not); ok {
			for _, p := range g.negated(con, i, not.Node) {
				add(p)
			}
		}
	}
	return list
}

// negated lists the plans of the keys that do not match a condition, and match the other nodes of a conjunction.
func (g *gatherer) negated(con *conjunction, at int, n filter.Node) (list []*Plan) {
	positive := con.of(append(slices.Delete(slices.Clone(con.nodes), at, at+1), n))
	for _, ix := range g.c.Indexes() {
		if p := candidate(g.c, g.q, positive, ix, true); p != nil {
			if out := p.outside(n); out != nil {
				list = append(list, out)
			}
		}
	}
	return list
}

// wide reports whether a plan may read as many keys as the workspace has documents.
func (p *Plan) wide() bool {
	return p.inside == nil && p.ix.Partial == nil && !p.ix.Spec.Sparse && len(p.spans) == 1 && (len(p.bounds) == 0 || len(p.bounds) == 1 && p.bounds[0].equal)
}

// known is the number of keys of a plan, if counters tell without a walk.
func (g *gatherer) known(p *Plan) (n int64, ok bool, err error) {
	if p.ix.IsID() {
		return int64(len(p.spans)), true, nil
	}
	if p.inside == nil {
		if n, ok, err := p.counted(); ok || err != nil {
			return n, ok, err
		}
	}
	if p.wide() {
		return g.c.Count(), true, nil
	}
	if p.inside != nil {
		in, ok, err := p.inside.counted()
		if err != nil {
			return 0, false, err
		}
		all, counted, err := p.counters([][]byte{p.spans[0].lo[storage.IndexHeader:p.spans[0].at]}, len(p.bounds))
		if ok && counted || err != nil {
			return max(0, all-in), err == nil, err
		}
	}
	return 0, false, nil
}

// size is the number of keys of a plan up to a limit. Wide plans are not walked.
func (g *gatherer) size(p *Plan, limit int64) (int64, error) {
	if n, ok, err := g.known(p); ok || err != nil {
		return min(n, limit), err
	}
	return g.count(p, limit)
}

// countShare is the number of keys that are counted at the cost of one that is gathered.
const countShare = 2

// count counts the keys of a plan up to a limit. Other than reach, it pauses.
func (g *gatherer) count(p *Plan, limit int64) (n int64, err error) {
	if p.looksUp() || p.skipsChunks() || p.reached > 0 || limit <= 0 {
		n, err := p.reach(int(limit))
		return int64(n), err
	}
	v := g.c.View()
	defer v.Close()
	var paused error
	err = p.eachKeyOf(v, func([]byte) bool {
		if n++; n%countShare == 0 {
			paused = g.charge(1)
		}
		return paused == nil && n < limit
	})
	if err = errors.Join(paused, err); err == nil && n < limit {
		p.reached = int(n) + 1
	}
	return n, err
}

// least picks the plan with the fewest keys, and their number, among those with fewer than a limit; nil when there is none.
func (g *gatherer) least(list []*Plan, most int64) (best *Plan, n int64, err error) {
	for limit := min(probeKeys, most); limit > 0; limit = min(16*limit, most) {
		n = limit
		for i, p := range list {
			if slices.ContainsFunc(list[:i], func(k *Plan) bool {
				return k.ix == p.ix && len(k.bounds) == len(p.bounds) && len(k.spans) == len(p.spans)
			}) {
				continue
			}
			k, err := g.size(p, n+1)
			if err != nil {
				return nil, 0, err
			}
			if k < n || k == n && best != nil && g.ahead(p, best) {
				best, n = p, k
			}
		}
		if best != nil || limit == most {
			return best, n, nil
		}
	}
	return nil, 0, nil
}

// ahead reports whether a plan of as many keys is better: it has the preferred order, or shorter keys.
func (g *gatherer) ahead(p, other *Plan) bool {
	if g.path != "_id" && p.wide() {
		if a, b := g.combined(p), g.combined(other); a != b {
			return a
		}
	}
	if g.prefer != "" {
		a, b := p.groupedBy(g.prefer), other.groupedBy(g.prefer)
		if a != b {
			return a
		}
	}
	if p.exact != other.exact {
		return p.exact
	}
	return len(p.ix.Fields) < len(other.ix.Fields)
}

// combined reports whether keys of a plan are alike before their ids and times, see alike.
func (g *gatherer) combined(p *Plan) bool {
	if p.con == nil || g.path == "_id" || g.every {
		return false
	}
	k := gatherer{base: p, at: p.position(g.path), tests: p.keyTests(p.con)}
	return k.alike() >= 0
}

// groupedBy reports whether the keys are in the order of a path behind the points.
func (p *Plan) groupedBy(path string) bool {
	at := p.position(path)
	return at >= 0 && at <= p.fixed()
}

// widest picks the best of the wide plans; nil when there is none.
func (g *gatherer) widest(list []*Plan) (best *Plan) {
	for _, p := range list {
		if p.wide() && (best == nil || g.ahead(p, best)) {
			best = p
		}
	}
	return best
}

// combinations is the expected cost of keys of which one of each combination of values is read. Nobody knows their number before.
const combinations = 2048

// fewKeys is the number of matching keys below which most documents cannot match, so nothing is excluded.
const fewKeys = 8192

// prepare chooses the way.
func (g *gatherer) prepare() (err error) {
	if g.con, err = conjoin(g.q.Filter).withValues(g.c, g.q); err != nil {
		return err
	}
	if g.prefer == "" && g.path != "_id" {
		g.prefer = g.path
	}
	all, candidates := g.c.Count()+1, g.candidates()
	most := all / (2 * docCost)
	few, n, err := g.least(candidates, min(most, fewKeys))
	if err != nil {
		return err
	}
	list := g.deciding(g.con, g.path)
	if few == nil && g.path == "_id" && g.prefer == "" && g.c.Count() > mostPoints {
		done, err := g.exclude(list)
		if done || err != nil {
			return err
		}
	}
	if few == nil && most > fewKeys {
		few, n, err = g.least(candidates, most)
	}
	if err != nil {
		return err
	}
	narrow := slices.DeleteFunc(slices.Clone(list), (*Plan).wide)
	var counted *Plan // Of narrow: n is the number of its keys.
	if few != nil {
		all = n * docCost
		if i := slices.IndexFunc(narrow, func(p *Plan) bool { return p.ix == few.ix && len(p.bounds) >= len(few.bounds) }); i >= 0 {
			all, counted = n, narrow[i]
			narrow = slices.Delete(narrow, i, i+1)
		}
	}
	if len(narrow) == 1 && few == nil {
		return g.readUncounted(narrow[0])
	}
	p, keys, err := g.least(narrow, all)
	switch {
	case err != nil:
		return err
	case p != nil:
		g.estimate = keys
		return g.read(p)
	case counted != nil:
		g.estimate = n
		return g.read(counted)
	case few != nil: // Its documents cost less than the keys of other indexes.
		g.estimate = n * docCost
		return nil
	case len(narrow) > 0:
		return g.readUncounted(narrow[0])
	}
	if p := g.widest(list); p != nil {
		if g.estimate = g.c.Count(); g.combined(p) {
			g.estimate = min(g.estimate, combinations)
		}
		return g.read(p)
	}
	return g.combine()
}

// readUncounted makes a plan the base whose keys were not counted by a walk.
func (g *gatherer) readUncounted(p *Plan) error {
	n, ok, err := g.known(p)
	if err != nil {
		return err
	}
	if g.estimate = -1; ok {
		g.estimate = n
	}
	return g.read(p)
}

// read makes a plan the base.
func (g *gatherer) read(p *Plan) error {
	g.base, g.at = p, -1
	if p.con == nil {
		p.con = g.con
	}
	if g.path != "_id" {
		g.at = p.position(g.path)
	}
	g.tests = p.keyTests(p.con)
	return g.expectAll(g.con, p)
}

// expectAll announces the values that the tests of a plan ask for to the relations among them.
func (g *gatherer) expectAll(con *conjunction, p *Plan) error {
	return g.q.Filter.With(con.nodes).Relations(func(rel *filter.Related) error {
		n, err := g.size(p, g.c.Count()+1)
		if err != nil {
			return err
		}
		return joinOf(rel).expect(n)
	})
}

// smallSet is the number of ids that are better gathered than looked up.
const smallSet = 1 << 16

// excludeShare is the part of a collection that exclude may have in memory.
const excludeShare = 8

// exclude chooses the way of existing ids, if an index has them in order and few of them do not match. deciding are the plans whose keys
// decide the filter.
func (g *gatherer) exclude(deciding []*Plan) (done bool, err error) {
	p := grouping(g.c, g.q, g.con, "_id")
	if p == nil || len(p.spans) != 1 || p.ix.Multikey() != 0 || len(p.bounds) > p.position("_id")+1 || p.ix.Fields[p.position("_id")].Desc {
		return false, nil
	}
	if !p.wide() && p.exact {
		if n, err := g.size(p, smallSet); n < smallSet || err != nil {
			return false, err
		}
	}
	var outs []*Plan
	most := g.c.Count() / excludeShare
	if g.expected > 0 {
		most = g.c.Count() / 2 // The comparison below decides.
	}
	most = min(most, g.mostIDs())
	all, counted, err := p.counted()
	if err != nil {
		return false, err
	}
	for _, k := range deciding {
		if n, ok, err := g.known(k); ok && counted && all-n >= most || err != nil {
			return false, err // Too many do not match.
		}
	}
	left := most
	for i, n := range g.con.nodes {
		if p.expresses(n) {
			continue
		}
		others := slices.DeleteFunc(slices.Clone(g.con.nodes), func(k filter.Node) bool { return !p.expresses(k) })
		best, size, err := g.least(g.others(g.con.of(append(others, g.con.nodes[i]))), left)
		if best == nil || err != nil {
			return false, err
		}
		outs, left = append(outs, best), left-size
	}
	if used := most - left; g.expected > 0 && len(outs) > 0 && g.expected*seekCost+used > g.c.Count()*(1+memberCost) {
		return false, nil
	}
	e := &existing{p: p}
	for _, out := range outs {
		set, err := g.ids(out)
		if err != nil {
			return false, err
		}
		e.outs = append(e.outs, set)
	}
	g.existing = e
	return true, nil
}

// others lists the plans of the documents that do not match the last node of a conjunction, but all before.
func (g *gatherer) others(con *conjunction) []*Plan {
	last := len(con.nodes) - 1
	before := con.nodes[:last:last]
	switch n := con.nodes[last].(type) {
	case filter.Not:
		return g.deciding(con.of(append(before, n.Node)), "_id")
	case *filter.Leaf:
		list := g.negated(con, last, n)
		for _, p := range list {
			p.con = con
		}
		if matchesMissing(n) {
			list = append(list, g.deciding(con.of(append(before, n.Present(), filter.Not{Node: n})), "_id")...)
		}
		return list
	}
	return nil
}

// combine reads the keys of one index, and decides what they leave open by ids of other indexes. Else it reads documents.
func (g *gatherer) combine() error {
	docs, by := g.c.Count()*scanCost, g.base
	if g.estimate = docs; g.c.Count() < scanFloor {
		g.estimate = g.c.Count() * docCost // They are read in the order of an index.
	}
	selective, n, err := g.least(g.candidates(), docs/docCost)
	if err != nil {
		return err
	}
	if selective != nil {
		docs = n * docCost
		g.estimate = docs
		if g.path == "_id" {
			by = selective
		}
	}
	keys := n
	if g.path != "_id" || selective == nil {
		if by = grouping(g.c, g.q, g.con, g.path); by != nil && (by.ix.Multikey() != 0 || len(by.spans) != 1) {
			by = nil
		}
		if keys = g.c.Count(); by != nil && by.ix.Partial != nil {
			keys, err = g.size(by, g.c.Count())
		}
	}
	if by == nil || err != nil || keys >= docs {
		return err
	}
	by.con = g.con
	var ins, outs []*Plan
	left := docs - keys
	for i, n := range g.con.nodes {
		if by.expresses(n) || by.decidesAll(g.con.of(filter.And{n})) {
			continue
		}
		shared := slices.DeleteFunc(slices.Clone(g.con.nodes), func(k filter.Node) bool { return !by.expresses(k) || g.bindsPath(k) })
		alone := g.con.of(append(shared, g.con.nodes[i]))
		limit := min(left/(1+memberCost), g.mostIDs())
		in, inside, err := g.least(g.deciding(alone, "_id"), limit)
		if err != nil {
			return err
		}
		if in != nil {
			limit = inside
		}
		out, outside, err := g.least(g.others(alone), limit)
		switch {
		case err != nil:
			return err
		case out != nil:
			outs, left = append(outs, out), left-outside*(1+memberCost)
		case in != nil:
			ins, left = append(ins, in), left-inside*(1+memberCost)
		default:
			return nil
		}
	}
	g.estimate = keys // The sets precede it.
	for _, p := range ins {
		set, err := g.ids(p)
		if err != nil {
			return err
		}
		g.ins = append(g.ins, set)
	}
	for _, p := range outs {
		set, err := g.ids(p)
		if err != nil {
			return err
		}
		g.outs = append(g.outs, set)
	}
	return g.read(by)
}

// bindsPath reports whether a condition is one of the path: other indexes rarely have it.
func (g *gatherer) bindsPath(n filter.Node) bool {
	leaf, ok := n.(*filter.Leaf)
	return ok && leaf.Path == g.path
}

// candidates are the plans that bind more than wide ones.
func (g *gatherer) candidates() (list []*Plan) {
	for _, ix := range g.c.Indexes() {
		if p := candidate(g.c, g.q, g.con, ix, false); p != nil && (ix.IsID() && p.points() || !ix.IsID() && !p.wide()) {
			p.con = g.con
			list = append(list, p)
		}
	}
	return list
}

// mostIDs bounds the keys whose ids are in memory. A reduction keeps those of the near side.
func (g *gatherer) mostIDs() int64 {
	if g.path == "_id" && g.reduction != nil {
		return g.c.Count()
	}
	return int64(g.most)
}

// ids are the ids of the keys of a plan that pass its tests.
func (g *gatherer) ids(p *Plan) (*valueSet, error) {
	set := newValueSet()
	in := &gatherer{c: g.c, q: g.q, con: p.con, path: "_id", most: g.most, spend: g.spend}
	if err := in.read(p); err != nil {
		return nil, err
	}
	var r *reduction // The ids are those of the values only if these are ids.
	if g.path == "_id" {
		r = g.reduction
	}
	return set, in.collect(set, r)
}

// collect adds the values to a set, those of a reduction only. nil keeps all.
func (g *gatherer) collect(set *valueSet, r *reduction) error {
	err := g.run(func(key []byte) error {
		if err := r.add(set, key); err != nil {
			return err
		}
		switch {
		case set.len() > g.most:
			return errManyValues
		case r.complete(set):
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// charge adds a cost, and spends it in steps.
func (g *gatherer) charge(cost int64) error {
	if g.pending += cost; g.pending < joinStep {
		return nil
	}
	cost, g.pending = g.pending, 0
	return g.spend(cost)
}

// run calls f with the values.
func (g *gatherer) run(f func(key []byte) error) error {
	if g.base == nil {
		return g.documents(f)
	}
	v := g.c.View()
	defer v.Close()
	if len(g.base.spans) == 0 {
		return nil
	}
	p := g.base
	it, err := v.Iter(p.spans[0].lo, p.spans[len(p.spans)-1].hi)
	if err != nil {
		return err
	}
	grouped := g.at >= 0 && g.at <= p.fixed() && !g.every
	alike := g.alike()
	var found []byte // The key up to a value that is listed already, or to the fields that decide the key.
	passed := 0
	for _, s := range p.spans {
		found = found[:0]
		for ok := it.SeekGE(s.lo); ok && s.contains(it.Key()); {
			if err := g.charge(1); err != nil {
				return err
			}
			key := it.Key()
			if len(found) > 0 && bytes.HasPrefix(key, found) {
				if passed++; passed == nearKeys {
					g.pending += seekCost
					ok = it.SeekGE(successor(found))
				} else {
					ok = it.Next()
				}
				continue
			}
			listed, matches, err := g.list(v, key, f)
			if err != nil {
				return err
			}
			switch {
			case listed && grouped:
				_, end := p.fieldAt(key, g.at)
				found, passed = append(found[:0], key[:end]...), 0
			case alike >= 0 && matches != unknown:
				_, end := p.fieldAt(key, alike)
				found, passed = append(found[:0], key[:end]...), 0
			}
			ok = it.Next()
		}
	}
	return storage.Error(it.Error())
}

// alike is the position of the last field that decides whether a key matches, and which value it has: keys that are equal up to there
// need one look. -1 when each key is another case. Fields of few values, such as states and flows, then cost a seek for each combination:
//
//	ws, state.type, flow_id, deployment_id │ _id
func (g *gatherer) alike() int {
	p := g.base
	if g.every || g.at < 0 || len(g.ins)+len(g.outs) > 0 || p.ix.Multikey() != 0 || !p.exact && (g.tests == nil || !g.tests.whole) {
		return -1
	}
	last := max(g.at, len(p.bounds)-1)
	if g.tests != nil {
		last = max(last, g.tests.fields[len(g.tests.fields)-1].at)
	}
	if last >= len(p.ix.Fields) || names(p.ix.Fields[:last+1], "_id") {
		return -1
	}
	return last
}

// list calls f with the value of a key that matches. matches is what the key tells alone.
func (g *gatherer) list(v *storage.View, key []byte, f func(key []byte) error) (listed bool, matches verdict, err error) {
	switch {
	case g.tests != nil:
		matches = g.tests.judge(key)
	case g.base.exact || len(g.ins)+len(g.outs) > 0:
		matches = holds
	}
	if matches == fails {
		return false, matches, nil
	}
	id := g.base.idOf(key)
	for _, in := range g.ins {
		if !in.has(id) {
			return false, matches, nil
		}
	}
	for _, out := range g.outs {
		if out.has(id) {
			return false, matches, nil
		}
	}
	if matches == holds {
		if g.at < 0 {
			return true, matches, f(id)
		}
		begin, end := g.base.fieldAt(key, g.at)
		return true, matches, f(ascending(key[begin:end], g.base.ix.Fields[g.at].Desc))
	}
	if err := g.charge(docCost); err != nil {
		return false, matches, err
	}
	d, err := v.Doc(id)
	if d == nil || err != nil {
		return false, matches, err
	}
	ok, err := g.q.Filter.With(g.base.con.nodes).Match(d)
	if !ok || err != nil {
		return false, matches, err
	}
	return true, matches, g.listDoc(id, d, f)
}

// listDoc calls f with the values of a document: null stands for a missing one, and an array has those of its elements too.
func (g *gatherer) listDoc(id []byte, d value.Doc, f func(key []byte) error) error {
	if g.path == "_id" {
		return f(id)
	}
	v := d.Get(g.path)
	if v.T == bson.TypeArray {
		for _, e := range v.Doc().Values() {
			if err := f(value.AppendKey(nil, e, false)); err != nil {
				return err
			}
		}
	}
	return f(value.AppendKey(nil, v, false))
}

// documents reads the matching documents.
func (g *gatherer) documents(f func(key []byte) error) error {
	q := g.q
	q.IDs = g.path == "_id"
	p, err := newPlan(g.c, q, g.con)
	if err != nil {
		return err
	}
	if err := g.expectAll(g.con, p); err != nil {
		return err
	}
	r, err := p.Run()
	if err != nil {
		return err
	}
	defer r.Close()
	cost, docs, keys := int64(docCost), int64(0), int64(0)
	if p.readsAll() {
		cost = scanCost
	}
	for {
		row, ok, err := r.Next()
		if !ok || err != nil {
			return err
		}
		if err := g.charge(r.Keys - keys + cost*(r.Docs-docs)); err != nil {
			return err
		}
		keys, docs = r.Keys, r.Docs
		if err := g.listDoc(row.ID, row.Doc, f); err != nil {
			return err
		}
	}
}
