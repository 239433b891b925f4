package config

// The default ports. Services listen on loopback by default; deployments map these ports.
const (
	// PortGateway serves the REST API, the dashboard and proxied webhooks.
	PortGateway = "4200"
	// PortHooks serves webhooks.
	PortHooks = "4201"
	// PortOrchestration serves gRPC to the gateway.
	PortOrchestration = "4202"

	// PortNATS is the port of a broker started beside the services. It differs from NATS's default 4222, so both can
	// run on one machine.
	PortNATS = "4223"
	// PortStore is the port of an embedded store started beside the services, one above MongoDB's default.
	PortStore = "27018"

	// PortGatewayInternal and the next two serve metrics, profiles and health. They must not be reachable from the
	// public network.
	PortGatewayInternal       = "9400"
	PortHooksInternal         = "9401"
	PortOrchestrationInternal = "9402"
)

// Loopback returns the address of a port that only this machine can reach.
func Loopback(port string) string { return "127.0.0.1:" + port }
