{{- /* Environment of the engine Pod's containers. */ -}}

{{- define "model-endpoint.engine.podName" -}}
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
{{- end -}}

{{- /* Both vllm and lmcache: nothing phones home, nothing is downloaded, one hash seed. Context: model context. */ -}}
{{- define "model-endpoint.engine.commonEnv" -}}
{{ include "model-endpoint.engine.podName" . }}
- name: HOME
  value: /tmp
- name: PYTHONHASHSEED
  value: {{ int64 .spec.cache.hashSeed | quote }}
- name: HF_HUB_OFFLINE
  value: "1"
- name: TRANSFORMERS_OFFLINE
  value: "1"
- name: VLLM_NO_USAGE_STATS
  value: "1"
- name: DO_NOT_TRACK
  value: "1"
- name: LMCACHE_TRACK_USAGE
  value: "false"
- name: LMCACHE_DISABLE_BANNER
  value: "1"
- name: TOKENIZERS_PARALLELISM
  value: "false"
{{- end -}}

{{- define "model-endpoint.engine.vllmEnv" -}}
{{ include "model-endpoint.engine.commonEnv" . }}
{{- if eq .spec.engine.device "cpu" }}
- name: VLLM_CPU_KVCACHE_SPACE
  value: {{ int64 .spec.engine.cpu.kvCacheSpaceGiB | quote }}
- name: VLLM_CPU_OMP_THREADS_BIND
  value: {{ include "tkc.scalar" .spec.engine.cpu.ompThreadsBind | quote }}
{{-   if and (eq (include "tkc.scalar" .spec.engine.cpu.ompThreadsBind) "nobind") (not (hasKey .spec.engine.env "OMP_NUM_THREADS")) }}
# Else one thread per core of the node, however many the container may use.
- name: OMP_NUM_THREADS
  valueFrom:
    resourceFieldRef:
      containerName: vllm
      resource: limits.cpu
{{-   end }}
{{- end }}
{{- with include "model-endpoint.engine.kvEventsEnv" . }}
{{ . }}
{{- end }}
{{- range $name, $value := .spec.engine.env }}
- name: {{ $name }}
  value: {{ include "tkc.scalar" $value | quote }}
{{- end }}
{{- end -}}

{{- /* Names that users may not set in engine.env, because the chart does. JSON array. */ -}}
{{- define "model-endpoint.engine.ownedEnv" -}}
{{- toJson (list "POD_NAME" "HOME" "PYTHONHASHSEED" "HF_HUB_OFFLINE" "TRANSFORMERS_OFFLINE" "VLLM_NO_USAGE_STATS" "DO_NOT_TRACK"
      "LMCACHE_TRACK_USAGE" "LMCACHE_DISABLE_BANNER" "TOKENIZERS_PARALLELISM" "VLLM_CPU_KVCACHE_SPACE" "VLLM_CPU_OMP_THREADS_BIND"
      "VLLM_API_KEY" "HF_TOKEN" "PYTHONPATH") -}}
{{- end -}}

{{- /* Variables that never change the bytes of a cache block; every other VLLM_ or LMCACHE_ variable goes into the
       fingerprint (VLLM_KV_CACHE_LAYOUT, for one, changes them silently). JSON array. */ -}}
{{- define "model-endpoint.engine.neutralEnv" -}}
{{- toJson (list "VLLM_SERVER_DEV_MODE" "VLLM_LOGGING_LEVEL" "VLLM_LOGGING_CONFIG_PATH" "VLLM_LOG_STATS_INTERVAL" "VLLM_CONFIGURE_LOGGING"
      "VLLM_RPC_TIMEOUT" "VLLM_ENGINE_ITERATION_TIMEOUT_S" "VLLM_HTTP_TIMEOUT_KEEP_ALIVE" "VLLM_KEEP_ALIVE_ON_ENGINE_DEATH"
      "LMCACHE_LOG_LEVEL") -}}
{{- end -}}

{{- /* JSON object of the variables that count. Context: model context. */ -}}
{{- define "model-endpoint.engine.fingerprintEnv" -}}
{{- $neutral := include "model-endpoint.engine.neutralEnv" . | fromJsonArray -}}
{{- $counted := dict -}}
{{- range $name, $value := .spec.engine.env -}}
{{-   if and (regexMatch "^(VLLM|LMCACHE)_" $name) (not (has $name $neutral)) -}}
{{-     $_ := set $counted $name (include "tkc.scalar" $value) -}}
{{-   end -}}
{{- end -}}
{{- toJson $counted -}}
{{- end -}}
