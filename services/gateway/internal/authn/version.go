package authn

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
)

// Version checks the version of the API that a client speaks. None means the newest; a newer one than the server's is
// as good. Its error is the answer.
func Version(header http.Header) error {
	for _, name := range vocabulary.VersionHeaders() {
		text := header.Get(name)
		if text == "" {
			continue
		}
		version, ok := parseVersion(text)
		if !ok {
			return rpc.Detail(http.StatusBadRequest, fmt.Sprintf(
				"Invalid %s header format. Expected header in format 'x.y.z' but received %s", name, strings.ToValidUTF8(text, "\uFFFD")))
		}
		if minimum, _ := parseVersion(vocabulary.APIVersionMinimum); less(version, minimum) {
			return rpc.Detail(http.StatusBadRequest, fmt.Sprintf(
				"The client speaks version %s of the API; this server understands %s and later.", text, vocabulary.APIVersionMinimum))
		}
		return nil
	}
	return nil
}

func parseVersion(text string) (version [3]int, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != len(version) {
		return version, false
	}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 31)
		if err != nil {
			return version, false
		}
		version[i] = int(n)
	}
	return version, true
}

func less(a, b [3]int) bool {
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}
