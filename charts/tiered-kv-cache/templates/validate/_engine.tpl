{{- /* Rules for the engine: versions, flags, environment. Context everywhere: dict root, faults, model. */ -}}

{{- define "tkc.validate.engine" -}}
{{- include "tkc.validate.pair" . -}}
{{- include "tkc.validate.mode" . -}}
{{- include "tkc.validate.gpus" . -}}
{{- include "tkc.validate.engineArgs" . -}}
{{- include "tkc.validate.engineEnv" . -}}
{{- $spec := .model.spec -}}
{{- if and (eq $spec.engine.kvLoadFailurePolicy "fail") (not (index $spec.engine.acknowledge "kvLoadFailure")) -}}
{{-   include "tkc.modelFault" (merge (dict "path" "engine.kvLoadFailurePolicy" "why" "a request whose cached blocks were found and cannot be read ends with an error: a lost tier would cost answers, not time"
          "fix" "set it to recompute, or engine.acknowledge.kvLoadFailure: true") .) -}}
{{- end -}}
{{- end -}}

{{- /* "true" where LMCache is on for the model, whose derived values are not there yet. */ -}}
{{- define "tkc.validate.cacheOn" -}}
{{- if or .model.spec.cache.l1.enabled (and .model.spec.cache.l2.enabled .root.tkc.values.l2.enabled) }}true{{ end -}}
{{- end -}}

{{- /* The image, and whether its versions go together. */ -}}
{{- define "tkc.validate.pair" -}}
{{- $engine := .model.spec.engine -}}
{{- $versions := $engine.versions -}}
{{- $device := $engine.device -}}
{{- $known := include "tkc.pairs.known" (dict "pairs" .root.tkc.pairs.pairs "device" $device) -}}
{{- $image := $engine.image -}}
{{- $reference := printf "%s%s" (index $image "repository" | default "(no repository)") (ternary (printf "@%s" (index $image "digest")) (printf ":%s" (include "tkc.scalar" (index $image "tag" | default ""))) (not (empty (index $image "digest")))) -}}
{{- if index $image "repository" -}}
{{-   $scope := ternary (printf "models.%s" .model.name) "defaults" (not (empty (index (index .model.given "engine" | default dict) "image"))) -}}
{{-   include "tkc.validate.image" (dict "faults" .faults "key" (printf "%s.engine.image" $scope) "image" $image) -}}
{{- else if and $versions.vllm $versions.lmcache -}}
{{-   include "tkc.modelFault" (merge (dict "path" "engine.versions" "value" $versions "why" (printf "no image is known for vLLM %s with LMCache %s on %s" $versions.vllm $versions.lmcache $device)
            "fix" "set engine.image.repository and engine.image.tag (or digest)") .) -}}
{{- end -}}
{{- if not (and $versions.vllm $versions.lmcache) -}}
{{- /* Which leaf is missing decides what is said. */ -}}
{{-   if or $versions.vllm $versions.lmcache -}}
{{-     include "tkc.modelFault" (merge (dict "path" "engine.versions" "value" $versions "why" (printf "one version alone tells no pair, and none of the known ones has it; known for %s: %s" $device $known)
              "fix" "set both engine.versions.vllm and engine.versions.lmcache to what the image holds") .) -}}
{{-   else -}}
{{-     include "tkc.modelFault" (merge (dict "path" "engine.image" "value" $reference "why" (printf "which versions of vLLM and LMCache this image holds is not known, and they are part of the L2 fingerprint; known for %s: %s" $device $known)
              "fix" "set engine.versions.vllm and engine.versions.lmcache to what the image holds, or leave engine.image empty") .) -}}
{{-   end -}}
{{- else if and (not .model.pair) (not (index $engine.acknowledge "unknownPair")) -}}
{{-   include "tkc.modelFault" (merge (dict "path" "engine.versions" "value" $versions "why" (printf "vLLM %s and LMCache %s are not known to work together on %s; known: %s" $versions.vllm $versions.lmcache $device $known)
            "fix" "use one of these, or try it out and set engine.acknowledge.unknownPair: true") .) -}}
{{- end -}}
{{- end -}}

{{- /* Whether LMCache has what is asked of it. */ -}}
{{- define "tkc.validate.mode" -}}
{{- $engine := .model.spec.engine -}}
{{- $lmcache := $engine.versions.lmcache | default "" -}}
{{- $since := .root.tkc.pairs.since -}}
{{- $mode := include "model-endpoint.engine.mode" .model -}}
{{- if include "tkc.validate.cacheOn" . -}}
{{-   if and (eq $mode "inProcess") (eq $engine.device "cpu") -}}
{{-     include "tkc.modelFault" (merge (dict "path" "engine.lmcacheMode" "why" "inside vLLM LMCache has no connector for the CPU: the engine would start and look healthy, and cache nothing"
              "fix" "use multiProcess or auto") .) -}}
{{-   else if and (eq $mode "multiProcess") (not (include "tkc.pairs.atLeast" (dict "have" $lmcache "least" $since.multiProcess))) -}}
{{-     include "tkc.modelFault" (merge (dict "path" "engine.lmcacheMode" "why" (printf "LMCache %s has no server that works as the chart needs it; %s has" $lmcache $since.multiProcess)
              "fix" (ternary "use a newer LMCache" "use inProcess, or a newer LMCache" (eq $engine.device "cpu"))) .) -}}
{{-   end -}}
{{-   if .model.spec.cache.eagerPrefetch -}}
{{-     if eq $mode "inProcess" -}}
{{-       include "tkc.modelFault" (merge (dict "path" "cache.eagerPrefetch" "why" "only LMCache's server looks up a request that still waits" "fix" "set it to false, or engine.lmcacheMode: multiProcess") .) -}}
{{-     else if not (include "tkc.pairs.atLeast" (dict "have" $lmcache "least" $since.eagerPrefetch)) -}}
{{-       include "tkc.modelFault" (merge (dict "path" "cache.eagerPrefetch" "why" (printf "LMCache %s does not know it; %s does" $lmcache $since.eagerPrefetch) "fix" "set it to false, or use a newer LMCache") .) -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- define "tkc.validate.engineArgs" -}}
{{- $spec := .model.spec -}}
{{- $acknowledged := $spec.engine.acknowledge -}}
{{- $cache := include "tkc.validate.cacheOn" . -}}
{{- $owned := include "model-endpoint.engine.ownedFlags" .model | fromJson -}}
{{- range $index, $argument := (index $spec.engine "args") | default list -}}
{{-   $flag := include "model-endpoint.engine.flagOf" (include "tkc.scalar" $argument) -}}
{{-   if $flag -}}
{{-     $instead := include "tkc.validate.ownedFlag" (dict "flag" $flag "owned" $owned) -}}
{{-     if $instead -}}
{{-       include "tkc.modelFault" (merge (dict "path" "engine.args" "value" $argument "why" (printf "the chart owns the flag %s" (splitList "\n" $instead | first)) "fix" (printf "take it out and use %s" (splitList "\n" $instead | last))) $) -}}
{{-     else if and $cache (not (index $acknowledged "loraWithCache")) (regexMatch "^--(enable-lora|lora-modules|default-mm-loras)" $flag) -}}
{{-       include "tkc.modelFault" (merge (dict "path" "engine.args" "value" $argument "why" "LMCache's keys do not hold the adapter, so that one adapter would be served another's cache"
              "fix" "switch cache.l1 and cache.l2 off for this model, leave the adapters out, or, where all requests use one and the same adapter, set engine.acknowledge.loraWithCache: true") $) -}}
{{-     else if and $cache (not (index $acknowledged "speculativeWithCache")) (regexMatch "^(--spec|-sc?$)" $flag) -}}
{{-       include "tkc.modelFault" (merge (dict "path" "engine.args" "value" $argument "why" "the draft model's KV is not cached: after a hit its guesses are wrong and the answer may take longer than without the cache"
              "fix" "switch cache.l1 and cache.l2 off for this model, leave speculative decoding out, or measure whole answers and set engine.acknowledge.speculativeWithCache: true") $) -}}
{{-     end -}}
{{-   else if eq $index 0 -}}
{{-     include "tkc.modelFault" (merge (dict "path" "engine.args" "value" $argument "why" "the first argument is not a flag; vLLM would read it as the model" "fix" "write the flag first, then its value") $) -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* The owned flag that a flag is (the closest name), and what to use instead, on two lines; or nothing. vLLM also takes the
       beginning of a name where it is unambiguous. Context: dict flag, owned. */ -}}
{{- define "tkc.validate.ownedFlag" -}}
{{- if hasKey .owned .flag -}}
{{- .flag }}{{ "\n" }}{{ get .owned .flag -}}
{{- else if gt (len .flag) (ternary 3 1 (hasPrefix "--" .flag)) -}}
{{-   $found := list -}}
{{-   range $name, $instead := .owned -}}
{{-     if hasPrefix $.flag $name -}}{{- $found = append $found (printf "%s\n%s" $name $instead) -}}{{- end -}}
{{-   end -}}
{{-   if $found -}}{{- first $found -}}{{- end -}}
{{- end -}}
{{- end -}}

{{- define "tkc.validate.engineEnv" -}}
{{- $spec := .model.spec -}}
{{- $cache := include "tkc.validate.cacheOn" . -}}
{{- $owned := include "model-endpoint.engine.ownedEnv" .model | fromJson -}}
{{- range $name, $value := (index $spec.engine "env") | default dict -}}
{{-   $path := printf "engine.env.%s" $name -}}
{{-   if or (hasKey $owned $name) (and (hasPrefix "TKC_" $name) (ne $name "TKC_ENGINE_FORK")) -}}
{{-     include "tkc.modelFault" (merge (dict "path" $path "value" $value "why" "the chart owns this variable" "fix" (printf "take it out: %s" (get $owned $name | default "the chart sets it"))) $) -}}
{{-   else if and (eq $name "VLLM_ALLOW_RUNTIME_LORA_UPDATING") $cache (not (index $spec.engine.acknowledge "loraWithCache")) -}}
{{-     include "tkc.modelFault" (merge (dict "path" $path "value" $value "why" "LMCache's keys do not hold the adapter, so that one adapter would be served another's cache"
            "fix" "switch cache.l1 and cache.l2 off for this model, take it out, or, where all requests use one and the same adapter, set engine.acknowledge.loraWithCache: true") $) -}}
{{-   end -}}
{{- end -}}
{{- end -}}
