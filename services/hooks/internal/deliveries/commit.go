package deliveries

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	// maxCommits and maxOwnCommitBytes bound the entries of a workspace that requests wait for in one interval.
	maxCommits        = 100
	maxOwnCommitBytes = 1 << 20
	// maxCommitBytes bounds the entries of all workspaces that wait for one append.
	maxCommitBytes = 8 << 20
)

// commits are the entries that requests wait for: a listener receives every delivery that its sender was answered.
//
//	Commit ──▶ group ──▶ as soon as the journal has taken the last group: one append ──▶ the requests go on
//
// Its owner's lock guards it.
type commits struct {
	group *commitGroup            // Nil if no request waits.
	used  map[string]commitBudget // By the workspace.
	wake  chan struct{}
}

// commitBudget is the part of a workspace's budget that is used in this interval.
type commitBudget struct{ entries, bytes int }

// commitGroup is appended at once. done is closed afterwards.
type commitGroup struct {
	list  []*orchv1.WebhookDelivery
	bytes int
	done  chan struct{}
}

func newCommits() commits {
	return commits{used: map[string]commitBudget{}, wake: make(chan struct{}, 1)}
}

// join adds an entry to the next group and returns it; nil if the workspace's budget or the memory is used.
func (c *commits) join(n *LogEntry) *commitGroup {
	used, size := c.used[n.Hook.GetWorkspace()], n.size()
	if used.entries >= maxCommits || used.bytes+size > maxOwnCommitBytes || c.group != nil && c.group.bytes+size > maxCommitBytes {
		return nil
	}
	c.used[n.Hook.GetWorkspace()] = commitBudget{used.entries + 1, used.bytes + size}
	if c.group == nil {
		c.group = &commitGroup{done: make(chan struct{})}
	}
	c.group.list = append(c.group.list, n.delivery())
	c.group.bytes += size
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return c.group
}

// keep adds entries that the journal did not take to the next group. It returns the number of those that are dropped.
func (c *commits) keep(list []*orchv1.WebhookDelivery) (dropped int) {
	if c.group == nil {
		c.group = &commitGroup{done: make(chan struct{})}
	}
	for len(list) > 0 {
		if size := proto.Size(list[0]); c.group.bytes+size <= maxCommitBytes {
			c.group.list, c.group.bytes = append(c.group.list, list[0]), c.group.bytes+size
		} else {
			dropped++
		}
		list = list[1:]
	}
	return dropped
}

// Commit is Record for a webhook with a listener. It returns when the journal has the entry, after appendTimeout at the latest. An entry beyond
// the budget of the workspace does not wait.
func (r *Recorder) Commit(n LogEntry) {
	n.trim()
	r.mu.Lock()
	if !r.countEntry(&n) {
		r.mu.Unlock()
		return
	}
	group := r.commits.join(&n)
	if group == nil {
		r.buffer(n)
	}
	r.mu.Unlock()
	if group == nil {
		return
	}
	timeout := time.NewTimer(appendTimeout)
	defer timeout.Stop()
	select {
	case <-group.done:
	case <-timeout.C:
	}
}

// flushCommits appends the entries that requests wait for. Entries that the journal does not take are kept for the next flush, as
// far as their memory suffices.
func (r *Recorder) flushCommits(ctx context.Context) {
	r.mu.Lock()
	group := r.commits.group
	r.commits.group = nil
	r.mu.Unlock()
	if group == nil {
		return
	}
	rest := r.appendAll(ctx, group.list)
	close(group.done)
	if len(rest) > 0 {
		r.mu.Lock()
		r.drop(r.commits.keep(rest))
		r.mu.Unlock()
	}
}
