package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
)

// The bounds of a backtest.
const (
	maxBacktestEvents  = 100_000
	maxBacktestBuckets = 20_000
	// maxBacktestTicks bounds the windows that the clock ends, and maxBacktestSamples the computations of a metric.
	maxBacktestTicks   = 100_000
	maxBacktestSamples = 2_000
)

// Backtest evaluates one automation over events of the past, without effects. The clock is that of the events: each is
// evaluated at the time of its occurrence, and windows end at their own times in between.
type Backtest struct {
	vocabulary vocabulary.Vocabulary
	set        *trigger.Set
	backend    *backtestBackend
	limit      int
	// runs are the state events of each metric trigger, oldest first.
	runs       map[uuid.UUID][]trigger.RunEvent
	sampleAt   time.Time
	sampleStep time.Duration
	ticks      int
	result     BacktestResult
}

// BacktestResult is what a backtest has found.
type BacktestResult struct {
	// Firings are those of the automation's root, oldest first.
	Firings []trigger.Fired
	// Events were read, and Matched ones were taken by some trigger.
	Events, Matched int64
	// Last is the id of the last event that some trigger takes, empty without one.
	Last string
	// Until is the time up to which the triggers were evaluated.
	Until time.Time
	// StoppedBy names the bound that ended the evaluation early, empty if none did.
	StoppedBy string
}

// backtestBackend is a memory whose timers follow the buckets.
type backtestBackend struct {
	*trigger.Memory
	timers timers
}

// Save implements trigger.Backend.
func (b *backtestBackend) Save(ctx context.Context, records []*trigger.Record) error {
	if err := b.Memory.Save(ctx, records); err != nil {
		return err
	}
	for _, r := range records {
		b.timers.set(r.Workspace, r.Bucket)
	}
	return nil
}

// NewBacktest begins a backtest of an enabled automation over a time range. It ends after limit firings.
func NewBacktest(ctx context.Context, v vocabulary.Vocabulary, a *trigger.Automation, since, until time.Time, limit int) (*Backtest, error) {
	b := &Backtest{
		vocabulary: v, set: trigger.NewSet(a), backend: &backtestBackend{Memory: trigger.NewMemory()}, limit: limit,
		runs: map[uuid.UUID][]trigger.RunEvent{}, sampleAt: since, sampleStep: max(sampleEvery, until.Sub(since)/maxBacktestSamples),
		result: BacktestResult{Until: since},
	}
	b.backend.timers.reset()
	_, err := b.more(b.session(ctx, since, func(s *trigger.Session) error { return begin(ctx, s, a.Workspace, a) }))
	return b, err
}

// errStopped is that a bound ended the backtest.
var errStopped = errors.New("a bound ended the backtest")

func (b *Backtest) stop(bound string) error {
	b.result.StoppedBy = bound
	return errStopped
}

// Event evaluates the next event, by time of occurrence. It returns false when a bound ended the backtest.
func (b *Backtest) Event(ctx context.Context, e *orchv1.ReceivedEvent) (more bool, err error) {
	return b.more(b.event(ctx, e))
}

func (b *Backtest) more(err error) (bool, error) {
	if errors.Is(err, errStopped) {
		return false, nil
	}
	return err == nil, err
}

func (b *Backtest) event(ctx context.Context, e *orchv1.ReceivedEvent) error {
	at := e.GetOccurred().AsTime()
	if err := b.advance(ctx, at); err != nil {
		return err
	}
	if b.result.Events == maxBacktestEvents {
		return b.stop("events")
	}
	b.result.Events++
	for _, n := range b.set.Metrics() {
		if run, ok := runEvent(b.vocabulary, n, e); ok {
			b.runs[n.ID] = append(b.runs[n.ID], run)
		}
	}
	found := matchingTriggers(b.vocabulary, b.set, e)
	if found.err != nil {
		return b.stop("comparisons")
	}
	if len(found.nodes) == 0 {
		return nil
	}
	b.result.Matched++
	b.result.Last = e.GetId()
	return b.session(ctx, at, func(s *trigger.Session) error {
		for _, n := range found.nodes {
			if err := s.Event(ctx, n, e); err != nil {
				return err
			}
		}
		return nil
	})
}

// Finish lets the clock run until the end of the range, and returns what was found.
func (b *Backtest) Finish(ctx context.Context, until time.Time) (BacktestResult, error) {
	if b.result.StoppedBy == "" {
		if _, err := b.more(b.advance(ctx, until)); err != nil {
			return BacktestResult{}, err
		}
	}
	return b.result, nil
}

// advance serves what is due until a time: windows that end, and computations of metrics.
func (b *Backtest) advance(ctx context.Context, to time.Time) error {
	for {
		_, due := b.backend.timers.take(0, 0)
		sample := len(b.set.Metrics()) > 0 && !b.sampleAt.After(to) && (due == 0 || b.sampleAt.UnixMicro() <= due)
		var err error
		switch {
		case sample:
			err = b.sample(ctx)
		case due != 0 && due <= to.UnixMicro():
			err = b.tick(ctx, due)
		default:
			if to.After(b.result.Until) {
				b.result.Until = to
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (b *Backtest) tick(ctx context.Context, due int64) error {
	if b.ticks++; b.ticks > maxBacktestTicks {
		return b.stop("windows")
	}
	list, _ := b.backend.timers.take(due, 1)
	return b.session(ctx, time.UnixMicro(due), func(s *trigger.Session) error {
		for _, one := range list {
			for _, n := range b.set.Proactive() {
				if n.ID != one.trigger {
					continue
				}
				if err := s.Tick(ctx, n, one.key); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (b *Backtest) sample(ctx context.Context) error {
	now := b.sampleAt
	b.sampleAt = now.Add(b.sampleStep)
	return b.session(ctx, now, func(s *trigger.Session) error {
		for _, n := range b.set.Metrics() {
			since := now.Add(-n.Metric.GetMetric().GetRange().AsDuration()).UnixMicro()
			old, _ := slices.BinarySearchFunc(b.runs[n.ID], since, func(e trigger.RunEvent, at int64) int { return int(e.At - at) })
			b.runs[n.ID] = b.runs[n.ID][old:]
			if err := fireMetric(ctx, s, n, b.runs[n.ID], now.UnixMicro()); err != nil {
				return err
			}
		}
		return nil
	})
}

// session evaluates at a time and commits.
func (b *Backtest) session(ctx context.Context, at time.Time, evaluate func(*trigger.Session) error) error {
	if err := ctx.Err(); errors.Is(err, context.DeadlineExceeded) {
		return b.stop("time")
	}
	s := trigger.NewSession(b.backend, at)
	if err := evaluate(s); err != nil {
		return err
	}
	if err := s.Commit(ctx); err != nil {
		return err
	}
	b.result.Until = at
	for _, f := range s.Fired() {
		if f.Node.Parent != nil {
			continue
		}
		b.result.Firings = append(b.result.Firings, f)
		if len(b.result.Firings) == b.limit {
			return b.stop("limit")
		}
	}
	if b.backend.Len() > maxBacktestBuckets {
		return b.stop("for_each keys")
	}
	return nil
}
