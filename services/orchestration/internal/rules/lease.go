package rules

// preserveConcurrencyLease copies the lease of a deployment's slot into the next state, because clients replace the
// state details and do not know the lease.
var preserveConcurrencyLease = Rule{
	Name: "PreserveDeploymentConcurrencyLeaseId", Universal: true,
	Before: func(t *Transition) {
		lease := t.Initial.GetStateDetails().GetDeploymentConcurrencyLeaseId()
		if lease != "" && t.Proposed.GetStateDetails().GetDeploymentConcurrencyLeaseId() == "" {
			t.Proposed.StateDetails.DeploymentConcurrencyLeaseId = &lease
		}
	},
}
