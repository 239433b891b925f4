package e2e

import (
	"fmt"
	"io"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

// doneWithin bounds the time after a fault until requests of all kinds succeed, and until everything acknowledged before its end
// is done.
const doneWithin = time.Minute

// FaultRow is what clients met during one fault.
type FaultRow struct {
	Fault, Form string
	// Lasts is how long the fault lasts.
	Lasts time.Duration
	// Acknowledged counts the requests that the server confirmed. Lost are those without data afterwards, Doubled those that exist
	// twice, and Damaged the documents that were returned otherwise than they were written.
	Acknowledged, Lost, Doubled, Damaged int
	// Unavailable is the longest time without a success, of the kind of request that waited longest.
	Unavailable time.Duration
	// Done is the time from the end of the fault until everything acknowledged before was done.
	Done time.Duration
	// Remark is what this fault shows besides, and empty for most.
	Remark string
}

// beyond returns how the row exceeds its bounds, empty if it does not.
func (r *FaultRow) beyond() string {
	switch {
	case r.Lost > 0 || r.Doubled > 0 || r.Damaged > 0:
		return fmt.Sprintf("%d lost, %d doubled, %d served damaged", r.Lost, r.Doubled, r.Damaged)
	case r.Unavailable > r.Lasts+doneWithin:
		return fmt.Sprintf("unavailable for %s, the fault lasted %s", r.Unavailable, r.Lasts)
	case r.Done > doneWithin:
		return fmt.Sprintf("work of the fault was done %s after its end", r.Done)
	}
	return ""
}

// FaultTable collects the rows of all tests of a run. The zero table is empty.
type FaultTable struct {
	mu   sync.Mutex
	rows []FaultRow
}

// Add adds a row, and fails the test of a row beyond its bounds.
func (f *FaultTable) Add(t testing.TB, row FaultRow) {
	t.Helper()
	f.mu.Lock()
	f.rows = append(f.rows, row)
	f.mu.Unlock()
	if beyond := row.beyond(); beyond != "" {
		t.Errorf("%s, %s: %s", row.Fault, row.Form, beyond)
	}
}

// Write prints the table; nothing if it is empty.
func (f *FaultTable) Write(out io.Writer) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.rows) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nfault\tform\tlasts\tacknowledged\tlost\tdoubled\tdamaged served\tunavailable\tdone after\t")
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
	for _, r := range f.rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\t%s\n", r.Fault, r.Form, seconds(r.Lasts), r.Acknowledged, r.Lost, r.Doubled,
			r.Damaged, seconds(r.Unavailable), seconds(r.Done), r.Remark)
	}
	return w.Flush()
}
