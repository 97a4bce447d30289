{{- /* Rules for one model. Context everywhere: dict root, faults, model. */ -}}
{{- define "tkc.validate.model" -}}
{{- include "tkc.validate.modelName" . -}}
{{- $complete := include "tkc.validate.required" (dict "faults" .faults "from" .model.spec "prefix" (printf "models.%s." .model.name) "paths" (list
      "replicas" "engine.image.repository" "engine.image.pullPolicy" "engine.versions.vllm" "engine.versions.lmcache" "engine.device" "engine.dtype"
      "engine.maxModelLen" "engine.maxNumSeqs" "engine.blockSize" "engine.cpu.kvCacheSpaceGiB" "engine.cpu.ompThreadsBind"
      "cache.hashSeed" "cache.chunkSize" "cache.l0.enabled" "cache.l1.enabled" "cache.l1.memory" "cache.l2.enabled"
      "routing.strategy" "routing.replicas" "routing.service.type" "routing.service.port"
      "resources.engine" "resources.lmcache" "resources.router" "probes.startup.budget" "terminationGracePeriodSeconds")) -}}
{{- include "tkc.validate.source" . -}}
{{- if $complete -}}
{{-   include "tkc.validate.engine" . -}}
{{-   include "tkc.validate.cache" . -}}
{{-   include "tkc.validate.memory" . -}}
{{-   include "tkc.validate.prompt" . -}}
{{- end -}}
{{- end -}}

{{- /* Adds a fault of a leaf of the model, named where it was set: in the model's own values or in the defaults.
       Context: dict root, faults, model, path, why, fix, value (optional; else the merged value). */ -}}
{{- define "tkc.modelFault" -}}
{{- $own := dict -}}
{{- include "tkc.at" (dict "from" .model.given "path" .path "result" $own) -}}
{{- $merged := dict -}}
{{- include "tkc.at" (dict "from" .model.spec "path" .path "result" $merged) -}}
{{- $scope := ternary (printf "models.%s" .model.name) "defaults" (hasKey $own "value") -}}
{{- $fault := dict "faults" .faults "key" (printf "%s.%s" $scope .path) "why" .why "fix" .fix -}}
{{- if hasKey . "value" -}}{{- $_ := set $fault "value" .value -}}
{{- else if hasKey $merged "value" -}}{{- $_ := set $fault "value" $merged.value -}}{{- end -}}
{{- include "tkc.fault" $fault -}}
{{- end -}}

{{- define "tkc.validate.modelName" -}}
{{- $name := .model.name -}}
{{- $prefix := .root.tkc.values.nameOverride | default .root.Release.Name -}}
{{- $longest := printf "%s-%s-engine" $prefix $name -}}
{{- if not (regexMatch "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" $name) -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" "models" "value" $name "why" "the key becomes part of object names: only a-z, 0-9 and -, beginning and ending with a letter or digit"
          "fix" (printf "rename the key, for example to %s, and keep the wished name in servedName" ($name | lower | replace "_" "-" | replace "." "-" | replace "/" "-" | trimAll "-"))) -}}
{{- else if gt (len $longest) 63 -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" "models" "value" $name "why" (printf "the object name %s has %d characters, 63 are allowed" $longest (len $longest))
          "fix" (printf "shorten the key by %d characters, or the release's name (nameOverride)" (sub (len $longest) 63))) -}}
{{- end -}}
{{- end -}}

{{- define "tkc.validate.source" -}}
{{- $source := index .model.spec "source" | default dict -}}
{{- $kinds := keys $source | sortAlpha -}}
{{- if not $kinds -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" (printf "models.%s.source" .model.name) "value" $source "why" "the model has no source" "fix" "set source.claim: {name, subPath} or source.imagePath: {path}") -}}
{{- else if gt (len $kinds) 1 -}}
{{-   include "tkc.modelFault" (merge (dict "path" "source" "value" $source "why" (printf "%d sources at once: %s" (len $kinds) (join ", " $kinds)) "fix" "keep one; an overlay deletes an inherited one with null") .) -}}
{{- end -}}
{{- if hasKey $source "claim" -}}
{{-   if not (index $source.claim "name") -}}
{{-     include "tkc.modelFault" (merge (dict "path" "source.claim.name" "value" "" "why" "the claim that holds the weights has no name" "fix" "name a claim of the release's namespace") .) -}}
{{-   end -}}
{{-   $sub := index $source.claim "subPath" | default "" -}}
{{-   if and $sub (not (include "tkc.validate.cleanPath" (printf "/%s" $sub))) -}}
{{-     include "tkc.modelFault" (merge (dict "path" "source.claim.subPath" "why" "not a relative path without ., .. and empty parts" "fix" "write it like models/my-model") .) -}}
{{-   end -}}
{{- end -}}
{{- if hasKey $source "imagePath" -}}
{{-   $path := index $source.imagePath "path" | default "" -}}
{{-   if not (include "tkc.validate.cleanPath" $path) -}}
{{-     include "tkc.modelFault" (merge (dict "path" "source.imagePath.path" "value" $path "why" "not an absolute path without ., .. and empty parts" "fix" "write it like /models/my-model") .) -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- define "tkc.validate.engine" -}}
{{- $spec := .model.spec -}}
{{- if lt (int64 $spec.replicas) 1 -}}
{{-   include "tkc.modelFault" (merge (dict "path" "replicas" "why" "a model needs at least one Pod" "fix" (printf "set it to 1 or more; models.%s.enabled: false leaves the model out" .model.name)) .) -}}
{{- end -}}
{{- $scope := ternary (printf "models.%s" .model.name) "defaults" (not (empty (index (index .model.given "engine" | default dict) "image"))) -}}
{{- include "tkc.validate.image" (dict "faults" .faults "key" (printf "%s.engine.image" $scope) "image" $spec.engine.image) -}}
{{- $owned := include "model-endpoint.engine.ownedFlags" . | fromJson -}}
{{- range $index, $argument := (index $spec.engine "args") | default list -}}
{{-   $flag := include "model-endpoint.engine.flagOf" (include "tkc.scalar" $argument) -}}
{{-   if $flag -}}
{{-     range $name, $instead := $owned -}}
{{- /* vLLM also takes unambiguous beginnings of long flags. */ -}}
{{-       if or (eq $flag $name) (and (hasPrefix "--" $flag) (gt (len $flag) 3) (hasPrefix $flag $name)) -}}
{{-         include "tkc.modelFault" (merge (dict "path" "engine.args" "value" $argument "why" (printf "the chart owns the flag %s" $name) "fix" (printf "take it out and use %s" $instead)) $) -}}
{{-       end -}}
{{-     end -}}
{{-     if and (regexMatch "^--(enable-lora|lora-modules)" $flag) (or $spec.cache.l1.enabled $spec.cache.l2.enabled) -}}
{{-       include "tkc.modelFault" (merge (dict "path" "engine.args" "value" $argument "why" "LMCache's keys do not hold the adapter, so that one adapter would be served another's cache"
              "fix" "switch cache.l1 and cache.l2 off for this model, or leave the adapters out") $) -}}
{{-     end -}}
{{-   else if eq $index 0 -}}
{{-     include "tkc.modelFault" (merge (dict "path" "engine.args" "value" $argument "why" "the first argument is not a flag; vLLM would read it as the model" "fix" "write the flag first, then its value") $) -}}
{{-   end -}}
{{- end -}}
{{- $ownedEnv := include "model-endpoint.engine.ownedEnv" . | fromJsonArray -}}
{{- range $name, $value := (index $spec.engine "env") | default dict -}}
{{-   if or (has $name $ownedEnv) (and (hasPrefix "TKC_" $name) (ne $name "TKC_ENGINE_FORK")) -}}
{{-     include "tkc.modelFault" (merge (dict "path" (printf "engine.env.%s" $name) "value" $value "why" "the chart sets this variable" "fix" (get (dict "PYTHONHASHSEED" "take it out and use cache.hashSeed"
            "VLLM_CPU_KVCACHE_SPACE" "take it out and use engine.cpu.kvCacheSpaceGiB" "VLLM_CPU_OMP_THREADS_BIND" "take it out and use engine.cpu.ompThreadsBind") $name | default "take it out")) $) -}}
{{-   end -}}
{{- end -}}
{{- range $name, $value := (index $spec "podAnnotations") | default dict -}}
{{-   if hasPrefix (printf "%s/" (include "tkc.domain" $)) $name -}}
{{-     include "tkc.fault" (dict "faults" $.faults "key" (printf "models.%s.podAnnotations" $.model.name) "value" $name "why" (printf "annotations under %s/ are the chart's own" (include "tkc.domain" $)) "fix" "use another prefix") -}}
{{-   end -}}
{{- end -}}
{{- $service := $spec.routing.service -}}
{{- if and (index $service "nodePort") (eq $service.type "ClusterIP") -}}
{{-   include "tkc.modelFault" (merge (dict "path" "routing.service.nodePort" "why" "routing.service.type is ClusterIP, which has no node port" "fix" "set routing.service.type: NodePort, or nodePort: null") .) -}}
{{- end -}}
{{- $least := add (include "model-endpoint.engine.preStopSeconds" . | int64) 10 -}}
{{- if lt (int64 $spec.terminationGracePeriodSeconds) $least -}}
{{-   include "tkc.modelFault" (merge (dict "path" "terminationGracePeriodSeconds" "why" (printf "%s s pass before the engine is told to stop, and it needs time to finish requests" (include "model-endpoint.engine.preStopSeconds" .))
          "fix" (printf "set it to %d or more, better to the longest answer plus 15" $least)) .) -}}
{{- end -}}
{{- end -}}

{{- define "tkc.validate.cache" -}}
{{- $spec := .model.spec -}}
{{- $block := int64 $spec.engine.blockSize -}}
{{- if and (eq $spec.engine.device "cpu") (mod $block 32) -}}
{{-   include "tkc.modelFault" (merge (dict "path" "engine.blockSize" "value" $block "why" "vLLM's CPU attention takes multiples of 32 only" "fix" "use 128") .) -}}
{{- end -}}
{{- $chunk := int64 $spec.cache.chunkSize -}}
{{- if mod $chunk $block -}}
{{-   include "tkc.modelFault" (merge (dict "path" "cache.chunkSize" "value" $chunk "why" (printf "not a multiple of engine.blockSize: %d" $block) "fix" (printf "use %d" (mul $block (add1 (div $chunk $block))))) .) -}}
{{- end -}}
{{- if and (not $spec.cache.l1.enabled) $spec.cache.l2.enabled .root.tkc.values.l2.enabled -}}
{{-   include "tkc.modelFault" (merge (dict "path" "cache.l1.enabled" "why" "L2 blocks pass through L1's memory, so that L2 cannot be on without L1"
          "fix" "switch L1 on (cache.l1.memory may be small), or cache.l2.enabled: false") .) -}}
{{- end -}}
{{- end -}}

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

{{- /* verify's prompt must fit in the context and fill at least one chunk. */ -}}
{{- define "tkc.validate.prompt" -}}
{{- $verify := index (index .root.tkc.values "hooks" | default dict) "verify" | default dict -}}
{{- if and (index $verify "enabled") (index $verify "promptTokens") -}}
{{-   $tokens := int64 $verify.promptTokens -}}
{{-   $room := sub (int64 .model.spec.engine.maxModelLen) 16 -}}
{{-   if gt $tokens $room -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" "hooks.verify.promptTokens" "value" $tokens "why" (printf "helm test asks for 16 tokens more, and models.%s.engine.maxModelLen is %d" .model.name (int64 .model.spec.engine.maxModelLen))
            "fix" (printf "set it to %d or less, or raise maxModelLen" $room)) -}}
{{-   else if and .model.spec.cache.l2.enabled (le $tokens (int64 .model.spec.cache.chunkSize)) -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" "hooks.verify.promptTokens" "value" $tokens "why" (printf "no full chunk of models.%s (cache.chunkSize %d) would be stored, so that helm test could prove nothing" .model.name (int64 .model.spec.cache.chunkSize))
            "fix" (printf "set it to more than %d" (int64 .model.spec.cache.chunkSize))) -}}
{{-   end -}}
{{- end -}}
{{- end -}}
