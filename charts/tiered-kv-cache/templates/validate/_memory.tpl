{{- /* Rules for memory: what must fit into which limit. Context everywhere: dict root, faults, model. */ -}}

{{- /* What a container must hold at least, against its memory limit. L1 lies in /dev/shm; its pages are charged to the
       container that touches them first: to lmcache for blocks loaded from L2, to vllm for blocks that it stores. */ -}}
{{- define "tkc.validate.memory" -}}
{{- $spec := .model.spec -}}
{{- range $name, $resources := $spec.resources -}}
{{-   include "tkc.validate.resources" (dict "faults" $.faults "key" (printf "models.%s.resources.%s" $.model.name $name) "resources" $resources) -}}
{{- end -}}
{{- if not (include "tkc.quantity.valid" $spec.cache.l1.memory) -}}
{{-   include "tkc.modelFault" (merge (dict "path" "cache.l1.memory" "why" "not a Kubernetes quantity" "fix" "write digits and a unit, for example 1Gi") .) -}}
{{- else -}}
{{-   $l1 := ternary (include "tkc.quantity.bytes" $spec.cache.l1.memory | int64) (int64 0) $spec.cache.l1.enabled -}}
{{-   if and $spec.cache.l1.enabled (lt $l1 67108864) -}}
{{-     include "tkc.modelFault" (merge (dict "path" "cache.l1.memory" "why" "less than 64Mi does not hold a chunk of any real model" "fix" "give it 1Gi or more, or set cache.l1.enabled and cache.l2.enabled to false") .) -}}
{{-   end -}}
{{-   if $spec.cache.l1.enabled -}}
{{-     include "tkc.validate.memoryLimit" (merge (dict "container" "lmcache" "path" "cache.l1.memory" "parts" (list
            (list "L1 (cache.l1.memory)" $l1) (list "LMCache server" 536870912))) .) -}}
{{-   end -}}
{{-   if eq $spec.engine.device "cpu" -}}
{{-     $parts := list (list "L0 (engine.cpu.kvCacheSpaceGiB)" (mul 1073741824 (int64 $spec.engine.cpu.kvCacheSpaceGiB))) -}}
{{-     if $l1 -}}{{- $parts = append $parts (list "L1 pages it writes (cache.l1.memory)" $l1) -}}{{- end -}}
{{-     $parts = concat $parts (list (list "rest of /dev/shm" (include "model-endpoint.engine.shmExtraBytes" . | int64)) (list "vLLM without weights" 1610612736)) -}}
{{- /* The larger one is the one to look at first. */ -}}
{{-     $path := ternary "cache.l1.memory" "engine.cpu.kvCacheSpaceGiB" (gt $l1 (mul 1073741824 (int64 $spec.engine.cpu.kvCacheSpaceGiB))) -}}
{{-     include "tkc.validate.memoryLimit" (merge (dict "container" "engine" "path" $path "parts" $parts) .) -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* Context: as above and container, path, parts (list of text and bytes). */ -}}
{{- define "tkc.validate.memoryLimit" -}}
{{- $result := dict -}}
{{- include "tkc.at" (dict "from" .model.spec "path" (printf "resources.%s.limits.memory" .container) "result" $result) -}}
{{- if hasKey $result "value" -}}{{- if include "tkc.quantity.valid" $result.value -}}
{{-   $sum := 0 -}}
{{-   $terms := list -}}
{{-   range .parts -}}
{{-     $sum = add $sum (last . | int64) -}}
{{-     $terms = append $terms (printf "%s %s" (first .) (include "tkc.quantity.human" (last .))) -}}
{{-   end -}}
{{-   if gt $sum (include "tkc.quantity.bytes" $result.value | int64) -}}
{{- /* Named is what the user wrote: the limit, where the part is inherited and the limit is not. */ -}}
{{-     $limit := printf "resources.%s.limits.memory" .container -}}
{{-     $ownPart := dict -}}{{- include "tkc.at" (dict "from" .model.given "path" .path "result" $ownPart) -}}
{{-     $ownLimit := dict -}}{{- include "tkc.at" (dict "from" .model.given "path" $limit "result" $ownLimit) -}}
{{-     $named := ternary $limit .path (and (hasKey $ownLimit "value") (not (hasKey $ownPart "value"))) -}}
{{-     include "tkc.modelFault" (merge (dict "path" $named "why" (printf "%s = %s, more than resources.%s.limits.memory: %s" (join " + " $terms) (include "tkc.quantity.human" $sum) .container (include "tkc.scalar" $result.value))
            "fix" (printf "set models.%s.resources.%s.limits.memory to %dMi or more%s, or lower %s" .model.name .container (div (add $sum 1048575) 1048576) (ternary " plus the weights" "" (eq .container "engine")) .path)) .) -}}
{{-   end -}}
{{- end -}}{{- end -}}
{{- end -}}
