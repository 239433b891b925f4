package deliveries

import (
	"net/netip"
	"time"
)

const (
	// refusalWindow is the time in which the log shows the first and the last refusal of a group beyond the budget.
	refusalWindow = time.Minute
	// maxRefusalRows and maxRefusalBytes are the budget of a webhook: so many refusals of a window have a row of their own.
	maxRefusalRows  = 100
	maxRefusalBytes = 1 << 20
	// maxSources bounds the source prefixes that are counted apart for one webhook and one reason. Refusals from further
	// prefixes make one group.
	maxSources = 8
	// The length of a source prefix, in bits: what one party usually controls.
	sourceBits4, sourceBits6 = 24, 48
)

// refusals keeps the refused requests of strangers. Each one has a row in the log as far as the webhook's budget holds. Beyond it they must
// not fill the log, and none must be unseen: each one is counted, and of each group the log shows the first and the last one a minute.
//
//	refusal ──▶ within the budget of the webhook: the note, count 1
//	        └──▶ group (webhook, reason, source prefix) ──▶ new: the note, count 1
//	                                                   └──▶ known: last = note, unlogged++
//	after refusalWindow: the last note, count = unlogged
//
// So the counts of the logged notes add up to the number of refusals. Its owner's lock guards it. Its size is bounded by
// the number of webhooks, because unknown webhooks have no log.
type refusals struct {
	groups  map[refusalGroup]*refusalState
	sources map[refusalGroup]int // The number of prefixes of a webhook and a reason; the prefix of its keys is zero.
	budgets budgets
}

// refusalGroup is the key by which refusals are counted.
type refusalGroup struct {
	hook, reason string
	source       netip.Prefix // Zero for requests beyond maxSources, and for an unknown address.
}

type refusalState struct {
	since    time.Time
	last     LogEntry
	unlogged int64
}

func newRefusals() refusals {
	return refusals{groups: map[refusalGroup]*refusalState{}, sources: map[refusalGroup]int{}, budgets: newBudgets(maxRefusalRows, maxRefusalBytes)}
}

// add counts a refusal and returns whether its note is to be logged now.
func (r *refusals) add(n LogEntry, now time.Time) (logged bool) {
	if r.budgets.admit(&n, now) {
		return true
	}
	all := refusalGroup{hook: n.Hook.GetId(), reason: n.Reason}
	group := all
	if source := sourcePrefix(n.From); source.IsValid() {
		group.source = source
		if r.groups[group] == nil && r.sources[all] >= maxSources {
			group = all
		}
	}
	if state := r.groups[group]; state != nil {
		state.last = n
		state.unlogged++
		return false
	}
	if group.source.IsValid() {
		r.sources[all]++
	}
	r.groups[group] = &refusalState{since: now}
	return true
}

// expire ends the groups whose window has passed, all groups when the process ends, and returns the notes to log.
func (r *refusals) expire(now time.Time, all bool) []LogEntry {
	r.budgets.expire(now, all)
	var notes []LogEntry
	for group, state := range r.groups {
		if !all && now.Sub(state.since) < refusalWindow {
			continue
		}
		delete(r.groups, group)
		if group.source.IsValid() {
			key := refusalGroup{hook: group.hook, reason: group.reason}
			if r.sources[key]--; r.sources[key] == 0 {
				delete(r.sources, key)
			}
		}
		if state.unlogged > 0 {
			state.last.Count = state.unlogged
			notes = append(notes, state.last)
		}
	}
	return notes
}

// sourcePrefix is the network of an address; invalid for an address that cannot be parsed.
func sourcePrefix(address string) netip.Prefix {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return netip.Prefix{}
	}
	ip = ip.Unmap().WithZone("")
	bits := sourceBits4
	if ip.Is6() {
		bits = sourceBits6
	}
	prefix, err := ip.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return prefix
}
