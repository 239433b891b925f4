package artifacts

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/page"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ReadArtifacts answers the artifacts that match, by their own fields and by those of what they belong to.
func (s *Service) ReadArtifacts(ctx context.Context, r *orchv1.ReadArtifactsRequest) (*orchv1.ArtifactList, error) {
	q := r.GetQuery()
	order := q.GetSort()
	if order == orchv1.ArtifactSort_ARTIFACT_SORT_UNSPECIFIED {
		order = orchv1.ArtifactSort_ARTIFACT_SORT_ID_DESC
	}
	found, err := read(ctx, s.resolver, s.artifacts, q, order, q.GetOffset(), q.GetLimit())
	return &orchv1.ArtifactList{Artifacts: found}, err
}

// ListArtifacts answers a page of all artifacts, newest first.
func (s *Service) ListArtifacts(ctx context.Context, r *orchv1.ListArtifactsRequest) (*orchv1.ArtifactList, error) {
	found, err := read(ctx, s.resolver, s.artifacts, nil, orchv1.ArtifactSort_ARTIFACT_SORT_ID_DESC, r.GetOffset(), r.GetLimit())
	return &orchv1.ArtifactList{Artifacts: found}, err
}

// ReadLatestArtifacts answers the keys that match, by their latest artifacts and by what those belong to.
func (s *Service) ReadLatestArtifacts(ctx context.Context, r *orchv1.ReadLatestArtifactsRequest) (*orchv1.ArtifactCollectionList, error) {
	q := r.GetQuery()
	order := q.GetSort()
	if order == orchv1.ArtifactCollectionSort_ARTIFACT_COLLECTION_SORT_UNSPECIFIED {
		order = orchv1.ArtifactCollectionSort_ARTIFACT_COLLECTION_SORT_ID_DESC
	}
	found, err := read(ctx, s.resolver, s.latest, q, order, q.GetOffset(), q.GetLimit())
	return &orchv1.ArtifactCollectionList{Artifacts: found}, err
}

// CountArtifacts counts the artifacts that match.
func (s *Service) CountArtifacts(ctx context.Context, r *orchv1.CountArtifactsRequest) (*orchv1.CountResponse, error) {
	return s.count(ctx, query.Artifact, r.GetQuery())
}

// CountLatestArtifacts counts the keys that match.
func (s *Service) CountLatestArtifacts(ctx context.Context, r *orchv1.CountLatestArtifactsRequest) (*orchv1.CountResponse, error) {
	return s.count(ctx, query.ArtifactLatest, r.GetQuery())
}

func (s *Service) count(ctx context.Context, of query.Collection, q proto.Message) (*orchv1.CountResponse, error) {
	selection, err := selected(ctx, s.resolver, of, q)
	if err != nil {
		return nil, err
	}
	n, err := selection.Count(ctx)
	return &orchv1.CountResponse{Count: n}, err
}

// read answers a page of what matches, of either collection.
func read[M proto.Message](
	ctx context.Context, resolver query.Resolver, of *store.Collection[M], q proto.Message, order protoreflect.Enum, offset int64, asked *orchv1.PageLimit,
) ([]M, error) {
	limit, err := page.Limit(asked)
	if err != nil {
		return nil, err
	}
	selection, err := selected(ctx, resolver, of.Name(), q)
	if err != nil || limit == 0 {
		return nil, err
	}
	sort, err := query.Sort(order)
	if err != nil {
		return nil, err
	}
	raws, err := selection.Page(ctx, sort, offset, limit)
	if err != nil {
		return nil, err
	}
	return decode(of, raws)
}

func decode[M proto.Message](of *store.Collection[M], raws []bson.Raw) ([]M, error) {
	found := make([]M, 0, len(raws))
	for _, raw := range raws {
		m, err := of.Decode(raw)
		if err != nil {
			return nil, err
		}
		found = append(found, m)
	}
	return found, nil
}

func selected(ctx context.Context, resolver query.Resolver, of query.Collection, q proto.Message) (*query.Selection, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	plan, err := query.NewPlan(of, q)
	if err != nil {
		return nil, err
	}
	return resolver.Select(ctx, info.Workspace, plan)
}
