package destinations

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/leader"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// errTaken reports a destination that is not due, or that another replica has claimed since.
var errTaken = errors.New("another replica sends the deliveries of the destination")

// errChanged reports that a destination changed after its deliveries were read.
var errChanged = errors.New("the destination has changed")

// claim is the right to send the deliveries of a destination: a lease of leader.Duration. The number of the claim identifies it.
type claim struct {
	service *Service
	ws, id  uuid.UUID
	number  int64
	// tidy reports that the finished deliveries are to be examined.
	tidy bool
	// slot is the time of the last request of a destination with a rate.
	slot time.Time
}

// claim takes a destination that is due. Its error is errTaken if the destination is not due any more.
func (s *Service) claim(ctx context.Context, ws, id uuid.UUID) (*claim, error) {
	c := &claim{service: s, ws: ws, id: id}
	_, err := s.edit(ctx, ws, id, func(next *orchv1.Destination) ([]store.Effect, error) {
		now := s.Store.Now()
		if next.Due == nil || next.GetDue() > now.UnixMicro() {
			return nil, errTaken
		}
		next.Claims++
		c.slot = time.Now().Add(time.UnixMicro(next.GetLastRequest()).Sub(now))
		c.number, c.tidy = next.GetClaims(), now.Sub(time.UnixMicro(next.GetTidied())) >= tidyEvery
		if c.tidy {
			next.Tidied = now.UnixMicro()
		}
		next.Claimed, next.Due = true, proto.Int64(now.Add(leader.Duration).UnixMicro())
		return nil, nil
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// edit changes the destination unless another replica has claimed it since: then the error is errTaken.
func (c *claim) edit(ctx context.Context, change func(next *orchv1.Destination) ([]store.Effect, error)) (*orchv1.Destination, error) {
	return c.service.edit(ctx, c.ws, c.id, func(next *orchv1.Destination) ([]store.Effect, error) {
		if !next.GetClaimed() || next.GetClaims() != c.number {
			return nil, errTaken
		}
		return change(next)
	})
}

// renew extends the claim. It returns false when the claim is lost.
func (c *claim) renew(ctx context.Context) (held bool, err error) {
	_, err = c.edit(ctx, func(next *orchv1.Destination) ([]store.Effect, error) {
		next.Due = proto.Int64(c.service.Store.Now().Add(leader.Duration).UnixMicro())
		return nil, nil
	})
	if errors.Is(err, errTaken) || errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// end ends the claim. The destination is due again at a time; the zero time means that there is no work. The error is errChanged if
// deliveries or settings have changed since the destination had a sequence.
func (c *claim) end(ctx context.Context, sequence int64, due time.Time) error {
	_, err := c.edit(ctx, func(next *orchv1.Destination) ([]store.Effect, error) {
		if next.GetSequence() != sequence {
			return nil, errChanged
		}
		c.release(next, due)
		return nil, nil
	})
	return err
}

func (c *claim) release(next *orchv1.Destination, due time.Time) {
	if next.RateLimit != nil {
		next.LastRequest = c.service.Store.Now().Add(time.Until(c.slot)).UnixMicro()
	}
	next.Claimed, next.Due = false, nil
	if !due.IsZero() {
		next.Due = proto.Int64(due.UnixMicro())
	}
}

// yield ends the claim of a destination with more work.
func (c *claim) yield(ctx context.Context) error {
	_, err := c.edit(ctx, func(next *orchv1.Destination) ([]store.Effect, error) {
		c.release(next, c.service.Store.Now())
		return nil, nil
	})
	return err
}
