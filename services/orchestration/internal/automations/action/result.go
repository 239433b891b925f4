package action

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/broker"
	wire "github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/tracing"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/engine"
)

// result is how an execution ended.
type result struct {
	// reason says why the action failed; it is empty if it did not.
	reason string
	// transient failures are worth another attempt.
	transient bool
	// outside reports that the action depends on a server outside, which may be away for days.
	outside bool
	// queued tells that the action is in the queue of a singleton and is executed again, or that its deliveries end it.
	queued bool
	// details are members of the payload of the action's events.
	details map[string]any
	// related are the resources that the action concerned.
	related []*orchv1.RelatedResource
}

func newResult() *result { return &result{details: map[string]any{}} }

// fail makes the result a refusal that another attempt would meet too.
func (o *result) fail(format string, args ...any) *result {
	o.reason = fmt.Sprintf(format, args...)
	return o
}

// later makes the result a failure that another attempt may not meet.
func (o *result) later(err error) *result {
	o.reason, o.transient = err.Error(), true
	return o
}

// err is the failure as an error; nil for a success.
func (o *result) err() error {
	if o.reason == "" {
		return nil
	}
	return errors.New(o.reason)
}

// relate adds a resource of the server to the action's events.
func (r *Runner) relate(o *result, kind, id, role, name string) {
	v := r.Vocabulary
	labels := map[string]string{v.ResourceID(): v.Name(kind, id), v.ResourceRole(): role}
	if name != "" {
		labels[v.ResourceName()] = name
	}
	o.related = append(o.related, &orchv1.RelatedResource{Labels: labels})
}

// call calls a service of the server. It returns nil when the call succeeded, and else notes in the result why not.
func (r *Runner) call(ctx context.Context, o *result, method string, request proto.Message, action string) (proto.Message, bool) {
	response, reply, err := r.Caller.Call(ctx, method, request)
	if err == nil {
		o.details["status_code"] = successStatus(method, reply)
		return response, true
	}
	code := httpStatus(err)
	if code >= http.StatusInternalServerError {
		o.later(err)
		return nil, false
	}
	o.details["status_code"] = code
	detail := refusal(err)
	if code == http.StatusUnprocessableEntity || (code == http.StatusConflict && detail != "") {
		o.details["validation_error"] = detail
		o.fail("Validation error occurred for '%s' - %s", action, detail)
		return nil, false
	}
	o.fail("Unexpected status from '%s' action: %d", action, code)
	return nil, false
}

// successStatus is the HTTP status with which a client would see a call succeed.
func successStatus(method string, reply rpc.Reply) int {
	if reply.Status != 0 {
		return reply.Status
	}
	name := strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", ".")
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return http.StatusOK
	}
	if api, ok := proto.GetExtension(found.Options(), orchv1.E_Api).(*orchv1.RestMethod); ok && api.GetStatus() != 0 {
		return int(api.GetStatus())
	}
	return http.StatusOK
}

// httpStatus is the status that a client would see.
func httpStatus(err error) int {
	if e := rpc.HTTPError(err); e.GetStatus() > 0 {
		return int(e.GetStatus())
	}
	switch status.Code(err) {
	case codes.NotFound, codes.Unimplemented:
		return http.StatusNotFound
	case codes.InvalidArgument:
		return http.StatusUnprocessableEntity
	case codes.AlreadyExists:
		return http.StatusConflict
	case codes.PermissionDenied:
		return http.StatusForbidden
	}
	return http.StatusInternalServerError
}

// refusal is why the server refused a call.
func refusal(err error) string {
	e := rpc.HTTPError(err)
	if list := e.GetFieldErrors().GetErrors(); len(list) > 0 {
		return list[0].GetMsg()
	}
	if text := e.GetDetail() + e.GetExceptionMessage(); text != "" {
		return text
	}
	return status.Convert(err).Message()
}

// followWithin is how long after an event another one may say that it follows it.
const followWithin = 5 * 60

// publish publishes the action's events, which have ids made of the run's.
func (r *Runner) publish(ctx context.Context, ws, id uuid.UUID, run *orchv1.AutomationActionRun, o *result) error {
	began, ended, err := r.events(id, run, o)
	if err != nil {
		return err
	}
	return r.publishAll(ctx, ws, began, ended)
}

// publishRetried publishes the outcome of an action whose failure was published before.
func (r *Runner) publishRetried(ctx context.Context, ws, id uuid.UUID, run *orchv1.AutomationActionRun, o *result) error {
	_, ended, err := r.events(id, run, o)
	if err != nil {
		return err
	}
	ended.Id = uuid.NewSHA1(id, []byte("retried")).String()
	return r.publishAll(ctx, ws, ended)
}

const (
	// maxDetails bounds the payload of an action's event, in bytes: with more, the event could exceed its limit. It then has no details.
	maxDetails = 1 << 20
	// maxReason bounds the reason of a failure in it, in bytes.
	maxReason = 64 << 10
)

// events are those of an action that ended: that it began, and its outcome.
func (r *Runner) events(id uuid.UUID, run *orchv1.AutomationActionRun, o *result) (began, ended *orchv1.ReceivedEvent, err error) {
	v, a := r.Vocabulary, run.GetAutomation()
	payload := map[string]any{
		"action_index": run.GetIndex(), "action_type": engine.ActionType(run.GetAction()), "invocation": id.String(),
	}
	related := append(append([]*orchv1.RelatedResource(nil), o.related...),
		engine.RelatedEvent(v, run.GetTriggeredEventId(), "automation-triggered-event"))
	reason := r.reason(run)
	if reason != nil {
		related = append(related, engine.RelatedEvent(v, reason.GetId(), "triggering-event"))
	}
	triggered := timestamppb.New(microTime(run.GetFiring().GetTriggered()))
	began = &orchv1.ReceivedEvent{
		Id: uuid.NewSHA1(id, []byte("triggered")).String(), Occurred: triggered, Received: timestamppb.New(r.Store.Now()),
		Event: v.Name("automation", "action", "triggered"), Related: related,
		Resource: engine.MarkChain(v, engine.AutomationResource(v, a, true), run.GetFiring()),
	}
	if reason != nil && abs(triggered.GetSeconds()-reason.GetOccurred().GetSeconds()) < followWithin {
		began.Follows = proto.String(reason.GetId())
	}
	ended = proto.CloneOf(began)
	ended.Id, ended.Follows = uuid.NewSHA1(id, []byte("ended")).String(), proto.String(began.GetId())
	ended.Occurred, ended.Event = timestamppb.New(r.Store.Now()), v.Name("automation", "action", "executed")
	if began.Payload, err = json.Marshal(payload); err != nil {
		return nil, nil, fmt.Errorf("write the payload of an action: %w", err)
	}
	if o.reason != "" {
		payload["reason"] = o.reason[:min(len(o.reason), maxReason)]
		ended.Event = v.Name("automation", "action", "failed")
	}
	detailed := maps.Clone(payload)
	maps.Copy(detailed, o.details)
	if ended.Payload, err = json.Marshal(detailed); err == nil && len(ended.GetPayload()) > maxDetails {
		payload["omitted"] = []string{"details"}
		ended.Payload, err = json.Marshal(payload)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("write the payload of an action: %w", err)
	}
	return began, ended, nil
}

func (r *Runner) publishAll(ctx context.Context, ws uuid.UUID, events ...*orchv1.ReceivedEvent) error {
	batch := make([]broker.Event, 0, len(events))
	for _, e := range events {
		sent, err := wire.ToBroker(r.Vocabulary, e, ws)
		if err != nil {
			return fmt.Errorf("publish the event of an action: %w", err)
		}
		sent.ContinueFrom(tracing.ParentOf(ctx))
		batch = append(batch, sent)
	}
	return r.Broker.Publisher().PublishAll(ctx, batch)
}

func abs(n int64) int64 { return max(n, -n) }
