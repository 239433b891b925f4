package conversion

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/protobson"
	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/hourtotals"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// The phases of a conversion, in the database.
const (
	phaseSurvey  = "survey"
	phaseConvert = "convert"
)

// state is the progress of a conversion, in the database.
type state struct {
	Phase string `bson:"phase"`
	// Done are the collections that are converted and must not be read again.
	Done []string `bson:"done"`
	// Streams are the streams of the broker, by name.
	Streams map[string]broker.StreamRewrite `bson:"streams"`
}

// Config describes a conversion.
type Config struct {
	Store *store.Store
	// Broker is nil for data without streams, such as a backup.
	Broker *broker.Conn
	Keys   secrets.Keyring
	To     vocabulary.Vocabulary
	Report *Report
	// Progress gets the number of documents that were read of a collection; total is an estimate.
	Progress func(collection string, done, total int64)
}

// Converter converts one database.
type Converter struct {
	store    *store.Store
	db       *mongo.Database
	broker   *broker.Conn
	keys     secrets.Keyring
	from, to vocabulary.Vocabulary
	report   *Report
	progress func(collection string, done, total int64)
	state    state

	someExceptions bool
	// automations caches the labels of automations, for their buckets.
	automations map[automationKey]keyLabels
}

type automationKey struct{ workspace, id uuid.UUID }

// New returns a converter.
func New(cfg Config) *Converter {
	return &Converter{
		store: cfg.Store, db: cfg.Store.Database(), broker: cfg.Broker, keys: cfg.Keys, from: cfg.To.Other(), to: cfg.To, report: cfg.Report,
		progress: cfg.Progress, automations: map[automationKey]keyLabels{},
	}
}

// Survey reports what Convert would change. It writes nothing.
func (c *Converter) Survey(ctx context.Context) error { return c.survey(ctx, true) }

// Convert converts the database and the broker's streams. It marks the database first, so that no server uses it until Convert
// has returned nil; interrupted at any moment, another call continues.
func (c *Converter) Convert(ctx context.Context) error {
	mark, err := c.store.Vocabulary(ctx)
	if err != nil {
		return err
	}
	under := vocabulary.Conversion{From: c.from, To: c.to}.String()
	if mark == c.from.String() {
		c.state = state{Phase: phaseSurvey}
		if err := c.save(ctx); err != nil { // Before the mark: the state of an earlier conversion must not be continued.
			return err
		}
		if err := c.store.SetVocabulary(ctx, mark, under); err != nil {
			return err
		}
	} else if err := c.store.ReadConversion(ctx, &c.state); err != nil {
		return err
	}
	if c.state.Phase == phaseSurvey {
		if err := c.survey(ctx, false); err != nil {
			return err
		}
		c.state.Phase = phaseConvert
		if err := c.save(ctx); err != nil {
			return err
		}
	}
	// Hours have names of events. A server counts them again.
	if err := c.db.Collection(hourtotals.CollectionName).Drop(ctx); err != nil {
		return fmt.Errorf("drop the hour totals: %w", err)
	}
	if err := c.removeEventTypes(ctx); err != nil {
		return fmt.Errorf("remove event types: %w", err)
	}
	for _, collection := range collections() {
		if slices.Contains(c.state.Done, string(collection)) {
			continue
		}
		if err := c.convert(ctx, collection); err != nil {
			return err
		}
		c.state.Done = append(c.state.Done, string(collection))
		if err := c.save(ctx); err != nil {
			return err
		}
	}
	if err := c.convertBroker(ctx); err != nil {
		return err
	}
	if err := c.forget(ctx); err != nil {
		return err
	}
	if err := c.store.SetVocabulary(ctx, under, c.to.String()); err != nil {
		return err
	}
	return c.store.RemoveConversion(ctx)
}

// removeEventTypes removes the event types whose names the server gives; a server gathers them again. A converted name might exist already,
// because events may have had names of both vocabularies.
func (c *Converter) removeEventTypes(ctx context.Context) (err error) {
	types := c.db.Collection(string(query.EventType))
	cursor, err := types.Find(ctx, bson.D{}, options.Find().SetProjection(bson.D{{Key: "name", Value: 1}}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cursor.Close(context.WithoutCancel(ctx))) }()
	var ids bson.A
	remove := func() error {
		if len(ids) == 0 {
			return nil
		}
		_, err := types.DeleteMany(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}})
		ids = nil
		return err
	}
	for cursor.Next(ctx) {
		name, _ := cursor.Current.Lookup("name").StringValueOK()
		if _, ok := vocabulary.Owner(name); !ok {
			continue
		}
		if ids = append(ids, cursor.Current.Lookup("_id")); len(ids) == batchDocuments {
			if err := remove(); err != nil {
				return err
			}
		}
	}
	return errors.Join(cursor.Err(), remove())
}

func (c *Converter) save(ctx context.Context) error { return c.store.WriteConversion(ctx, c.state) }

// survey examines every document that is not converted. A dry run reports the changes and stores no exceptions.
func (c *Converter) survey(ctx context.Context, dry bool) error {
	for _, collection := range collections() {
		err := c.each(ctx, collection, func(batch []*document) error {
			kept, err := c.exceptions(ctx, batch, c.from)
			if err != nil {
				return err
			}
			var found []exception
			for _, d := range batch {
				labels, err := c.labelsFor(ctx, d)
				if err != nil {
					return err
				}
				e, r, needed, err := c.examine(d, setOf(kept[d.exceptionID(c.from)].Kept), labels)
				if err != nil {
					return d.failed(err)
				}
				if needed {
					found = append(found, e)
				}
				if dry {
					if err := c.reportChange(d, r, labels); err != nil {
						return d.failed(err)
					}
				}
			}
			if dry {
				return nil
			}
			return c.record(ctx, found)
		})
		if err != nil {
			return err
		}
	}
	if dry {
		return c.surveyBroker(ctx)
	}
	return nil
}

func (c *Converter) reportChange(d *document, r *renaming, labels keyLabels) error {
	n := c.report.document(d)
	changed, err := c.rewrite(d, r.rename, labels, n)
	n.end(!changed.empty())
	return err
}

// convert converts a collection.
func (c *Converter) convert(ctx context.Context, collection query.Collection) error {
	return c.each(ctx, collection, func(batch []*document) error {
		kept, err := c.exceptions(ctx, batch, c.from)
		if err != nil {
			return err
		}
		once, err := c.exceptions(ctx, batch, c.to)
		if err != nil {
			return err
		}
		var updates []mongo.WriteModel
		for _, d := range batch {
			e, excepted := once[d.exceptionID(c.to)]
			if excepted && !bytes.Equal(e.Digest, d.digest()) {
				continue // An interrupted attempt converted it.
			}
			r := renaming{from: c.from, to: c.to, kept: setOf(kept[d.exceptionID(c.from)].Kept), swapped: setOf(e.Swapped)}
			var labels keyLabels
			if excepted { // Others need no order; without it, a bucket that was moved already keeps its key.
				if labels, err = c.labelsFor(ctx, d); err != nil {
					return err
				}
			}
			n := c.report.document(d)
			changed, err := c.rewrite(d, r.rename, labels, n)
			if err != nil {
				return d.failed(err)
			}
			n.end(!changed.empty())
			switch {
			case changed.empty():
			case changed.id != uuid.Nil:
				if err := c.move(ctx, d, &changed, e); err != nil {
					return d.failed(err)
				}
			default:
				updates = append(updates, changed.update(d))
			}
		}
		if len(updates) == 0 {
			return nil
		}
		_, err = c.db.Collection(string(collection)).BulkWrite(ctx, updates, options.BulkWrite().SetOrdered(false))
		return err
	})
}

// move writes a document under its new id, and removes the old one. The exception of the document follows it.
func (c *Converter) move(ctx context.Context, d *document, changed *change, e exception) error {
	raw, err := changed.moved(d)
	if err != nil {
		return err
	}
	next, err := newDocument(d.collection, raw)
	if err != nil {
		return err
	}
	if len(e.Kept) > 0 {
		e.ID, e.Digest = next.exceptionID(c.to), nil
		if err := c.record(ctx, []exception{e}); err != nil {
			return err
		}
	}
	coll := c.db.Collection(string(d.collection))
	if _, err := coll.ReplaceOne(ctx, next.filter(), raw, options.Replace().SetUpsert(true)); err != nil {
		return err
	}
	_, err = coll.DeleteOne(ctx, d.filter())
	return err
}

// failed names the document of an error.
func (d *document) failed(err error) error {
	return fmt.Errorf("document %s: %w", d.uuid, err)
}

// maxAutomations bounds the cache of automations.
const maxAutomations = 1000

// labelsFor returns the labels that order the keys of a bucket. The automation is not converted yet.
func (c *Converter) labelsFor(ctx context.Context, d *document) (keyLabels, error) {
	if d.collection != query.AutomationBucket {
		return nil, nil
	}
	_, data, _ := d.raw.Lookup("automation_id").BinaryOK()
	id, err := uuid.FromBytes(data)
	if err != nil {
		return nil, nil //nolint:nilerr // A bucket without an automation has no order of labels.
	}
	key := automationKey{d.workspace, id}
	if cached, ok := c.automations[key]; ok {
		return cached, nil
	}
	raw, err := c.db.Collection(string(query.Automation)).FindOne(ctx,
		bson.D{{Key: "_id", Value: store.Binary(id)}, {Key: "ws", Value: store.Binary(d.workspace)}}).Raw()
	var found keyLabels
	if err == nil {
		a := &orchv1.Automation{}
		if err = protobson.UnmarshalDocument(raw, a); err == nil {
			found = labelsOf(d.workspace, a)
		}
	}
	if err != nil && !errors.Is(err, mongo.ErrNoDocuments) {
		return nil, fmt.Errorf("read automation %s: %w", id, err)
	}
	if len(c.automations) >= maxAutomations {
		clear(c.automations)
	}
	c.automations[key] = found
	return found, nil
}
