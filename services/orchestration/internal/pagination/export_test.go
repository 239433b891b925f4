package pagination

// MaxPageBytes bounds a page.
const MaxPageBytes = maxPageBytes
