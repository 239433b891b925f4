module github.com/orch-project/orch/services/hooks

go 1.26.0
