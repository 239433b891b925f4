package imports

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Config describes an import.
type Config struct {
	Store      *store.Store
	Workspace  uuid.UUID
	Vocabulary vocabulary.Vocabulary
	Keys       secrets.Keyring
	// EventsRetention and LogsRetention are those of the service; 0 keeps them.
	EventsRetention, LogsRetention time.Duration
}

// Importer stores resources in one workspace.
type Importer struct {
	Config
	kinds map[string]kind
	// refused has the ids of refused resources that others belong to.
	refused map[string]bool
}

// New returns an importer.
func New(cfg Config) *Importer {
	i := &Importer{Config: cfg, refused: map[string]bool{}}
	i.kinds = i.allKinds()
	return i
}

// The reasons of refusals.
var (
	// ErrTaken reports that another document has a unique key of the resource.
	ErrTaken = errors.New("another document has its name or key")
	// ErrOwner reports that the resource belongs to one that was refused.
	ErrOwner = errors.New("it belongs to a resource that was refused")
	// ErrUnsupported reports a message that is no resource of an import.
	ErrUnsupported = errors.New("the kind of resource cannot be imported")
)

// Refusal is a resource that was not stored.
type Refusal struct {
	ID     string
	Reason error
}

// Result is what happened to a batch of resources.
type Result struct {
	// Stored and Existing count the resources that are stored now, and those that were stored before.
	Stored, Existing int
	Refused          []Refusal
}

// Resource is a message with an id.
type Resource interface {
	proto.Message
	GetId() string
}

// attempts bounds the attempts to write a batch to a database that does not respond.
const attempts = 5

// Write stores resources of one kind. It changes the messages into their stored form.
func (i *Importer) Write(ctx context.Context, all []Resource) (Result, error) {
	if len(all) == 0 {
		return Result{}, nil
	}
	k, err := i.kind(all[0])
	if err != nil {
		return Result{}, err
	}
	result, err := k.write(ctx, i, all)
	if err != nil {
		return result, fmt.Errorf("store %d %ss: %w", len(all), k.name(), err)
	}
	return result, nil
}

// Refuse says that a resource is not imported, so others that belong to it are refused.
func (i *Importer) Refuse(id string) { i.refused[id] = true }

// Stored reads the stored form of a resource; nil if it does not exist.
func (i *Importer) Stored(ctx context.Context, resource Resource) (proto.Message, error) {
	k, err := i.kind(resource)
	if err != nil {
		return nil, err
	}
	return k.read(ctx, i, resource.GetId())
}

func (i *Importer) kind(resource Resource) (kind, error) {
	name := string(resource.ProtoReflect().Descriptor().Name())
	if k, ok := i.kinds[name]; ok {
		return k, nil
	}
	return nil, fmt.Errorf("%w: %s", ErrUnsupported, name)
}

// kind is a kind of resources.
type kind interface {
	name() query.Collection
	write(ctx context.Context, i *Importer, all []Resource) (Result, error)
	read(ctx context.Context, i *Importer, id string) (proto.Message, error)
}

// kindOf is a kind of resources R that are stored as messages M.
type kindOf[R Resource, M Resource] struct {
	collection *store.Collection[M]
	// identify gives a resource the id of its document; nil leaves its own.
	identify func(R)
	// stored completes a resource into its stored form, or refuses it.
	stored func(ctx context.Context, r R) (M, error)
	// expires is when a document is removed; nil keeps it.
	expires func(M) time.Time
	// owners are the resources that a resource belongs to; empty ids are ignored.
	owners func(R) []string
}

func (k kindOf[R, M]) name() query.Collection { return k.collection.Name() }

func (k kindOf[R, M]) write(ctx context.Context, i *Importer, all []Resource) (result Result, err error) {
	refuse := func(id string, reason error) {
		result.Refused = append(result.Refused, Refusal{id, reason})
		i.refused[id] = true
	}
	docs := make([]store.ClientDocument, 0, len(all))
	ids := make([]string, 0, len(all))
	for _, r := range all {
		doc, err := k.document(ctx, i, r)
		switch {
		case errors.Is(err, store.ErrUnavailable), ctx.Err() != nil:
			return result, errors.Join(err, ctx.Err())
		case err != nil:
			refuse(r.GetId(), reason(err))
		default:
			docs, ids = append(docs, doc), append(ids, r.GetId())
		}
	}
	var taken []int
	var refused []store.Refusal
	for attempt := range attempts {
		result.Existing, taken, refused, err = store.InsertMissing(ctx, k.collection, docs)
		if !errors.Is(err, store.ErrUnavailable) || ctx.Err() != nil || attempt == attempts-1 {
			break
		}
	}
	if err != nil {
		return result, err
	}
	for _, at := range taken {
		refuse(ids[at], ErrTaken)
	}
	for _, r := range refused {
		refuse(ids[r.Position], r.Err)
	}
	result.Stored = len(docs) - result.Existing - len(taken) - len(refused)
	return result, nil
}

// document returns the stored document of a resource.
func (k kindOf[R, M]) document(ctx context.Context, i *Importer, r Resource) (doc store.ClientDocument, err error) {
	resource, ok := r.(R)
	if !ok {
		return doc, ErrUnsupported
	}
	if k.identify != nil {
		k.identify(resource)
	}
	doc.Workspace = i.Workspace
	if doc.ID, err = uuid.Parse(r.GetId()); err != nil {
		return doc, err
	}
	if k.owners != nil {
		for _, owner := range k.owners(resource) {
			if i.refused[owner] {
				return doc, fmt.Errorf("%w: %s", ErrOwner, owner)
			}
		}
	}
	stored, err := k.stored(ctx, resource)
	if err != nil {
		return doc, err
	}
	var expire time.Time
	if k.expires != nil {
		expire = k.expires(stored)
	}
	doc.Doc, err = store.NewDocument(i.Workspace, stored, expire)
	return doc, err
}

func (k kindOf[R, M]) read(ctx context.Context, i *Importer, id string) (proto.Message, error) {
	parsed, err := uuid.Parse(id)
	if err != nil {
		return nil, fmt.Errorf("read the id of a %s: %w", k.name(), err)
	}
	m, err := k.collection.Get(ctx, i.Workspace, parsed)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return m, err
}

// same is a kind that is stored as it is shown, with some derived fields.
func same[M Resource](s *store.Store, name query.Collection, empty M, derive func(M), owners func(M) []string) kindOf[M, M] {
	return kindOf[M, M]{
		collection: store.NewCollection(s, name, empty),
		stored: func(_ context.Context, m M) (M, error) {
			if derive != nil {
				derive(m)
			}
			return m, nil
		},
		owners: owners,
	}
}

// reason is the error of a refusal without its status.
func reason(err error) error {
	if list := rpc.HTTPError(err).GetFieldErrors().GetErrors(); len(list) > 0 {
		return &restjson.Errors{List: list}
	}
	if s, ok := status.FromError(err); ok {
		return errors.New(s.Message())
	}
	return err
}
