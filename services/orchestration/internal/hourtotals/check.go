package hourtotals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// Check counts a stored hour again. It reports whether its rows differ from its documents although nobody opened it, which is
// a bug, and repairs them if asked to. An hour that is open, wide or expired is not wrong.
func (t *Totals) Check(ctx context.Context, ws uuid.UUID, k *Kind, h Hour, repair bool) (wrong bool, err error) {
	before, err := t.document(ctx, ws, k, h)
	if err != nil || before.rows == nil {
		return false, err
	}
	found, err := t.group(ctx, ws, k, h, h+1)
	if err != nil {
		return false, err
	}
	now, err := t.clock.Now(ctx)
	if err != nil {
		return false, err
	}
	content := found[h]
	if content == nil {
		content = &contents{}
	}
	var rows []Row
	if err := before.each(func(r *Row) { rows = append(rows, *r) }); err != nil {
		return false, err
	}
	if before.expired(now) || len(content.rows) <= maxRows && sameRows(rows, content.rows) {
		return false, nil
	}
	after, err := t.document(ctx, ws, k, h)
	if err != nil || after.openUntil != before.openUntil || after.countedAt != before.countedAt {
		return false, err
	}
	if repair {
		model := t.closing(ws, k, candidate{h, &before}, content, now)
		_, err = t.hours.BulkWrite(ctx, []mongo.WriteModel{model})
	}
	return true, err
}

// document reads an hour document; one that does not exist has no rows.
func (t *Totals) document(ctx context.Context, ws uuid.UUID, k *Kind, h Hour) (document, error) {
	raw, err := t.hours.FindOne(ctx, bson.D{{Key: "_id", Value: idOf(ws, k, h)}}).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return document{}, nil
	}
	if err != nil {
		return document{}, fmt.Errorf("read an hour of %ss: %w", k.Collection, err)
	}
	return readDocument(raw)
}

// sameRows reports whether two lists have the same rows, in any order. Sums of fractions depend on their order in the last digits.
func sameRows(a, b []Row) bool {
	key := func(x, y Row) int {
		return cmp.Or(compareTexts(x.State, y.State), compareTexts(x.Name, y.Name), compareBools(x.Child, y.Child))
	}
	a, b = slices.SortedFunc(slices.Values(a), key), slices.SortedFunc(slices.Values(b), key)
	return slices.EqualFunc(a, b, func(x, y Row) bool {
		near := math.Abs(x.ran-y.ran) <= 1e-6*max(1, math.Abs(x.ran))
		x.ran, y.ran = 0, 0
		return near && key(x, y) == 0 && x.Count == y.Count && x.sums == y.sums
	})
}

func compareTexts(a, b *string) int {
	switch {
	case a == nil || b == nil:
		return compareBools(a != nil, b != nil)
	default:
		return cmp.Compare(*a, *b)
	}
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// StoredHour names a stored hour.
type StoredHour struct {
	Workspace uuid.UUID
	Kind      *Kind
	Start     time.Time
}

// CheckAll checks all stored hours from a time on, and calls differs with each one that is wrong. It returns the number of checked hours.
func (t *Totals) CheckAll(ctx context.Context, since time.Time, repair bool, differs func(StoredHour) error) (checked int, err error) {
	workspaces, err := t.workspaces(ctx)
	if err != nil {
		return 0, err
	}
	first := max(firstHour, HourOf(since.UnixMicro()))
	for _, ws := range workspaces {
		for _, k := range kinds {
			hours, err := t.documents(ctx, ws, k, first, lastHour)
			if err != nil {
				return checked, err
			}
			for _, h := range slices.Sorted(maps.Keys(hours)) {
				if d := hours[h]; d.countedAt == 0 || d.wide {
					continue
				}
				checked++
				wrong, err := t.Check(ctx, ws, k, h, repair)
				if err == nil && wrong {
					err = differs(StoredHour{ws, k, time.UnixMicro(h.Start())})
				}
				if err != nil {
					return checked, err
				}
			}
		}
	}
	return checked, nil
}
