package pages

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
)

// runFilterCalls are the rpcs by which a page finds the flows and deployments that its address names.
var runFilterCalls = []string{
	orchv1.FlowService_ReadFlows_FullMethodName, orchv1.DeploymentService_ReadDeployments_FullMethodName, orchv1.DeploymentService_ReadDeploymentByName_FullMethodName,
}

// splitNames separates ids from names.
func splitNames(values []string) (ids, names []string) {
	for _, value := range values {
		if id, err := uuid.Parse(value); err == nil {
			ids = append(ids, id.String())
		} else {
			names = append(names, value)
		}
	}
	return ids, names
}

// flowIDs returns the ids of the flows of an address, which names them by id or by name. A name that no flow has selects nothing.
func flowIDs(r *page.Request, values []string) ([]string, error) {
	ids, names := splitNames(values)
	if len(names) == 0 {
		return ids, nil
	}
	flows := apicall.New[*orchv1.FlowList](orchv1.FlowService_ReadFlows_FullMethodName, apicall.Input{Body: apicall.JSON{"flows": apicall.JSON{"name": any_(names)}}})
	if err := r.Call(flows); err != nil {
		return nil, err
	}
	for _, f := range flows.Result().GetFlows() {
		ids = append(ids, f.GetId())
	}
	return orNone(ids), nil
}

// deploymentIDs returns the ids of the deployments of an address, which names them by id, by name, or as FLOW/DEPLOYMENT.
func deploymentIDs(r *page.Request, values []string) ([]string, error) {
	ids, names := splitNames(values)
	if len(names) == 0 {
		return ids, nil
	}
	var plainNames []string
	var exact []*apicall.Unary[*orchv1.Deployment]
	var calls []apicall.Call
	for _, name := range names {
		flow, deployment, both := strings.Cut(name, "/")
		if !both {
			plainNames = append(plainNames, name)
			continue
		}
		exact = append(exact, apicall.New[*orchv1.Deployment](orchv1.DeploymentService_ReadDeploymentByName_FullMethodName, apicall.Input{
			Path: map[string]string{"flow_name": flow, "deployment_name": deployment},
		}))
		calls = append(calls, exact[len(exact)-1])
	}
	byName := apicall.New[*orchv1.DeploymentList](orchv1.DeploymentService_ReadDeployments_FullMethodName, apicall.Input{Body: apicall.JSON{"deployments": apicall.JSON{"name": any_(plainNames)}}})
	if len(plainNames) > 0 {
		calls = append(calls, byName)
	}
	_ = r.Call(calls...) // Each call has its error.
	if err := byName.Err(); err != nil {
		return nil, err
	}
	for _, d := range byName.Result().GetDeployments() {
		ids = append(ids, d.GetId())
	}
	for _, one := range exact {
		switch err := one.Err(); {
		case err == nil:
			ids = append(ids, one.Result().GetId())
		case rpc.HTTPError(err).GetStatus() != 404:
			return nil, err
		}
	}
	return orNone(ids), nil
}

// orNone returns ids, or the id that no object has: an empty list would select everything.
func orNone(ids []string) []string {
	if len(ids) == 0 {
		return []string{uuid.Nil.String()}
	}
	return slices.Compact(slices.Sorted(slices.Values(ids)))
}
