// Package deploy checks the files that start Orch elsewhere: docker-compose.yml, deploy/docker, deploy/kubernetes and
// deploy/nats. They are read by the code of those who will read them in earnest, and every setting that they name is one
// that the service has, with a value that it accepts.
package deploy
