package storage

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"
)

// Commit gathers the writes of one command and waits for their durability once, after all locks are released.
type Commit struct {
	e       *Engine
	journal bool
	many    bool
	waiting []*pebble.Batch // Applied with a sync requested.
	mark    int64           // dirty when the first of them was applied.
	counted bool            // In journaled, until Wait.
	waited  bool
}

// Begin starts a commit. journal is false for {j: false}: Wait then returns at once. many announces several documents, which share
// one sync.
func (e *Engine) Begin(journal, many bool) *Commit {
	return &Commit{e: e, journal: journal && !e.opts.NoSync, many: many}
}

// apply makes a batch visible and takes ownership of it.
func (c *Commit) apply(b *pebble.Batch) error {
	c.e.keys.Add(int64(b.Count()))
	if c.journal && !c.counted { // Before the batch is visible, so no reader can miss it.
		c.counted = true
		c.e.journaled.Add(1)
	}
	if !c.journal || c.many || len(c.waiting) > 0 {
		c.e.inflight.Add(1) // Before the batch is visible, too.
		err := c.e.db.Apply(b, pebble.NoSync)
		c.e.dirty.Add(1)
		c.e.inflight.Add(-1)
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
	c.waited = true
	err := c.wait()
	if c.counted {
		c.counted = false
		c.e.journaled.Add(-1)
	}
	return err
}

// Release ends a commit that Wait has not ended: its command failed or panicked before. The caller defers it.
func (c *Commit) Release() {
	if !c.waited {
		_ = c.Wait() // The command replies with its own error.
	}
}

func (c *Commit) wait() error {
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
		return c.e.sync()
	}
	return nil
}

// Durable returns when every journaled write that is visible now is on disk. A majority read waits for it before it replies: after
// a crash nobody may have seen a write that does not exist. Writes with {j: false} are not waited for.
func (e *Engine) Durable() error {
	if e.journaled.Load() == 0 {
		return nil
	}
	return e.sync()
}

// Sync puts all visible writes on disk, if any may not be there yet.
func (e *Engine) Sync() error {
	if e.opts.NoSync || !e.pending() {
		return nil
	}
	return e.sync()
}

// sync syncs the log, together with the commits that wait for the same.
func (e *Engine) sync() error {
	mark := e.dirty.Load()
	b := e.db.NewBatch()
	if err := b.LogData(nil, nil); err != nil {
		return errors.Join(err, b.Close())
	}
	if err := errors.Join(e.applySynced(b), b.Close()); err != nil {
		return err
	}
	e.synced(mark)
	return nil
}

// applySynced makes a batch visible and waits until it is on disk. Apply with pebble.Sync would call Fatalf if the log fails.
func (e *Engine) applySynced(b *pebble.Batch) error {
	if err := e.db.ApplyNoSyncWait(b, pebble.Sync); err != nil {
		return err
	}
	if err := b.SyncWait(); err != nil {
		return e.fail(err)
	}
	return nil
}
