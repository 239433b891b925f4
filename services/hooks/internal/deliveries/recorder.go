// Package deliveries keeps the delivery log: which requests a webhook got, and what became of them.
//
//	request, answered ──▶ Note ──▶ waiting, bounded ──▶ every half second: one entry ──▶ journal ──▶ orchestration
//	                                │ more than fit
//	                                └──▶ forgotten, and counted
//
// Ingestion never waits for the log. A note costs it a lock and an append; what is kept of a request, and how it reads
// without its secrets, is worked out behind. Of each webhook only so many notes wait at a time, failures before
// successes: the log holds the last ones anyway. When the broker is away notes are forgotten.
package deliveries

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	// interval is how often what waits is handed over.
	interval = 500 * time.Millisecond
	// perHook bounds what waits of one webhook, successes and failures each.
	perHook = 20
	// maxWaiting and maxWaitingBytes bound what waits in all.
	maxWaiting      = 4096
	maxWaitingBytes = 32 << 20
	// maxEntry is from which size on an entry is handed over, in bytes. The broker takes 8 MiB.
	maxEntry = 1 << 20
	// appendTimeout bounds the wait for the broker, also when the process ends.
	appendTimeout = 2 * time.Second
)

// Journal is the part of a broker's journal that is needed here.
type Journal interface {
	Append(ctx context.Context, entry []byte) error
}

// Options are what a Recorder needs.
type Options struct {
	Journal Journal
	Log     *slog.Logger
	// Forgotten counts notes that did not reach the log; may be nil.
	Forgotten prometheus.Counter
}

// Recorder takes notes. It is a run.Worker, and safe for concurrent use.
type Recorder struct {
	opts Options

	mu      sync.Mutex
	waiting map[string]*notes // By the webhook's id.
	count   int
	bytes   int
}

// notes are those of one webhook: rings of the last ones.
type notes struct {
	failed, succeeded ring
}

type ring struct {
	notes []Note
	next  int
}

// put adds a note and returns the one that it pushes out.
func (r *ring) put(n Note) (out Note, full bool) {
	if len(r.notes) < perHook {
		r.notes = append(r.notes, n)
		return Note{}, false
	}
	out, r.notes[r.next] = r.notes[r.next], n
	r.next = (r.next + 1) % perHook
	return out, true
}

// New makes a recorder.
func New(o Options) *Recorder {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Recorder{opts: o, waiting: map[string]*notes{}}
}

// Name implements run.Worker.
func (r *Recorder) Name() string { return "delivery log" }

// Note keeps a note for the next handing over. It never waits.
func (r *Recorder) Note(n Note) {
	n.trim()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count >= maxWaiting || r.bytes+n.size() > maxWaitingBytes {
		r.forgot(1)
		return
	}
	of := r.waiting[n.Hook.GetId()]
	if of == nil {
		of = &notes{}
		r.waiting[n.Hook.GetId()] = of
	}
	into := &of.succeeded
	if n.Status >= 400 {
		into = &of.failed
	}
	r.count++
	r.bytes += n.size()
	if out, full := into.put(n); full {
		r.count--
		r.bytes -= out.size()
		r.forgot(1)
	}
}

func (r *Recorder) forgot(n int) {
	if r.opts.Forgotten != nil {
		r.opts.Forgotten.Add(float64(n))
	}
}

// Run hands over until ctx ends, and once more then.
func (r *Recorder) Run(ctx context.Context) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			r.flush(context.WithoutCancel(ctx))
			return nil
		case <-ticker.C:
			r.flush(ctx)
		}
	}
}

// flush hands over what waits.
func (r *Recorder) flush(ctx context.Context) {
	r.mu.Lock()
	waiting := r.waiting
	r.waiting, r.count, r.bytes = map[string]*notes{}, 0, 0 // Also when nothing waits: what is walked over must not be added to.
	r.mu.Unlock()

	batch, size := &orchv1.WebhookDeliveryBatch{}, 0
	for _, of := range waiting {
		for _, all := range [][]Note{of.failed.notes, of.succeeded.notes} {
			for i := range all {
				d := all[i].delivery()
				if n := proto.Size(d); size+n > maxEntry && size > 0 {
					r.append(ctx, batch)
					batch, size = &orchv1.WebhookDeliveryBatch{}, 0
				}
				batch.Deliveries = append(batch.Deliveries, d)
				size += proto.Size(d)
			}
		}
	}
	if len(batch.GetDeliveries()) > 0 {
		r.append(ctx, batch)
	}
}

func (r *Recorder) append(ctx context.Context, batch *orchv1.WebhookDeliveryBatch) {
	entry, err := proto.Marshal(batch)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, appendTimeout)
		defer cancel()
		err = r.opts.Journal.Append(ctx, entry)
	}
	if err != nil {
		r.opts.Log.DebugContext(ctx, "deliveries are missing in the log", "deliveries", len(batch.GetDeliveries()), "error", err)
		r.forgot(len(batch.GetDeliveries()))
	}
}
