{{- /* Rules for what parts lines of business: the cache salt, and who owns files on the L2 volume. */ -}}

{{- /* Context: dict root, faults, model. */ -}}
{{- define "tkc.validate.cacheSalt" -}}
{{- $secret := include "tkc.cacheSalt.secret" .root -}}
{{- if $secret -}}
{{-   $salt := dict "faults" .faults "key" "cacheSalt.secretName" "value" $secret -}}
{{-   $spec := .model.spec -}}
{{-   if .root.tkc.hyperpod -}}
{{-     include "tkc.fault" (merge (dict "why" "the operator's Pods take no file of the chart beside vLLM, which would set the salt"
            "fix" "leave it empty; lines of business are parted by their directories and volumes there (docs/security.md)") $salt) -}}
{{-   else -}}
{{-     if eq $spec.routing.strategy "kvaware" -}}
{{-       include "tkc.modelFault" (merge (dict "path" "routing.strategy" "why" "the router of kvaware forgets each engine that caches salted blocks, and cacheSalt.secretName is set" "fix" "use prefixaware, session or roundrobin, or leave cacheSalt.secretName empty") .) -}}
{{-     end -}}
{{-     if and (eq (include "model-endpoint.engine.mode" .model) "inProcess") (or $spec.cache.l1.enabled (and $spec.cache.l2.enabled .root.tkc.values.l2.enabled)) -}}
{{-       include "tkc.modelFault" (merge (dict "path" "engine.lmcacheMode" "why" "LMCache in vLLM's own process leaves the salt out of its keys, so that L1 and L2 would not be salted, and cacheSalt.secretName is set" "fix" "use multiProcess, or leave cacheSalt.secretName empty") .) -}}
{{-     end -}}
{{-     $vllm := include "tkc.scalar" ($spec.engine.versions.vllm | default "") -}}
{{-     if and $vllm (not (include "tkc.pairs.atLeast" (dict "have" $vllm "least" .root.tkc.pairs.since.cacheSalt))) -}}
{{-       include "tkc.modelFault" (merge (dict "path" "engine.versions.vllm" "value" $vllm "why" (printf "which requests of a vLLM before %s carry a salt to LMCache is not known, and cacheSalt.secretName is set" .root.tkc.pairs.since.cacheSalt) "fix" "use a newer pair (files/pairs.yaml), or leave cacheSalt.secretName empty") .) -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- /* The kubelet would write them into the command line, and vLLM that into its log. */ -}}
{{- $model := . -}}
{{- range $variable := list "VLLM_API_KEY" "TKC_CACHE_SALT" -}}
{{-   $reference := printf "$(%s)" $variable -}}
{{-   range $model.model.spec.engine.args -}}
{{-     if contains $reference (include "tkc.scalar" .) -}}
{{-       include "tkc.modelFault" (merge (dict "path" "engine.args" "value" . "why" (printf "%s holds a secret, and vLLM writes its arguments into its log" $variable) "fix" "take it out") $model) -}}
{{-     end -}}
{{-   end -}}
{{-   range $name, $value := $model.model.spec.engine.env -}}
{{-     if contains $reference (include "tkc.scalar" $value) -}}
{{-       include "tkc.modelFault" (merge (dict "path" (printf "engine.env.%s" $name) "value" $value "why" (printf "%s holds a secret, which belongs nowhere else" $variable) "fix" "take it out") $model) -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* Context: dict root, faults. */ -}}
{{- define "tkc.validate.owner" -}}
{{- $values := .root.tkc.values -}}
{{- if include "tkc.validate.required" (dict "faults" .faults "from" $values "prefix" "" "paths" (list "l2.owner.uid" "l2.owner.gid" "l2.volume.ownTreeOnly")) -}}
{{-   range $part := list "uid" "gid" -}}
{{-     $own := index $values.l2.owner $part -}}
{{-     if ne (int64 $own) 10001 -}}
{{-       $fault := dict "faults" $.faults "key" (printf "l2.owner.%s" $part) "value" (int64 $own) -}}
{{-       if $.root.tkc.hyperpod -}}
{{-         include "tkc.fault" (merge (dict "why" "the operator decides whom its engines run as" "fix" "set it to 10001, or leave it out") $fault) -}}
{{-       else if include "curvine.used" $.root -}}
{{-         include "tkc.fault" (merge (dict "why" "a pool gives each line of business a directory of 10001, which no other one sees" "fix" "set it to 10001, or leave it out") $fault) -}}
{{-       end -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- end -}}
