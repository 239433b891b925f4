package pages

import (
	"slices"

	"github.com/orch-project/orch/pkg/run"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
)

// Server is the state of this process, for the status page.
type Server interface {
	// Ready returns why the server cannot serve requests, nil when it can.
	Ready() error
	// Parts returns the state of the process's workers and checks.
	Parts() []run.Item
}

// All returns the table of pages.
func All(server Server) []page.Page {
	return slices.Concat(
		runPages(),
		consolePages(),
		[]page.Page{statusPage(server), deadLettersPage()},
	)
}

// Sections returns the entries of the navigation, in order.
func Sections() []page.Section {
	return []page.Section{
		{Path: "/", Title: "Home", Icon: "home"},
		{Path: "/runs", Title: "Runs", Icon: "runs", Needs: []string{orchv1.FlowRunService_ReadFlowRuns_FullMethodName}},
		{Path: "/flows", Title: "Flows", Group: "Work", Icon: "flows", Needs: []string{orchv1.FlowService_ReadFlows_FullMethodName}},
		{Path: "/deployments", Title: "Deployments", Group: "Work", Icon: "deployments", Needs: []string{orchv1.DeploymentService_ReadDeployments_FullMethodName}},
		{Path: "/work-pools", Title: "Work pools", Group: "Work", Icon: "pools", Needs: []string{orchv1.WorkPoolService_ReadWorkPools_FullMethodName}},
		{Path: "/webhooks", Title: "Webhooks", Group: "Signals", Icon: "webhooks", Needs: []string{orchv1.WebhookService_ReadWebhooks_FullMethodName}},
		{Path: "/events", Title: "Events", Group: "Signals", Icon: "events", Needs: []string{orchv1.EventService_ReadEvents_FullMethodName}},
		{Path: "/automations", Title: "Automations", Group: "Signals", Icon: "automations", Needs: []string{orchv1.AutomationService_ReadAutomations_FullMethodName}},
		{Path: "/destinations", Title: "Destinations", Group: "Signals", Icon: "destinations", Needs: []string{orchv1.DestinationService_ReadDestinations_FullMethodName}},
		{Path: "/artifacts", Title: "Artifacts", Group: "Data", Icon: "artifacts", Needs: []string{orchv1.ArtifactService_ReadLatestArtifacts_FullMethodName}},
		{Path: "/variables", Title: "Variables", Group: "Data", Icon: "variables", Needs: []string{orchv1.VariableService_ReadVariables_FullMethodName}},
		{Path: "/blocks", Title: "Blocks", Group: "Data", Icon: "blocks", Needs: []string{orchv1.BlockDocumentService_ReadBlockDocuments_FullMethodName}},
		{Path: "/concurrency-limits", Title: "Limits", Group: "Data", Icon: "limits", Needs: []string{orchv1.ConcurrencyLimitV2Service_ReadAllConcurrencyLimitsV2_FullMethodName}},
		{Path: accountSection, Title: "Account", Group: "Server", Icon: "account", Needs: []string{orchv1.AccountService_ReadAccount_FullMethodName}, WithKeys: true},
		{Path: "/status", Title: "Status", Group: "Server", Icon: "status"},
		{Path: "/docs/", Title: "API", Group: "Server", Icon: "api", Outside: true},
	}
}
