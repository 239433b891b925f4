package hourtotals

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/isolation"
	"github.com/orch-project/orch/pkg/telemetry"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

const (
	// passLimit bounds a pass of the keeper. The next one goes on with the next workspace.
	passLimit = 30 * time.Second
	// documentsPerSecond bounds the rate at which the keeper reads documents.
	documentsPerSecond = 20_000
	// hoursAtOnce bounds the hours of one count.
	hoursAtOnce = 100
	// forgottenAfter is the age of an opening from which an hour before all documents is deleted.
	forgottenAfter = time.Hour
)

// Keeper counts the hours that are over, the newest of each workspace first. It also counts one stored hour again in each pass.
type Keeper struct {
	totals  *Totals
	log     *slog.Logger
	passes  Passes
	repairs prometheus.Counter

	after uuid.UUID // The workspace at which the last pass ended.
}

// Passes begins the record of a pass whose workspaces may fail.
type Passes interface {
	Pass(ctx context.Context, name string) *isolation.Pass
}

// NewKeeper returns the keeper of the totals.
func NewKeeper(t *Totals, log *slog.Logger, registry prometheus.Registerer, passes Passes) *Keeper {
	return &Keeper{totals: t, log: log, passes: passes, repairs: telemetry.Register(registry, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "orch_hour_totals_repaired_total", Help: "Stored hours whose counts differed from their documents, and were repaired.",
	}))}
}

// Pass counts hours for at most passLimit, and returns how many it stored.
func (k *Keeper) Pass(ctx context.Context) (stored int, err error) {
	t := k.totals
	now, err := t.clock.Now(ctx)
	if err != nil {
		return 0, fmt.Errorf("count hours: %w", err)
	}
	if !t.trusts(now) {
		return 0, nil
	}
	workspaces, err := t.workspaces(ctx)
	if err != nil {
		return 0, err
	}
	ends := time.Now().Add(passLimit)
	pass := k.passes.Pass(ctx, "count hours of workspaces")
	var sample sampled
	for _, ws := range from(workspaces, k.after) {
		for _, kind := range kinds {
			n, err := t.keep(ctx, ws, kind, ends, &sample)
			stored += n
			if pass.Record(err, "workspace", ws) != nil {
				return stored, pass.Err()
			}
		}
		k.after = ws
		if time.Now().After(ends) {
			break
		}
	}
	if sample.kind != nil {
		if pass.Record(k.check(ctx, sample), "workspace", sample.ws) != nil {
			return stored, pass.Err()
		}
	}
	return stored, pass.Err()
}

// check counts a stored hour again, and repairs it.
func (k *Keeper) check(ctx context.Context, s sampled) error {
	wrong, err := k.totals.Check(ctx, s.ws, s.kind, s.hour, true)
	if wrong {
		k.repairs.Inc()
		k.log.ErrorContext(ctx, "counts of an hour differed from its documents and were repaired", "workspace", s.ws, "collection", s.kind.Collection, "hour", time.UnixMicro(s.hour.Start()).UTC())
	}
	return err
}

// from returns sorted workspaces in order, those after one first.
func from(all []uuid.UUID, after uuid.UUID) []uuid.UUID {
	next, _ := slices.BinarySearchFunc(all, after, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	if next < len(all) && all[next] == after {
		next++
	}
	return append(slices.Clone(all[next:]), all[:next]...)
}

// workspaces returns the workspaces with documents, sorted.
func (t *Totals) workspaces(ctx context.Context) ([]uuid.UUID, error) {
	var all []uuid.UUID
	for _, k := range kinds {
		var ids []bson.Binary
		if err := t.db.Collection(string(k.Collection)).Distinct(ctx, "ws", bson.D{}).Decode(&ids); err != nil {
			return nil, fmt.Errorf("find workspaces of %ss: %w", k.Collection, err)
		}
		for _, id := range ids {
			ws, err := uuid.FromBytes(id.Data)
			if err != nil {
				return nil, fmt.Errorf("find workspaces of %ss: %w", k.Collection, err)
			}
			all = append(all, ws)
		}
	}
	slices.SortFunc(all, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(all), nil
}

// sampled is a random stored hour of those that a pass saw.
type sampled struct {
	ws   uuid.UUID
	kind *Kind
	hour Hour
	seen int
}

func (s *sampled) offer(ws uuid.UUID, k *Kind, h Hour) {
	if s.seen++; rand.IntN(s.seen) == 0 {
		s.ws, s.kind, s.hour = ws, k, h
	}
}

// keep counts the hours of a workspace that have no rows, until a time. It deletes those before all documents.
func (t *Totals) keep(ctx context.Context, ws uuid.UUID, k *Kind, ends time.Time, sample *sampled) (stored int, err error) {
	now, err := t.clock.Now(ctx)
	if err != nil {
		return 0, err
	}
	first, ok, err := t.earliest(ctx, ws, k)
	if err != nil || !ok {
		return 0, err
	}
	if err := t.forget(ctx, ws, k, first, now); err != nil {
		return 0, err
	}
	until := HourOf(now.Add(-settledAfter).UnixMicro())
	hours, err := t.documents(ctx, ws, k, max(first, until-maxHours), until)
	if err != nil {
		return 0, err
	}
	var batch []candidate // Descending.
	flush := func() error {
		for len(batch) > 0 {
			some, n, err := t.affordable(ctx, ws, k, batch)
			if err != nil {
				return err
			}
			ascending := slices.Clone(batch[:some])
			slices.Reverse(ascending)
			done, err := t.countHours(ctx, ws, k, ascending, now)
			stored += done
			if err != nil {
				return err
			}
			batch = batch[some:]
			if !clock.Pause(ctx, time.Duration(n)*time.Second/documentsPerSecond) {
				return ctx.Err()
			}
		}
		return nil
	}
	for h := until - 1; h >= max(first, until-maxHours) && time.Now().Before(ends); h-- {
		d := hours[h]
		wanted := d == nil || (d.countedAt == 0 || d.expired(now)) && d.mayCount(now)
		if wanted {
			batch = append(batch, candidate{h, d})
		} else if d.countedAt != 0 && !d.wide {
			sample.offer(ws, k, h)
		}
		if !wanted || len(batch) == hoursAtOnce {
			if err := flush(); err != nil {
				return stored, err
			}
		}
	}
	return stored, flush()
}

// affordable returns how many of the first hours of a descending batch to count at once, and the number of their documents.
func (t *Totals) affordable(ctx context.Context, ws uuid.UUID, k *Kind, batch []candidate) (hours int, documents int64, err error) {
	for hours = len(batch); ; hours = (hours + 1) / 2 {
		window := Window{batch[hours-1].hour.Start(), (batch[0].hour + 1).Start()}
		documents, err = t.live.Count(ctx, k.Collection, query.Scope(ws, bson.D{{Key: k.Time, Value: window.filter()}}))
		if err != nil || documents <= documentsPerSecond || hours == 1 {
			return hours, documents, err
		}
	}
}

// earliest returns the hour of the earliest document of a workspace. ok is false without a document.
func (t *Totals) earliest(ctx context.Context, ws uuid.UUID, k *Kind) (h Hour, ok bool, err error) {
	filter := query.Scope(ws, bson.D{{Key: k.Time, Value: bson.D{{Key: "$gte", Value: always.From}}}})
	cursor, err := query.Find(ctx, t.db.Collection(string(k.Collection)), filter, options.Find().SetLimit(1).
		SetSort(bson.D{{Key: k.Time, Value: 1}, {Key: "_id", Value: 1}}).SetProjection(bson.D{{Key: k.Time, Value: 1}, {Key: "deleted_at", Value: 1}}))
	if err != nil {
		return 0, false, fmt.Errorf("find the earliest %s: %w", k.Collection, err)
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	if !cursor.Next(ctx) {
		return 0, false, cursor.Err()
	}
	if !cursor.Current.Lookup("deleted_at").IsZero() { // A deleted document has left for a workspace of its own id.
		return 0, false, nil
	}
	at, ok := cursor.Current.Lookup(k.Time).AsInt64OK()
	return HourOf(at), ok, nil
}

// forget deletes the hours before all documents, such as those that retention has emptied.
func (t *Totals) forget(ctx context.Context, ws uuid.UUID, k *Kind, first Hour, now time.Time) error {
	old := bson.D{{Key: "$not", Value: bson.D{{Key: "$gte", Value: now.Add(-forgottenAfter).UnixMicro()}}}}
	_, err := t.hours.DeleteMany(ctx, bson.D{{Key: "_id", Value: idRange(ws, k, firstHour, first)}, {Key: fieldOpenUntil, Value: old}})
	if err != nil {
		return fmt.Errorf("delete early hours of %ss: %w", k.Collection, err)
	}
	return nil
}

// documents reads hour documents without their rows.
func (t *Totals) documents(ctx context.Context, ws uuid.UUID, k *Kind, first, until Hour) (map[Hour]*document, error) {
	cursor, err := query.Find(ctx, t.hours, bson.D{{Key: "_id", Value: idRange(ws, k, first, until)}},
		options.Find().SetProjection(bson.D{{Key: fieldRows, Value: 0}}))
	if err != nil {
		return nil, fmt.Errorf("read hours of %ss: %w", k.Collection, err)
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	found := map[Hour]*document{}
	for cursor.Next(ctx) {
		d, err := readDocument(cursor.Current)
		if err != nil {
			return nil, err
		}
		found[d.hour] = &d
	}
	if err := cursor.Err(); err != nil {
		return nil, fmt.Errorf("read hours of %ss: %w", k.Collection, err)
	}
	return found, nil
}
