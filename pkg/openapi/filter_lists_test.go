package openapi_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/openapi"
	"github.com/orch-project/orch/pkg/restjson"
)

// TestListsOfFiltersAreBounded: a list in a filter becomes an operand of a query, and its length is checked while it is decoded.
func TestListsOfFiltersAreBounded(t *testing.T) {
	t.Parallel()
	const most = 10_000
	lists := 0
	seen := map[protoreflect.FullName]bool{}
	var visit func(message protoreflect.MessageDescriptor, filter bool)
	visit = func(message protoreflect.MessageDescriptor, filter bool) {
		filter = filter || strings.Contains(string(message.Name()), "Filter")
		if seen[message.FullName()] && !filter {
			return
		}
		seen[message.FullName()] = true
		for i := range message.Fields().Len() {
			field := message.Fields().Get(i)
			if field.IsList() && filter && !restjson.Options(field).GetInternal() {
				lists++
				bound := restjson.Options(field).GetMaxItems()
				require.True(t, 0 < bound && bound <= most, "%s has max_items %d", field.FullName(), bound)
			}
			if inner := field.Message(); inner != nil && !field.IsMap() && (!seen[inner.FullName()] || filter && strings.HasSuffix(string(inner.Name()), "List")) {
				visit(inner, filter)
			}
		}
	}
	for _, service := range openapi.Services() {
		for i := range service.Methods().Len() {
			visit(service.Methods().Get(i).Input(), false)
		}
	}
	require.Greater(t, lists, 10)
}
