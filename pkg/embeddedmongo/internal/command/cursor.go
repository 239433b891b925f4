package command

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/aggregate"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

const (
	// firstBatch is the default size of a first batch, in documents.
	firstBatch = 101
	// batchBytes bounds a batch.
	batchBytes = 8 << 20
	// cursorLife is how long an unused cursor lives, as in MongoDB.
	cursorLife = 10 * time.Minute
)

// cursor is a stream of results that a client fetches in batches.
type cursor struct {
	id      int64
	ns      string
	src     aggregate.Source
	owned   []func() error // Release what src reads, the last one first.
	r       *request       // The command that reads: the first one, then a getMore.
	left    time.Duration  // Of the time limit, for later commands; 0 without a limit.
	pending value.Doc      // Read, but did not fit into the last batch.
	used    time.Time
	busy    bool
}

// expired is that of the command that reads.
func (c *cursor) expired() error { return c.r.expired() }

// resume makes a getMore read. The time limit bounds the work of all commands of the cursor, and not the time between them, as in
// MongoDB.
func (c *cursor) resume(r *request) {
	if c.r = r; c.left != 0 {
		r.deadline = time.Now().Add(c.left)
	}
}

// pause stores what is left of the time limit.
func (c *cursor) pause() {
	if !c.r.deadline.IsZero() {
		c.left = max(time.Until(c.r.deadline), 1)
	}
}

// owns makes the cursor release something when it ends.
func (c *cursor) owns(release func() error) { c.owned = append(c.owned, release) }

// release ends a cursor that the service does not keep, however its command ends.
func (c *cursor) release() error {
	if c.id != 0 {
		return nil
	}
	return c.close()
}

func (c *cursor) close() (err error) {
	for _, release := range slices.Backward(c.owned) {
		err = errors.Join(err, release())
	}
	c.owned = nil
	return err
}

type cursors struct {
	now func() time.Time
	mu  sync.Mutex
	m   map[int64]*cursor
}

func newCursors(now func() time.Time) *cursors { return &cursors{now: now, m: map[int64]*cursor{}} }

func (cs *cursors) add(c *cursor) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for c.id == 0 || cs.m[c.id] != nil {
		c.id = rand.Int64()
	}
	c.used = cs.now()
	cs.m[c.id] = c
}

// take gives a cursor to one command, which returns it with put or drop.
func (cs *cursors) take(id int64) (*cursor, error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c := cs.m[id]
	if c == nil {
		return nil, mongoerr.New(mongoerr.CursorNotFound, "cursor id %d not found", id)
	}
	if c.busy {
		return nil, mongoerr.New(mongoerr.Kind{Code: 12051, Name: "CursorInUse"}, "cursor id %d is already in use", id)
	}
	c.busy = true
	return c, nil
}

func (cs *cursors) put(c *cursor) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c.busy, c.used = false, cs.now()
}

func (cs *cursors) drop(c *cursor) {
	cs.mu.Lock()
	delete(cs.m, c.id)
	cs.mu.Unlock()
	_ = c.close() // The command fails or ends anyway; there is no one to report to.
}

// kill ends an idle cursor; a busy one belongs to the command that uses it.
func (cs *cursors) kill(id int64) bool {
	c, err := cs.take(id)
	if err != nil {
		return false
	}
	cs.drop(c)
	return true
}

func (cs *cursors) expire() {
	cs.mu.Lock()
	var old []*cursor
	for _, c := range cs.m {
		if !c.busy && cs.now().Sub(c.used) > cursorLife {
			c.busy = true
			old = append(old, c)
		}
	}
	cs.mu.Unlock()
	for _, c := range old {
		cs.drop(c)
	}
}

func (cs *cursors) closeAll() {
	cs.mu.Lock()
	all := cs.m
	cs.m = map[int64]*cursor{}
	cs.mu.Unlock()
	for _, c := range all {
		_ = c.close() // The command fails or ends anyway; there is no one to report to.
	}
}

// batch appends documents to an open array until the batch is full; more reports that the stream may continue.
func (c *cursor) batch(b *value.Builder, n int64) (more bool, err error) {
	start := b.Len()
	for i := int64(0); n < 0 || i < n; i++ {
		if i&63 == 63 {
			if err := c.expired(); err != nil {
				return false, err
			}
		}
		d := c.pending
		if c.pending = nil; d == nil {
			var ok bool
			if d, ok, err = c.src.Next(); err != nil || !ok {
				return false, err
			}
		}
		if len(d) > storage.MaxBSON {
			return false, mongoerr.New(mongoerr.ObjectTooLarge, "result document is larger than %d bytes: %d bytes", storage.MaxBSON, len(d))
		}
		if i > 0 && b.Len()-start+len(d) > batchBytes {
			c.pending = bytes.Clone(d)
			return true, nil
		}
		if i == 0 {
			// Most replies are one document and a cursor's name.
			b.Grow(len(d) + 128)
		}
		b.Add(value.Index(int(i)), value.OfDoc(d))
	}
	return true, nil
}

// reply sends a first batch and keeps the stream as a cursor when there is more. Else the caller releases the cursor.
func (s *Service) reply(c *cursor, size int64, single bool) (*value.Builder, error) {
	b := newReply().Open("cursor", bson.TypeEmbeddedDocument).Open("firstBatch", bson.TypeArray)
	more, err := c.batch(b, size)
	if err != nil {
		return nil, err
	}
	b.Close()
	if more && !single {
		// Looking ahead spares the client a round trip for an empty batch.
		if c.pending == nil && size > 0 {
			d, ok, err := c.src.Next()
			if err != nil {
				return nil, err
			}
			if more = ok; ok {
				c.pending = bytes.Clone(d)
			}
		}
	} else {
		more = false
	}
	if more {
		c.pause()
		s.cursors.add(c)
	}
	return b.Add("id", value.OfInt64(c.id)).Add("ns", value.OfString(c.ns)).Close(), nil
}

func (s *Service) getMore(r *request) (*value.Builder, error) {
	id, err := number(r.target, "getMore")
	if err != nil {
		return nil, err
	}
	size, err := natural(r.get("batchSize"), "batchSize")
	if err != nil {
		return nil, err
	}
	if size == 0 {
		size = -1
	}
	c, err := s.cursors.take(id)
	if err != nil {
		return nil, err
	}
	if c.ns != r.db+"."+r.get("collection").Str() {
		s.cursors.put(c)
		return nil, mongoerr.New(mongoerr.Kind{Code: 13, Name: "Unauthorized"}, "cursor id %d belongs to %s", id, c.ns)
	}
	c.resume(r)
	more := false
	defer func() {
		if more {
			c.pause()
			s.cursors.put(c)
		} else {
			s.cursors.drop(c)
		}
	}()
	b := newReply().Open("cursor", bson.TypeEmbeddedDocument).Open("nextBatch", bson.TypeArray)
	if more, err = c.batch(b, size); err != nil {
		return nil, err
	}
	ns := c.ns
	if !more {
		id = 0
	}
	return b.Close().Add("id", value.OfInt64(id)).Add("ns", value.OfString(ns)).Close(), nil
}

func (s *Service) killCursors(r *request) (*value.Builder, error) {
	var killed, unknown []value.Value
	for _, v := range r.get("cursors").Doc().Values() {
		id, _ := v.Int()
		if s.cursors.kill(id) {
			killed = append(killed, v)
		} else {
			unknown = append(unknown, v)
		}
	}
	none := value.OfArray(nil)
	return value.NewBuilder().Add("cursorsKilled", value.OfArray(killed)).Add("cursorsNotFound", value.OfArray(unknown)).
		Add("cursorsAlive", none).Add("cursorsUnknown", none), nil
}

// list replies with documents that are in memory.
func (s *Service) list(r *request, ns string, docs []value.Doc) (*value.Builder, error) {
	l := aggregate.Docs(docs)
	return s.reply(&cursor{r: r, ns: ns, src: &l}, -1, false)
}
