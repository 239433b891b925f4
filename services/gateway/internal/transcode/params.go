package transcode

import (
	"fmt"
	"net/http"
	"net/url"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// decodeParams decodes path, query and header into the message. It returns the request's field errors; its error
// reports an internal failure.
func (op *Operation) decodeParams(m protoreflect.Message, r *http.Request, vars map[string]string) ([]*orchv1.FieldError, error) {
	var fieldErrors []*orchv1.FieldError
	var query url.Values
	for _, p := range op.params {
		var values []string
		switch p.in {
		case "path":
			// The URL was parsed, so its escapes are valid.
			text, err := url.PathUnescape(vars[p.name])
			if err != nil {
				text = vars[p.name]
			}
			values = []string{text}
		case "query":
			if query == nil {
				query, _ = url.ParseQuery(r.URL.RawQuery) // Malformed pairs count as absent.
			}
			values = query[p.name]
		case "header":
			values = r.Header.Values(p.name)
		}
		if len(values) == 0 {
			if p.required {
				fieldErrors = append(fieldErrors, restjson.Missing(p.field, p.in))
			} else if err := restjson.ApplyDefault(m, p.field); err != nil {
				return nil, fmt.Errorf("set default of parameter %s: %w", p.name, err)
			}
			continue
		}
		err := restjson.SetParam(m, p.field, values, p.in)
		if list := restjson.AsErrors(err); list != nil {
			fieldErrors = append(fieldErrors, list.List...)
		} else if err != nil {
			return nil, err
		}
	}
	return fieldErrors, nil
}
