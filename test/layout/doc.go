// Package layout checks rules of the tree that no linter knows.
package layout
