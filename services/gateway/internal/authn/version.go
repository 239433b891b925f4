package authn

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
)

// Version checks the client's API version. A missing version means the newest one; a version above the server's is
// accepted. Its error is the response.
func Version(header http.Header) error {
	for _, name := range vocabulary.VersionHeaders() {
		text := header.Get(name)
		if text == "" {
			continue
		}
		version, ok := vocabulary.ParseVersion(text)
		if !ok {
			return rpc.Detail(http.StatusBadRequest, fmt.Sprintf(
				"Invalid %s header format. Expected header in format 'x.y.z' but received %s", name, strings.ToValidUTF8(text, "\uFFFD")))
		}
		if minimum, _ := vocabulary.ParseVersion(vocabulary.APIVersionMinimum); version.Compare(minimum) < 0 {
			return rpc.Detail(http.StatusBadRequest, fmt.Sprintf(
				"The request specified API version %s but this server requires version %s or higher.", text, vocabulary.APIVersionMinimum))
		}
		return nil
	}
	return nil
}
