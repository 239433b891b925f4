package client

import _ "embed"

// template turns a push of GitHub into an event. It is dynamic: event, resource and payload come from the request.
const template = `{
  "event": "github.{{ headers['x-github-event'] }}",
  "resource": {
    "orch.resource.id": "github.repository.{{ body.repository.full_name }}",
    "orch.resource.name": {{ body.repository.name | tojson }}
  },
  "payload": {
    "delivery": {{ headers['x-github-delivery'] | tojson }},
    "branch": {{ body.ref.split('/')[-1] | tojson }},
    "pusher": {{ body.pusher.name | tojson }},
    "message": {{ body.head_commit.message | tojson }},
    "files": [{% for file in body.head_commit.modified %}{{ file | tojson }}{% if not loop.last %}, {% endif %}{% endfor %}]
  }
}`

// repository is the resource that the template names for the push.
const repository = "github.repository.octo-org/pipelines"

// push is what GitHub posts when somebody pushes.
//
//go:embed testdata/push.json
var push []byte
