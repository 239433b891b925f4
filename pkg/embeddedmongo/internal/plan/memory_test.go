package plan

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// The sets that a query keeps have a bound: beyond it the query ends with MongoDB's error.
func TestSetsOfAQueryAreBounded(t *testing.T) {
	t.Parallel()
	const all = 12_000
	r := newRunStore(t, 0, 1)
	r.create(r.runs, "v")
	var values []any
	for i := range all {
		values = append(values, bson.A{fmt.Sprintf("a%06d", i), fmt.Sprintf("b%06d", i)})
	}
	r.insert("v", values...)
	runs := r.reader(r.runs)
	for name, run := range map[string]func(q Query) error{
		"documents with several keys": func(q Query) error {
			q.Hint = value.Of("ws_1_v_1")
			p, err := New(runs, q)
			require.NoError(t, err)
			rows, err := p.Run()
			require.NoError(t, err)
			defer rows.Close()
			found, err := rows.All()
			if err == nil {
				require.Len(t, found, all)
			}
			return err
		},
		"distinct values": func(q Query) error {
			found, _, _, err := Distinct(runs, q, "v")
			if err == nil {
				require.Len(t, found, 2*all)
			}
			return err
		},
	} {
		q := Query{Filter: r.filter(bson.E{Key: "v", Value: bson.D{{Key: "$gte", Value: ""}}})}
		require.NoError(t, run(q), name)
		q.memory = 512 << 10
		err := run(q)
		require.True(t, mongoerr.Is(err, mongoerr.SortMemory), "%s: %v", name, err)
	}
}
