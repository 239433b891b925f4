package tenancy

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/rpc"
)

// Feature is a capability that some plans lack.
type Feature string

// The features.
const (
	ServiceAccounts       Feature = "service_accounts"
	CustomRoles           Feature = "custom_workspace_roles"
	WebhookAuthentication Feature = "webhook_authentication"
)

// The plans, cheapest first.
var plans = []string{"hobby", "starter", "team", "pro", "enterprise"}

// least returns the lowest plan that includes a feature.
var least = map[Feature]string{ServiceAccounts: "team", CustomRoles: "pro", WebhookAuthentication: "pro"}

// Features returns the features of a plan in alphabetical order.
func Features(plan string) []string {
	var features []string
	for feature := range least {
		if includes(plan, feature) {
			features = append(features, string(feature))
		}
	}
	slices.Sort(features)
	return features
}

func includes(plan string, feature Feature) bool {
	return slices.Index(plans, plan) >= slices.Index(plans, least[feature])
}

// Require rejects a feature that the plan of an account does not include.
func (r *Registry) Require(ctx context.Context, account uuid.UUID, feature Feature) error {
	a, err := r.Accounts.Get(ctx, Server, account)
	if err != nil {
		return Missing(err, "Account")
	}
	if !includes(a.GetPlanType(), feature) {
		return rpc.Detail(http.StatusForbidden, fmt.Sprintf("The account's plan (%s) does not include %s; %s and above do.",
			a.GetPlanType(), feature, least[feature]))
	}
	return nil
}
