package action

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Recipients decide to whom automations send mail from the operator's domain. The zero value allows everybody.
type Recipients struct {
	// Domains are those of addresses that every account may write to, beside its members; "*" allows all.
	Domains []string
	// Member reports whether an address belongs to a member of an account. Nil makes everybody a member.
	Member func(ctx context.Context, account uuid.UUID, address string) (bool, error)
	// PerHour is the maximum number of recipients of an account in an hour, in this process; 0 means no limit.
	PerHour int
}

// allowed reports whether an account may send mail to an address.
func (r Recipients) allowed(ctx context.Context, account uuid.UUID, address string) (bool, error) {
	domain := address[strings.LastIndex(address, "@")+1:]
	if r.Member == nil || slices.ContainsFunc(r.Domains, func(d string) bool { return d == "*" || strings.EqualFold(d, domain) }) {
		return true, nil
	}
	member, err := r.Member(ctx, account, address)
	if err != nil {
		return false, fmt.Errorf("look up the recipient among the members: %w", err)
	}
	return member, nil
}

// checkRecipients fails the result if the account of a workspace may not send to all addresses now. It counts the addresses of a
// first attempt.
func (r *Runner) checkRecipients(ctx context.Context, o *result, ws uuid.UUID, to []string, first bool) (ok bool) {
	account, err := r.Account(ctx, ws)
	if err != nil {
		o.later(fmt.Errorf("read the account of the workspace: %w", err))
		return false
	}
	for _, address := range to {
		allowed, err := r.Recipients.allowed(ctx, account, address)
		if err != nil {
			o.later(err)
			return false
		}
		if !allowed {
			o.fail("%q is no member of the account, and its domain is not one of ORCH_SMTP_DOMAINS", address)
			return false
		}
	}
	if limit := r.Recipients.PerHour; limit > 0 && first && !r.mails.AddWithin(account, len(to), limit, r.Store.Now()) {
		o.fail("The account sends mail to at most %d recipients in an hour (ORCH_SMTP_ACCOUNT_RECIPIENTS_PER_HOUR)", limit)
		return false
	}
	return true
}
