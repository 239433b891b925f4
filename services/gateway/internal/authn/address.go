package authn

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/rpc"
)

// loadTimeout is how long a request waits for the directory of a server that has just started.
const loadTimeout = 2 * time.Second

// ErrAddress is the answer to a request from an address that its account does not allow.
var ErrAddress = rpc.Detail(http.StatusForbidden, "This account may not be used from your address.")

// From checks that an account may be used from an address. Its error is the answer. On a server without keys nothing else
// looks into the directory, so a request may come before it is loaded: it waits.
func (k Keys) From(ctx context.Context, account uuid.UUID, from netip.Addr) error {
	if k.Directory.Loaded() != nil {
		ctx, cancel := context.WithTimeout(ctx, loadTimeout)
		defer cancel()
		select {
		case <-k.Directory.Ready():
		case <-ctx.Done():
			return errStale
		}
	}
	if k.Directory.Admits(account, from) || k.Directory.CatchUp(ctx) && k.Directory.Admits(account, from) {
		return nil
	}
	return ErrAddress
}
