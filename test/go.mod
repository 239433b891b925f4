module github.com/orch-project/orch/test

go 1.26.0
