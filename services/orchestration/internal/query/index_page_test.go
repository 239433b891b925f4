package query

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

var update = flag.Bool("update", false, "write docs/indexes.md anew")

// indexPage writes docs/indexes.md.
func indexPage(users map[string][]labelledQuery) string {
	var b strings.Builder
	b.WriteString("# Indexes\n\n" +
		"Every index of the store with the queries that use it: what `explain` says for each filter and sort of the API, and for the\n" +
		"queries of the services. Written by `make gen`; the list of indexes is\n" +
		"[services/orchestration/internal/query/index.go](../services/orchestration/internal/query/index.go). A filter stands for pages in\n" +
		"all orders and for the count, unless orders are named.\n")
	last := Collection("")
	for _, ix := range sortedIndexes() {
		if ix.Collection != last {
			last = ix.Collection
			fmt.Fprintf(&b, "\n## %s\n\n| Keys | Kind | For | Used by |\n| --- | --- | --- | --- |\n", last)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", strings.Join(names(ix.Keys), "`, `"), kind(ix), ix.For, usersOf(ix, users[indexKey(ix)]))
	}
	return b.String()
}

// sortedIndexes groups indexes by collection and keeps their order within each.
func sortedIndexes() []Index {
	list := Indexes()
	slices.SortStableFunc(list, func(a, b Index) int { return strings.Compare(string(a.Collection), string(b.Collection)) })
	return list
}

func kind(ix Index) string {
	var kinds []string
	if ix.Unique {
		kinds = append(kinds, "unique")
	}
	if ix.Sparse {
		kinds = append(kinds, "sparse")
	}
	if ix.TTL {
		kinds = append(kinds, "TTL")
	}
	if ix.Partial != nil {
		condition, err := bson.MarshalExtJSON(ix.Partial, false, false)
		if err != nil {
			panic(err) // The list of indexes is fixed.
		}
		kinds = append(kinds, "where `"+string(condition)+"`")
	}
	return strings.Join(kinds, ", ")
}

// shownUsers bounds the queries that the page names for an index.
const shownUsers = 6

// usersOf names the queries of an index, starting with those that no other index serves.
func usersOf(ix Index, queries []labelledQuery) string {
	orders := map[string][]string{} // By label.
	var labels []string
	for _, q := range queries {
		label, order, _ := strings.Cut(q.label, " by ")
		if orders[label] == nil {
			labels = append(labels, label)
		}
		orders[label] = append(orders[label], order)
	}
	var shown []string
	for _, label := range labels {
		list := slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(orders[label]))), func(s string) bool { return s == "" })
		if len(list) > 0 && len(list) <= 3 {
			label += " by " + strings.Join(list, ", ")
		}
		shown = append(shown, label)
	}
	if more := len(shown) - shownUsers; more > 0 {
		shown = append(shown[:shownUsers], fmt.Sprintf("%d more", more))
	}
	if ix.Unique {
		shown = append(shown, "uniqueness")
	}
	if ix.TTL {
		shown = append(shown, "expiry")
	}
	return strings.Join(shown, "; ")
}
