package events

// Limits bound an event. All are inclusive; 0 means unlimited.
type Limits struct {
	NameLength  int // Characters of the name.
	Labels      int // Labels of one resource.
	LabelLength int // Characters of the name or the value of a label.
	Related     int // Related resources.
	Bytes       int // The event, as REST JSON.
}

// DefaultLimits are the limits that the API documents. Clients shorten the messages of states, their longest labels, to 100,000
// characters and a note.
func DefaultLimits() Limits {
	return Limits{NameLength: 1024, Labels: 500, LabelLength: 131_072, Related: 100, Bytes: 1_500_000}
}
