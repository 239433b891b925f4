module github.com/orch-project/orch/services/standalone

go 1.26.0
