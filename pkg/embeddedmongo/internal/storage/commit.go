package storage

import (
	"github.com/cockroachdb/pebble/v2"
)

// Commit gathers the writes of one command and waits for their durability once, after all locks are released.
type Commit struct {
	e       *Engine
	journal bool
	many    bool
	waiting []*pebble.Batch // Applied with a sync requested.
	mark    int64           // dirty when the first of them was applied.
}

// Begin starts a commit. journal is false for {j: false}: Wait then returns at once. many announces several documents, which share
// one sync.
func (e *Engine) Begin(journal, many bool) *Commit {
	return &Commit{e: e, journal: journal && !e.opts.NoSync, many: many}
}

// apply makes a batch visible and takes ownership of it.
func (c *Commit) apply(b *pebble.Batch) error {
	if !c.journal || c.many || len(c.waiting) > 0 {
		err := c.e.db.Apply(b, pebble.NoSync)
		c.e.dirty.Add(1)
		if cerr := b.Close(); err == nil {
			err = cerr
		}
		return err
	}
	c.mark = c.e.dirty.Load()
	c.e.inflight.Add(1)
	if err := c.e.db.ApplyNoSyncWait(b, pebble.Sync); err != nil {
		c.e.inflight.Add(-1)
		return err
	}
	c.waiting = append(c.waiting, b)
	return nil
}

// Wait returns when all writes of the command, and all unsynced writes that it may have read, are on disk. A reply such as
// "duplicate key" or "no match" must not depend on a write that a power cut undoes.
func (c *Commit) Wait() error {
	var err error
	for _, b := range c.waiting {
		if serr := b.SyncWait(); serr != nil {
			err = c.e.fail(serr)
		}
		c.e.inflight.Add(-1)
		if cerr := b.Close(); err == nil {
			err = cerr
		}
		if err == nil {
			c.e.synced(c.mark)
		}
	}
	if len(c.waiting) > 0 {
		// Writes that the command read precede its own records in the log, so the same sync covered them.
		c.waiting = nil
		return err
	}
	if c.journal && c.e.pending() {
		mark := c.e.dirty.Load()
		if err := c.e.db.LogData(nil, pebble.Sync); err != nil {
			return c.e.fail(err)
		}
		c.e.synced(mark)
	}
	return nil
}
