package prefectdb

import (
	"context"
	"database/sql"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func automations() Kind {
	return Kind{
		Name: "automations", table: "automation", resource: &orchv1.Automation{}, create: &orchv1.AutomationCreate{}, begin: owners,
	}
}

// owners gives automations the resource that they belong to.
func owners(ctx context.Context, s *Source) (finish, error) {
	owner := map[string]string{}
	query := "SELECT " + s.dialect.text("automation_id", textValue) + ", resource_id FROM automation_related_resource WHERE automation_owned_by_resource"
	err := s.each(ctx, query, func(values []sql.RawBytes) error {
		owner[string(values[0])] = string(values[1])
		return nil
	})
	return func(m Resource, _ []value) (Resource, error) {
		if a, ok := m.(*orchv1.Automation); ok && owner[a.GetId()] != "" {
			resource := owner[a.GetId()]
			a.OwnerResource = &resource
		}
		return m, nil
	}, err
}
