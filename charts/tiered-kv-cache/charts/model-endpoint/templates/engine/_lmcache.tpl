{{- /* LMCache in either mode: what vLLM is told, and the server's command line. Context everywhere: model context. */ -}}

{{- /* --kv-transfer-config. A block that cannot be loaded is computed again; vLLM's default ("fail") would end the request.
       Heartbeat and time-out in seconds: after a restart of the LMCache server a store call is never answered until the
       engine has registered again; with the defaults (10 and 300) the engine waits for it until its own watchdog ends it. */ -}}
{{- define "model-endpoint.engine.kvTransferConfig" -}}
{{- $config := dict "kv_role" "kv_both" "kv_load_failure_policy" .spec.engine.kvLoadFailurePolicy -}}
{{- if eq .mode "inProcess" -}}
{{-   $_ := set $config "kv_connector" "LMCacheConnectorV1" -}}
{{- else -}}
{{-   $extra := dict
        "lmcache.mp.host" "tcp://127.0.0.1"
        "lmcache.mp.port" 6100
        "lmcache.mp.heartbeat_interval" 2
        "lmcache.mp.mq_timeout" 10
        "lmcache.mp.mp_transfer_mode" "engine_driven" -}}
{{-   if .spec.cache.eagerPrefetch -}}{{- $_ := set $extra "lmcache.mp.eager_prefetch" true -}}{{- end -}}
{{-   $_ := set $config "kv_connector" "LMCacheMPConnector" -}}
{{-   $_ := set $config "kv_connector_extra_config" $extra -}}
{{- end -}}
{{- toJson $config -}}
{{- end -}}

{{- /* Bytes of L1 for each rank. In-process, each rank has a pool of its own; the server has one for all. */ -}}
{{- define "model-endpoint.engine.l1RankBytes" -}}
{{- div .l1Bytes .ranks -}}
{{- end -}}

{{- /* The whole command line after `lmcache server`. YAML list.
       Transfer is by the engine on every device: the workers copy blocks into and out of L1, which lies in /dev/shm (on a GPU,
       page-locked by the worker). The server touches no GPU, so that the Pod's GPUs all belong to vllm, MIG slices work, and no
       host namespace is needed. LMCache's other way, by the server over CUDA IPC, needs each GPU in both containers, which a
       Pod's resources cannot say. */ -}}
{{- define "model-endpoint.engine.lmcacheArgs" -}}
- --instance-id
- $(POD_NAME)
- --host
- 127.0.0.1
- --port
- "6100"
# Probes and verify reach health and metrics; the NetworkPolicy keeps everybody else out.
- --http-host
- {{ include "tkc.anyAddress" .root | quote }}
- --http-port
- "8180"
- --chunk-size
- {{ int64 .spec.cache.chunkSize | quote }}
# The default, written out since the fingerprint names it.
- --hash-algorithm
- {{ include "model-endpoint.engine.hashAlgorithm" . }}
# One for each rank, so that no rank's store waits for another's.
- --max-workers
- {{ .ranks | quote }}
- --l1-size-gb
- {{ include "tkc.quantity.gib" .l1Bytes | quote }}
# Shared memory needs the pool at its full size from the start.
- --no-l1-use-lazy
- --eviction-policy
- LRU
- --shm-name
- tiered-kv-cache
- --supported-transfer-mode
- engine_driven
- --metrics-sample-rate
- "1.0"
{{- if .l2 }}
# Without "retain" an L2 hit is not kept in L1.
- --l2-prefetch-policy
- retain
- --l2-adapter
- {{ include "tkc.yamlText" (include "model-endpoint.engine.l2Adapter" .) }}
{{- end }}
{{- end -}}

{{- /* Who reads and writes L2. Temporary names are per Pod: two Pods storing one chunk would else lose each other's files. */ -}}
{{- define "model-endpoint.engine.l2Adapter" -}}
{{- if .guarded -}}
{{-   $settings := .spec.cache.l2.settings -}}
{{-   $params := dict
        "base_path" (include "model-endpoint.engine.l2BasePath" .)
        "pod" "$(POD_NAME)"
        "recompute_ms_per_chunk" $settings.recomputeMsPerChunk
        "lookup_deadline_ms" $settings.lookupDeadlineMs
        "stall_ms" $settings.stallMs
        "load_base_ms" $settings.loadBaseMs
        "load_ms_per_mib" $settings.loadMsPerMiB
        "load_threads" (int64 $settings.loadThreads)
        "store_threads" (int64 $settings.storeThreads)
        "store_queue_mib" (int64 $settings.storeQueueMiB)
        "fsync" $settings.fsync
        "direct_io" $settings.directIO -}}
{{-   toJson (dict "type" "plugin" "module_path" "tiered_kv_cache.l2.adapter" "class_name" "FilesystemL2Adapter" "adapter_params" $params) -}}
{{- else if eq .spec.cache.l2.adapter "custom" -}}
{{- toJson .spec.cache.l2.adapterConfig -}}
{{- else -}}
{{- toJson (dict "type" "fs" "base_path" (include "model-endpoint.engine.l2BasePath" .) "relative_tmp_dir" ".tmp-$(POD_NAME)") -}}
{{- end -}}
{{- end -}}

{{- /* How LMCache names chunks. blake3 is not known in-process; sha256_cbor does not depend on the process there, while the
       default, Python's own hash, does. On HyperPod LMCache's default stays, since the operator's router counts with it. */ -}}
{{- define "model-endpoint.engine.hashAlgorithm" -}}
{{- ternary (ternary "builtin" "sha256_cbor" .root.tkc.hyperpod) "blake3" (eq .mode "inProcess") -}}
{{- end -}}
