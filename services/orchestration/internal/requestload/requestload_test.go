package requestload

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestRequestTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var m Meter
		counted := m.Interceptor("/orch.v1.RetentionService/")
		call := func(method string, took time.Duration) {
			_, err := counted(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: method}, func(context.Context, any) (any, error) {
				<-time.After(took)
				return nil, nil
			})
			require.NoError(t, err)
		}
		<-time.After(time.Hour)
		require.Zero(t, m.Total())
		var calls sync.WaitGroup
		for _, seconds := range []int{1, 2, 4} {
			calls.Go(func() { call("/orch.v1.FlowRunService/Read", time.Duration(seconds)*time.Second) })
		}
		calls.Go(func() { call("/orch.v1.RetentionService/RunRetention", time.Minute) })
		<-time.After(1500 * time.Millisecond)
		before := m.Total()
		require.Equal(t, Load{4 * time.Second, 1}, before, "the time of requests in progress counts")
		calls.Wait()
		require.Equal(t, Load{7 * time.Second, 3}, m.Total())
		require.Equal(t, Load{3 * time.Second, 2}, m.Total().Sub(before))
	})
}
