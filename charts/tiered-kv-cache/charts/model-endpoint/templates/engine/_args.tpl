{{- /* vLLM's command line: what the chart sets, what users may add, and which additions change cache blocks. */ -}}

{{- /* Flags that the chart sets from values, with the values key to use instead. The "--no-" twin of each is meant, too.
       JSON object. */ -}}
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
      "--kv-transfer-config" $tiers
      "--kv-offloading-backend" $tiers
      "--kv-offloading-size" $tiers
      "--kv-events-config" "routing.strategy"
      "--enable-scale-out" "routing.strategy"
      "--shutdown-timeout" "terminationGracePeriodSeconds"
      "--disable-hybrid-kv-cache-manager" $groups
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

{{- /* Flags with which an engine would no longer fit what is around it, with why and, on the next line, the fix. JSON object. */ -}}
{{- define "model-endpoint.engine.brokenFlags" -}}
{{- $tls := "probes, router and helm test speak plain HTTP to the engines, and none would reach this one\ntake it out, and end TLS before the router: at an Ingress or Gateway" -}}
{{- $socket := "probes, router and helm test reach an engine by HTTP on its port, and there would be none\ntake it out" -}}
{{- $ends := "vLLM prints a text and ends, so that the Pod would start again and again\ntake it out" -}}
{{- toJson (dict
      "--ssl-keyfile" $tls
      "--ssl-certfile" $tls
      "--ssl-ca-certs" $tls
      "--ssl-cert-reqs" $tls
      "--ssl-ciphers" $tls
      "--enable-ssl-refresh" $tls
      "--uds" $socket
      "--grpc" $socket
      "--grpc-port" $socket
      "--disable-log-stats" "it also ends vLLM's metrics, which helm test, KEDA and dashboards read\ntake it out"
      "--help" $ends
      "-h" $ends) -}}
{{- end -}}

{{- /* Flags that load adapters. JSON array. */ -}}
{{- define "model-endpoint.engine.loraFlags" -}}
{{- toJson (list "--enable-lora" "--lora-modules" "--default-mm-loras") -}}
{{- end -}}

{{- /* Flags that guess tokens ahead. JSON array. */ -}}
{{- define "model-endpoint.engine.speculativeFlags" -}}
{{- toJson (list "--speculative-config" "--spec-method" "--spec-model" "--spec-tokens" "-sc") -}}
{{- end -}}

{{- /* Flags that never change the bytes of a cache block; every other one goes into the fingerprint. JSON array. */ -}}
{{- define "model-endpoint.engine.neutralFlags" -}}
{{- toJson (list
      "--max-num-batched-tokens" "--long-prefill-token-threshold" "--max-num-queued-reqs" "--max-num-queued-tokens"
      "--device-memory-utilization" "--kv-cache-memory-bytes" "--num-gpu-blocks-override"
      "--scheduling-policy" "--stream-interval" "--max-logprobs"
      "--safetensors-load-strategy" "--max-parallel-loading-workers" "--use-tqdm-on-load"
      "--enable-log-requests" "--no-enable-log-requests" "--log-level" "--uvicorn-log-level"
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

{{- /* User arguments that may change cache blocks: each flag with its values as a list of their own, so that no two command
       lines look alike. Different flags stand in the order of their names, whatever the user's order; flags that may be one and
       the same to vLLM stay in the user's order, since the last one wins. JSON array of arrays. Context: model context. */ -}}
{{- define "model-endpoint.engine.fingerprintArgs" -}}
{{- $neutral := include "model-endpoint.engine.neutralFlags" . | fromJsonArray -}}
{{- $groups := list -}}
{{- range .spec.engine.args -}}
{{-   $text := include "tkc.scalar" . -}}
{{-   $flag := include "model-endpoint.engine.flagOf" $text -}}
{{-   if or $flag (not $groups) -}}
{{-     $groups = append $groups (dict "flag" $flag "words" (list $text)) -}}
{{-   else -}}
{{-     $group := last $groups -}}
{{-     $_ := set $group "words" (append $group.words $text) -}}
{{-   end -}}
{{- end -}}
{{- /* By first letter: a flag, its abbreviations, its short name and its "--no-" twin all have the same. */ -}}
{{- $letters := dict -}}
{{- range $groups -}}
{{-   if not (has .flag $neutral) -}}
{{-     $letter := regexReplaceAll "^--?(no-)?" .flag "" | lower | trunc 1 -}}
{{-     $_ := set $letters $letter (append (index $letters $letter | default list) .) -}}
{{-   end -}}
{{- end -}}
{{- $sorted := list -}}
{{- range $letter, $groups := $letters -}}
{{-   $named := dict -}}
{{-   $same := false -}}
{{-   range $groups -}}
{{-     $name := regexReplaceAll "^--(no-)?" .flag "" -}}
{{-     $short := not (hasPrefix "--" .flag) -}}
{{-     range $other, $_ := $named -}}
{{-       if or $short (hasPrefix "-" $other) (hasPrefix $name $other) (hasPrefix $other $name) -}}{{- $same = true -}}{{- end -}}
{{-     end -}}
{{-     $_ := set $named $name . -}}
{{-   end -}}
{{-   if not $same -}}{{- $groups = list -}}{{- range $name := keys $named | sortAlpha -}}{{- $groups = append $groups (index $named $name) -}}{{- end -}}{{- end -}}
{{-   range $groups -}}{{- $sorted = append $sorted .words -}}{{- end -}}
{{- end -}}
{{- toJson $sorted -}}
{{- end -}}

{{- /* The whole command line after `vllm serve`. On HyperPod the operator appends --kv-transfer-config, decides how long a Pod may
       take to end, and once refused --enable-prefix-caching (vLLM's default) together with its cache. YAML list. Context: model context. */ -}}
{{- define "model-endpoint.engine.vllmArgs" -}}
{{- $engine := .spec.engine -}}
- {{ .path | quote }}
- --served-model-name
- {{ .servedName | quote }}
- --host
- {{ include "tkc.anyAddress" .root | quote }}
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
{{- if .root.tkc.hyperpod }}
{{- if not .l0 }}
- --no-enable-prefix-caching
{{- end }}
{{- else }}
- {{ ternary "--enable-prefix-caching" "--no-enable-prefix-caching" .l0 }}
- --shutdown-timeout
- {{ include "model-endpoint.engine.shutdownTimeout" . | quote }}
{{- end }}
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
{{- if not .root.tkc.hyperpod }}
- --kv-transfer-config
- {{ include "tkc.yamlText" (include "model-endpoint.engine.kvTransferConfig" .) }}
{{- end }}
{{- end }}
{{- with include "model-endpoint.engine.kvEventsArgs" . | trim }}
{{ . }}
{{- end }}
{{- with include "model-endpoint.engine.cacheSaltArgs" . }}
{{ . }}
{{- end }}
{{- range $engine.args }}
- {{ include "tkc.scalar" . | quote }}
{{- end }}
{{- end -}}
