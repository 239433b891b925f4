package cli

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/orch-project/orch/pkg/runlist"
	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// deploymentSummary is a deployment with the fields that commands read.
type deploymentSummary struct {
	Name   string `json:"name"`
	FlowID string `json:"flow_id"`
}

// nextRuns returns the time of the soonest upcoming run of each deployment that has one. A page has the runs of a few deployments if
// they run often, so it asks again for the others.
func nextRuns(ctx context.Context, s *remote.Server, ids []string) (map[string]string, error) {
	next := map[string]string{}
	for len(ids) > 0 {
		page := ids[:min(len(ids), everyone)]
		query := runlist.Upcoming().Query(map[string]any{"deployments": map[string]any{"id": map[string]any{"any_": page}}})
		query["limit"] = everyone
		runs, err := remote.Read[[]flowRunSummary](ctx, s, http.MethodPost, s.InWorkspace("/flow_runs/filter"), query)
		if err != nil {
			return nil, err
		}
		for _, run := range runs {
			if next[run.DeploymentID] == "" && run.Expected != nil {
				next[run.DeploymentID] = run.Expected.Format(time.RFC3339)
			}
		}
		full := len(runs) == everyone
		remaining := slices.DeleteFunc(slices.Clone(page), func(id string) bool { return !full || next[id] != "" })
		if len(remaining) == len(page) {
			remaining = nil // Their runs have no time.
		}
		ids = append(remaining, ids[len(page):]...)
	}
	return next, nil
}

// deploymentID returns the id of the deployment that an id, a name or FLOW/DEPLOYMENT identifies.
func deploymentID(ctx context.Context, s *remote.Server, argument string) (string, error) {
	flow, name, both := strings.Cut(argument, "/")
	if !both {
		return find(ctx, s, s.InWorkspace("/deployments"), "deployments", argument)
	}
	return idAt(ctx, s, "/deployments/name/"+url.PathEscape(flow)+"/"+url.PathEscape(name))
}

// deploymentName returns FLOW/DEPLOYMENT.
func deploymentName(ctx context.Context, s *remote.Server, id string) (string, error) {
	d, err := remote.Read[deploymentSummary](ctx, s, http.MethodGet, s.InWorkspace("/deployments/"+id), nil)
	if err != nil {
		return "", err
	}
	flow, err := nameAt(ctx, s, "/flows/"+d.FlowID)
	return flow + "/" + d.Name, err
}
