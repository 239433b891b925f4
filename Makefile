# Orch. `make help` lists the targets; the text comes from the ## comments.
BIN := $(CURDIR)/.cache/bin
export PATH := $(BIN):$(PATH)

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z][a-z-]*:.*## /{printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/buf: tools/buf/go.mod
	cd tools/buf && GOWORK=off go build -o $@ github.com/bufbuild/buf/cmd/buf

$(BIN)/protoc-gen-go: tools/protoc/go.mod
	cd tools/protoc && GOWORK=off go build -o $(BIN)/ tool

.PHONY: proto
proto: $(BIN)/buf $(BIN)/protoc-gen-go ## generate Go code from the proto files
	cd proto && buf lint && buf generate
