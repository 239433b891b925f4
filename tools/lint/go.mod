module github.com/orch-project/orch/tools/lint

go 1.26.0
