package events_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/events"
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
		require.Equal(t, c.want, events.ParseText(c.query), c.query)
	}
}
