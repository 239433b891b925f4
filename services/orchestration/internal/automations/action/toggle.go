package action

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// toggle pauses or resumes something.
func (r *Runner) toggle(
	ctx context.Context, ws uuid.UUID, o *result, run *orchv1.AutomationActionRun, k kindOf, selected string, source orchv1.ActionSource, pause bool,
) *result {
	id, ok := r.target(o, run, k, selected, source)
	if !ok {
		return o
	}
	var method string
	var request proto.Message
	var err error
	switch k {
	case deployment:
		method, request = orchv1.DeploymentService_ResumeDeployment_FullMethodName, &orchv1.ResumeDeploymentRequest{Id: id}
		if pause {
			method, request = orchv1.DeploymentService_PauseDeployment_FullMethodName, &orchv1.PauseDeploymentRequest{Id: id}
		}
	case automation:
		method = orchv1.AutomationService_PatchAutomation_FullMethodName
		request = &orchv1.PatchAutomationRequest{
			Id: id, Automation: &orchv1.AutomationPartialUpdate{Enabled: !pause}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"enabled"}},
		}
	case workQueue:
		method, request, err = pausing("WorkQueueService", "UpdateWorkQueue", "id", id, "work_queue", pause)
	case workPool:
		var name string
		if name, err = r.poolName(ctx, ws, id); err == nil {
			method, request, err = pausing("WorkPoolService", "UpdateWorkPool", "name", name, "work_pool", pause)
		}
	}
	if errors.Is(err, errNoPool) {
		o.details["status_code"] = http.StatusNotFound
		return o.fail("Unexpected status from '%s' action: %d", actionType(run.GetAction()), http.StatusNotFound)
	}
	if err != nil {
		return o.fail("%v", err)
	}
	r.call(ctx, o, method, request, actionType(run.GetAction()))
	return o
}

var (
	errUnsupported = errors.New("the server has no work pools")
	errNoPool      = errors.New("no such work pool")
)

// pausing builds the request that pauses or resumes a work pool or a queue, by its descriptor.
func pausing(service, method, key, value, resource string, pause bool) (string, proto.Message, error) {
	full := "/orch.v1." + service + "/" + method
	m, err := newRequest(service, method)
	if err != nil {
		return "", nil, err
	}
	fields := m.Descriptor().Fields()
	m.Set(fields.ByName(protoreflect.Name(key)), protoreflect.ValueOfString(value))
	update := m.Mutable(fields.ByName(protoreflect.Name(resource))).Message()
	update.Set(update.Descriptor().Fields().ByName("is_paused"), protoreflect.ValueOfBool(pause))
	mask := &fieldmaskpb.FieldMask{Paths: []string{"is_paused"}}
	m.Set(fields.ByName("update_mask"), protoreflect.ValueOfMessage(mask.ProtoReflect()))
	return full, m.Interface(), nil
}

// newRequest returns an empty request of a method of the contract.
func newRequest(service, method string) (protoreflect.Message, error) {
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName("orch.v1." + service + "." + method))
	if err != nil {
		return nil, errUnsupported
	}
	of, ok := found.(protoreflect.MethodDescriptor)
	if !ok {
		return nil, errUnsupported
	}
	kind, err := protoregistry.GlobalTypes.FindMessageByName(of.Input().FullName())
	if err != nil {
		return nil, errUnsupported
	}
	return kind.New(), nil
}

// poolName looks the name of a work pool up, by which the API knows it.
func (r *Runner) poolName(ctx context.Context, ws uuid.UUID, id string) (string, error) {
	kind, err := protoregistry.GlobalTypes.FindMessageByName("orch.v1.WorkPool")
	if err != nil {
		return "", errUnsupported
	}
	pool, err := uuid.Parse(id)
	if err != nil {
		return "", errNoPool
	}
	found, err := store.NewCollection[proto.Message](r.Store, query.WorkPool, kind.New().Interface()).Get(ctx, ws, pool)
	if errors.Is(err, store.ErrNotFound) {
		return "", errNoPool
	}
	if err != nil {
		return "", err
	}
	m := found.ProtoReflect()
	return m.Get(m.Descriptor().Fields().ByName("name")).String(), nil
}
