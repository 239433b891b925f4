// Package pagination reads how much of a list a client wants, and reads the list.
package pagination

import (
	"math"
	"net/http"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// MaxLimit is the largest page, and the size of one whose limit is not named.
const MaxLimit = 200

// Limit returns the size of the page. Bounds are not declared in the contract because their answer is no standard 422
// (rule 12).
func Limit(limit *orchv1.PageLimit) (int64, error) {
	switch {
	case limit == nil:
		return MaxLimit, nil
	case limit.GetValue() > MaxLimit:
		return 0, rpc.Detail(http.StatusUnprocessableEntity, "Invalid limit: must be less than or equal to 200.")
	case limit.GetValue() < 0:
		return 0, rpc.Detail(http.StatusUnprocessableEntity, "Invalid limit: must be greater than or equal to 0.")
	}
	return limit.GetValue(), nil
}

// Offset is where a page begins; pages are counted from 1. One beyond all numbers begins after everything.
func Offset(number, limit int64) int64 {
	if limit > 0 && number > math.MaxInt64/limit {
		return math.MaxInt64
	}
	return (number - 1) * limit
}

// Pages is how many pages hold so many members. Where a page holds none, there are none.
func Pages(count, limit int64) int64 {
	if limit == 0 {
		return 0
	}
	return (count + limit - 1) / limit
}
