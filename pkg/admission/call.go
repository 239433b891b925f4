package admission

import (
	"context"

	"github.com/orch-project/orch/pkg/request"
)

// computedFactor is the memory of a computing call as a multiple of its request: the parsed request and the response.
const computedFactor = 8

// Compute reserves memory and a processor for an incoming call that computes on a request of so many bytes. Such a call takes long even
// if its request is small, so each counts as large work. The error wraps ErrExhausted. The caller closes the reservation, and waits for
// no broker or store before that.
func (c *Controller) Compute(ctx context.Context, bytes int) (*Reservation, error) {
	if c == nil {
		return nil, nil
	}
	info, _ := request.Incoming(ctx) // Without a caller, work of the service itself shares a key.
	r := c.Open(info.Account.String(), Workspace(info.Workspace))
	err := r.Charge(computedFactor * bytes)
	if err == nil {
		err = r.AcquireProcessor(ctx, max(bytes, LargeBody))
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}
