package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"
)

// row is a query in both stores.
type row struct {
	small, large answer
}

func (r row) ratio() float64 { return float64(r.large.Median) / float64(max(r.small.Median, 1)) }

// report prints the durations of every query in both stores, the worst slowdown first. It returns an error if a query
// exceeds the bound or fails.
func (o options) report(results [2]result) error {
	if len(results[0].Answers) != len(results[1].Answers) {
		return errors.New("the stores were measured by different queries")
	}
	var rows []row
	var failed int
	out := os.Stdout
	for i, small := range results[0].Answers {
		r := row{small, results[1].Answers[i]}
		if err := cmp.Or(r.large.Error, r.small.Error); err != "" {
			failed++
			_, _ = fmt.Fprintf(out, "FAILED  %s: %s\n", small.Name, err)
			continue
		}
		rows = append(rows, r)
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(b.ratio(), a.ratio()) })
	_, _ = fmt.Fprintf(out, "%12s %12s %8s %10s  %s\n", strconv.Itoa(o.few), strconv.Itoa(o.many), "ratio", "rows", "query")
	for _, r := range rows {
		mark := ""
		if r.ratio() > o.bound && r.large.Median > o.floor {
			mark = "  TOO SLOW"
			failed++
		}
		_, _ = fmt.Fprintf(out, "%9.2f ms %9.2f ms %8.1f %10d  %s%s\n", ms(r.small.Median), ms(r.large.Median), r.ratio(), r.large.Rows, r.large.Name, mark)
	}
	_, _ = fmt.Fprintf(out, "%d queries, %d beyond the bound or without a result\n", len(results[0].Answers), failed)
	for i, n := range []int{o.few, o.many} {
		_, _ = fmt.Fprintf(out, "memory with %d flow runs: %d MB when opened, %d MB at most\n", n, results[i].Opened>>20, results[i].Peak>>20)
	}
	if failed > 0 {
		return fmt.Errorf("%d queries are more than %.0f times slower with %d flow runs, or fail", failed, o.bound, o.many)
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
