//go:build !linux

package standalone

// releaseTextPages does nothing: the pages of the program are the system's affair.
func releaseTextPages() error { return nil }
