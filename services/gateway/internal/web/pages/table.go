package pages

import (
	"slices"

	"github.com/orch-project/orch/pkg/run"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
)

// Server is the state of this process, for the status page.
type Server struct {
	// Ready returns why the server cannot serve requests, nil when it can.
	Ready func() error
	// Parts returns the state of the process's workers and checks.
	Parts func() []run.Item
}

// All returns the table of pages.
func All(server Server) []page.Page {
	return slices.Concat(
		runPages(),
		consolePages(),
		[]page.Page{statusPage(server)},
	)
}

// Sections returns the entries of the navigation, in order.
func Sections() []page.Section {
	return []page.Section{
		{Path: "/", Title: "Home", Icon: "home"},
		{Path: "/runs", Title: "Runs", Icon: "runs", Needs: []string{orchv1.FlowRunService_ReadFlowRuns_FullMethodName}},
		{Path: "/webhooks", Title: "Webhooks", Icon: "webhooks", Needs: []string{orchv1.WebhookService_ReadWebhooks_FullMethodName}},
		{Path: "/status", Title: "Status", Icon: "status"},
	}
}
