package clientversion

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/orch-project/orch/pkg/vocabulary"
)

// SDK is a version of Prefect's Python package. The zero SDK is unknown.
type SDK struct {
	// release has the numbers between dots, without zeros at the end.
	release []number
	// pre, post and dev are the other segments of a Python version, as numbers that sort as PEP 440 defines.
	pre, post, dev segment
	// local tells only whether there is a local label, because no behaviour compares two labels.
	local segment
}

// number is a decimal number of any length, without leading zeros.
type number string

func (n number) compare(o number) int {
	return cmp.Or(cmp.Compare(len(n), len(o)), strings.Compare(string(n), string(o)))
}

// segment is one optional segment of a version.
type segment struct {
	rank int // Compared first.
	n    number
}

func (s segment) compare(o segment) int { return cmp.Or(cmp.Compare(s.rank, o.rank), s.n.compare(o.n)) }

// The ranks of segments. An absent one precedes or follows all that are present.
const (
	before  = -1
	present = 0
	after   = 4
)

// prereleases are the ranks of the words for prereleases.
var prereleases = map[string]int{"a": 1, "alpha": 1, "b": 2, "beta": 2, "c": 3, "rc": 3, "pre": 3, "preview": 3}

// python is a version as PEP 440 defines, in the characters that a User-Agent allows.
var python = regexp.MustCompile(`^(\d+(?:\.\d+)*)` +
	`(?:\.?(alpha|a|beta|b|preview|pre|c|rc)\.?(\d*))?` +
	`(?:\.?(post|rev|r)\.?(\d*))?` +
	`(?:\.?(dev)\.?(\d*))?` +
	`(\+[a-z0-9]+(?:\.[a-z0-9]+)*)?$`)

// ParseSDK returns the version in a User-Agent. Every text that is no User-Agent of an SDK, or has no valid version, is unknown.
func ParseSDK(agent string) SDK {
	client, ok := vocabulary.PrefectAgent(agent)
	if !ok {
		return SDK{}
	}
	_, version, _ := strings.Cut(client, "/")
	return parse(version)
}

// parse returns a version without the text around it.
func parse(text string) SDK {
	m := python.FindStringSubmatch(text)
	if m == nil {
		return SDK{}
	}
	v := SDK{pre: segment{rank: after}, post: segment{rank: before}, dev: segment{rank: after}, local: segment{rank: before}}
	for part := range strings.SplitSeq(m[1], ".") {
		v.release = append(v.release, numberOf(part))
	}
	for len(v.release) > 0 && v.release[len(v.release)-1] == "" {
		v.release = v.release[:len(v.release)-1]
	}
	switch {
	case m[2] != "":
		v.pre = segment{prereleases[m[2]], numberOf(m[3])}
	case m[4] == "" && m[6] != "": // 1.0.dev1 precedes 1.0a1.
		v.pre = segment{rank: before}
	}
	if m[4] != "" {
		v.post = segment{present, numberOf(m[5])}
	}
	if m[6] != "" {
		v.dev = segment{present, numberOf(m[7])}
	}
	if m[8] != "" {
		v.local = segment{}
	}
	return v
}

// numberOf returns a number without leading zeros; zero is empty.
func numberOf(digits string) number { return number(strings.TrimLeft(digits, "0")) }

// Known reports whether the User-Agent had a version.
func (v SDK) Known() bool { return v.release != nil }

// Compare is negative if v precedes o in the order of PEP 440, and positive if it follows.
func (v SDK) Compare(o SDK) int {
	return cmp.Or(
		slices.CompareFunc(v.release, o.release, number.compare),
		v.pre.compare(o.pre), v.post.compare(o.post), v.dev.compare(o.dev), v.local.compare(o.local),
	)
}
