package accounts

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/clientaddr"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// ReadIpAllowlist returns the stored allowlist.
func (s *Service) ReadIpAllowlist(ctx context.Context, _ *orchv1.ReadIpAllowlistRequest) (*orchv1.IpAllowlist, error) { //nolint:staticcheck // The contract's name.
	a, err := s.get(ctx)
	if err != nil {
		return nil, err
	}
	if a.GetIpAllowlist() == nil {
		return &orchv1.IpAllowlist{}, nil
	}
	return a.GetIpAllowlist(), nil
}

// UpdateIpAllowlist replaces the allowlist. The gateways' directories are updated before it returns.
func (s *Service) UpdateIpAllowlist(ctx context.Context, r *orchv1.UpdateIpAllowlistRequest) (*emptypb.Empty, error) { //nolint:staticcheck // The contract's name.
	if err := checkEntries(r.GetAllowlist().GetEntries()); err != nil {
		return nil, err
	}
	caller, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	info, err := s.mutate(ctx, "account-settings", func(a *orchv1.Account) error {
		a.IpAllowlist = r.GetAllowlist()
		return keepsCaller(a, caller)
	})
	if err != nil {
		return nil, err
	}
	s.registry.FlushEffects(ctx, query.Account, info.Account)
	return &emptypb.Empty{}, nil
}

// CheckIpAllowlistAccess returns whether the caller's address is on the list, whether or not the list is enforced.
func (s *Service) CheckIpAllowlistAccess(ctx context.Context, _ *orchv1.CheckIpAllowlistAccessRequest) (*orchv1.IpAllowlistAccess, error) { //nolint:staticcheck // The contract's name.
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	a, err := s.get(ctx)
	if err != nil {
		return nil, err
	}
	if !allows(a.GetIpAllowlist(), info.Peer) {
		return &orchv1.IpAllowlistAccess{Detail: beyond(info.Peer)}, nil
	}
	return &orchv1.IpAllowlistAccess{Allowed: true, Detail: fmt.Sprintf("Your address, %s, is on the allowlist.", info.Peer)}, nil
}

// keepsCaller rejects the enforcement of a list that would lock its author out.
func keepsCaller(a *orchv1.Account, caller request.Info) error {
	if !a.GetSettings().GetEnforceIpAllowlist() || allows(a.GetIpAllowlist(), caller.Peer) {
		return nil
	}
	return rpc.Detail(http.StatusUnprocessableEntity, beyond(caller.Peer))
}

func beyond(from netip.Addr) string {
	if !from.IsValid() {
		return "Your address is not known, so it is not on the allowlist."
	}
	return fmt.Sprintf("Your address, %s, is not on the allowlist.", from)
}

func allows(list *orchv1.IpAllowlist, from netip.Addr) bool {
	return slices.ContainsFunc(list.GetEntries(), func(e *orchv1.IpAllowlistEntry) bool {
		network, err := clientaddr.ParseNetwork(e.GetIpNetwork())
		return err == nil && e.GetEnabled() && network.Contains(from)
	})
}

// checkEntries rejects invalid addresses and networks, and duplicates.
func checkEntries(entries []*orchv1.IpAllowlistEntry) error {
	var fieldErrors []*orchv1.FieldError
	seen := map[netip.Prefix]bool{}
	for i, e := range entries {
		network, err := clientaddr.ParseNetwork(e.GetIpNetwork())
		if err == nil && seen[network] {
			err = fmt.Errorf("%q is on the list twice", e.GetIpNetwork())
		}
		if err != nil {
			fieldErrors = append(fieldErrors, rpc.BodyError("value_error", "Value error, "+err.Error(), "entries", strconv.Itoa(i), "ip_network"))
		}
		seen[network] = true
	}
	if len(fieldErrors) > 0 {
		return rpc.Invalid(fieldErrors...)
	}
	return nil
}
