// Package deliveries writes the delivery log: which requests a webhook received, and their outcome.
//
//	response sent ──▶ Note ──▶ buffer, bounded ──▶ every half second: one entry ──▶ journal ──▶ orchestration
//	                   │           └──▶ full: dropped, and counted
//	                   ├──▶ refused: a row as far as the budget holds, else grouped and counted (see refusals)
//	                   ├──▶ beyond the budget of the webhook: one row for several requests (see notes)
//	                   ├──▶ somebody listens: appended before the response (see commits)
//	                   └──▶ counted exactly, for the watcher of failing webhooks (see traffic)
//
// Ingestion never waits for the log. A note costs a lock and an append; masking and encoding happen later. Each request of a webhook has a
// row as far as the budget of the webhook holds. While the broker is away, the recorder drops notes of verified requests. It keeps notes of
// refusals, because the counts of refusals must be exact.
package deliveries

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/clock"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	// interval is the time between two flushes of the buffer.
	interval = 500 * time.Millisecond
	// maxRows and maxRowBytes are the budget of a webhook: so many verified requests of a window have a row of their own. The log keeps as
	// many rows of a webhook by default.
	maxRows     = 500
	maxRowBytes = 4 << 20
	// maxSampled bounds the buffered notes of one webhook and reason beyond the budget.
	maxSampled = 20
	// maxWaiting and maxWaitingBytes bound the buffered notes of all webhooks.
	maxWaiting      = 4096
	maxWaitingBytes = 32 << 20
	// maxRefusals bounds the entries of refusals that wait for the broker.
	maxRefusals = 4096
	// maxEntry is the size from which on an entry is complete, in bytes. The broker takes 8 MiB.
	maxEntry = 1 << 20
	// appendTimeout bounds the wait for the broker, also when the process ends.
	appendTimeout = 2 * time.Second
)

// Journal is the part of a broker's journal that is used here.
type Journal interface {
	Append(ctx context.Context, entry []byte) error
}

// Options are what a Recorder needs.
type Options struct {
	Journal Journal
	Log     *slog.Logger
	// Dropped counts notes that did not reach the log; may be nil.
	Dropped prometheus.Counter
	// Clock times the windows of refusals; nil means the machine's.
	Clock clock.Clock
}

// Recorder writes the delivery log. It is a run.Worker, and safe for concurrent use.
type Recorder struct {
	opts Options

	mu      sync.Mutex
	waiting map[string]*notes // By the webhook's id.
	count   int
	bytes   int
	budgets budgets // Of verified requests.

	refusals refusals
	pending  []*orchv1.WebhookDelivery // Entries of refusals that the journal has not taken yet.
	traffic  traffic
	counted  []*orchv1.WebhookTraffic // Counts that the journal has not taken yet.
	commits  commits
}

// notes are the buffered notes of one webhook: all notes within the budget, and samples of further notes by reason. The reason of successes
// is empty. The last requests of a reason are its samples. A sample adds the count of the sample that it replaces to its own, so the counts
// of the rows add up to the number of requests.
type notes struct {
	all     []LogEntry
	samples map[string]*ring
}

type ring struct {
	notes []LogEntry
	next  int
}

// sample adds a note beyond the budget, and returns the note that it replaces.
func (o *notes) sample(n LogEntry) (replaced LogEntry, full bool) {
	r := o.samples[n.Reason]
	if r == nil {
		r = &ring{}
		o.samples[n.Reason] = r
	}
	if len(r.notes) < maxSampled {
		r.notes = append(r.notes, n)
		return LogEntry{}, false
	}
	replaced = r.notes[r.next]
	n.Count = max(n.Count, 1) + max(replaced.Count, 1)
	r.notes[r.next] = n
	r.next = (r.next + 1) % maxSampled
	return replaced, true
}

// deliveries returns the stored form of the notes.
func (o *notes) deliveries() []*orchv1.WebhookDelivery {
	list := make([]*orchv1.WebhookDelivery, 0, len(o.all))
	for i := range o.all {
		list = append(list, o.all[i].delivery())
	}
	for _, r := range o.samples {
		for i := range r.notes {
			list = append(list, r.notes[i].delivery())
		}
	}
	return list
}

// New makes a recorder.
func New(o Options) *Recorder {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	return &Recorder{opts: o, waiting: map[string]*notes{}, budgets: newBudgets(maxRows, maxRowBytes), refusals: newRefusals(), traffic: newTraffic(o.Clock.Now()), commits: newCommits()}
}

// Fill is how full the buffer of notes is, from 0 to 1.
func (r *Recorder) Fill() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(float64(r.count)/maxWaiting, float64(r.bytes)/maxWaitingBytes)
}

// Name implements run.Worker.
func (r *Recorder) Name() string { return "delivery log" }

// Record buffers an entry for the next flush. It never waits.
func (r *Recorder) Record(n LogEntry) {
	n.trim()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.countEntry(&n) {
		r.buffer(n)
	}
}

// countEntry counts a request and reports whether it has an entry: refusals beyond the budget are grouped. The caller holds the lock.
func (r *Recorder) countEntry(n *LogEntry) bool {
	r.traffic.add(n)
	return !n.Refused || r.refusals.add(*n, r.opts.Clock.Now())
}

// buffer adds an entry to those of the next flush. The caller holds the lock.
func (r *Recorder) buffer(n LogEntry) {
	if n.Refused {
		r.pend(n)
		return
	}
	if r.count >= maxWaiting || r.bytes+n.size() > maxWaitingBytes {
		r.drop(1)
		return
	}
	own := r.waiting[n.Hook.GetId()]
	if own == nil {
		own = &notes{samples: map[string]*ring{}}
		r.waiting[n.Hook.GetId()] = own
	}
	r.count++
	r.bytes += n.size()
	if r.budgets.admit(&n, r.opts.Clock.Now()) {
		own.all = append(own.all, n)
	} else if replaced, full := own.sample(n); full {
		r.count--
		r.bytes -= replaced.size()
	}
}

// pend adds an entry of a refusal. The caller holds the lock.
func (r *Recorder) pend(n LogEntry) {
	if len(r.pending) >= maxRefusals {
		r.drop(int(max(n.Count, 1)))
		return
	}
	r.pending = append(r.pending, n.delivery())
}

func (r *Recorder) drop(n int) {
	if r.opts.Dropped != nil {
		r.opts.Dropped.Add(float64(n))
	}
}

// Run flushes until ctx ends, and once more then.
func (r *Recorder) Run(ctx context.Context) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			r.end(context.WithoutCancel(ctx))
			return nil
		case <-r.commits.wake:
			r.flushCommits(ctx)
		case <-ticker.C:
			r.flush(ctx)
		}
	}
}

// end ends the windows of all refusals and flushes.
func (r *Recorder) end(ctx context.Context) {
	r.expire(true)
	r.countTraffic(true)
	r.flush(ctx)
}

// count moves the counts of requests to those that wait for the journal, if they are due.
func (r *Recorder) countTraffic(all bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.counted) < maxTraffic {
		r.counted = append(r.counted, r.traffic.take(r.opts.Clock.Now(), all)...)
	}
}

func (r *Recorder) expire(all bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.budgets.expire(r.opts.Clock.Now(), all)
	for _, n := range r.refusals.expire(r.opts.Clock.Now(), all) {
		r.pend(n)
	}
}

// flush appends the buffered notes to the journal.
func (r *Recorder) flush(ctx context.Context) {
	r.flushCommits(ctx)
	r.expire(false)
	r.countTraffic(false)
	r.mu.Lock()
	waiting, pending, counted := r.waiting, r.pending, r.counted
	r.waiting, r.count, r.bytes, r.pending, r.counted = map[string]*notes{}, 0, 0, nil, nil
	clear(r.commits.used)
	r.mu.Unlock()

	var list []*orchv1.WebhookDelivery
	for _, own := range waiting {
		list = append(list, own.deliveries()...)
	}
	for len(list) > 0 {
		n := entrySize(list)
		if !r.append(ctx, &orchv1.WebhookDeliveryBatch{Deliveries: list[:n]}) {
			r.drop(n)
		}
		list = list[n:]
	}
	if rest := r.appendAll(ctx, pending); len(rest) > 0 {
		r.retry(rest)
	}
	for len(counted) > 0 {
		n := entrySize(counted)
		if !r.append(ctx, &orchv1.WebhookDeliveryBatch{Traffic: counted[:n]}) {
			r.mu.Lock()
			r.counted = append(counted, r.counted...)
			r.mu.Unlock()
			return
		}
		counted = counted[n:]
	}
}

// appendAll appends deliveries to the journal and returns those that it did not take.
func (r *Recorder) appendAll(ctx context.Context, list []*orchv1.WebhookDelivery) []*orchv1.WebhookDelivery {
	for len(list) > 0 {
		n := entrySize(list)
		if !r.append(ctx, &orchv1.WebhookDeliveryBatch{Deliveries: list[:n]}) {
			break
		}
		list = list[n:]
	}
	return list
}

// retry keeps entries of refusals for the next flush. An entry that reached the journal all the same is stored once, by
// its id.
func (r *Recorder) retry(entries []*orchv1.WebhookDelivery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = append(entries, r.pending...)
	if over := len(r.pending) - maxRefusals; over > 0 {
		for _, d := range r.pending[maxRefusals:] {
			r.drop(int(d.GetCount()))
		}
		r.pending = r.pending[:maxRefusals]
	}
}

// entrySize is the number of messages, at least one, that fit into an entry.
func entrySize[M proto.Message](list []M) int {
	size := 0
	for i, d := range list {
		if size += proto.Size(d); size > maxEntry && i > 0 {
			return i
		}
	}
	return len(list)
}

// append writes an entry and reports whether the journal has it.
func (r *Recorder) append(ctx context.Context, batch *orchv1.WebhookDeliveryBatch) bool {
	entry, err := proto.Marshal(batch)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, appendTimeout)
		defer cancel()
		err = r.opts.Journal.Append(ctx, entry)
	}
	if err != nil {
		r.opts.Log.DebugContext(ctx, "failed to write an entry of the delivery log", "deliveries", len(batch.GetDeliveries()), "counts", len(batch.GetTraffic()), "error", err)
	}
	return err == nil
}
