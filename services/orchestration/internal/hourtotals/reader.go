package hourtotals

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"golang.org/x/sync/errgroup"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

const (
	// maxHours bounds the hour documents of one read: 2.3 years. Earlier hours are counted by their documents.
	maxHours = 20_000
	// leastHours is the number of whole hours from which reading hour documents is worth a command.
	leastHours = 2
	// fewDocuments is the number of documents that cost as much as one more command. Hours with fewer are counted with the gaps around
	// them.
	fewDocuments = 500
	// gapsAtOnce bounds the concurrent counts of one request.
	gapsAtOnce = 8
)

// counted is an hour with rows.
type counted struct {
	hour Hour
	rows []Row // The matching rows.
	n    int64
}

// Count counts the matching documents. It includes every write that was acknowledged before, and none that began after it ended.
func (t *Totals) Count(ctx context.Context, q Query) (int64, error) {
	hours, err := t.read(ctx, &q, nil)
	if err != nil {
		return 0, err
	}
	hours, gaps := gapsAround(q.window, hours)
	var total int64
	for _, h := range hours {
		total += h.n
	}
	filters := make([]bson.D, 0, len(gaps)+1)
	for _, gap := range gaps {
		filters = append(filters, q.filter(gap))
	}
	if len(hours) > 0 && !q.timed {
		filters = append(filters, append(q.filter(always), bson.E{Key: q.kind.Time, Value: nil}))
	}
	counts := make([]int64, len(filters))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(gapsAtOnce)
	for i, filter := range filters {
		group.Go(func() (err error) {
			counts[i], err = t.live.Count(ctx, q.kind.Collection, filter)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	for _, n := range counts {
		total += n
	}
	return total, nil
}

// Visit calls visit with the matching rows of counted hours whose sums hold at a moment. It returns the windows of the documents
// that were not visited, in order. Documents without the time belong to none.
func (t *Totals) Visit(ctx context.Context, q Query, now time.Time, visit func(h Hour, r Row)) ([]Window, error) {
	hours, err := t.read(ctx, &q, func(h Hour, r *Row) bool { return r.knows(h, now) })
	if err != nil {
		return nil, err
	}
	hours, gaps := gapsAround(q.window, hours)
	for _, h := range hours {
		for _, r := range h.rows {
			visit(h.hour, r)
		}
	}
	return gaps, nil
}

// read reads the counted hours within the window, in order. usable may be nil; with it, an hour counts only if all its matching
// rows are usable, and keeps them.
func (t *Totals) read(ctx context.Context, q *Query, usable func(h Hour, r *Row) bool) ([]counted, error) {
	now, err := t.clock.Now(ctx)
	if err != nil {
		return nil, fmt.Errorf("read hours of %ss: %w", q.kind.Collection, err)
	}
	last := min(HourOf(now.UnixMicro()), HourOf(q.window.Until)) // Exclusive.
	first := last - maxHours
	if from := q.window.From; from > first.Start() {
		if first = HourOf(from); first.Start() < from {
			first++
		}
	}
	if !t.trusts(now) || last-first < leastHours {
		return nil, nil
	}
	cursor, err := query.Find(ctx, t.hours, bson.D{{Key: "_id", Value: idRange(q.ws, q.kind, first, last)}},
		options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}).SetBatchSize(maxHours))
	if err != nil {
		return nil, fmt.Errorf("read hours of %ss: %w", q.kind.Collection, err)
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	var hours []counted
	for cursor.Next(ctx) {
		d, err := readDocument(cursor.Current)
		if err != nil {
			return nil, err
		}
		if !d.counted(now) {
			continue
		}
		h := counted{hour: d.hour}
		usableHour := true
		err = d.each(func(r *Row) {
			if !q.matches(r) {
				return
			}
			h.n += r.Count
			if usable != nil {
				h.rows = append(h.rows, *r)
				usableHour = usableHour && usable(d.hour, r)
			}
		})
		if err != nil {
			return nil, err
		}
		if usableHour {
			hours = append(hours, h)
		}
	}
	if err := cursor.Err(); err != nil {
		return nil, fmt.Errorf("read hours of %ss: %w", q.kind.Collection, err)
	}
	return hours, nil
}

// gapsAround returns the hours to use, and the windows around them. It joins two gaps when the hours between them have so few
// documents that counting them again costs less than one more command.
func gapsAround(window Window, hours []counted) (used []counted, gaps []Window) {
	from := window.From // The end of what is covered.
	for i := 0; i < len(hours); {
		end, n := i, int64(0)
		for end < len(hours) && hours[end].hour == hours[i].hour+Hour(end-i) {
			n += hours[end].n
			end++
		}
		start, until := hours[i].hour.Start(), (hours[end-1].hour + 1).Start()
		between := start > from && until < window.Until
		if between && n < fewDocuments {
			i = end // The gap goes on.
			continue
		}
		if start > from {
			gaps = append(gaps, Window{from, start})
		}
		used, from, i = append(used, hours[i:end]...), until, end
	}
	if from < window.Until {
		gaps = append(gaps, Window{from, window.Until})
	}
	return used, gaps
}

// document is a stored hour.
type document struct {
	hour      Hour
	rows      bson.RawArray // Nil for an hour without rows.
	wide      bool
	openUntil int64
	countedAt int64
	expires   time.Time
}

func readDocument(raw bson.Raw) (d document, err error) {
	elements, err := raw.Elements()
	if err != nil {
		return d, fmt.Errorf("read an hour: %w", err)
	}
	for _, e := range elements {
		switch v := e.Value(); e.Key() {
		case "_id":
			if d.hour, err = hourOfID(v); err != nil {
				return d, fmt.Errorf("read an hour: %w", err)
			}
		case fieldRows:
			d.rows, _ = v.ArrayOK()
		case fieldWide:
			d.wide, _ = v.BooleanOK()
		case fieldOpenUntil:
			d.openUntil, _ = v.AsInt64OK()
		case fieldCounted:
			d.countedAt, _ = v.AsInt64OK()
		case fieldExpires:
			if at, ok := v.DateTimeOK(); ok {
				d.expires = time.UnixMilli(at)
			}
		}
	}
	return d, nil
}

// counted reports whether the rows hold: they exist, and the database has not begun to delete their documents.
func (d document) counted(now time.Time) bool {
	return d.rows != nil && !d.expired(now)
}

// expired reports whether the database may delete documents of the hour.
func (d document) expired(now time.Time) bool { return !d.expires.IsZero() && !now.Before(d.expires) }

// each calls visit with each row.
func (d document) each(visit func(r *Row)) error {
	values, err := d.rows.Values()
	if err != nil {
		return fmt.Errorf("read the rows of an hour: %w", err)
	}
	for _, v := range values {
		doc, ok := v.DocumentOK()
		if !ok {
			continue
		}
		r, err := readRow(doc)
		if err != nil {
			return err
		}
		visit(&r)
	}
	return nil
}
