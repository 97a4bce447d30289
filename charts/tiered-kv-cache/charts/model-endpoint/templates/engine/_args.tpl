{{- /* vLLM's command line: what the chart sets, what users may add, and which additions change cache blocks. */ -}}

{{- /* Flags that the chart sets from values, with the values key to use instead. JSON object. */ -}}
{{- define "model-endpoint.engine.ownedFlags" -}}
{{- $secret := "nothing here: a value in args is readable by everyone who may read Pods" -}}
{{- $tiers := "cache.*" -}}
{{- $groups := "nothing: LMCache takes one group of layers, and without it vLLM decides" -}}
{{- $ranks := "engine.tensorParallelSize and engine.pipelineParallelSize: a Pod has TP x PP GPUs, all on one node" -}}
{{- toJson (dict
      "--model" "source"
      "--served-model-name" "servedName"
      "--host" "nothing: the chart sets it"
      "--port" "nothing: the chart sets it"
      "--dtype" "engine.dtype"
      "--kv-cache-dtype" "engine.kvCacheDtype"
      "--gpu-memory-utilization" "engine.gpuMemoryUtilization"
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
      "--disable-hybrid-kv-cache-manager" $groups
      "--no-disable-hybrid-kv-cache-manager" $groups
      "--tensor-parallel-size" "engine.tensorParallelSize"
      "-tp" "engine.tensorParallelSize"
      "--pipeline-parallel-size" "engine.pipelineParallelSize"
      "-pp" "engine.pipelineParallelSize"
      "--prefill-context-parallel-size" $ranks
      "-pcp" $ranks
      "--nnodes" $ranks
      "-n" $ranks
      "--node-rank" $ranks
      "-r" $ranks
      "--master-addr" $ranks
      "--master-port" $ranks
      "--data-parallel-size" "replicas"
      "--data-parallel-size-local" "replicas"
      "--data-parallel-rank" "replicas"
      "--data-parallel-start-rank" "replicas"
      "--data-parallel-hybrid-lb" "replicas"
      "--data-parallel-external-lb" "replicas"
      "--data-parallel-multi-port-external-lb" "replicas"
      "--data-parallel-address" "replicas"
      "--data-parallel-backend" "replicas"
      "--data-parallel-rpc-port" "replicas"
      "-dp" "replicas"
      "-dpn" "replicas"
      "-dpr" "replicas"
      "-dpl" "replicas"
      "-dpa" "replicas"
      "-dpp" "replicas"
      "-dpb" "replicas"
      "-dph" "replicas"
      "-dpe" "replicas"
      "-dpm" "replicas"
      "--headless" "replicas"
      "--config" "engine.args, flag by flag: a file could set any flag of the chart"
      "--api-key" $secret
      "--hf-token" $secret) -}}
{{- end -}}

{{- /* Flags that never change the bytes of a cache block; every other one goes into the fingerprint. JSON array. */ -}}
{{- define "model-endpoint.engine.neutralFlags" -}}
{{- toJson (list
      "--max-num-batched-tokens" "--long-prefill-token-threshold" "--max-num-queued-reqs" "--max-num-queued-tokens"
      "--device-memory-utilization" "--kv-cache-memory-bytes" "--num-gpu-blocks-override"
      "--scheduling-policy" "--stream-interval" "--max-logprobs"
      "--safetensors-load-strategy" "--max-parallel-loading-workers" "--use-tqdm-on-load"
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

{{- /* Names of all flags in the user's arguments. JSON array. Context: model context. */ -}}
{{- define "model-endpoint.engine.userFlags" -}}
{{- $flags := list -}}
{{- range .spec.engine.args -}}
{{-   with include "model-endpoint.engine.flagOf" (include "tkc.scalar" .) -}}{{- $flags = append $flags . -}}{{- end -}}
{{- end -}}
{{- toJson $flags -}}
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
- --kv-cache-dtype
- {{ $engine.kvCacheDtype | quote }}
{{- with index $engine "blockSize" }}
- --block-size
- {{ int64 . | quote }}
{{- end }}
{{- if gt .ranks 1 }}
- --tensor-parallel-size
- {{ int64 $engine.tensorParallelSize | quote }}
- --pipeline-parallel-size
- {{ int64 $engine.pipelineParallelSize | quote }}
{{- end }}
- {{ ternary "--enable-prefix-caching" "--no-enable-prefix-caching" .l0 }}
- --shutdown-timeout
- {{ include "model-endpoint.engine.shutdownTimeout" . | quote }}
{{- if eq $engine.device "cpu" }}
# Compiled graphs would need a C++ compiler in the image and minutes at each start.
- --enforce-eager
{{- else }}
- --gpu-memory-utilization
- {{ include "tkc.scalar" $engine.gpuMemoryUtilization | quote }}
{{- end }}
{{- if .lmcache }}
{{- if eq .mode "multiProcess" }}
# LMCache's transfer by the engine takes one group of KV layers; vLLM then keeps a sliding window's layers in full, too. For the
# in-process connector vLLM does so by itself.
- --disable-hybrid-kv-cache-manager
{{- end }}
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
