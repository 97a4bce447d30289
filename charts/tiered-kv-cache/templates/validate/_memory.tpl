{{- /* Rules for memory: what must fit into which limit. Context everywhere: dict root, faults, model. */ -}}

{{- /* What a container must hold at least, against its memory limit.
       multiProcess: L1 lies in /dev/shm; its pages are charged to the container that touches them first: to lmcache for blocks
       loaded from L2, to vllm for blocks that it stores (on a GPU it page-locks all of them). inProcess: L1 is vllm's own. */ -}}
{{- define "tkc.validate.memory" -}}
{{- $spec := .model.spec -}}
{{- range $name, $resources := $spec.resources -}}
{{-   $scope := ternary (printf "models.%s" $.model.name) "defaults" (hasKey (index $.model.given "resources" | default dict) $name) -}}
{{-   include "tkc.validate.resources" (dict "faults" $.faults "key" (printf "%s.resources.%s" $scope $name) "resources" $resources) -}}
{{- end -}}
{{- $countable := true -}}
{{- range $path := list "cache.l1.memory" "engine.shmSize" "engine.cpu.weights" -}}
{{-   if not (include "tkc.validate.bytes" (merge (dict "path" $path) $)) -}}{{- $countable = false -}}{{- end -}}
{{- end -}}
{{- if $countable -}}
{{-   $l1 := ternary (include "tkc.quantity.bytes" $spec.cache.l1.memory | int64) (int64 0) $spec.cache.l1.enabled -}}
{{-   $ranks := include "model-endpoint.engine.ranks" .model | int64 -}}
{{-   $mode := include "model-endpoint.engine.mode" .model -}}
{{-   if and $spec.cache.l1.enabled (lt (div $l1 $ranks) 67108864) -}}
{{-     include "tkc.modelFault" (merge (dict "path" "cache.l1.memory"
            "why" (printf "less than 64Mi%s does not hold a chunk of any real model" (ternary "" (printf " for each of %d ranks" $ranks) (eq $ranks 1)))
            "fix" (printf "give it %s or more, or set cache.l1.enabled and cache.l2.enabled to false" (include "tkc.quantity.human" (mul $ranks 1073741824)))) .) -}}
{{-   end -}}
{{-   $parts := list -}}
{{-   $path := "cache.l1.memory" -}}
{{-   if eq $spec.engine.device "cpu" -}}
{{-     $l0 := mul 1073741824 (int64 $spec.engine.cpu.kvCacheSpaceGiB) $ranks -}}
{{-     $parts = append $parts (list (printf "L0 (engine.cpu.kvCacheSpaceGiB%s)" (ternary "" (printf " x %d ranks" $ranks) (eq $ranks 1))) $l0) -}}
{{- /* The larger one is the one to look at first. */ -}}
{{-     $path = ternary $path "engine.cpu.kvCacheSpaceGiB" (gt $l1 $l0) -}}
{{-   end -}}
{{-   if $l1 -}}
{{-     $parts = append $parts (list (ternary "L1 (cache.l1.memory)" "L1 pages it writes (cache.l1.memory)" (eq $mode "inProcess")) $l1) -}}
{{-   end -}}
{{-   $parts = concat $parts (list (list "rest of /dev/shm" (include "model-endpoint.engine.shmExtraBytes" .model | int64))
          (list "vLLM without weights" (include "model-endpoint.engine.hostBytes" .model | int64))) -}}
{{-   if eq $spec.engine.device "cpu" -}}
{{-     with index $spec.engine.cpu "weights" -}}{{- $parts = append $parts (list "weights (engine.cpu.weights)" (include "tkc.quantity.bytes" . | int64)) -}}{{- end -}}
{{-   end -}}
{{-   include "tkc.validate.memoryLimit" (merge (dict "container" "engine" "path" $path "parts" $parts) .) -}}
{{- /* On HyperPod that container is the operator's. */ -}}
{{-   if and $spec.cache.l1.enabled (eq $mode "multiProcess") (not .root.tkc.hyperpod) -}}
{{-     include "tkc.validate.memoryLimit" (merge (dict "container" "lmcache" "path" "cache.l1.memory" "parts" (list
            (list "L1 (cache.l1.memory)" $l1) (list "LMCache server" 536870912))) .) -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* A fault where a number of bytes is none. Result: "true" if it can be counted with (or is left empty).
       Context: as above and path. */ -}}
{{- define "tkc.validate.bytes" -}}
{{- $result := dict -}}
{{- include "tkc.at" (dict "from" .model.spec "path" .path "result" $result) -}}
{{- $value := get $result "value" -}}
{{- if eq (toString $value) "" -}}
true
{{- else if not (include "tkc.quantity.valid" $value) -}}
{{-   include "tkc.modelFault" (merge (dict "why" "not a Kubernetes quantity" "fix" "write digits and a unit, for example 1Gi") .) -}}
{{- else if hasSuffix "m" (include "tkc.scalar" $value) -}}
{{-   include "tkc.modelFault" (merge (dict "why" "m means thousandths of a byte" "fix" "write Mi for 2^20 bytes, M for 10^6 bytes") .) -}}
{{- else -}}
true
{{- end -}}
{{- end -}}

{{- /* Context: as above and container, path, parts (list of text and bytes). */ -}}
{{- define "tkc.validate.memoryLimit" -}}
{{- $result := dict -}}
{{- include "tkc.at" (dict "from" .model.spec "path" (printf "resources.%s.limits.memory" .container) "result" $result) -}}
{{- if hasKey $result "value" -}}{{- if include "tkc.quantity.valid" $result.value -}}
{{-   $sum := 0 -}}
{{-   range .parts -}}{{- $sum = add $sum (last . | int64) -}}{{- end -}}
{{-   if gt $sum (include "tkc.quantity.bytes" $result.value | int64) -}}
{{-     $terms := list -}}
{{-     range .parts -}}{{- $terms = append $terms (printf "%s %s" (first .) (include "tkc.quantity.human" (last .))) -}}{{- end -}}
{{- /* Named is what the user wrote for this model, else the limit. What all models inherit is one fault. */ -}}
{{-     $limit := printf "resources.%s.limits.memory" .container -}}
{{-     $ownPart := dict -}}{{- include "tkc.at" (dict "from" .model.given "path" .path "result" $ownPart) -}}
{{-     $ownLimit := dict -}}{{- include "tkc.at" (dict "from" .model.given "path" $limit "result" $ownLimit) -}}
{{-     $named := ternary .path $limit (and (hasKey $ownPart "value") (not (hasKey $ownLimit "value"))) -}}
{{-     $scope := ternary (printf "models.%s" .model.name) "defaults" (or (hasKey $ownPart "value") (hasKey $ownLimit "value")) -}}
{{-     $weights := and (eq .container "engine") (eq .model.spec.engine.device "cpu") (not (index .model.spec.engine.cpu "weights")) -}}
{{-     include "tkc.modelFault" (merge (dict "path" $named "why" (printf "%s = %s, more than resources.%s.limits.memory: %s" (join " + " $terms) (include "tkc.quantity.human" $sum) .container (include "tkc.scalar" $result.value))
            "fix" (printf "set %s.resources.%s.limits.memory to %dMi or more%s, or lower %s" $scope .container (div (add $sum 1048575) 1048576) (ternary " plus the weights" "" $weights) .path)) .) -}}
{{-   end -}}
{{- end -}}{{- end -}}
{{- end -}}
