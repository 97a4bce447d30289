{{- /* What follows from a model's values about its engine. Context everywhere: model context. */ -}}

{{- /* Fills in what the values leave to the pair of versions and to the device, in place, before anything is validated:
       spec.engine.image, .versions, .dtype, .maxNumSeqs and .blockSize, and "pair", the row of files/pairs.yaml (empty: none fits). */ -}}
{{- define "model-endpoint.engine.resolve" -}}
{{- include "tkc.pairs.load" .root -}}
{{- $engine := .spec.engine -}}
{{- $device := index $engine "device" | default "cpu" -}}
{{- $image := index $engine "image" | default dict -}}
{{- $versions := index $engine "versions" | default dict -}}
{{- $given := dict -}}
{{- range $part := list "repository" "tag" "digest" -}}
{{-   $value := index $image $part -}}
{{-   $_ := set $given $part (ternary "" (include "tkc.scalar" $value) (kindIs "invalid" $value)) -}}
{{- end -}}
{{- $vllm := index $versions "vllm" | default "" -}}
{{- $lmcache := index $versions "lmcache" | default "" -}}
{{- $result := dict -}}
{{- include "tkc.pairs.find" (dict "pairs" .root.tkc.pairs.pairs "device" $device "vllm" $vllm "lmcache" $lmcache "image" $given "result" $result) -}}
{{- $pair := get $result "pair" | default dict -}}
{{- $_ := set . "pair" $pair -}}
{{- $_ := set $engine "versions" (dict "vllm" ($vllm | default (get $pair "vllm")) "lmcache" ($lmcache | default (get $pair "lmcache"))) -}}
{{- $from := get $pair "image" | default (dict "repository" "" "tag" "" "digest" "") -}}
{{- if not (or $given.repository $given.tag $given.digest) -}}
{{-   $image = merge (dict "repository" $from.repository "tag" $from.tag "digest" $from.digest) $image -}}
{{- else -}}
{{- /* A digest of the table belongs to the table's own tag; beside an own tag it would win over it. */ -}}
{{-   if not $given.repository -}}{{- $image = merge (dict "repository" $from.repository) $image -}}{{- end -}}
{{-   if not (or $given.tag $given.digest) -}}{{- $image = merge (dict "tag" $from.tag) $image -}}{{- end -}}
{{- end -}}
{{- $_ := set $engine "image" $image -}}
{{- if not (index $engine "dtype") -}}{{- $_ := set $engine "dtype" (ternary "float32" "auto" (eq $device "cpu")) -}}{{- end -}}
{{- if not (index $engine "maxNumSeqs") -}}{{- $_ := set $engine "maxNumSeqs" (ternary 4 256 (eq $device "cpu")) -}}{{- end -}}
{{- if and (eq $device "cpu") (not (index $engine "blockSize")) -}}{{- $_ := set $engine "blockSize" 128 -}}{{- end -}}
{{- end -}}

{{- /* multiProcess or inProcess. A pair that the table does not hold gets what its LMCache has. On HyperPod it is the operator
       that starts LMCache, and every version of it can do so in vLLM's process. */ -}}
{{- define "model-endpoint.engine.mode" -}}
{{- if ne .spec.engine.lmcacheMode "auto" -}}
{{- .spec.engine.lmcacheMode -}}
{{- else if .root.tkc.hyperpod -}}
inProcess
{{- else if .pair -}}
{{- .pair.auto -}}
{{- else -}}
{{- ternary "multiProcess" "inProcess" (or (eq .spec.engine.device "cpu")
      (not (empty (include "tkc.pairs.atLeast" (dict "have" (.spec.engine.versions.lmcache | default "") "least" .root.tkc.pairs.since.multiProcess))))) -}}
{{- end -}}
{{- end -}}

{{- /* "true" where L2 is read and written by this bundle's adapter. */ -}}
{{- define "model-endpoint.engine.guarded" -}}
{{- if and .l2 (eq .mode "multiProcess") (eq .spec.cache.l2.adapter "guarded") -}}
{{- include "tkc.pairs.atLeast" (dict "have" (.spec.engine.versions.lmcache | default "") "least" .root.tkc.pairs.since.l2Plugin) -}}
{{- end -}}
{{- end -}}

{{- /* Processes that hold KV: one for each GPU. */ -}}
{{- define "model-endpoint.engine.ranks" -}}
{{- mul (int64 .spec.engine.tensorParallelSize) (int64 .spec.engine.pipelineParallelSize) -}}
{{- end -}}

{{- /* Names of the GPU resources among a container's amounts, sorted. JSON array. Context: map of amounts, or nothing. */ -}}
{{- define "model-endpoint.engine.gpuNames" -}}
{{- $names := list -}}
{{- range $name, $_ := . -}}
{{-   if regexMatch "^nvidia\\.com/(gpu(\\.shared)?$|mig-)" $name -}}{{- $names = append $names $name -}}{{- end -}}
{{- end -}}
{{- toJson $names -}}
{{- end -}}

{{- /* The extended resource that the Pod's GPUs are counted in; nothing on cpu. */ -}}
{{- define "model-endpoint.engine.gpuResource" -}}
{{- if eq .spec.engine.device "cuda" -}}
{{- include "model-endpoint.engine.gpuNames" (index .spec.resources.engine "limits") | fromJsonArray | first | default "nvidia.com/gpu" -}}
{{- end -}}
{{- end -}}

{{- /* GPUs (or slices) of a Pod. */ -}}
{{- define "model-endpoint.engine.gpus" -}}
{{- if eq .spec.engine.device "cuda" }}{{ include "model-endpoint.engine.ranks" . }}{{ else }}0{{ end -}}
{{- end -}}

{{- /* requests and limits of the vllm container: as given, and on cuda one GPU for each rank. */ -}}
{{- define "model-endpoint.engine.resources" -}}
{{- $resources := deepCopy .spec.resources.engine -}}
{{- if .gpuResource -}}
{{-   $limits := index $resources "limits" | default dict -}}
{{-   $_ := set $resources "limits" (merge (dict .gpuResource (toString .gpus)) $limits) -}}
{{- end -}}
{{- include "tkc.resources" $resources -}}
{{- end -}}

{{- /* Host memory of vLLM's processes in bytes, without weights, L0 on cpu and what lies in /dev/shm. On cpu seen: 0.5 GB
       for the API server, 0.45 GB for the engine core, 0.6 GB for a worker, with some room. On cuda an estimate, since nothing
       was measured: each worker has a CUDA context and page-locked staging buffers, too. */ -}}
{{- define "model-endpoint.engine.hostBytes" -}}
{{- $ranks := include "model-endpoint.engine.ranks" . | int64 -}}
{{- if eq .spec.engine.device "cpu" -}}
{{- add 536870912 (mul 1073741824 $ranks) -}}
{{- else -}}
{{- add 1073741824 (mul 3221225472 $ranks) -}}
{{- end -}}
{{- end -}}
