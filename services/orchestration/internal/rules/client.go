package rules

import (
	"regexp"
	"strconv"
	"strings"
)

// Version is the version of a client's library, as far as rules depend on it; the zero version is unknown.
type Version struct {
	major, minor, patch int
	// candidate is the number of a release candidate; final marks a release.
	candidate int
}

// final is greater than every candidate number.
const final = 1 << 30

var userAgent = regexp.MustCompile(`^prefect/(\d{1,6})\.(\d{1,6})\.(\d{1,6})([^ ]*)`)

// ClientVersion parses the version of a User-Agent such as "prefect/3.4.11 (API 0.8.4)". Every other User-Agent has the
// unknown version and counts as old.
func ClientVersion(agent string) Version {
	m := userAgent.FindStringSubmatch(agent)
	if m == nil {
		return Version{}
	}
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil {
			return 0
		}
		return n
	}
	v := Version{major: number(m[1]), minor: number(m[2]), patch: number(m[3]), candidate: final}
	switch rest := m[4]; {
	case strings.HasPrefix(rest, "rc"):
		v.candidate = number(strings.TrimLeft(strings.SplitN(rest[2:], "+", 2)[0], "0"))
	case strings.HasPrefix(rest, ".dev"):
		v.candidate = 0
	}
	return v
}

func (v Version) compare(o Version) int {
	for _, pair := range [][2]int{{v.major, o.major}, {v.minor, o.minor}, {v.patch, o.patch}, {v.candidate, o.candidate}} {
		if pair[0] != pair[1] {
			if pair[0] < pair[1] {
				return -1
			}
			return 1
		}
	}
	return 0
}

// renewsLeases reports whether the client renews the lease of its deployment's slot during the run.
func (v Version) renewsLeases() bool { return v.compare(Version{3, 4, 11, final}) >= 0 }

// TellsOfTaskRuns reports whether the client publishes the events of its task runs itself.
func (v Version) TellsOfTaskRuns() bool { return v.major >= 3 }

// TellsOfArtifacts reports whether the client publishes the events of its artifacts itself.
func (v Version) TellsOfArtifacts() bool { return v.compare(Version{3, 4, 15, final}) >= 0 }

// takesSlotsItself reports whether the client acquires its deployment's slot itself.
func (v Version) takesSlotsItself() bool {
	return v.compare(Version{3, 0, 0, 20}) >= 0 && v.compare(Version{3, 0, 3, final}) <= 0
}
