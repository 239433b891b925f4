package main

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/orch-project/orch/pkg/restjson"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write the files anew")

const dir = "../.."

// TestFilesAreCurrent proves that the committed files are those of the proto files.
func TestFilesAreCurrent(t *testing.T) {
	t.Parallel()
	if *update {
		require.NoError(t, run(dir))
	}
	for name, generate := range files {
		want, err := generate()
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(string(want), string(got)), "run the generator (package comment)")
	}
}

// TestDecodersRefuse proves that a message whose rules a generated decoder does not know gets none.
func TestDecodersRefuse(t *testing.T) {
	t.Parallel()
	for _, name := range []protoreflect.FullName{"orch.v1.FlowRunCreate", "orch.v1.ResourceInRole", "orch.v1.StringOrList", "orch.v1.None"} {
		_, err := generateDecoders([]protoreflect.FullName{name})
		require.Error(t, err, name)
	}
}

// TestEveryShapeIsGenerated proves that a message may become hot whatever its shape.
func TestEveryShapeIsGenerated(t *testing.T) {
	t.Parallel()
	protoregistry.GlobalFiles.RangeFilesByPackage("orch.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Messages().Len() {
			md := file.Messages().Get(i)
			if md.FullName() == "orch.v1.HttpError" || hasExtra(md, map[protoreflect.FullName]bool{}) {
				continue
			}
			_, err := generate([]protoreflect.FullName{md.FullName()})
			require.NoError(t, err, md.FullName())
		}
		return true
	})
}

// hasExtra tells whether a message, or one inside it, collects unnamed keys, which is left to reflection.
func hasExtra(md protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) bool {
	if seen[md.FullName()] {
		return false
	}
	seen[md.FullName()] = true
	for _, fd := range inREST(md) {
		if restjson.Options(fd).GetExtra() {
			return true
		}
		if inner := fd.Message(); inner != nil && inner.ParentFile().Package() == md.ParentFile().Package() && hasExtra(inner, seen) {
			return true
		}
	}
	return false
}
