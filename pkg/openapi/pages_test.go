package openapi_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/restjson"
)

// TestEveryOffsetHasAPageToken checks that each query with an offset accepts a page token too, in the same part of the request.
func TestEveryOffsetHasAPageToken(t *testing.T) {
	t.Parallel()
	queries := 0
	protoregistry.GlobalFiles.RangeFilesByPackage("orch.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Messages().Len() {
			fields := file.Messages().Get(i).Fields()
			offset := fields.ByName("offset")
			if offset == nil || fields.ByName("limit") == nil {
				continue
			}
			queries++
			token := fields.ByName(request.PageTokenField)
			require.NotNil(t, token, "%s has an offset and no page token", file.Messages().Get(i).FullName())
			require.Equal(t, restjson.Options(offset).GetIn(), restjson.Options(token).GetIn(), token.FullName())
			require.Equal(t, protoreflect.StringKind, token.Kind(), token.FullName())
		}
		return true
	})
	require.Greater(t, queries, 30)
}
