package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/services/orchestration/internal/hourtotals"
	"github.com/orch-project/orch/services/orchestration/internal/names"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// The methods below add the names of documents to the dictionary before each write of a name. Of most collections it has none.

// nameDocuments adds the names of stored documents of any workspaces.
func (c *Collection[M]) nameDocuments(ctx context.Context, docs []bson.Raw) error {
	if !names.Has(c.Name()) {
		return nil
	}
	lists := map[uuid.UUID][]string{}
	for _, doc := range docs {
		name, _ := doc.Lookup("name").StringValueOK()
		ws, err := UUID(doc.Lookup("ws"))
		if err != nil {
			return err
		}
		lists[ws] = append(lists[ws], name)
	}
	for ws, list := range lists {
		if err := c.store.names.Add(ctx, ws, c.Name(), list...); err != nil {
			return outage(err)
		}
	}
	return nil
}

// nameChange adds the name of a document if a change gives it another one.
func (c *Collection[M]) nameChange(ctx context.Context, ws uuid.UUID, from, to M) error {
	if !names.Has(c.Name()) || nameOf(from) == nameOf(to) {
		return nil
	}
	if err := c.store.names.Add(ctx, ws, c.Name(), nameOf(to)); err != nil {
		return outage(err)
	}
	return nil
}

func nameOf(m proto.Message) string {
	named, ok := m.(interface{ GetName() string })
	if !ok {
		return ""
	}
	return named.GetName()
}

// searchNames is query.Resolver.Names.
func (s *Store) searchNames(ctx context.Context, ws uuid.UUID, c query.Collection, text string, condition any) ([]string, bool, error) {
	found, ok, err := s.names.Search(ctx, ws, c, text, condition)
	return found, ok, limited(ctx, ErrSlowQuery, err)
}

// FillNames completes the dictionary of a database of an earlier version, once no server of that version writes any more. It returns the
// number of names that it added. A complete dictionary costs one read.
func (s *Store) FillNames(ctx context.Context) (added int, err error) {
	if s.names.IsComplete() {
		return 0, nil
	}
	found, err := s.format(ctx)
	if err != nil {
		return 0, fmt.Errorf("read database format: %w", outage(err))
	}
	if !found.Names {
		now, err := s.hourClock.Now(ctx)
		if err != nil || found.Changed != 0 && now.Before(time.UnixMicro(found.Changed).Add(hourtotals.TrustAfter)) {
			return 0, err
		}
		return s.CompleteNames(ctx)
	}
	s.names.Complete()
	return 0, nil
}

// CompleteNames is FillNames for a database to which no server of an earlier version writes.
func (s *Store) CompleteNames(ctx context.Context) (added int, err error) {
	if added, err = s.names.Fill(ctx, s.db); err != nil {
		return added, outage(err)
	}
	_, err = s.db.Collection(metaName).UpdateOne(ctx, bson.D{{Key: "_id", Value: "format"}}, bson.D{{Key: "$set", Value: bson.D{{Key: "names", Value: true}}}})
	if err != nil {
		return added, fmt.Errorf("record that all names are in the dictionary: %w", outage(err))
	}
	s.names.Complete()
	return added, nil
}
