{{- /* LMCache inside vLLM's own processes (LMCacheConnectorV1), configured by environment alone: no file could win over it,
       since LMCACHE_CONFIG_FILE is not among the names that users may set. Context everywhere: model context. */ -}}

{{- /* Where metrics of vLLM's processes and of LMCache in them meet, to be read on vLLM's own port. On the Pod's own storage:
       on a network volume every scrape would wait for it, and Pods would count each other's. */ -}}
{{- define "model-endpoint.engine.metricsDir" -}}/tmp/prometheus{{- end -}}

{{- /* Environment of the vllm container in this mode. YAML list. */ -}}
{{- define "model-endpoint.engine.inProcessEnv" -}}
{{- $extra := dict -}}
{{- if .l2 -}}
{{- /* Temporary names are per Pod: two Pods storing one chunk would else lose each other's files. */ -}}
{{-   $_ := set $extra "fs_connector_relative_tmp_dir" ".tmp-$(POD_NAME)" -}}
{{- end -}}
- name: PROMETHEUS_MULTIPROC_DIR
  value: {{ include "model-endpoint.engine.metricsDir" . }}
- name: LMCACHE_LMCACHE_INSTANCE_ID
  value: $(POD_NAME)
- name: LMCACHE_CHUNK_SIZE
  value: {{ int64 .spec.cache.chunkSize | quote }}
- name: LMCACHE_PRE_CACHING_HASH_ALGORITHM
  value: {{ include "model-endpoint.engine.hashAlgorithm" . }}
- name: LMCACHE_LOCAL_CPU
  value: {{ ternary "true" "false" .l1 | quote }}
# GiB of each rank: LMCache makes a pool of this size in every worker.
- name: LMCACHE_MAX_LOCAL_CPU_SIZE
  value: {{ include "tkc.quantity.gib" (include "model-endpoint.engine.l1RankBytes" .) | quote }}
- name: LMCACHE_SAVE_UNFULL_CHUNK
  value: "false"
# Health and details of the scheduler (port 7000) and of each rank (7001 and up), for `kubectl port-forward` only.
- name: LMCACHE_INTERNAL_API_SERVER_ENABLED
  value: "true"
- name: LMCACHE_INTERNAL_API_SERVER_HOST
  value: 127.0.0.1
- name: LMCACHE_INTERNAL_API_SERVER_PORT_START
  value: "7000"
{{- if .l2 }}
- name: LMCACHE_REMOTE_SERDE
  value: naive
{{-   if include "tkc.pairs.atLeast" (dict "have" .spec.engine.versions.lmcache "least" .root.tkc.pairs.since.fsPlugin) }}
{{-     $_ := set $extra "remote_storage_plugin.fs.base_path" (include "model-endpoint.engine.l2BasePath" .) }}
- name: LMCACHE_REMOTE_STORAGE_PLUGINS
  value: fs
{{-   else }}
# The host is a placeholder that LMCache asks for.
- name: LMCACHE_REMOTE_URL
  value: {{ printf "fs://localhost:0%s/" (include "model-endpoint.engine.l2BasePath" .) | quote }}
{{-   end }}
- name: LMCACHE_EXTRA_CONFIG
  value: {{ include "tkc.yamlText" (toJson $extra) }}
{{- end }}
{{- end -}}
