// Package maintenance makes the gateways refuse API requests while an operator upgrades or restores the server.
//
//	PUT /admin/maintenance ──► bucket "maintenance" ──► every gateway ──► 503, Retry-After, Prefect-Maintenance
//
// The state is in a bucket of the broker, so it survives restarts, and a restore of the store does not change it. The operations need no other
// service, and are served during a maintenance like all others of the gateway itself.
package maintenance

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/clock"
	wire "github.com/orch-project/orch/pkg/maintenance"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// retryAfter is how many seconds clients wait between two requests.
const retryAfter = "5"

// errNoBroker is the response of a gateway without a broker, which no other gateway could follow.
var errNoBroker = rpc.Detail(http.StatusNotImplemented, "A maintenance needs the broker.")

// Switch is the maintenance as this gateway knows it, and implements orchv1.MaintenanceServiceServer.
type Switch struct {
	orchv1.UnimplementedMaintenanceServiceServer
	bucket *broker.KV // Nil without a broker.
	clock  clock.Clock

	mu    sync.Mutex
	state *orchv1.Maintenance
	// revision is the revision of the state in the bucket.
	revision uint64
}

// New returns a switch that is off. Without a bucket it stays off.
func New(bucket *broker.KV, c clock.Clock) *Switch {
	return &Switch{bucket: bucket, clock: c, state: &orchv1.Maintenance{}}
}

// Load reads the state.
func (s *Switch) Load(ctx context.Context) error {
	if s.bucket == nil {
		return nil
	}
	state, err := wire.Read(ctx, s.bucket)
	if err != nil {
		return err
	}
	s.replace(state, 0)
	return nil
}

// Run follows the state until ctx ends.
func (s *Switch) Run(ctx context.Context) error {
	if s.bucket == nil {
		<-ctx.Done()
		return nil
	}
	return s.bucket.Watch(ctx, s.apply)
}

// apply makes a state of the bucket the current one. A state of a later version that cannot be read leaves the current one.
func (s *Switch) apply(change broker.Change) {
	state := &orchv1.Maintenance{}
	if change.Key != wire.Key || proto.Unmarshal(change.Value, state) != nil {
		return
	}
	s.replace(state, change.Revision)
}

// replace makes a state the current one, unless a newer one is known.
func (s *Switch) replace(state *orchv1.Maintenance, revision uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if revision >= s.revision {
		s.state, s.revision = state, revision
	}
}

// Refusing returns the caller that refuses API requests during a maintenance, nil outside of one.
func (s *Switch) Refusing() rpc.Caller {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.state.GetEnabled() {
		return nil
	}
	message := "The server is in maintenance."
	if reason := s.state.GetReason(); reason != "" {
		message = "The server is in maintenance: " + reason
	}
	return refusal{rpc.Error(&orchv1.HttpError{
		Status:  http.StatusServiceUnavailable,
		Form:    &orchv1.HttpError_ExceptionMessage{ExceptionMessage: message},
		Headers: map[string]string{"Retry-After": retryAfter, vocabulary.MaintenanceHeader: "true"},
	})}
}

// refusal implements rpc.Caller by one error.
type refusal struct{ err error }

func (r refusal) Call(context.Context, string, proto.Message) (proto.Message, rpc.Reply, error) {
	return nil, rpc.Reply{}, r.err
}

// ReadMaintenance implements orchv1.MaintenanceServiceServer.
func (s *Switch) ReadMaintenance(context.Context, *emptypb.Empty) (*orchv1.Maintenance, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return proto.CloneOf(s.state), nil
}

// UpdateMaintenance implements orchv1.MaintenanceServiceServer. Its response follows the write to disk; this gateway applies the state at once, the
// others as soon as they receive it.
func (s *Switch) UpdateMaintenance(ctx context.Context, r *orchv1.UpdateMaintenanceRequest) (*orchv1.Maintenance, error) {
	if s.bucket == nil {
		return nil, errNoBroker
	}
	next := &orchv1.Maintenance{}
	if update := r.GetMaintenance(); update.GetEnabled() {
		next.Enabled, next.Reason, next.Since = true, update.GetReason(), timestamppb.New(s.clock.Now())
		if current, err := s.ReadMaintenance(ctx, nil); err == nil && current.GetEnabled() {
			next.Since = current.GetSince()
		}
	}
	value, err := proto.Marshal(next)
	if err != nil {
		return nil, fmt.Errorf("write the maintenance: %w", err)
	}
	revision, err := s.bucket.Put(ctx, wire.Key, value)
	if err != nil {
		return nil, fmt.Errorf("write the maintenance: %w", err)
	}
	s.replace(proto.CloneOf(next), revision)
	return next, nil
}
