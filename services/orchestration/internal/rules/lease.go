package rules

// preserveConcurrencyLease carries the lease of a deployment's slot from state to state: clients send their own
// details and know nothing of it.
var preserveConcurrencyLease = Rule{
	Name: "PreserveDeploymentConcurrencyLeaseId", Universal: true,
	Before: func(t *Transition) {
		lease := t.Initial.GetStateDetails().GetDeploymentConcurrencyLeaseId()
		if lease != "" && t.Proposed.GetStateDetails().GetDeploymentConcurrencyLeaseId() == "" {
			t.Proposed.StateDetails.DeploymentConcurrencyLeaseId = &lease
		}
	},
}
