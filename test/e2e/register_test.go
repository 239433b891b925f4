package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRegisterSeesWhatIsNotLinearizable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do      func(r *Register) []string // It returns the history.
		correct bool
	}{
		"one after another": {func(r *Register) []string {
			a, aDone := r.Write()
			aDone(true, false)
			read := r.Read()
			read(a)
			b, bDone := r.Write()
			bDone(true, false)
			return []string{a, b}
		}, true},
		"concurrent writes in either order": {func(r *Register) []string {
			a, aDone := r.Write()
			b, bDone := r.Write()
			aDone(true, false)
			bDone(true, false)
			return []string{b, a}
		}, true},
		"no answer, and stored": {func(r *Register) []string {
			a, aDone := r.Write()
			aDone(false, false)
			return []string{a}
		}, true},
		"no answer, and not stored": {func(r *Register) []string {
			_, aDone := r.Write()
			aDone(false, false)
			return nil
		}, true},
		"refused, and not stored": {func(r *Register) []string {
			_, aDone := r.Write()
			aDone(false, true)
			return nil
		}, true},
		"refused, and stored": {func(r *Register) []string {
			a, aDone := r.Write()
			aDone(false, true)
			return []string{a}
		}, false},
		"lost": {func(r *Register) []string {
			_, aDone := r.Write()
			aDone(true, false)
			return nil
		}, false},
		"twice": {func(r *Register) []string {
			a, aDone := r.Write()
			aDone(true, false)
			return []string{a, a}
		}, false},
		"in the wrong order": {func(r *Register) []string {
			a, aDone := r.Write()
			aDone(true, false)
			b, bDone := r.Write()
			bDone(true, false)
			return []string{b, a}
		}, false},
		"a stale read": {func(r *Register) []string {
			a, aDone := r.Write()
			aDone(true, false)
			r.Read()("")
			return []string{a}
		}, false},
		"a read of the future": {func(r *Register) []string {
			read := r.Read()
			read("write 1")
			a, aDone := r.Write()
			aDone(true, false)
			return []string{a}
		}, false},
		"reads that go back": {func(r *Register) []string {
			a, aDone := r.Write()
			r.Read()(a)
			r.Read()("")
			aDone(true, false)
			return []string{a}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := NewRegister()
			wrong := r.Check(c.do(r))
			require.Equal(t, c.correct, len(wrong) == 0, wrong)
		})
	}
}
