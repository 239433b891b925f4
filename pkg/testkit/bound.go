package testkit

import "testing"

// FillBound checks a bound of docs/guarantees.md, which has a row of that name. It adds until add reports that something was refused,
// dropped or released because of the bound. Used is the size in bytes after each addition: never more than the bound, and at last near it.
func FillBound(t testing.TB, name string, bound int, add func() (beyond bool), used func() int) {
	t.Helper()
	const most = 1_000_000
	largest := 0
	for range most {
		beyond := add()
		n := used()
		if largest = max(largest, n); largest > bound {
			t.Fatalf("%s: %d bytes are in use, the bound is %d", name, largest, bound)
		}
		if !beyond {
			continue
		}
		if largest < bound/2 {
			t.Fatalf("%s: the bound of %d bytes applies at %d", name, bound, largest)
		}
		return
	}
	t.Fatalf("%s: after %d additions nothing exceeds the bound", name, most)
}
