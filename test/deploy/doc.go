// Package deploy checks the deployment files: docker-compose.yml, deploy/docker, deploy/kubernetes and deploy/nats. The
// tests parse them with the libraries of their real consumers. They check that every setting exists in the service and
// has a valid value.
package deploy
