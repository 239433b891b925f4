package events

import (
	"strings"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Values are what a ResourceSpecification asks of one label: one of the wanted values if any are wanted, and none of the
// unwanted ones. A label of which no value at all is named is met by nothing.
type Values struct {
	Exact, Prefixes       []string // Wanted.
	NotExact, NotPrefixes []string // Unwanted: they started with "!".
}

// LabelValues reads the values of one label. A value that ends in "*" stands for all that begin like it; any other "*"
// stands for itself.
func LabelValues(spec *orchv1.StringOrList) Values {
	var v Values
	values := spec.GetList().GetValues()
	if s, ok := spec.GetKind().(*orchv1.StringOrList_StringValue); ok {
		values = []string{s.StringValue}
	}
	for _, value := range values {
		value, unwanted := strings.CutPrefix(value, "!")
		prefix, wild := strings.CutSuffix(value, "*")
		switch {
		case wild && unwanted:
			v.NotPrefixes = append(v.NotPrefixes, prefix)
		case wild:
			v.Prefixes = append(v.Prefixes, prefix)
		case unwanted:
			v.NotExact = append(v.NotExact, value)
		default:
			v.Exact = append(v.Exact, value)
		}
	}
	return v
}

// Empty tells whether no value was named.
func (v Values) Empty() bool {
	return len(v.Exact)+len(v.Prefixes)+len(v.NotExact)+len(v.NotPrefixes) == 0
}
