{{- /* vLLM's command line: what the chart sets, what users may add, and which additions change cache blocks. */ -}}

{{- /* Flags that the chart sets from values, with the values key to use instead. JSON object. */ -}}
{{- define "model-endpoint.engine.ownedFlags" -}}
{{- $secret := "nothing here: a value in args is readable by everyone who may read Pods" -}}
{{- $tiers := "cache.*" -}}
{{- toJson (dict
      "--model" "source"
      "--served-model-name" "servedName"
      "--host" "nothing: the chart sets it"
      "--port" "nothing: the chart sets it"
      "--dtype" "engine.dtype"
      "--max-model-len" "engine.maxModelLen"
      "--max-num-seqs" "engine.maxNumSeqs"
      "--block-size" "engine.blockSize"
      "--enable-prefix-caching" "cache.l0.enabled"
      "--no-enable-prefix-caching" "cache.l0.enabled"
      "--kv-transfer-config" $tiers
      "--kv-offloading-backend" $tiers
      "--kv-offloading-size" $tiers
      "--kv-events-config" "routing.strategy"
      "--enable-scale-out" "routing.strategy"
      "--shutdown-timeout" "terminationGracePeriodSeconds"
      "--tensor-parallel-size" "nothing: one rank in this version"
      "-tp" "nothing: one rank in this version"
      "--pipeline-parallel-size" "nothing: one rank in this version"
      "-pp" "nothing: one rank in this version"
      "--data-parallel-size" "replicas"
      "-dp" "replicas"
      "--config" "engine.args, flag by flag: a file could set any flag of the chart"
      "--api-key" $secret
      "--hf-token" $secret) -}}
{{- end -}}

{{- /* Flags that never change the bytes of a cache block; every other one goes into the fingerprint. JSON array. */ -}}
{{- define "model-endpoint.engine.neutralFlags" -}}
{{- toJson (list
      "--max-num-batched-tokens" "--long-prefill-token-threshold" "--max-num-queued-reqs" "--max-num-queued-tokens"
      "--gpu-memory-utilization" "--device-memory-utilization" "--kv-cache-memory-bytes" "--num-gpu-blocks-override"
      "--scheduling-policy" "--stream-interval" "--max-logprobs"
      "--load-format" "--safetensors-load-strategy" "--max-parallel-loading-workers" "--use-tqdm-on-load"
      "--enable-log-requests" "--no-enable-log-requests" "--disable-log-stats" "--log-level" "--uvicorn-log-level"
      "--show-hidden-metrics-for-version" "--otlp-traces-endpoint" "--root-path"
      "--chat-template" "--enable-auto-tool-choice" "--tool-call-parser" "--reasoning-parser"
      "--generation-config" "--override-generation-config" "--enable-prompt-tokens-details") -}}
{{- end -}}

{{- /* Flag of one argument as vLLM reads it ("--max_model_len=1", "--kv-transfer-config.kv_role"), or nothing if the
       argument is a value. Context: text. */ -}}
{{- define "model-endpoint.engine.flagOf" -}}
{{- if regexMatch "^--?[A-Za-z]" . -}}
{{- regexFind "^[^=.]+" . | replace "_" "-" -}}
{{- end -}}
{{- end -}}

{{- /* User arguments that may change cache blocks, each flag with its values, sorted. JSON array. Context: model context. */ -}}
{{- define "model-endpoint.engine.fingerprintArgs" -}}
{{- $neutral := include "model-endpoint.engine.neutralFlags" . | fromJsonArray -}}
{{- $groups := list -}}
{{- $group := "" -}}
{{- $keep := true -}}
{{- range .spec.engine.args -}}
{{-   $text := include "tkc.scalar" . -}}
{{-   $flag := include "model-endpoint.engine.flagOf" $text -}}
{{-   if $flag -}}
{{-     if and $group $keep -}}{{- $groups = append $groups $group -}}{{- end -}}
{{-     $group = $text -}}
{{-     $keep = not (has $flag $neutral) -}}
{{-   else -}}
{{-     $group = printf "%s %s" $group $text | trim -}}
{{-   end -}}
{{- end -}}
{{- if and $group $keep -}}{{- $groups = append $groups $group -}}{{- end -}}
{{- toJson (sortAlpha $groups) -}}
{{- end -}}

{{- /* --kv-transfer-config: LMCache in its own process. A block that cannot be loaded is computed again; vLLM's default
       ("fail") would end the request. Heartbeat and time-out in seconds: after a restart of the LMCache server a store call
       is never answered until the engine has registered again; with the defaults (10 and 300) the engine waits for it until
       its own watchdog ends it. */ -}}
{{- define "model-endpoint.engine.kvTransferConfig" -}}
{{- toJson (dict
      "kv_connector" "LMCacheMPConnector"
      "kv_role" "kv_both"
      "kv_load_failure_policy" "recompute"
      "kv_connector_extra_config" (dict
        "lmcache.mp.host" "tcp://127.0.0.1"
        "lmcache.mp.port" 6100
        "lmcache.mp.heartbeat_interval" 2
        "lmcache.mp.mq_timeout" 10
        "lmcache.mp.mp_transfer_mode" "engine_driven")) -}}
{{- end -}}

{{- /* The whole command line after `vllm serve`. YAML list. Context: model context. */ -}}
{{- define "model-endpoint.engine.vllmArgs" -}}
{{- $engine := .spec.engine -}}
- {{ .path | quote }}
- --served-model-name
- {{ .servedName | quote }}
- --host
- 0.0.0.0
- --port
- "8000"
- --dtype
- {{ $engine.dtype | quote }}
- --max-model-len
- {{ int64 $engine.maxModelLen | quote }}
- --max-num-seqs
- {{ int64 $engine.maxNumSeqs | quote }}
- --block-size
- {{ int64 $engine.blockSize | quote }}
- {{ ternary "--enable-prefix-caching" "--no-enable-prefix-caching" .l0 }}
- --shutdown-timeout
- {{ include "model-endpoint.engine.shutdownTimeout" . | quote }}
{{- if eq $engine.device "cpu" }}
# Compiled graphs would need a C++ compiler in the image and minutes at each start.
- --enforce-eager
{{- end }}
{{- if .lmcache }}
- --kv-transfer-config
- {{ include "tkc.yamlText" (include "model-endpoint.engine.kvTransferConfig" .) }}
{{- end }}
{{- with include "model-endpoint.engine.kvEventsArgs" . | trim }}
{{ . }}
{{- end }}
{{- range $engine.args }}
- {{ include "tkc.scalar" . | quote }}
{{- end }}
{{- end -}}

{{- /* The whole command line after `lmcache server`. YAML list. Context: model context. */ -}}
{{- define "model-endpoint.engine.lmcacheArgs" -}}
- --instance-id
- $(POD_NAME)
- --host
- 127.0.0.1
- --port
- "6100"
# Probes and verify reach health and metrics; the NetworkPolicy keeps everybody else out.
- --http-host
- 0.0.0.0
- --http-port
- "8180"
- --chunk-size
- {{ int64 .spec.cache.chunkSize | quote }}
# The default, written out since the fingerprint names it.
- --hash-algorithm
- blake3
- --max-workers
- "1"
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

{{- /* The filesystem adapter. Temporary names are per Pod: two Pods storing one chunk would else lose each other's files. */ -}}
{{- define "model-endpoint.engine.l2Adapter" -}}
{{- toJson (dict "type" "fs" "base_path" .l2Root "relative_tmp_dir" ".tmp-$(POD_NAME)") -}}
{{- end -}}
