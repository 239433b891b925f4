package transcode

import (
	"fmt"
	"regexp"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// uuidExpression matches a UUID in a path. A path with anything else matches no route and returns 404.
const uuidExpression = `[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}`

// segment is one segment of a path template.
type segment struct {
	literal string
	field   protoreflect.FieldDescriptor // nil: a literal.
	rest    bool                         // Matches the rest of the path.
}

var variable = regexp.MustCompile(`^\{([a-z][a-z0-9_]*)(?:=(\*\*?))?\}$`)

// parseTemplate parses a path template whose variables name fields of the input.
func parseTemplate(path string, input protoreflect.MessageDescriptor) ([]segment, error) {
	trimmed := strings.TrimSuffix(path, "/")
	if !strings.HasPrefix(trimmed, "/") {
		return nil, fmt.Errorf("the path %q does not begin with a segment", path)
	}
	var segments []segment
	for _, text := range strings.Split(trimmed[1:], "/") {
		if text != "" && !strings.ContainsAny(text, "{}*:") {
			segments = append(segments, segment{literal: text})
			continue
		}
		match := variable.FindStringSubmatch(text)
		if match == nil {
			return nil, fmt.Errorf("the path %q has a segment %q that is neither a literal nor a variable", path, text)
		}
		fd := input.Fields().ByName(protoreflect.Name(match[1]))
		if fd == nil {
			return nil, fmt.Errorf("the path %q names %q, which is not a field of %s", path, match[1], input.FullName())
		}
		segments = append(segments, segment{field: fd, rest: match[2] == "**"})
	}
	for _, s := range segments[:len(segments)-1] {
		if s.rest {
			return nil, fmt.Errorf("the path %q goes on after %q, which takes the rest", path, s.field.Name())
		}
	}
	if segments[0].field != nil {
		return nil, fmt.Errorf("the path %q begins with a variable", path)
	}
	return segments, nil
}

// templateOf formats the template for people, logs and metrics.
func templateOf(segments []segment) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteByte('/')
		if s.field != nil {
			b.WriteString("{" + string(s.field.Name()) + "}")
		} else {
			b.WriteString(s.literal)
		}
	}
	return b.String()
}

// routeOf formats the template for the router.
func routeOf(segments []segment) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteByte('/')
		switch {
		case s.field == nil:
			b.WriteString(s.literal)
		case s.rest:
			b.WriteString("{" + string(s.field.Name()) + ":.+}")
		case restjson.Options(s.field).GetFormat() == orchv1.Format_FORMAT_UUID:
			b.WriteString("{" + string(s.field.Name()) + ":" + uuidExpression + "}")
		default:
			b.WriteString("{" + string(s.field.Name()) + "}")
		}
	}
	return b.String()
}

// compareSegments orders templates by specificity: literals, then UUIDs, then any text, then the rest of a path.
func compareSegments(a, b []segment) int {
	for i := range min(len(a), len(b)) {
		if d := rank(a[i]) - rank(b[i]); d != 0 {
			return d
		}
		if d := strings.Compare(a[i].literal, b[i].literal); d != 0 {
			return d
		}
	}
	return len(a) - len(b)
}

func rank(s segment) int {
	switch {
	case s.field == nil:
		return 0
	case s.rest:
		return 3
	case restjson.Options(s.field).GetFormat() == orchv1.Format_FORMAT_UUID:
		return 1
	}
	return 2
}
