package broker_test

import (
	"testing"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/broker/brokertest"
	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/testkit"
)

// inProcess and overTCP are the harnesses of the embedded server.
type (
	inProcess struct{ *testkit.NATS }
	overTCP   struct {
		*testkit.NATS
		url string
	}
)

func (b inProcess) Config() broker.Config { return broker.Config{InProcess: b.NATS} }
func (b overTCP) Config() broker.Config   { return broker.Config{URL: b.url} }

func TestInProcess(t *testing.T) {
	t.Parallel()
	brokertest.Run(t, func(t *testing.T) brokertest.Broker {
		return inProcess{testkit.StartNATS(t, embeddednats.Options{})}
	})
}

func TestOverTCP(t *testing.T) {
	t.Parallel()
	brokertest.Run(t, func(t *testing.T) brokertest.Broker {
		n := testkit.StartNATS(t, embeddednats.Options{Listen: "127.0.0.1:0"})
		return overTCP{NATS: n, url: n.Server().ClientURL()}
	})
}
