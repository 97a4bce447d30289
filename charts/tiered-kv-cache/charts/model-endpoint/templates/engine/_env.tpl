{{- /* Environment of the engine Pod's containers. */ -}}

{{- define "model-endpoint.engine.podName" -}}
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
{{- end -}}

{{- /* Both vllm and lmcache: nothing phones home, nothing is downloaded, one hash seed, and all that is written goes to /tmp:
       the root is read-only, and the user has no home and, in the projects' own images, no name. Context: model context. */ -}}
{{- define "model-endpoint.engine.commonEnv" -}}
{{ include "model-endpoint.engine.podName" . }}
- name: HOME
  value: /tmp
- name: USER
  value: tkc
- name: XDG_CACHE_HOME
  value: /tmp/.cache
- name: XDG_CONFIG_HOME
  value: /tmp/.config
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
{{- if eq .spec.engine.device "cuda" }}
# Kernels that are compiled at the first start; the directory lives as long as the Pod.
- name: VLLM_CACHE_ROOT
  value: /tmp/.cache/vllm
- name: TRITON_CACHE_DIR
  value: /tmp/.cache/triton
- name: TORCHINDUCTOR_CACHE_DIR
  value: /tmp/.cache/inductor
- name: FLASHINFER_WORKSPACE_BASE
  value: /tmp
- name: CUDA_CACHE_PATH
  value: /tmp/.cache/cuda
- name: NUMBA_CACHE_DIR
  value: /tmp/.cache/numba
{{- end }}
{{- with include "model-endpoint.engine.apiKeyEnv" . }}
{{ . }}
{{- end }}
{{- if and .lmcache (eq .mode "inProcess") }}
{{ include "model-endpoint.engine.inProcessEnv" . }}
{{- end }}
{{- with include "model-endpoint.engine.cpuEnv" . }}
{{ . }}
{{- end }}
{{- with include "model-endpoint.engine.middlewareEnv" . }}
{{ . }}
{{- end }}
{{- with include "model-endpoint.engine.ownEnv" . | trim }}
{{ . }}
{{- end }}
{{- end -}}

{{- /* The key that it asks for. YAML list, or nothing. */ -}}
{{- define "model-endpoint.engine.apiKeyEnv" -}}
{{- with .root.tkc.values.apiKey -}}
{{-   if .secretName -}}
- name: VLLM_API_KEY
  {{- include "tkc.secretRef" . | nindent 2 }}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* As the values say. YAML list, or nothing. */ -}}
{{- define "model-endpoint.engine.ownEnv" -}}
{{- range $name, $value := .spec.engine.env }}
- name: {{ $name | quote }}
  value: {{ include "tkc.scalar" $value | quote }}
{{- end }}
{{- end -}}

{{- /* Of an engine without a GPU. YAML list, or nothing. */ -}}
{{- define "model-endpoint.engine.cpuEnv" -}}
{{- if eq .spec.engine.device "cpu" -}}
- name: VLLM_CPU_KVCACHE_SPACE
  value: {{ int64 .spec.engine.cpu.kvCacheSpaceGiB | quote }}
- name: VLLM_CPU_OMP_THREADS_BIND
  value: {{ include "tkc.scalar" .spec.engine.cpu.ompThreadsBind | quote }}
# vLLM compiles its count of log probabilities at the first request that asks for them, --enforce-eager or not; without a
# C++ compiler in the image that ends the engine.
- name: TORCH_COMPILE_DISABLE
  value: "1"
{{-   if and (eq (include "tkc.scalar" .spec.engine.cpu.ompThreadsBind) "nobind") (not (hasKey .spec.engine.env "OMP_NUM_THREADS")) }}
# Else one thread per core of the node, however many the container may use.
- name: OMP_NUM_THREADS
  valueFrom:
    resourceFieldRef:
      {{- if not .root.tkc.hyperpod }}
      containerName: vllm
      {{- end }}
      resource: limits.cpu
{{-   end }}
{{- end }}
{{- end -}}

{{- /* Names that users may not set in engine.env, with what to do instead. JSON object. */ -}}
{{- define "model-endpoint.engine.ownedEnv" -}}
{{- $owned := dict
      "PYTHONHASHSEED" "use cache.hashSeed"
      "VLLM_CPU_KVCACHE_SPACE" "use engine.cpu.kvCacheSpaceGiB"
      "VLLM_CPU_OMP_THREADS_BIND" "use engine.cpu.ompThreadsBind"
      "TORCH_COMPILE_DISABLE" "it is set on cpu, where nothing could compile"
      "VLLM_API_KEY" "use apiKey: a value here is readable by everyone who may read Pods"
      "CUDA_VISIBLE_DEVICES" "the GPUs are those of resources.engine.limits"
      "NVIDIA_VISIBLE_DEVICES" "the GPUs are those of resources.engine.limits"
      "TKC_CACHE_SALT" "use cacheSalt: a value here is readable by everyone who may read Pods"
      "LMCACHE_USE_UPSTREAM_MP" "vLLM's built-in connector fails a request whose blocks are gone, and knows no eager prefetch"
      "LMCACHE_CHUNK_SIZE" "use cache.chunkSize" -}}
{{- range list "POD_NAME" "HOME" "USER" "XDG_CACHE_HOME" "XDG_CONFIG_HOME" "HF_HUB_OFFLINE" "TRANSFORMERS_OFFLINE" "VLLM_NO_USAGE_STATS" "DO_NOT_TRACK"
      "LMCACHE_TRACK_USAGE" "LMCACHE_DISABLE_BANNER" "TOKENIZERS_PARALLELISM" "HF_TOKEN" "PYTHONPATH"
      "VLLM_CACHE_ROOT" "VLLM_CONFIG_ROOT" "TRITON_CACHE_DIR" "TORCHINDUCTOR_CACHE_DIR" "FLASHINFER_WORKSPACE_BASE" "CUDA_CACHE_PATH" "NUMBA_CACHE_DIR"
      "PROMETHEUS_MULTIPROC_DIR" -}}
{{-   $_ := set $owned . "the chart sets it" -}}
{{- end -}}
{{- /* All that says where LMCache keeps blocks, how it names them, whom it asks and who may ask it. */ -}}
{{- range list "LMCACHE_CONFIG_FILE" "LMCACHE_REMOTE_CONFIG_URL" "LMCACHE_EXTRA_CONFIG" "LMCACHE_REMOTE_URL" "LMCACHE_REMOTE_SERDE"
      "LMCACHE_REMOTE_STORAGE_PLUGINS" "LMCACHE_STORAGE_PLUGINS" "LMCACHE_EXTERNAL_BACKENDS" "LMCACHE_PRE_CACHING_HASH_ALGORITHM" "LMCACHE_LOCAL_CPU"
      "LMCACHE_MAX_LOCAL_CPU_SIZE" "LMCACHE_LOCAL_DISK" "LMCACHE_MAX_LOCAL_DISK_SIZE" "LMCACHE_GDS_PATH" "LMCACHE_SAVE_UNFULL_CHUNK" "LMCACHE_SAVE_DECODE_CACHE"
      "LMCACHE_MP_TRANSFER_MODE" "LMCACHE_ENABLE_P2P" "LMCACHE_ENABLE_PD" "LMCACHE_ENABLE_CONTROLLER" "LMCACHE_ENABLE_BLENDING" "LMCACHE_LMCACHE_INSTANCE_ID"
      "LMCACHE_INTERNAL_API_SERVER_ENABLED" "LMCACHE_INTERNAL_API_SERVER_HOST" "LMCACHE_INTERNAL_API_SERVER_PORT_START" "LMCACHE_RUN_SCRIPT_API_ENABLED" -}}
{{-   $_ := set $owned . "the tiers are set by cache.*" -}}
{{- end -}}
{{- toJson $owned -}}
{{- end -}}

{{- /* Variables that never change the bytes of a cache block; every other VLLM_ or LMCACHE_ variable goes into the
       fingerprint (VLLM_KV_CACHE_LAYOUT, for one, changes them silently). JSON array. */ -}}
{{- define "model-endpoint.engine.neutralEnv" -}}
{{- toJson (list "VLLM_SERVER_DEV_MODE" "VLLM_LOGGING_LEVEL" "VLLM_LOGGING_CONFIG_PATH" "VLLM_LOG_STATS_INTERVAL" "VLLM_CONFIGURE_LOGGING"
      "VLLM_RPC_TIMEOUT" "VLLM_ENGINE_ITERATION_TIMEOUT_S" "VLLM_HTTP_TIMEOUT_KEEP_ALIVE" "VLLM_KEEP_ALIVE_ON_ENGINE_DEATH"
      "LMCACHE_LOG_LEVEL" "LMCACHE_LOOKUP_TIMEOUT_MS" "LMCACHE_BLOCKING_TIMEOUT_SECS") -}}
{{- end -}}

{{- /* JSON object of the variables that count. Context: model context. */ -}}
{{- define "model-endpoint.engine.fingerprintEnv" -}}
{{- $neutral := include "model-endpoint.engine.neutralEnv" . | fromJsonArray -}}
{{- $counted := dict -}}
{{- $texts := list -}}
{{- range .spec.engine.args -}}{{- $texts = append $texts (include "tkc.scalar" .) -}}{{- end -}}
{{- range .spec.engine.env -}}{{- $texts = append $texts (include "tkc.scalar" .) -}}{{- end -}}
{{- $text := join " " $texts -}}
{{- range $name, $value := .spec.engine.env -}}
{{- /* The kubelet puts a variable that is named $(NAME) into arguments and other variables. */ -}}
{{-   if or (contains (printf "$(%s)" $name) $text) (and (regexMatch "^(VLLM|LMCACHE)_" $name) (not (has $name $neutral))) -}}
{{-     $_ := set $counted $name (include "tkc.scalar" $value) -}}
{{-   end -}}
{{- end -}}
{{- toJson $counted -}}
{{- end -}}
