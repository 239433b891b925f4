terraform {
  required_providers {
    prefect = { source = "prefecthq/prefect" }
  }
}

provider "prefect" {}

# The names of events in the server's vocabulary.
variable "vocabulary" {
  type    = string
  default = "prefect"
}

resource "prefect_flow" "etl" {
  name = "etl"
  tags = ["terraform"]
}

resource "prefect_work_pool" "local" {
  name        = "local"
  type        = "process"
  description = "of this machine"
}

resource "prefect_work_queue" "urgent" {
  name           = "urgent"
  work_pool_name = prefect_work_pool.local.name
  priority       = 1
}

resource "prefect_variable" "bucket" {
  name  = "bucket"
  value = "orders"
}

resource "prefect_block" "password" {
  name      = "password"
  type_slug = "secret"
  data      = jsonencode({ value = "bar" })
}

resource "prefect_global_concurrency_limit" "database" {
  name  = "database"
  limit = 3
}

resource "prefect_deployment" "nightly" {
  name            = "nightly"
  flow_id         = prefect_flow.etl.id
  work_pool_name  = prefect_work_pool.local.name
  work_queue_name = prefect_work_queue.urgent.name
  entrypoint      = "etl.py:etl"
  path            = "/srv"
  parameters      = jsonencode({ day = "monday" })
}

resource "prefect_deployment_schedule" "nightly" {
  deployment_id = prefect_deployment.nightly.id
  active        = true
  timezone      = "Europe/Berlin"
  cron          = "0 3 * * *"
}

resource "prefect_automation" "failed" {
  name    = "a run failed"
  enabled = true
  trigger = {
    event = {
      posture   = "Reactive"
      expect    = ["${var.vocabulary}.flow-run.Failed"]
      match     = jsonencode({ "${var.vocabulary}.resource.id" = "${var.vocabulary}.flow-run.*" })
      threshold = 1
      within    = 0
    }
  }
  actions = [{ type = "do-nothing" }]
}
