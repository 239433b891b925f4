package plan

import (
	"bytes"
	"errors"
	"iter"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

const (
	// eagerCost is the cost of gathering that precedes the choice of a plan, in units of reading one key: few values become points.
	// Gathering goes on while its whole cost is known, and small beside the near side's.
	eagerCost = 1536
	// eagerShare is the part of the cost of a reading of the whole near side that gathering may cost before.
	eagerShare = 2
	// mostPoints is the number of values that become points of the near side's indexes. More do if pointShare times as many documents
	// may refer to them.
	mostPoints = 1000
	pointShare = 32
	// freeProbes is the cost of the probes that a page may make before values are gathered beside them.
	freeProbes = 200 * docCost
	// gatherShare is the cost of gathering beside that of the probes. Neither is known before it ends. It is the inverse while the
	// probes cost less than expected.
	gatherShare = 3
	// maxJoined bounds the values that a semi-join has in memory: 24 to 48 bytes each.
	maxJoined = 4 << 20
	// maxProbed bounds the values whose probes are remembered.
	maxProbed = 1 << 16
	// joinStep is the cost after which gathering pauses.
	joinStep = 1024
)

// semiJoin tells which values of the near side have a related document. It begins with probes, which suit a page that many documents
// match. Beside them it gathers the values of the far side, so the total cost is within a small factor of the cheaper way:
//
//	probe      seek the value in the far side, and test the keys or documents behind it
//	gather     the values of all matches of the far side ──▶ set
//	existing   the far side's ids, without those of a few documents that do not match ──▶ seek the id
//
// Both sets have only values of the near side where it has fewer, see reduction.
// It belongs to one command and one goroutine.
type semiJoin struct {
	rel  *filter.Related
	c    *storage.Reader // The join closes it. nil: the far side has no documents.
	q    Query           // Of the far side.
	con  *conjunction
	most int // Bounds the values in memory.

	asked   bool
	last    []byte // The last value, and whether it has a related document.
	lastHas bool

	reduction *reduction // nil for a near side that does not exist.
	late      bool       // A value of the near side is probed that appeared after the reduction.

	set      *valueSet // All values, once they are gathered.
	existing *existing
	expected int64 // About as many values will be asked for; 0 when that is not known.

	begun    bool
	resume   func() (int64, error, bool) // Continues gathering; nil before and after.
	stop     func()
	partial  *valueSet // What is gathered so far.
	gathered int64     // The cost of gathering so far.
	estimate int64     // The cost of gathering in all, once it is planned; -1 when it is not known.
	hopeless bool      // The values are too many.

	probed  [2]*valueSet // The values without and with a related document.
	probes  int64        // The cost of the probes so far.
	view    *storage.View
	groups  *Plan // Its keys are grouped by the values; nil when ids are looked up, or no index has them.
	tests   *keyTests
	it      *pebble.Iterator
	back    *pebble.Iterator // Reads a group from its end; nil until one has several keys.
	seek    []byte
	planned bool
	reads   int
	failed  error
}

// Joins are the relations of a query's filter, bound for one execution.
type Joins struct {
	all          []*semiJoin
	most         int // Bounds the values that each of them has in memory.
	reducedAfter int // See reduction.
}

// Close ends the reading of the far sides. nil has none.
func (j *Joins) Close() error {
	if j == nil {
		return nil
	}
	var err error
	for _, s := range slices.Backward(j.all) { // The far sides of far sides first.
		err = errors.Join(err, s.close())
	}
	return err
}

// Bind prepares the relations of the query's filter. A relation with few values becomes a condition of points. The caller closes the
// joins behind the execution; they are nil for a filter without relations. find opens a collection; nil for one that does not exist.
func Bind(c *storage.Reader, q *Query, find func(name string) (*storage.Reader, error)) (*Joins, error) {
	return (&Joins{most: maxJoined, reducedAfter: reducedAfter}).bindAll(c, q, find)
}

// bindAll is Bind within the bounds of j.
func (j *Joins) bindAll(c *storage.Reader, q *Query, find func(name string) (*storage.Reader, error)) (*Joins, error) {
	bound := false
	defer func() {
		if !bound {
			_ = j.Close() // The command fails anyway.
		}
	}()
	f, err := j.bind(c, q, q.Filter, find)
	if err != nil {
		return nil, err
	}
	if bound = true; len(j.all) == 0 {
		return nil, nil
	}
	q.Filter = f
	return j, nil
}

// bind binds the relations of a filter of a collection, the far sides first, and returns the filter with points. q is the query whose
// filter has them, on its near or on a far side.
func (j *Joins) bind(
	c *storage.Reader, q *Query, f *filter.Filter, find func(name string) (*storage.Reader, error),
) (_ *filter.Filter, err error) {
	err = f.Relations(func(rel *filter.Related) error {
		far, err := find(rel.From)
		if err != nil {
			return err
		}
		s := &semiJoin{rel: rel, c: far, most: j.most}
		j.all = append(j.all, s)
		if rel.Far, err = j.bind(far, &Query{Expired: q.Expired}, rel.Far, find); err != nil {
			return err
		}
		s.q = Query{Filter: rel.Far, Expired: q.Expired}
		if c != nil {
			s.reduction = &reduction{near: c, q: Query{Expired: q.Expired}, filter: f, path: rel.Path, most: j.most, after: j.reducedAfter}
		}
		rel.Bind(s)
		return nil
	})
	if err != nil || !slices.ContainsFunc(f.Conjuncts(), func(n filter.Node) bool { return relationOf(n) != nil }) {
		return f, err
	}
	budget := int64(eagerCost)
	if c != nil && q.Filter == f {
		if budget, err = eagerBudget(c, *q); err != nil {
			return nil, err
		}
	}
	nodes := slices.Clone(f.Conjuncts())
	for i, n := range nodes {
		if rel, ok := n.(*filter.Related); ok && c != nil {
			leaf, err := joinOf(rel).references(c, Query{Expired: q.Expired}, conjoin(f))
			if err != nil {
				return nil, err
			}
			if leaf != nil {
				nodes[i] = leaf
				continue
			}
		}
		if nodes[i], err = pointsOf(c, n, budget); err != nil {
			return nil, err
		}
	}
	return f.With(nodes), nil
}

// eagerBudget is what gathering for a query may cost before it has a plan, if its whole cost is known. A page costs some documents in any
// case, and another reading the keys of the near side.
func eagerBudget(c *storage.Reader, q Query) (int64, error) {
	near, err := atMost(c, q, conjoin(q.Filter))
	if err != nil {
		return 0, err
	}
	budget := min(near*docCost, freeProbes)
	if q.Limit == 0 {
		budget = max(budget, near/eagerShare)
	}
	return max(budget, eagerCost), nil
}

// atMost is a number that the matches of a conjunction do not exceed, as far as counters and lists tell.
func atMost(c *storage.Reader, q Query, con *conjunction) (int64, error) {
	most := c.Count()
	for _, ix := range c.Indexes() {
		p := candidate(c, q, con, ix, true)
		if p == nil {
			continue
		}
		if p.looksUp() {
			most = min(most, int64(len(p.spans)))
			continue
		}
		n, ok, err := p.counted()
		if err != nil {
			return 0, err
		}
		if ok {
			most = min(most, n)
		}
	}
	return most, nil
}

// pointsOf returns the condition that replaces a relation, or its negation, if its values are few, and gathered within a budget.
func pointsOf(c *storage.Reader, n filter.Node, budget int64) (filter.Node, error) {
	rel := relationOf(n)
	if rel == nil {
		return n, nil
	}
	if err := joinOf(rel).ahead(budget); err != nil {
		return nil, err
	}
	_, negated := n.(filter.Not)
	leaf := joinOf(rel).points(c, negated)
	switch {
	case leaf == nil:
		return n, nil
	case negated:
		return filter.Not{Node: leaf}, nil
	}
	return leaf, nil
}

// relationsOf lists the relations of some conditions.
func relationsOf(nodes filter.And) (list []*filter.Related) {
	_ = (&filter.Filter{}).With(nodes).Relations(func(rel *filter.Related) error { // It has no error.
		list = append(list, rel)
		return nil
	})
	return list
}

// joinOf is the semi-join of a bound relation.
func joinOf(rel *filter.Related) *semiJoin {
	s, _ := rel.Values().(*semiJoin) // Bind has set it.
	return s
}

// ahead gathers the values before there is a plan. Once the cost in all is known, it ends them if that is within a budget.
func (s *semiJoin) ahead(budget int64) error {
	for most := max(eagerCost, budget/eagerShare); !s.decided() && !s.hopeless && s.estimate == 0 && s.gathered < most; {
		if err := s.gather(s.gathered + 1); err != nil {
			return err
		}
	}
	if s.estimate > budget || s.estimate < 0 {
		return s.gather(eagerCost)
	}
	if s.estimate == 0 {
		return nil
	}
	return s.gather(s.gathered + 2*s.estimate) // Other relations may cost too.
}

// points is the condition that the near side has one of the values; nil when they are many, or not gathered. Its negation would be wrong
// for values that the near side has after a reduction.
func (s *semiJoin) points(near *storage.Reader, negated bool) *filter.Leaf {
	if s.c == nil {
		return filter.InValues(s.rel.Path, nil)
	}
	if s.set == nil || negated && s.reduction.reduced() || s.set.len() > mostPoints && near != nil && int64(s.set.len()) > min(near.Count()/pointShare, maxSpans) {
		return nil
	}
	values, decoded := make([]value.Value, 0, s.set.len()), true
	s.set.each(func(key []byte) {
		v, _, ok := value.ReadKey(key, false, nil)
		decoded = decoded && ok && (v.T == bson.TypeBinary || v.T == bson.TypeString)
		values = append(values, v)
	})
	if !decoded {
		return nil
	}
	return filter.InValues(s.rel.Path, values)
}

// Err implements filter.Values.
func (s *semiJoin) Err() error { return s.failed }

// Has implements filter.Values.
func (s *semiJoin) Has(key []byte) (bool, error) {
	if s.c == nil || s.failed != nil {
		return false, s.failed
	}
	if s.asked && bytes.Equal(s.last, key) {
		return s.lastHas, nil
	}
	has, err := s.has(key)
	if err != nil {
		s.failed = err
		return false, err
	}
	s.asked, s.last, s.lastHas = true, append(s.last[:0], key...), has
	return has, nil
}

func (s *semiJoin) has(key []byte) (bool, error) {
	switch {
	case s.decided() && s.reduction.unknown(key):
		s.late = true
		has, _, err := s.probe(key)
		s.late = false
		return has, err
	case s.set != nil:
		return s.set.has(key), nil
	case s.existing != nil:
		return s.existing.has(key)
	case s.partial != nil && s.partial.has(key):
		return true, nil
	}
	for i, known := range s.probed {
		if known != nil && known.has(key) {
			return i == 1, nil
		}
	}
	has, known, err := s.probe(key)
	if err != nil {
		return false, err
	}
	if !known {
		return s.has(key) // The values are gathered by now.
	}
	i := 0
	if has {
		i = 1
	}
	if s.probed[i] == nil || s.probed[i].len() == maxProbed {
		s.probed[i] = newValueSet()
	}
	s.probed[i].add(key)
	return has, nil
}

// decided reports whether all values are known without probes.
func (s *semiJoin) decided() bool { return s.c == nil || s.set != nil || s.existing != nil }

// superseded reports whether the values were gathered while a probe ran, so it need not end.
func (s *semiJoin) superseded() bool { return s.decided() && !s.late }

// charge adds to the cost of the probes, and gathers values at a multiple of this cost.
func (s *semiJoin) charge(cost int64) error {
	if s.reads++; s.reads%checkedDocs == 0 && s.q.Expired != nil {
		if err := s.q.Expired(); err != nil {
			return err
		}
	}
	if s.probes += cost; s.probes < freeProbes {
		return nil
	}
	if s.probes < s.expected*docCost {
		return s.gather((s.probes - freeProbes) / gatherShare) // The probes are known to end.
	}
	return s.gather(gatherShare * (s.probes - freeProbes))
}

// probeCost is the cost of the probe of a value, which reads at most a document as a rule.
func (s *semiJoin) probeCost() int64 {
	if s.rel.Foreign == "_id" {
		return docCostIn(s.c.Count())
	}
	return docCost
}

// left is at most the cost to tell which of n values have a related document, as far as it is known.
func (s *semiJoin) left(n int64) int64 {
	if s.decided() {
		return 0
	}
	gather := s.c.Count()
	if s.estimate > 0 {
		gather = s.estimate
	}
	return min(n*s.probeCost(), max(0, gather-s.gathered))
}

// expect announces the number of values that will be asked for. The values are gathered at once where that costs less than probes. While
// its cost is not known, it counts as that of all keys of the far side.
func (s *semiJoin) expect(n int64) error {
	if s.decided() {
		return nil
	}
	s.expected = max(s.expected, n)
	probes := n * s.probeCost()
	switch {
	case probes >= s.c.Count()*(1+memberCost):
		return s.gather(-1)
	case probes < freeProbes:
		return nil
	}
	if err := s.gather(s.gathered + 1); err != nil || s.estimate <= 0 || probes < s.estimate {
		return err
	}
	return s.gather(-1)
}

// errPaused ends gathering when nobody needs it any more.
var errPaused = errors.New("gathering has stopped")

// errManyValues ends gathering of too many values.
var errManyValues = mongoerr.New(mongoerr.SortMemory, "a $lookup has more than %d values, and no index to look them up", maxJoined)

// gather continues to gather values until it has cost so much in all; a negative cost has no bound.
func (s *semiJoin) gather(cost int64) error {
	if s.decided() || s.hopeless {
		return nil
	}
	if !s.begun {
		s.begun, s.partial = true, newValueSet()
		s.resume, s.stop = iter.Pull2(s.steps())
	}
	for cost < 0 || s.gathered < cost {
		step, err, more := s.resume()
		if errors.Is(err, errManyValues) {
			s.hopeless, s.partial = true, nil
			break
		}
		if err != nil {
			return err
		}
		if !more {
			break
		}
		s.gathered += step
	}
	if s.hopeless || s.decided() {
		s.stop()
		s.partial, s.probed = nil, [2]*valueSet{}
	}
	return nil
}

// steps gathers the values, and yields the cost of each step.
func (s *semiJoin) steps() iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		stopped := false
		g := &gatherer{c: s.c, q: s.q, path: s.rel.Foreign, most: s.most, expected: s.expected, spend: func(cost int64) error {
			if s.q.Expired != nil {
				if err := s.q.Expired(); err != nil {
					return err
				}
			}
			if stopped = !yield(cost, nil); stopped {
				return errPaused
			}
			return nil
		}}
		if err := s.reduce(g); err != nil {
			yield(0, err)
			return
		}
		err := g.prepare()
		s.estimate = g.estimate
		if err == nil && g.existing != nil {
			s.existing, err = g.existing, g.existing.open()
			if err == nil {
				return
			}
			err, s.existing = errors.Join(err, s.existing.close()), nil
		}
		if err == nil {
			err = g.collect(s.partial, g.reduction)
		}
		switch {
		case stopped:
		case err != nil:
			yield(0, err)
		default:
			s.set = s.partial
		}
	}
}

// reduce sets the reduction of a gatherer. It needs probes, for values that the near side has only later.
func (s *semiJoin) reduce(g *gatherer) error {
	if s.reduction == nil {
		return nil
	}
	if err := s.prepareProbes(); err != nil {
		return err
	}
	if s.rel.Foreign == "_id" || s.groups != nil {
		g.reduction, s.reduction.spend = s.reduction, g.spend
	}
	return nil
}

// probe looks a value up in the far side. known is false when the values were gathered meanwhile.
func (s *semiJoin) probe(key []byte) (has, known bool, err error) {
	if err := s.prepareProbes(); err != nil {
		return false, false, err
	}
	switch {
	case s.rel.Foreign == "_id":
		if err := s.charge(docCost); err != nil || s.superseded() {
			return false, false, err
		}
		has, err = s.matches(key)
		return has, true, err
	case s.groups != nil:
		return s.probeGroup(key)
	}
	if err := s.gather(-1); err != nil {
		return false, false, err
	}
	if s.hopeless {
		return false, false, errManyValues
	}
	return false, false, nil
}

// prepareProbes opens what probes read, once.
func (s *semiJoin) prepareProbes() (err error) {
	if s.planned {
		return nil
	}
	s.planned = true
	s.con = conjoin(s.q.Filter)
	if s.rel.Foreign != "_id" {
		p := grouping(s.c, s.q, s.con, s.rel.Foreign)
		if p != nil && len(p.spans) == 1 && len(p.bounds) <= p.position(s.rel.Foreign)+1 && p.ix.Multikey() == 0 {
			s.groups, s.tests = p, p.keyTests(s.con)
		}
	}
	s.view = s.c.View()
	if s.groups == nil {
		return nil
	}
	s.it, err = s.view.Iter(s.groups.spans[0].lo, s.groups.spans[0].hi)
	return err
}

// matches reports whether the document with an encoded id matches.
func (s *semiJoin) matches(id []byte) (bool, error) {
	d, err := s.view.Doc(id)
	if d == nil || err != nil {
		return false, err
	}
	return s.q.Filter.Match(d)
}

// probeGroup tests the keys with a value, and their documents where keys do not decide. It reads them from both ends in turns, because
// conditions on times often hold for the newest or the oldest documents, see firstMatch.
func (s *semiJoin) probeGroup(key []byte) (has, known bool, err error) {
	p, at := s.groups, s.groups.position(s.rel.Foreign)
	s.seek = append(s.seek[:0], p.spans[0].lo[:p.prefixBefore(at)]...)
	s.seek = append(s.seek, ascending(key, p.ix.Fields[at].Desc)...)
	if err := s.charge(seekCost); err != nil || s.superseded() {
		return false, false, err
	}
	for ok, both := s.it.SeekGE(s.seek), false; ok && bytes.HasPrefix(s.it.Key(), s.seek); {
		if has, known, err = s.probeKey(s.it.Key()); has || !known || err != nil {
			return has, known, err
		}
		if ok = s.it.Next(); !ok || !bytes.HasPrefix(s.it.Key(), s.seek) {
			break
		}
		if both {
			ok = s.back.Prev()
		} else {
			both = true
			if ok, err = s.seekBack(); err != nil {
				return false, false, err
			}
		}
		order := 1
		if ok {
			order = bytes.Compare(s.back.Key(), s.it.Key())
		}
		if !ok || order < 0 {
			break // All keys are tested.
		}
		if has, known, err = s.probeKey(s.back.Key()); has || !known || err != nil {
			return has, known, err
		}
		if order == 0 {
			break
		}
	}
	if s.back != nil {
		err = storage.Error(s.back.Error())
	}
	return false, true, errors.Join(storage.Error(s.it.Error()), err)
}

// seekBack moves the second iterator to the last key with the value of seek.
func (s *semiJoin) seekBack() (ok bool, err error) {
	if s.back == nil {
		span := s.groups.spans[0]
		if s.back, err = s.view.Iter(span.lo, span.hi); err != nil {
			return false, err
		}
	}
	s.probes += seekCost
	if end := successor(s.seek); end != nil {
		return s.back.SeekLT(end), nil
	}
	return s.back.Last(), nil
}

// probeKey tests a key of a group, and its document if the key does not decide. known is false when the values were gathered meanwhile.
func (s *semiJoin) probeKey(key []byte) (has, known bool, err error) {
	if s.groups.exact {
		return true, true, nil
	}
	matches := unknown
	if s.tests != nil {
		matches = s.tests.judge(key)
	}
	cost := int64(1)
	if matches == holds && !s.tests.whole || matches == unknown {
		cost = docCost
	}
	if err := s.charge(cost); err != nil || s.superseded() {
		return false, false, err
	}
	switch {
	case matches == fails:
		return false, true, nil
	case cost == 1:
		return true, true, nil
	}
	has, err = s.matches(storage.EntryID(key))
	return has, true, err
}

// prefixBefore is the length of the header and the fields before a position, in the first key of the plan's only span.
func (p *Plan) prefixBefore(at int) int {
	n := storage.IndexHeader
	for i := range at {
		n += value.KeyLen(p.spans[0].lo[n:], p.ix.Fields[i].Desc)
	}
	return n
}

func (s *semiJoin) close() error {
	if s.stop != nil {
		s.stop()
	}
	var err error
	if s.view != nil {
		err = s.view.Close()
	}
	if s.existing != nil {
		err = errors.Join(err, s.existing.close())
	}
	if s.c != nil {
		err = errors.Join(err, s.c.Close())
	}
	return err
}
