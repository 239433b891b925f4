package config

// The ports of the services. A service listens on loopback unless told otherwise; deployments map these.
const (
	// PortGateway serves the REST API, the dashboard and, passed on, webhooks.
	PortGateway = "4200"
	// PortHooks serves webhooks.
	PortHooks = "4201"
	// PortOrchestration serves gRPC to the gateway.
	PortOrchestration = "4202"

	// PortNATS is the broker's when it is started beside the services. A broker of one's own is usually on 4222,
	// which is why this differs: both may run on one machine.
	PortNATS = "4223"
	// PortStore is the embedded store's when it is started beside the services, one beside MongoDB's own 27017.
	PortStore = "27018"

	// PortGatewayInternal and the two that follow serve metrics, profiles and health. They never face the public.
	PortGatewayInternal       = "9400"
	PortHooksInternal         = "9401"
	PortOrchestrationInternal = "9402"
)

// Loopback is the address of a port that only this machine reaches.
func Loopback(port string) string { return "127.0.0.1:" + port }
