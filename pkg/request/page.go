package request

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/grpc/metadata"
)

// NextPageTokenHeader is the response header with the token of the next page of a list. A response has it if its page is full: the
// list has ended with a page that is not, which may be empty.
const NextPageTokenHeader = "Orch-Next-Page-Token" //nolint:gosec // A header's name.

// CountCappedHeader is the response header of a page whose number of matching documents is that many or more: its counting stopped at
// a bound. The header has the number that the body has.
const CountCappedHeader = "Orch-Count-Capped"

// PageTokenField is the field, or query parameter, of a request with the token of a page.
const PageTokenField = "page_token"

// OutgoingPublicURL returns the PublicURL that Outgoing has added to a context; empty without one.
func OutgoingPublicURL(ctx context.Context) string { return outgoing(ctx, keyPublicURL) }

// OutgoingAccount returns the account that Outgoing has added to a context; empty without one.
func OutgoingAccount(ctx context.Context) string { return outgoing(ctx, keyAccount) }

// OutgoingWorkspace returns the workspace that Outgoing has added to a context; the zero UUID without one.
func OutgoingWorkspace(ctx context.Context) uuid.UUID {
	ws, err := uuid.Parse(outgoing(ctx, keyWorkspace))
	if err != nil {
		return uuid.Nil
	}
	return ws
}

func outgoing(ctx context.Context, key string) string {
	md, _ := metadata.FromOutgoingContext(ctx)
	if values := md.Get(key); len(values) > 0 {
		return values[0]
	}
	return ""
}
