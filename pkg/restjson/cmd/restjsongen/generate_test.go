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

// TestFilesAreCurrent checks that the committed files match the proto files.
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

// TestDecodersRefuse checks that a message with rules beyond the generator gets no decoder.
func TestDecodersRefuse(t *testing.T) {
	t.Parallel()
	for _, name := range []protoreflect.FullName{"orch.v1.FlowRunCreate", "orch.v1.ResourceInRole", "orch.v1.StringOrList", "orch.v1.None"} {
		_, err := generateDecoders([]protoreflect.FullName{name})
		require.Error(t, err, name)
	}
}

// TestEveryShapeIsGenerated checks that messages of every shape can get an encoder.
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

// hasExtra reports whether a message, or one inside it, collects unnamed keys; the generator leaves that to reflection.
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
