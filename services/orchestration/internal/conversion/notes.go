package conversion

import "strings"

// notes receive what happens to the names of a document.
type notes interface {
	changed(path []string, before, after string)
	left(path []string, text, why string)
}

// noNotes drops them.
type noNotes struct{}

func (noNotes) changed([]string, string, string) {}
func (noNotes) left([]string, string, string)    {}

// field is a path in the notation of documents.
func field(path []string) string { return strings.Join(path, ".") }
