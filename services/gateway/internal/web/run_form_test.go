package web

import (
	"html"
	"net/url"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// TestStartIsInTheZoneOfTheForm submits a start time in the zone that the form shows.
func TestStartIsInTheZoneOfTheForm(t *testing.T) {
	t.Parallel()
	s := &stub{answers: objectAnswers()}
	s.answers[orchv1.DeploymentService_CreateFlowRunFromDeployment_FullMethodName] = &orchv1.FlowRun{Id: someID}
	site := siteWith(t, s, nil)
	form := visit(t, site, "/deployments/deployment/"+someID+"/run?tz=Europe/Vienna", nil).Body.String()
	require.Contains(t, form, "(Europe/Vienna)")
	action := regexp.MustCompile(`<form class="card sheet" method="post" action="([^"]*)"`).FindStringSubmatch(form)
	require.NotNil(t, action)
	got := visit(t, site, html.UnescapeString(action[1]), url.Values{
		"action": {"run-deployment"}, "p.limit": {"1"}, "p.mode": {`"full"`}, "start": {"2030-02-01T12:00"},
	})
	require.Equal(t, 303, got.Code, got.Body.String())
	state := s.last[orchv1.DeploymentService_CreateFlowRunFromDeployment_FullMethodName].(*orchv1.CreateFlowRunFromDeploymentRequest).GetFlowRun().GetState()
	require.Equal(t, time.Date(2030, 2, 1, 11, 0, 0, 0, time.UTC), state.GetStateDetails().GetScheduledTime().AsTime())
}
