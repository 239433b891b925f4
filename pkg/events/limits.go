package events

// Limits bound an event. All are inclusive; 0 means unlimited.
type Limits struct {
	NameLength int // Characters of the name.
	Labels     int // Labels of one resource.
	Related    int // Related resources.
	Bytes      int // The event, as REST JSON.
}

// DefaultLimits are the limits that the API documents.
func DefaultLimits() Limits {
	return Limits{NameLength: 1024, Labels: 500, Related: 100, Bytes: 1_500_000}
}
