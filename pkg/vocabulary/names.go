package vocabulary

import (
	"strings"
	"unicode"
)

// kinds are the parts that follow the prefix in names of the server and of its clients: kinds of resources and events, and
// labels. A name with another part is a user's own, whatever its prefix.
var kinds = set(`account account-membership api-key artifact artifact-collection asset automation backfill block block-document block-schema
	block-type concurrency-limit deployment destination event event-type flow flow-run lateness log name orchestration posture priority
	request resource retention-policy run-count runner saved-search schema service-account state-message state-name state-timestamp
	state-type tag task-run team team-membership trigger-type user variable version webhook weight work-pool work-queue worker
	worker-type workspace workspace-access workspace-role`)

func set(words string) map[string]bool {
	all := map[string]bool{}
	for _, word := range strings.Fields(words) {
		all[word] = true
	}
	return all
}

// Other returns the other vocabulary.
func (v Vocabulary) Other() Vocabulary { return Vocabulary{prefect: !v.prefect} }

// prefixes are what names begin with, in the order of both vocabularies' lists.
func (v Vocabulary) prefixes() [2]string { return [2]string{v.Name() + ".", v.CloudName() + "."} }

// Reserved reports whether a name is one that only the server gives: of audit events and of what accounts own, in either
// vocabulary, because data may be converted. Case, leading signs and invisible characters do not count: to a reader such a name is the
// same.
func Reserved(name string) bool {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r > unicode.MaxLatin1 && unicode.In(r, unicode.C, unicode.Mn) || r == '\u00ad' {
			return -1
		}
		return r
	}, name)
	name = strings.TrimLeftFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, prefix := range reserved {
		if len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) {
			return true
		}
	}
	return false
}

// reserved are the prefixes of reserved names.
var reserved = [...]string{Orch.CloudName() + ".", Prefect.CloudName() + "."}

// RunState reports whether an event of this name reports the state of a run, in either vocabulary.
func RunState(name string) bool {
	for _, prefix := range runStates {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// runStates are the prefixes of events about states of runs.
var runStates = [...]string{Orch.Name("flow-run", ""), Orch.Name("task-run", ""), Prefect.Name("flow-run", ""), Prefect.Name("task-run", "")}

// Owner returns the vocabulary to which a name of the server belongs; ok is false for every other text. The name may end
// early ("orch.flow-run.") or contain "*" as patterns do ("orch.*", "orch.flow*").
func Owner(name string) (v Vocabulary, ok bool) {
	for _, v := range []Vocabulary{Orch, Prefect} {
		if name == v.KindKey() {
			return v, true
		}
		for _, prefix := range v.prefixes() {
			if rest, found := strings.CutPrefix(name, prefix); found {
				kind, _, _ := strings.Cut(rest, ".")
				return v, isKind(kind)
			}
		}
	}
	return Vocabulary{}, false
}

// isKind reports whether a part is a kind, or a pattern that a kind matches.
func isKind(kind string) bool {
	begin, _, pattern := strings.Cut(kind, "*")
	if !pattern {
		return kinds[kind]
	}
	for k := range kinds {
		if strings.HasPrefix(k, begin) {
			return true
		}
	}
	return false
}

// Rename returns a name of the server, of either vocabulary, as v spells it. It returns every other text as it is.
func (v Vocabulary) Rename(name string) string {
	owner, ok := Owner(name)
	if !ok || owner == v {
		return name
	}
	if name == owner.KindKey() {
		return v.KindKey()
	}
	from, to := owner.prefixes(), v.prefixes()
	for i, prefix := range from {
		if rest, found := strings.CutPrefix(name, prefix); found {
			return to[i] + rest
		}
	}
	return name
}
