package events_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/events"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestParseText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		query string
		want  events.Text
	}{
		{"", events.Text{}},
		{" \t ", events.Text{}},
		{"a b", events.Text{AnyOf: []string{"a", "b"}}},
		{`"a b" c`, events.Text{AnyOf: []string{"a b", "c"}}},
		{"a -b !c +d", events.Text{AnyOf: []string{"a"}, NoneOf: []string{"b", "c"}, AllOf: []string{"d"}}},
		{`-"a b"+"c"`, events.Text{NoneOf: []string{"a b"}, AllOf: []string{"c"}}},
		{"a - b", events.Text{AnyOf: []string{"a", "b"}}},
		{"-", events.Text{}},
		{"--a", events.Text{NoneOf: []string{"-a"}}},
		{`a"b`, events.Text{AnyOf: []string{"a", "b"}}},
		{`"a\"b\\c\d`, events.Text{AnyOf: []string{`a"b\c\d`}}},
		{`"" " "`, events.Text{}},
		{"non-stop", events.Text{AnyOf: []string{"non-stop"}}},
	} {
		t.Run(c.query, func(t *testing.T) {
			require.Equal(t, c.want, events.ParseText(c.query), c.query)
		})
	}
}

func TestLabelValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values    []string
		met, miss []string
	}{
		{nil, nil, []string{"", "a"}},
		{[]string{"a"}, []string{"a"}, []string{"", "A", "ab"}},
		{[]string{"a*"}, []string{"a", "ab", "a\nb"}, []string{"", "ba"}},
		{[]string{"*good*"}, []string{"good", "a-good-value", "so good"}, []string{"god", "GOOD"}},
		{[]string{"*.3", "x"}, []string{"a.3", ".3", "x"}, []string{"a.33", "xx"}},
		{[]string{"a?c"}, []string{"abc", "aéc", "a?c"}, []string{"ac", "abbc", "aéé"}},
		{[]string{"*ab*ab"}, []string{"abab", "aabxabab"}, []string{"ab", "abaab "}},
		{[]string{"[a]*"}, []string{"[a]", "[a]b"}, []string{"a", "ab"}},
		{[]string{"%_."}, []string{"%_."}, []string{"abc"}},
		{[]string{"!a*"}, []string{"", "ba"}, []string{"a", "ab"}},
		{[]string{"!a", "!b"}, []string{"a", "b", "c"}, nil}, // One of them is enough.
		{[]string{"!!a"}, []string{"a"}, []string{"!a"}},
		{[]string{"\x00*"}, []string{"\x00", "\x00a"}, []string{"", "a"}},
	} {
		t.Run(fmt.Sprint(c.values), func(t *testing.T) {
			values := events.LabelValues(&orchv1.StringOrList{Kind: &orchv1.StringOrList_List{List: &orchv1.StringList{Values: c.values}}})
			patterns := func(text string) bool {
				for _, v := range values {
					if regexp.MustCompile(v.Pattern()).MatchString(text) != v.Unwanted {
						return true
					}
				}
				return false
			}
			for _, text := range c.met {
				require.True(t, values.Met(text), "%q meets %q", text, c.values)
				require.True(t, patterns(text), "%q is found by %q", text, c.values)
			}
			for _, text := range c.miss {
				require.False(t, values.Met(text), "%q meets %q", text, c.values)
				require.False(t, patterns(text), "%q is found by %q", text, c.values)
			}
		})
	}
}
