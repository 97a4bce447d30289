{{- /* Rules for the engine: versions, flags, environment. Context everywhere: dict root, faults, model. */ -}}

{{- define "tkc.validate.engine" -}}
{{- include "tkc.validate.pair" . -}}
{{- include "tkc.validate.mode" . -}}
{{- include "tkc.validate.kvCacheDtype" . -}}
{{- include "tkc.validate.gpus" . -}}
{{- include "tkc.validate.engineArgs" . -}}
{{- include "tkc.validate.engineEnv" . -}}
{{- $spec := .model.spec -}}
{{- if and (eq $spec.engine.kvLoadFailurePolicy "fail") (not (index $spec.engine.acknowledge "kvLoadFailure")) -}}
{{-   include "tkc.modelFault" (merge (dict "path" "engine.kvLoadFailurePolicy" "why" "a request whose cached blocks were found and cannot be read ends with an error: a lost tier would cost answers, not time"
          "fix" "set it to recompute, or engine.acknowledge.kvLoadFailure: true") .) -}}
{{- end -}}
{{- $cores := "[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*" -}}
{{- if not (regexMatch (printf "^(auto|nobind|%s(\\|%s)*)$" $cores $cores) (include "tkc.scalar" $spec.engine.cpu.ompThreadsBind)) -}}
{{-   include "tkc.modelFault" (merge (dict "path" "engine.cpu.ompThreadsBind" "why" "vLLM's workers would not start: it names no cores"
          "fix" "write auto, nobind, or cores such as 0-3 or 0,2,4 (of several ranks with | between them)") .) -}}
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
{{- else -}}
{{-   include "tkc.validate.imageVersions" (merge (dict "reference" $reference) .) -}}
{{- end -}}
{{- if and $versions.vllm $versions.lmcache (not .model.pair) (not (index $engine.acknowledge "unknownPair")) -}}
{{-   include "tkc.modelFault" (merge (dict "path" "engine.versions" "value" $versions "why" (printf "vLLM %s and LMCache %s are not known to work together on %s; known: %s" $versions.vllm $versions.lmcache $device $known)
            "fix" "use one of these, or try it out and set engine.acknowledge.unknownPair: true") .) -}}
{{- end -}}
{{- end -}}

{{- /* An image of the table holds the versions that stand there and no others: they are part of the L2 fingerprint, so that an
       engine with a wrong name for itself would read blocks of another version. Context: as above and reference. */ -}}
{{- define "tkc.validate.imageVersions" -}}
{{- $image := .model.spec.engine.image -}}
{{- $versions := .model.spec.engine.versions -}}
{{- $repository := include "tkc.pairs.repository" (index $image "repository" | default "") -}}
{{- $tag := include "tkc.scalar" (index $image "tag" | default "") -}}
{{- $digest := index $image "digest" | default "" -}}
{{- $held := list -}}
{{- $agrees := false -}}
{{- range .root.tkc.pairs.pairs -}}
{{-   if and (not (index . "anyTag")) (or (and $digest (eq $digest .image.digest)) (and $tag (eq $tag .image.tag) (eq $repository (include "tkc.pairs.repository" .image.repository)))) -}}
{{-     $held = append $held (printf "vLLM %s and LMCache %s" .vllm .lmcache) -}}
{{-     if and (eq .vllm $versions.vllm) (eq .lmcache $versions.lmcache) -}}{{- $agrees = true -}}{{- end -}}
{{-   end -}}
{{- end -}}
{{- if and $held (not $agrees) -}}
{{-   include "tkc.modelFault" (merge (dict "path" "engine.versions" "value" $versions "why" (printf "image %s holds %s, and the L2 fingerprint would name other versions" .reference (join ", or " ($held | uniq)))
          "fix" "leave engine.versions empty, or choose the image of these versions") .) -}}
{{- end -}}
{{- end -}}

{{- /* vLLM has a closed list, which it tells at the start of a Pod only. */ -}}
{{- define "tkc.validate.kvCacheDtype" -}}
{{- $known := index .root.tkc.pairs.kvCacheDtypes (regexReplaceAll "[+].*$" (.model.spec.engine.versions.vllm | default "") "") -}}
{{- $given := .model.spec.engine.kvCacheDtype -}}
{{- if and $known (not (has $given $known)) -}}
{{-   include "tkc.modelFault" (merge (dict "path" "engine.kvCacheDtype" "why" (printf "vLLM %s does not know it" .model.spec.engine.versions.vllm) "fix" (printf "use one of: %s" (join ", " $known))) .) -}}
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
              "fix" (ternary "use multiProcess, with operator 3.7 or newer, or switch cache.l1 and cache.l2 off" "use multiProcess or auto" .root.tkc.hyperpod)) .) -}}
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
{{- $broken := include "model-endpoint.engine.brokenFlags" .model | fromJson -}}
{{- $lora := include "model-endpoint.engine.loraFlags" .model | fromJsonArray -}}
{{- $speculative := include "model-endpoint.engine.speculativeFlags" .model | fromJsonArray -}}
{{- $full := false -}}
{{- range $index, $argument := (index $spec.engine "args") | default list -}}
{{-   $text := include "tkc.scalar" $argument -}}
{{- /* As the kubelet hands it on. */ -}}
{{-   if contains "$(" $text -}}
{{-     range $name, $value := (index $spec.engine "env") | default dict -}}{{- $text = $text | replace (printf "$(%s)" $name) (include "tkc.scalar" $value) -}}{{- end -}}
{{-   end -}}
{{-   $flag := include "model-endpoint.engine.flagOf" $text -}}
{{-   $fault := dict -}}
{{-   if not (trim $text) -}}
{{-     $fault = dict "why" "the argument is empty" "fix" "take it out, with the flag before it if it was its value" -}}
{{-   else if eq $text "--" -}}
{{-     $fault = dict "why" "vLLM would take no argument behind it for a flag, those of the chart neither" "fix" "take it out" -}}
{{-   else if regexMatch "^(--?[A-Za-z][^=]*\\s|\\s+--?[A-Za-z])" $text -}}
{{-     $fault = dict "why" "a flag with a blank in one argument: vLLM would not take it for a flag" "fix" "write flag and value as two elements of the list, or with = between" -}}
{{-   else if $flag -}}
{{-     $is := include "tkc.validate.flagIn" (dict "flag" $flag "names" (keys $owned | sortAlpha)) -}}
{{-     $on := ternary "" $flag (hasPrefix "--no-" $flag) -}}
{{-     $breaks := include "tkc.validate.flagIn" (dict "flag" $on "names" (keys $broken | sortAlpha)) -}}
{{-     if $is -}}
{{-       $fault = dict "why" (printf "the chart owns the flag %s" $is) "fix" (printf "take it out and use %s" (get $owned (regexReplaceAll "^--no-" $is "--"))) -}}
{{-     else if $breaks -}}
{{-       $parts := get $broken $breaks | splitList "\n" -}}
{{-       $fault = dict "why" (printf "%s: %s" $breaks (first $parts)) "fix" (last $parts) -}}
{{-     else if and $cache (not (index $acknowledged "loraWithCache")) (include "tkc.validate.flagIn" (dict "flag" $on "names" $lora)) -}}
{{-       $fault = dict "why" "LMCache's keys do not hold the adapter, so that one adapter would be served another's cache"
              "fix" "switch cache.l1 and cache.l2 off for this model, leave the adapters out, or, where all requests use one and the same adapter, set engine.acknowledge.loraWithCache: true" -}}
{{-     else if and $cache (not (index $acknowledged "speculativeWithCache")) (or (hasPrefix "--spec" $flag) (include "tkc.validate.flagIn" (dict "flag" $on "names" $speculative))) -}}
{{-       $fault = dict "why" "the draft model's KV is not cached: after a hit its guesses are wrong and the answer may take longer than without the cache"
              "fix" "switch cache.l1 and cache.l2 off for this model, leave speculative decoding out, or measure whole answers and set engine.acknowledge.speculativeWithCache: true" -}}
{{-     end -}}
{{-   else if eq $index 0 -}}
{{-     $fault = dict "why" "the first argument is not a flag; vLLM would read it as the model" "fix" "write the flag first, then its value" -}}
{{-   else if $full -}}
{{-     $fault = dict "why" "the flag before it has its value behind =, and no flag takes a second one from there" "fix" "take it out, or write the flag and its values as elements of the list" -}}
{{-   end -}}
{{-   with $fault -}}{{- include "tkc.modelFault" (merge . (dict "path" "engine.args" "value" $argument) $) -}}{{- end -}}
{{-   $full = and (not (empty $flag)) (contains "=" $text) -}}
{{- end -}}
{{- end -}}

{{- /* Which of the names a flag is (the closest), with "--no-" before it where it is that one's twin; or nothing. vLLM also
       takes the beginning of a name where it is unambiguous, and a value glued to a flag of one letter.
       Context: dict flag, names (sorted). */ -}}
{{- define "tkc.validate.flagIn" -}}
{{- $flag := regexReplaceAll "^--no-(.)" .flag "--$1" -}}
{{- if has $flag .names -}}
{{- .flag -}}
{{- else if $flag -}}
{{-   $found := list -}}
{{-   range .names -}}
{{-     if hasPrefix "--" . -}}
{{-       if and (gt (len $flag) 2) (hasPrefix $flag .) -}}{{- $found = append $found . -}}{{- end -}}
{{-     else if and (not (hasPrefix "--" $flag)) (or (hasPrefix $flag .) (and (eq (len .) 2) (hasPrefix . $flag))) -}}
{{-       $found = append $found . -}}
{{-     end -}}
{{-   end -}}
{{-   if $found -}}{{- ternary (first $found) (first $found | replace "--" "--no-") (eq $flag .flag) -}}{{- end -}}
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
