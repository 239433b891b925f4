package stream

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/orch-project/orch/pkg/access"
)

// TestSocketsNeedTheScopesOfTheirCalls: a client reaches no rpc over a websocket whose scope it lacks over REST. Rpcs without a
// scope are internal, and belong to the socket.
func TestSocketsNeedTheScopesOfTheirCalls(t *testing.T) {
	t.Parallel()
	var listed []string
	for path, route := range routes() {
		require.NotEmpty(t, route.scopes, path)
		for _, call := range route.calls {
			listed = append(listed, call)
			name := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(call, "/"), "/", "."))
			found, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
			require.NoError(t, err)
			if scope := access.Option(found.(protoreflect.MethodDescriptor)).GetScope(); scope != "" {
				require.Contains(t, route.scopes, scope, "%s calls %s", path, call)
			}
		}
	}
	// Each call of the package is in the table.
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	called := regexp.MustCompile(`Call\(\w+, orchv1\.(\w+)_(\w+)_FullMethodName`)
	calls := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range called.FindAllStringSubmatch(string(text), -1) {
			calls++
			require.True(t, slices.ContainsFunc(listed, func(call string) bool { return strings.HasSuffix(call, "."+match[1]+"/"+match[2]) }), "%s: %s", file, match[0])
		}
	}
	require.Positive(t, calls)
}
