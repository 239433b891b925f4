package pagination

// Bounds in bytes: of a page, and of the documents that a search reads.
const (
	MaxPageBytes     = maxPageBytes
	MaxSearchedBytes = maxSearchedBytes
)
