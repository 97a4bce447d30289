{{- /* Command line of vllm-router 0.1.17. What each flag does there, and what was measured: docs/routing.md. Context everywhere:
       model context. */ -}}

{{- /* The router's policy for a strategy. One router can remember where each session went; several agree on it by hashing. */ -}}
{{- define "model-endpoint.router.policy" -}}
{{- $session := ternary "sticky_least_loaded" "consistent_hash" (eq (int64 .spec.routing.replicas) 1) -}}
{{- get (dict "roundrobin" "round_robin" "session" $session "prefixaware" "cache_aware" "kvaware" "kv_aware") .spec.routing.strategy -}}
{{- end -}}

{{- define "model-endpoint.router.args" -}}
{{- $routing := .spec.routing -}}
{{- $policy := include "model-endpoint.router.policy" . -}}
- --host
- {{ include "tkc.anyAddress" .root | quote }}
- --port
- "8000"
- --policy
- {{ $policy }}
{{- if eq $policy "cache_aware" }}
# Share of a prompt that one engine must have had for the request to go there.
- --cache-threshold
- {{ include "tkc.scalar" $routing.prefix.threshold | quote }}
# Load goes before prefix as soon as the busiest engine has so many requests more than the idlest, and so many times its own.
- --balance-abs-threshold
- {{ int64 $routing.prefix.imbalanceRequests | quote }}
- --balance-rel-threshold
- {{ include "tkc.scalar" $routing.prefix.imbalanceRatio | quote }}
# The tree of prefixes, in characters for each engine; both keep it below the container's memory limit.
- --max-tree-size
- "8388608"
- --eviction-interval-secs
- "30"
{{- else if eq $policy "kv_aware" }}
# Engines whose costs differ by no more than a few tokens take turns by chance; with 0 the first one would get every new prefix.
- --router-temperature
- "8"
{{- end }}
- --service-discovery
# Without a namespace it would watch the whole cluster.
- --service-discovery-namespace
- {{ .root.Release.Namespace | quote }}
- --service-discovery-port
- "8000"
- --prometheus-host
- {{ include "tkc.anyAddress" .root | quote }}
- --prometheus-port
- "29000"
- --worker-startup-timeout-secs
- {{ int64 .spec.probes.startup.budget | quote }}
- --health-check-interval-secs
- "5"
- --health-failure-threshold
- "3"
- --health-success-threshold
- "1"
- --request-timeout-secs
- {{ int64 $routing.requestTimeoutSeconds | quote }}
{{- if eq (int64 $routing.retries.attempts) 1 }}
- --disable-retries
{{- else }}
# Tries of one request in all. Tried again: no connection, 408, 429 and 5xx; never a stream that has begun.
- --retry-max-retries
- {{ int64 $routing.retries.attempts | quote }}
- --retry-initial-backoff-ms
- {{ int64 $routing.retries.initialBackoffMs | quote }}
- --retry-max-backoff-ms
- {{ int64 $routing.retries.maxBackoffMs | quote }}
- --retry-backoff-multiplier
- "2"
{{- end }}
{{- if $routing.circuitBreaker.enabled }}
- --cb-failure-threshold
- {{ int64 $routing.circuitBreaker.failures | quote }}
- --cb-success-threshold
- "1"
- --cb-timeout-duration-secs
- {{ int64 $routing.circuitBreaker.openSeconds | quote }}
{{- else }}
- --disable-circuit-breaker
{{- end }}
- --log-level
- info
# Takes all that follows, so it stays last.
- --selector
{{- range $key, $value := include "tkc.labels.selector" (dict "root" .root "component" "engine" "model" .name) | fromYaml }}
- {{ printf "%s=%s" $key $value | quote }}
{{- end }}
{{- end -}}

{{- /* YAML list, or nothing. */ -}}
{{- define "model-endpoint.router.env" -}}
{{- if eq (include "model-endpoint.router.policy" .) "sticky_least_loaded" -}}
# A session that has been idle for so long is forgotten.
- name: VLLM_ROUTER_SLL_SESSION_EXPIRATION_IN_S
  value: {{ int64 .spec.routing.session.idleSeconds | quote }}
{{- end -}}
{{- end -}}
