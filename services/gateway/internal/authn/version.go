package authn

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/orch-project/orch/pkg/clientversion"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
)

// Version checks the client's API version. A missing version means the newest one; a version above the server's is
// accepted. Its error is the response, in the reference's words, which lack a blank after the first sentence.
func Version(header http.Header) error {
	text, name := vocabulary.ClientAPIVersion(header)
	if text == "" {
		return nil
	}
	version, ok := clientversion.ParseAPI(text)
	if !ok {
		return rpc.Detail(http.StatusBadRequest, fmt.Sprintf(
			"Invalid %s header format.Expected header in format 'x.y.z' but received %s", name, strings.ToValidUTF8(text, "\uFFFD")))
	}
	if minimum, _ := clientversion.ParseAPI(vocabulary.APIVersionMinimum); version.Compare(minimum) < 0 {
		return rpc.Detail(http.StatusBadRequest, fmt.Sprintf(
			"The request specified API version %s but this server requires version %s or higher.", text, vocabulary.APIVersionMinimum))
	}
	return nil
}
