package pages

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/param"
)

// TestPagesOfASearch compares the rows of a page, and the position of the next one, with the times that the search returned.
func TestPagesOfASearch(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return time.Unix(int64(1000-seconds), 0).UTC() }
	for name, c := range map[string]struct {
		older      param.Position
		found      []int // Seconds before the newest one.
		searchedTo int   // -1 when the search is complete.
		rows       []int
		next       param.Position
	}{
		"the last page":                              {param.Position{}, []int{0, 1}, -1, []int{0, 1}, param.Position{}},
		"a full page":                                {param.Position{}, []int{0, 1, 1, 2}, 2, []int{0, 1, 1}, param.Position{Before: at(1), Skip: 2}},
		"rows of the preceding page":                 {param.Position{Before: at(1), Skip: 2}, []int{1, 1, 2, 3}, -1, []int{2, 3}, param.Position{}},
		"a bound without a match":                    {param.Position{}, nil, 50, []int{}, param.Position{Before: at(50)}},
		"a bound behind the last match":              {param.Position{}, []int{0, 1}, 50, []int{0, 1}, param.Position{Before: at(50)}},
		"a bound at the last match":                  {param.Position{}, []int{0, 1}, 1, []int{0, 1}, param.Position{Before: at(1), Skip: 1}},
		"more rows of one time than a page has":      {param.Position{Before: at(1), Skip: 3}, []int{1, 1, 1, 1, 1, 1, 1}, 1, []int{1, 1, 1}, param.Position{Before: at(1), Skip: 6}},
		"fewer matches than the preceding pages had": {param.Position{Before: at(1), Skip: 3}, []int{1}, -1, []int{}, param.Position{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := &orchv1.WebhookDeliverySearchResult{}
			for _, seconds := range c.found {
				result.Deliveries = append(result.Deliveries, &orchv1.WebhookDelivery{Received: timestamppb.New(at(seconds))})
			}
			if c.searchedTo >= 0 {
				result.SearchedTo = timestamppb.New(at(c.searchedTo))
			}
			rows, next := deliveryFilter{Rows: 3, Older: c.older}.page(result)
			seconds := []int{}
			for _, d := range rows {
				seconds = append(seconds, int(1000-d.GetReceived().GetSeconds()))
			}
			require.Equal(t, c.rows, seconds)
			require.Equal(t, c.next, next)
		})
	}
}
