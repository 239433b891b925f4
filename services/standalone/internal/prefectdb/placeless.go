package prefectdb

import (
	"cmp"
	"context"
	"maps"
	"slices"
)

// Placeless is a table whose rows are no resources.
type Placeless struct {
	Table  string
	Rows   int64
	Reason string
}

// Placeless lists the tables with rows that no kind reads.
func (s *Source) Placeless(ctx context.Context) ([]Placeless, error) {
	read := slices.Clone(unread)
	for _, k := range Kinds() {
		read = append(read, k.table)
	}
	var found []Placeless
	for _, table := range slices.Sorted(maps.Keys(s.columns)) {
		if slices.Contains(read, table) {
			continue
		}
		rows, err := s.Rows(ctx, table)
		if err != nil {
			return nil, err
		}
		if rows > 0 {
			found = append(found, Placeless{table, rows, cmp.Or(placeless[table], "no table of Prefect 3.0 to 3.9")})
		}
	}
	return found, nil
}
