{{- /* Rules for the engine: flags, environment, versions, processors. Context everywhere: dict root, faults, model. */ -}}

{{- define "tkc.validate.engine" -}}
{{- $spec := .model.spec -}}
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
{{- end -}}
