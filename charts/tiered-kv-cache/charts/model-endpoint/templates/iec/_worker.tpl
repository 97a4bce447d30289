{{- /* The container with vLLM. Context everywhere: model context. */ -}}

{{- define "model-endpoint.iec.worker" -}}
image: {{ include "tkc.image" .spec.engine.image | quote }}
# Said here, since images differ in what they start.
command: [vllm, serve]
args:
  {{- include "model-endpoint.engine.vllmArgs" . | nindent 2 }}
environmentVariables:
  {{- include "model-endpoint.iec.env" . | nindent 2 }}
modelInvocationPort:
  containerPort: 8000
  name: http
modelVolumeMount:
  name: {{ .spec.hyperpod.modelVolume | quote }}
  mountPath: {{ include "model-endpoint.iec.mountPath" . }}
probes:
  {{- include "model-endpoint.engine.vllmProbes" . | nindent 2 }}
resources:
  {{- include "model-endpoint.engine.resources" . | nindent 2 }}
{{- with include "model-endpoint.iec.requestLimits" . | trim }}
requestLimits:
  {{- . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* Plain values wherever possible: the operator copies them to its router, and nothing else. So nothing here may hinder a router
       that loads a tokenizer (HF_HUB_OFFLINE), nor be about paths. */ -}}
{{- define "model-endpoint.iec.env" -}}
# Routers and engines must hash alike, or no lookup finds anything.
- name: PYTHONHASHSEED
  value: {{ int64 .spec.cache.hashSeed | quote }}
- name: VLLM_NO_USAGE_STATS
  value: "1"
- name: DO_NOT_TRACK
  value: "1"
- name: LMCACHE_TRACK_USAGE
  value: "false"
{{- if and .lmcache (eq .mode "inProcess") }}
{{- if .l2 }}
- name: LMCACHE_REMOTE_SERDE
  value: naive
{{- end }}
# GiB of each rank.
- name: LMCACHE_MAX_LOCAL_CPU_SIZE
  value: {{ include "tkc.quantity.gib" (include "model-endpoint.engine.l1RankBytes" .) | quote }}
{{- if ne (int64 .spec.cache.chunkSize) 256 }}
- name: LMCACHE_CHUNK_SIZE
  value: {{ int64 .spec.cache.chunkSize | quote }}
{{- end }}
{{- end }}
{{- with include "model-endpoint.engine.apiKeyEnv" . }}
{{ . }}
{{- end }}
{{- with include "model-endpoint.engine.cpuEnv" . }}
{{ . }}
{{- end }}
{{- with include "model-endpoint.engine.ownEnv" . | trim }}
{{ . }}
{{- end }}
{{- end -}}

{{- define "model-endpoint.iec.requestLimits" -}}
{{- range $key := list "maxConcurrentRequests" "maxQueueSize" "overflowStatusCode" }}
{{- $value := index $.spec.hyperpod.requestLimits $key }}
{{- if not (kindIs "invalid" $value) }}
{{ $key }}: {{ int64 $value }}
{{- end }}
{{- end }}
{{- end -}}
