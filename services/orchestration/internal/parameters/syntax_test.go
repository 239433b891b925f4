package parameters

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhereTextStopsToBeJSON(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"":                "Expecting value: line 1 column 1 (char 0)",
		`{"a": b}`:        "Expecting value: line 1 column 7 (char 6)",
		"[1,]":            "Expecting value: line 1 column 4 (char 3)",
		`{a: 1}`:          "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
		`{"a" 1}`:         "Expecting ':' delimiter: line 1 column 6 (char 5)",
		"[1\n,2\n 3]":     "Expecting ',' delimiter: line 3 column 2 (char 7)",
		`{"ä": 1 "b": 2}`: "Expecting ',' delimiter: line 1 column 9 (char 8)",
		"1 2":             "Extra data: line 1 column 3 (char 2)",
		"\"a\nb\"":        "Invalid control character at: line 1 column 3 (char 2)",
		`[1, 2`:           "Expecting value: line 1 column 6 (char 5)",
	} {
		require.False(t, json.Valid([]byte(source)))
		require.Equal(t, want, syntax(source), source)
	}
}
