package accounts

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/clientaddr"
	"github.com/orch-project/orch/pkg/directory"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/fieldmask"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// UpdateAccount changes the fields that the request contains. Null leaves the name and the handle unchanged.
func (s *Service) UpdateAccount(ctx context.Context, r *orchv1.UpdateAccountRequest) (*emptypb.Empty, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	update := r.GetAccount()
	if update.PlanType != nil && info.Caller.Known() && !info.Caller.Administrator {
		return nil, rpc.Detail(http.StatusForbidden, "Only the server's administrators choose an account's plan.")
	}
	_, err = s.mutate(ctx, "account", func(a *orchv1.Account) error {
		fieldmask.Apply(a, update, r.GetUpdateMask().GetPaths())
		return nil
	})
	return &emptypb.Empty{}, err
}

// UpdateAccountSettings changes the fields that the request contains. It stores the webhook enforcement setting before
// it disables webhooks, so that no webhook can be enabled in between. A repeated request disables the webhooks that an
// interruption left enabled.
func (s *Service) UpdateAccountSettings(ctx context.Context, r *orchv1.UpdateAccountSettingsRequest) (*emptypb.Empty, error) {
	update := r.GetSettings()
	if err := checkNetworks(update.GetWebhookAllowedIps()); err != nil {
		return nil, err
	}
	caller, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	info, err := s.mutate(ctx, "account-settings", func(a *orchv1.Account) error {
		settings := a.GetSettings()
		if settings == nil {
			settings = &orchv1.AccountSettings{}
			a.Settings = settings
		}
		fieldmask.Apply(settings, update, r.GetUpdateMask().GetPaths())
		return keepsCaller(a, caller)
	})
	if err != nil {
		return nil, err
	}
	s.registry.FlushEffects(ctx, query.Account, info.Account)
	if update.GetEnforceWebhookAuthentication() {
		if err := s.disable(ctx, info.Account); err != nil {
			return nil, err
		}
	}
	return &emptypb.Empty{}, nil
}

// checkNetworks rejects invalid addresses and networks.
func checkNetworks(list []string) error {
	var fieldErrors []*orchv1.FieldError
	for i, text := range list {
		if _, err := clientaddr.ParseNetwork(text); err != nil {
			fieldErrors = append(fieldErrors, rpc.BodyError("value_error", "Value error, "+err.Error(), "webhook_allowed_ips", strconv.Itoa(i)))
		}
	}
	if len(fieldErrors) > 0 {
		return rpc.Invalid(fieldErrors...)
	}
	return nil
}

// sameIngestion reports whether two accounts are equal for webhook ingestion.
func sameIngestion(a, b *orchv1.Account) bool {
	left, right := a.GetSettings(), b.GetSettings()
	return proto.Equal(left.GetWebhookRateLimit(), right.GetWebhookRateLimit()) && slices.Equal(left.GetWebhookAllowedIps(), right.GetWebhookAllowedIps()) &&
		proto.Equal(a.GetQuotas(), b.GetQuotas())
}

// decide returns the store decision for a change to an account.
func (s *Service) decide(info request.Info, kind string, edit func(*orchv1.Account) error) store.Decide[*orchv1.Account] {
	return store.Edit(edit, func(current, next *orchv1.Account) ([]store.Effect, error) {
		effects, err := s.registry.Effects(info, s.registry.Follow(directory.Account, tenancy.Server, info.Account),
			tenancy.AuditEntry{Kind: kind, Action: "updated", ID: info.Account, Name: next.GetName()})
		// An interruption must not leave webhooks enabled.
		if next.GetSettings().GetEnforceWebhookAuthentication() && !current.GetSettings().GetEnforceWebhookAuthentication() {
			effects = append(effects, s.registry.Store.ResourceEffect(KindEnforce, tenancy.Server, info.Account))
		}
		if !sameIngestion(next, current) {
			effects = append(effects, s.registry.Store.ResourceEffect(KindIngestion, tenancy.Server, info.Account))
		}
		return effects, err
	})
}
