package conversion

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// described are the collections of documents that users define. The report has their changed names one by one; of others it counts
// documents.
var described = map[query.Collection]bool{
	query.Automation: true, query.Webhook: true, query.SavedSearch: true, query.Deployment: true, query.BlockDocument: true,
}

// Report counts documents, and writes the names of single documents as they change.
type Report struct {
	out     io.Writer
	sources map[string]*counts
}

// counts are those of a collection, a stream or a bucket.
type counts struct{ read, changed, left int64 }

// NewReport returns a report that writes to out.
func NewReport(out io.Writer) *Report { return &Report{out: out, sources: map[string]*counts{}} }

func (r *Report) source(name string) *counts {
	c := r.sources[name]
	if c == nil {
		c = &counts{}
		r.sources[name] = c
	}
	return c
}

// broker counts a message of a stream or a bucket.
func (r *Report) broker(source string, changed bool) {
	c := r.source("broker " + source)
	c.read++
	if changed {
		c.changed++
	}
}

// document begins the notes of a document.
func (r *Report) document(d *document) *documentNotes {
	return &documentNotes{report: r, document: d, counts: r.source(string(d.collection))}
}

// Print writes the counts.
func (r *Report) Print() error {
	if _, err := fmt.Fprintf(r.out, "%-28s %12s %12s %12s\n", "COLLECTION", "READ", "CHANGED", "LEFT ALONE"); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(r.sources)) {
		c := r.sources[name]
		if _, err := fmt.Fprintf(r.out, "%-28s %12d %12d %12d\n", name, c.read, c.changed, c.left); err != nil {
			return err
		}
	}
	return nil
}

// documentNotes collects the notes of one document, and writes them at its end.
type documentNotes struct {
	report   *Report
	document *document
	counts   *counts
	lines    []string
	remains  bool
}

func (n *documentNotes) changed(path []string, before, after string) {
	if described[n.document.collection] {
		n.line("%s: %s -> %s", field(path), before, after)
	}
}

func (n *documentNotes) left(path []string, text, why string) {
	n.remains = true
	if text == "" {
		n.line("%s: left alone: %s", field(path), why)
		return
	}
	n.line("%s: left alone: %s: %s", field(path), text, why)
}

// line adds a line once.
func (n *documentNotes) line(format string, args ...any) {
	if line := fmt.Sprintf(format, args...); !slices.Contains(n.lines, line) {
		n.lines = append(n.lines, line)
	}
}

// end counts the document, and writes its notes.
func (n *documentNotes) end(changed bool) {
	n.counts.read++
	if changed {
		n.counts.changed++
	}
	if n.remains {
		n.counts.left++
	}
	if len(n.lines) == 0 {
		return
	}
	name, _ := n.document.raw.Lookup("name").StringValueOK()
	title := strings.TrimSpace(fmt.Sprintf("%s %s %s", n.document.collection, n.document.uuid, name))
	slices.Sort(n.lines)
	fmt.Fprintf(n.report.out, "%s\n  %s\n", title, strings.Join(n.lines, "\n  "))
}
