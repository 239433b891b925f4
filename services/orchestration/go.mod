module github.com/orch-project/orch/services/orchestration

go 1.26.0
