// Package pagination parses page limits and offsets, and reads pages of lists.
package pagination

import (
	"math"
	"net/http"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// MaxLimit is the maximum page size and the default.
const MaxLimit = 200

// Limit returns the page size. The contract does not declare its bounds, because a violation returns a different error
// than the standard 422 (rule 12).
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

// Offset is the start of a page; pages are counted from 1. It saturates for page numbers that overflow.
func Offset(number, limit int64) int64 {
	if limit > 0 && number > math.MaxInt64/limit {
		return math.MaxInt64
	}
	return (number - 1) * limit
}

// Pages is the number of pages that hold count members; 0 for a page size of 0.
func Pages(count, limit int64) int64 {
	if limit == 0 {
		return 0
	}
	return (count + limit - 1) / limit
}
