{{- define "orch.labels" -}}
app.kubernetes.io/name: {{ . }}
app.kubernetes.io/part-of: orch
{{- end }}

{{- define "orch.image" -}}
{{- $values := .root.Values.image -}}
{{- $name := printf "%s/orch" (required "image.registry: set the registry that make images pushed to" $values.registry) -}}
{{- if ne .name "orch" -}}
{{- $name = printf "%s-%s" $name .name -}}
{{- end -}}
{{- with get $values.digests .name -}}
{{ $name }}@{{ . }}
{{- else -}}
{{ $name }}:{{ required "image.tag: set the released version, or image.digests" $values.tag }}
{{- end -}}
{{- end }}

{{- /* The settings of a service, beside those of all services. */ -}}
{{- define "orch.config" -}}
{{- $values := .root.Values -}}
{{- $config := dict -}}
{{- if eq .name "gateway" -}}
{{- $hooks := ternary "https://hooks:4201" "hooks:4201" $values.tls.enabled -}}
{{- $config = dict "ORCH_GATEWAY_LISTEN" "0.0.0.0:4200" "ORCH_GATEWAY_INTERNAL_LISTEN" "0.0.0.0:9400" "ORCH_GATEWAY_DRAIN_DELAY" "5s" "ORCH_ORCHESTRATION_ADDR" "dns:///orchestration:4202" "ORCH_HOOKS_ADDR" $hooks -}}
{{- else if eq .name "hooks" -}}
{{- $config = dict "ORCH_HOOKS_LISTEN" "0.0.0.0:4201" "ORCH_HOOKS_INTERNAL_LISTEN" "0.0.0.0:9401" "ORCH_HOOKS_DRAIN_DELAY" "5s" -}}
{{- else if eq .name "orch" -}}
{{- $config = dict "ORCH_GATEWAY_LISTEN" "0.0.0.0:4200" "ORCH_INTERNAL_LISTEN" "0.0.0.0:9400" "ORCH_DATA_DIR" "/data" -}}
{{- else -}}
{{- $config = dict "ORCH_ORCHESTRATION_LISTEN" "0.0.0.0:4202" "ORCH_ORCHESTRATION_INTERNAL_LISTEN" "0.0.0.0:9402" "ORCH_ALLOW_PLAINTEXT" (not $values.tls.enabled | toString) -}}
{{- end -}}
{{- if eq .name "orch" -}}
{{- mergeOverwrite $config $values.config | toYaml -}}
{{- else -}}
{{- mergeOverwrite $config (get $values .name).config | toYaml -}}
{{- end -}}
{{- end }}

{{- /* The settings of all services. */ -}}
{{- define "orch.shared" -}}
{{- $config := dict "ORCH_NATS_SHARDS" "1" "ORCH_NATS_REPLICAS" "3" -}}
{{- if .Values.tls.enabled -}}
{{- $config = merge $config (dict "ORCH_TLS_CERT" "/etc/orch/tls/tls.crt" "ORCH_TLS_KEY" "/etc/orch/tls/tls.key" "ORCH_TLS_CA" "/etc/orch/tls/ca.crt") -}}
{{- end -}}
{{- if .Values.nats.tlsSecret -}}
{{- $_ := set $config "ORCH_NATS_CA" "/etc/orch/nats/ca.crt" -}}
{{- end -}}
{{- mergeOverwrite $config .Values.config | toYaml -}}
{{- end }}

{{- define "orch.ports" -}}
{{- if eq . "gateway" -}}
[{name: http, port: 4200}, {name: internal, port: 9400}]
{{- else if eq . "hooks" -}}
[{name: http, port: 4201}, {name: internal, port: 9401}]
{{- else -}}
[{name: grpc, port: 4202}, {name: internal, port: 9402}]
{{- end -}}
{{- end }}
