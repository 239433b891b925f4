package trigger

import (
	"encoding/binary"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	// dedupWindow is how long an event that comes again is a duplicate, in microseconds.
	dedupWindow = int64(30 * 60 * 1_000_000)
	// maxLedger bounds the entries of a ledger. It exceeds what can be delivered again after a crash.
	maxLedger        = 4096
	appliedEntrySize = 16
)

// appliedID is the part of an id that a bucket stores.
func appliedID(id uuid.UUID) uint64 {
	return binary.BigEndian.Uint64(id[:8]) ^ binary.BigEndian.Uint64(id[8:])
}

// applied returns when an event or a child firing was applied to a bucket, and whether that was within the window before
// now. A window of 0 has no limit.
func applied(b *orchv1.AutomationBucket, id uuid.UUID, now, window int64) (at int64, duplicate bool) {
	want := appliedID(id)
	for i := len(b.Ledger) - appliedEntrySize; i >= 0; i -= appliedEntrySize {
		at = int64(binary.BigEndian.Uint64(b.Ledger[i+8:]))
		if window > 0 && now-at >= window {
			return 0, false
		}
		if binary.BigEndian.Uint64(b.Ledger[i:]) == want {
			return at, true
		}
	}
	return 0, false
}

// apply notes that an event or a child firing was applied, and forgets what is older than the window, or too much. It writes
// into the ledger's array, which the session owns.
func apply(b *orchv1.AutomationBucket, id uuid.UUID, now, window int64) {
	first := 0
	for window > 0 && first < len(b.Ledger) && now-int64(binary.BigEndian.Uint64(b.Ledger[first+8:])) >= window {
		first += appliedEntrySize
	}
	first = max(first, len(b.Ledger)-(maxLedger-1)*appliedEntrySize)
	b.Ledger = binary.BigEndian.AppendUint64(b.Ledger[first:], appliedID(id))
	b.Ledger = binary.BigEndian.AppendUint64(b.Ledger, uint64(now))
}
