package pages

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// callPattern is a call in the source: its type of response and its rpc. The helper changed is a call whose response is empty.
var callPattern = regexp.MustCompile(`(?:apicall\.New\w*\[([*\w.]+)\]|\bchanged)\((?:least, )?orchv1\.(\w+?)_(\w+)_FullMethodName`)

// A page that decodes a response as the wrong message reports an error although the server has executed the call.
func TestCallsHaveTheResponsesOfTheirRPCs(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	checked := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, call := range callPattern.FindAllStringSubmatch(string(text), -1) {
			want := "google.protobuf.Empty"
			if name, ok := strings.CutPrefix(call[1], "*orchv1."); ok {
				want = "orch.v1." + name
			} else if call[1] == "*httpbody.HttpBody" {
				want = "google.api.HttpBody"
			}
			service, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName("orch.v1." + call[2]))
			require.NoError(t, err, call[0])
			method := service.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(call[3]))
			require.NotNil(t, method, call[0])
			require.Equal(t, want, string(method.Output().FullName()), "%s: %s", file, call[0])
			checked++
		}
	}
	require.Greater(t, checked, 100)
}
