package authn

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/rpc"
)

// loadTimeout bounds how long a request waits for the directory of a server that just started.
const loadTimeout = 2 * time.Second

// ErrAddress is the response to a client address that the account's allow list excludes.
var ErrAddress = rpc.Detail(http.StatusForbidden, "This account may not be used from your address.")

// From checks that an account allows a client address. Its error is the response. On a server without keys this is the
// only use of the directory, so a request may wait here until the directory is loaded.
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
