package conversion

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

var update = flag.Bool("update", false, "write the golden files")

// TestEveryStoredTextIsClassified lists the stored texts without names of the server. A new field must get a rule, or a line in the
// golden file (-update).
func TestEveryStoredTextIsClassified(t *testing.T) {
	t.Parallel()
	var plain []string
	visited := map[protoreflect.FullName]bool{}
	var visit func(md protoreflect.MessageDescriptor)
	visit = func(md protoreflect.MessageDescriptor) {
		if visited[md.FullName()] {
			return
		}
		visited[md.FullName()] = true
		for i := range md.Fields().Len() {
			fd := md.Fields().Get(i)
			if restjson.Computed(fd) || rules[fd.FullName()] != 0 {
				continue
			}
			value := fd
			if fd.IsMap() {
				value = fd.MapValue()
			}
			switch {
			case value.Message() != nil:
				visit(value.Message())
				if !fd.IsMap() {
					continue
				}
			case value.Kind() != protoreflect.StringKind && value.Kind() != protoreflect.BytesKind,
				restjson.Options(fd).GetFormat() == orchv1.Format_FORMAT_UUID:
				continue
			}
			plain = append(plain, string(fd.FullName()))
		}
	}
	for _, m := range messages {
		visit(m.ProtoReflect().Descriptor())
	}
	visit((&orchv1.WebhookDefinition{}).ProtoReflect().Descriptor())
	visit((&orchv1.WebhookDeliveryBatch{}).ProtoReflect().Descriptor())
	for name := range rules {
		require.True(t, visited[name.Parent()], "%s is not stored", name)
	}
	slices.Sort(plain)
	text := fmt.Sprintln(strings.Join(plain, "\n"))
	golden := filepath.Join("testdata", "plain.txt")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o750))
		require.NoError(t, os.WriteFile(golden, []byte(text), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), text)
}
