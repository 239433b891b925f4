package destinations

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/run"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/action"
	"github.com/orch-project/orch/services/orchestration/internal/leader"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/workspacelimit"
)

const (
	// pollEvery is how often due destinations are looked for that nobody woke the sender for.
	pollEvery = time.Second
	// duePage is how many due destinations one read returns.
	duePage = 256
	// maxClaims bounds the destinations that a process sends to at once, and maxWorkspaceClaims those of one workspace.
	maxClaims          = 256
	maxWorkspaceClaims = 64
	// claimTime is how long one claim lasts at most: then others that wait are served.
	claimTime = 30 * time.Second
	// endWithin bounds the requests in flight, and what is stored afterwards, when the process ends.
	endWithin = 2 * time.Second
)

// Sender sends the deliveries of due destinations. Any number of replicas may run it.
type Sender struct {
	service    *Service
	requests   chan struct{} // Bounds the requests of the process that are in flight.
	renderings *action.Renderings
}

// maxRequests bounds the requests of a process that are in flight.
const maxRequests = 128

// NewSender returns a sender.
func (s *Service) NewSender() *Sender {
	return &Sender{service: s, requests: make(chan struct{}, maxRequests), renderings: action.NewRenderings()}
}

// Name implements run.Worker.
func (s *Sender) Name() string { return "destination sender" }

// Run sends until the context ends. Requests in flight may end afterwards.
func (s *Sender) Run(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()
	busy := workspacelimit.New(maxClaims, maxWorkspaceClaims)
	for {
		err := s.begin(ctx, busy, &group)
		if err != nil && ctx.Err() == nil {
			s.service.Log.WarnContext(ctx, "failed to read the due destinations", "error", err)
		}
		timer := time.NewTimer(pollEvery)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-s.service.woken:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// begin begins to send to the due destinations, as far as the bounds permit.
func (s *Sender) begin(ctx context.Context, busy *workspacelimit.Limiter, group *sync.WaitGroup) error {
	for after := int64(0); ; {
		window := bson.D{{Key: "$gt", Value: after}, {Key: "$lte", Value: s.service.Store.Now().UnixMicro()}}
		found, err := s.service.destinations.FindAcross(ctx, store.Query{
			Filter: bson.D{{Key: "due", Value: window}}, Sort: bson.D{{Key: "due", Value: 1}}, Limit: duePage, Fields: []string{"_id", "ws", "due"},
		})
		if err != nil {
			return err
		}
		for _, one := range found {
			after = one.Message.GetDue()
			if busy.Full() {
				return nil
			}
			if !busy.Acquire(one.Workspace, one.Message.GetId()) {
				continue
			}
			group.Go(func() {
				served := s.serve(ctx, one.Workspace, one.Message)
				busy.Release(one.Workspace, one.Message.GetId())
				if served {
					s.service.wake()
				}
			})
		}
		if len(found) < duePage {
			return nil
		}
	}
}

// serve claims a destination and sends its deliveries until none is due, or the time of the claim is over. It reports whether it did:
// others may wait for the claim that ended, or the destination may be due again.
func (s *Sender) serve(ctx context.Context, ws uuid.UUID, due *orchv1.Destination) bool {
	id, err := uuid.Parse(due.GetId())
	if err != nil {
		return false
	}
	claimed, err := s.service.claim(ctx, ws, id)
	if err == nil {
		err = s.sendWithin(ctx, claimed)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, errTaken) && !errors.Is(err, store.ErrNotFound) {
		s.service.Log.WarnContext(ctx, "failed to send the deliveries of a destination", "destination", id, "error", err)
	}
	return err == nil
}

// sendWithin sends while it holds the claim. Its error matches leader.ErrLost if the claim was lost meanwhile.
func (s *Sender) sendWithin(ctx context.Context, claimed *claim) error {
	within, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	var holder sync.WaitGroup
	renewing, end := context.WithCancel(within)
	ticker := time.NewTicker(leader.RenewEvery)
	defer ticker.Stop()
	holder.Go(func() { lose(leader.Renew(renewing, ticker.C, time.Now(), leader.Duration, claimed.renew)) })
	sending, abandon := context.WithCancel(run.Grace(ctx))
	defer abandon()
	defer context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(endWithin, abandon) // A receiver that hangs does not delay the end of the process.
		context.AfterFunc(sending, func() { timer.Stop() })
	})()
	one := &session{sender: s, claim: claimed, until: time.Now().Add(claimTime), sending: sending}
	err := one.run(within)
	end()
	holder.Wait()
	if cause := context.Cause(within); errors.Is(cause, leader.ErrLost) {
		return cause
	}
	if !errors.Is(err, errSessionOver) {
		return err
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	defer cancel()
	return claimed.yield(ending)
}
