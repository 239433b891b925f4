// Package clientversion decides which responses and rules depend on the version of a client.
//
// Clients of Prefect state two versions: the SDK's version in the User-Agent, and the API's version in a header. Each behaviour that
// depends on a version is a method of Client in behaviours.go, with its reason; no other code compares versions.
//
//	| behaviour               | clients                             | effect                                                        |
//	| ----------------------- | ----------------------------------- | ------------------------------------------------------------- |
//	| Omitted                 | SDK known, up to 3.3.7              | work pools lack storage_configuration.default_result_storage… |
//	| AcquiresSlots           | SDK 3.0.0rc20, 3.0.0 to 3.0.3       | PENDING acquires no slot of the deployment's limit            |
//	| RenewsLeases            | SDK 3.4.11 and later                | the lease is checked at RUNNING; else it ends, its slot stays |
//	| PublishesTaskRunEvents  | SDK 3.0 and later                   | the server publishes no second event of a task run            |
//	| PublishesArtifactEvents | SDK 3.4.15 and later                | the server publishes no second event of an artifact           |
//	| RetriesTaskRuns         | API 0.8.3 and later, or none stated | a retry of the flow run leaves its failed task runs alone     |
//	| TracksPauses            | API 0.8.4 and later, or none stated | the server keeps resuming, pause_keys and retry_type          |
package clientversion

import (
	"net/http"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/vocabulary"
)

// Client is the client of a request. Both versions are zero if the server itself acts.
type Client struct {
	SDK SDK
	API API
}

// New returns the client with a User-Agent and an API version header. Unreadable values count as absent.
func New(userAgent, apiVersion string) Client {
	api, _ := ParseAPI(apiVersion) // The gateway refused invalid versions.
	return Client{SDK: ParseSDK(userAgent), API: api}
}

// Of returns the client of an HTTP request.
func Of(r *http.Request) Client {
	api, _ := vocabulary.ClientAPIVersion(r.Header)
	return New(r.UserAgent(), api)
}

var (
	// The SDK 3.3.7 and older ones refuse a work pool with a key that they do not know.
	lastWithoutResultStorage = parse("3.3.7")
	// The SDK checks and renews the lease of its run since 3.4.11.
	firstWithLeases = parse("3.4.11")
	// Workers of these versions acquired the slots of deployments themselves; later ones leave that to the server.
	acquireSlots = []SDK{parse("3.0.0rc20"), parse("3.0.0"), parse("3.0.1"), parse("3.0.2"), parse("3.0.3")}
	// The task engine of 3.0, its prereleases included, runs in the client and publishes each state as an event.
	firstWithTaskRunEvents = parse("3.0.0.dev0")
	// The SDK publishes the events of its artifacts since 3.4.15.
	firstWithArtifactEvents = parse("3.4.15")
)

var (
	// Clients retry the failed task runs of a flow run themselves since 0.8.3.
	firstToRetryTaskRuns = API{0, 8, 3}
	// Clients of 0.8.4 expect the server to reset pauses between attempts, and to mark in-process retries.
	firstToTrackPauses = API{0, 8, 4}
)

// resultStorage is a response field that older clients refuse.
const resultStorage protoreflect.FullName = "orch.v1.WorkPoolStorageConfiguration.default_result_storage_block_id"

// Omittable lists the response fields that some clients refuse as unknown.
func Omittable() []protoreflect.FullName { return []protoreflect.FullName{resultStorage} }

// Omitted returns the response fields that this client refuses as unknown. Clients of an unknown version get every field.
func (c Client) Omitted() []protoreflect.FullName {
	if c.SDK.Known() && c.SDK.Compare(lastWithoutResultStorage) <= 0 {
		return []protoreflect.FullName{resultStorage}
	}
	return nil
}

// AcquiresSlots reports whether the client acquires the slot of its deployment itself. A second slot for the same run would never be released.
func (c Client) AcquiresSlots() bool {
	return slices.ContainsFunc(acquireSlots, func(v SDK) bool { return c.SDK.Compare(v) == 0 })
}

// RenewsLeases reports whether the client renews the lease of its deployment's slot during the run. The lease of another client would expire
// while its run still executes.
func (c Client) RenewsLeases() bool { return c.since(firstWithLeases) }

// PublishesTaskRunEvents reports whether the client publishes the events of its task runs itself.
func (c Client) PublishesTaskRunEvents() bool { return c.since(firstWithTaskRunEvents) }

// PublishesArtifactEvents reports whether the client publishes the events of its artifacts itself.
func (c Client) PublishesArtifactEvents() bool { return c.since(firstWithArtifactEvents) }

// RetriesTaskRuns reports whether the client retries the failed task runs of a flow run itself. The server schedules them again for others.
func (c Client) RetriesTaskRuns() bool { return !c.API.Before(firstToRetryTaskRuns) }

// TracksPauses reports whether the client expects the server to maintain resuming, pause_keys and retry_type of a run's policy. Older
// clients resume a run by the pauses that it passed, count every start as an attempt, and leave retries to workers.
func (c Client) TracksPauses() bool { return !c.API.Before(firstToTrackPauses) }

func (c Client) since(first SDK) bool { return c.SDK.Known() && c.SDK.Compare(first) >= 0 }
