module github.com/orch-project/orch/services/gateway

go 1.26.0
