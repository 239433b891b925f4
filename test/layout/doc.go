// Package layout checks rules of the source tree that no linter covers.
package layout
