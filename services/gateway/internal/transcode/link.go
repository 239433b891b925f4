package transcode

import (
	"context"
	"net/http"
	"net/url"

	"github.com/orch-project/orch/pkg/request"
)

// linkNext adds the address of the next page to the response of a GET whose header has a page token: a link of RFC 8288 with the
// relation "next". A POST has no such link, because an address does not contain its filter.
func linkNext(ctx context.Context, header http.Header, r *http.Request) {
	token := header.Get(request.NextPageTokenHeader)
	if token == "" || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return
	}
	query, _ := url.ParseQuery(r.URL.RawQuery) // Malformed pairs count as absent.
	query.Del("offset")
	query.Set(request.PageTokenField, token)
	header.Add("Link", "<"+request.OutgoingPublicURL(ctx)+r.URL.EscapedPath()+"?"+query.Encode()+`>; rel="next"`)
}
