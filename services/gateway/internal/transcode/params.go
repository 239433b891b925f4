package transcode

import (
	"fmt"
	"net/http"
	"net/url"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// query returns the query parameters of a request, nil if the operation has none. Malformed pairs count as absent.
func (op *Operation) query(r *http.Request) url.Values {
	for _, p := range op.params {
		if p.in == "query" {
			query, _ := url.ParseQuery(r.URL.RawQuery)
			return query
		}
	}
	return nil
}

// decodeParams decodes path, query and header into the message. It returns the request's field errors; its error
// reports an internal failure.
func (op *Operation) decodeParams(m protoreflect.Message, query url.Values, header http.Header, vars map[string]string) ([]*orchv1.FieldError, error) {
	var fieldErrors []*orchv1.FieldError
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
			values = query[p.name]
		case "header":
			values = header.Values(p.name)
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
