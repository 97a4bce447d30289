{{- /* Rules for the three tiers of a model. Context everywhere: dict root, faults, model. */ -}}

{{- define "tkc.validate.cache" -}}
{{- $spec := .model.spec -}}
{{- $block := index $spec.engine "blockSize" | default 0 | int64 -}}
{{- $impossible := and (eq $spec.engine.device "cpu") (mod $block 32) -}}
{{- if $impossible -}}
{{-   include "tkc.modelFault" (merge (dict "path" "engine.blockSize" "value" $block "why" "vLLM's CPU attention takes multiples of 32 only" "fix" "use 128") .) -}}
{{- end -}}
{{- $chunk := int64 $spec.cache.chunkSize -}}
{{- if not $block -}}
{{-   if mod $chunk 128 -}}
{{-     include "tkc.modelFault" (merge (dict "path" "cache.chunkSize" "value" $chunk "why" "not a multiple of 128: vLLM chooses blocks of 16 to 128 tokens by GPU and model, and a chunk holds whole blocks" "fix" (printf "use %d, or set engine.blockSize" (mul 128 (add1 (div $chunk 128))))) .) -}}
{{-   end -}}
{{- else if and (not $impossible) (mod $chunk $block) -}}
{{-   include "tkc.modelFault" (merge (dict "path" "cache.chunkSize" "value" $chunk "why" (printf "not a multiple of engine.blockSize: %d" $block) "fix" (printf "use %d" (mul $block (add1 (div $chunk $block))))) .) -}}
{{- end -}}
{{- if and (not $spec.cache.l1.enabled) $spec.cache.l2.enabled .root.tkc.values.l2.enabled -}}
{{-   include "tkc.modelFault" (merge (dict "path" "cache.l1.enabled" "why" "L2 blocks pass through L1's memory, so that L2 cannot be on without L1"
          "fix" "switch L1 on (cache.l1.memory may be small), or cache.l2.enabled: false") .) -}}
{{- end -}}
{{- include "tkc.validate.adapter" . -}}
{{- end -}}

{{- /* An adapter of LMCache that the chart knows nothing of. */ -}}
{{- define "tkc.validate.adapter" -}}
{{- $spec := .model.spec -}}
{{- $given := $spec.cache.l2.adapterConfig -}}
{{- if ne $spec.cache.l2.adapter "custom" -}}
{{-   if $given -}}
{{-     include "tkc.modelFault" (merge (dict "path" "cache.l2.adapterConfig" "value" $given "why" (printf "cache.l2.adapter is %s, so that it would be ignored" $spec.cache.l2.adapter) "fix" "set cache.l2.adapter: custom, or leave it empty") .) -}}
{{-   end -}}
{{- else if and $spec.cache.l2.enabled .root.tkc.values.l2.enabled -}}
{{-   if .root.tkc.hyperpod -}}
{{-     include "tkc.modelFault" (merge (dict "path" "cache.l2.adapter" "why" "on HyperPod the L2 patch sets the adapter, and knows guarded and fs" "fix" "use guarded or fs") .) -}}
{{-   else if eq (include "model-endpoint.engine.mode" .model) "inProcess" -}}
{{-     include "tkc.modelFault" (merge (dict "path" "cache.l2.adapter" "why" "LMCache inside vLLM has no such adapters" "fix" "set engine.lmcacheMode: multiProcess, or use guarded or fs") .) -}}
{{-   end -}}
{{-   if not (and (kindIs "string" (index $given "type")) (index $given "type")) -}}
{{-     include "tkc.modelFault" (merge (dict "path" "cache.l2.adapterConfig.type" "value" (index $given "type" | default "") "why" "LMCache's server would not start: it finds its adapter by this name" "fix" "name one, such as resp (Redis and Valkey) or fs_native") .) -}}
{{-   end -}}
{{-   if not (index $spec.engine.acknowledge "customAdapter") -}}
{{-     include "tkc.modelFault" (merge (dict "path" "cache.l2.adapter" "why" "nothing would check its blocks, bound the wait for them or clean its store, and LMCache's keys name neither weights nor types: of two models that share a store one may get the other's blocks"
            "fix" "use guarded, or give the store to this model alone and set engine.acknowledge.customAdapter: true") .) -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* verify's prompt must fit in the context and fill at least one chunk. */ -}}
{{- define "tkc.validate.prompt" -}}
{{- $verify := index (index .root.tkc.values "hooks" | default dict) "verify" | default dict -}}
{{- if and (index $verify "enabled") (index $verify "promptTokens") -}}
{{-   $tokens := int64 $verify.promptTokens -}}
{{-   $room := sub (int64 .model.spec.engine.maxModelLen) 16 -}}
{{-   $least := ternary (int64 .model.spec.cache.chunkSize) (int64 0) .model.spec.cache.l2.enabled -}}
{{-   if and (gt $tokens $room) (le $room $least) -}}
{{-     include "tkc.modelFault" (merge (dict "path" "engine.maxModelLen" "why" (printf "helm test's prompt (hooks.verify.promptTokens: %d) and 16 tokens more do not fit, and no shorter one would fill a chunk (cache.chunkSize: %d)" $tokens (int64 .model.spec.cache.chunkSize))
            "fix" (printf "set it to %d or more, or hooks.verify.enabled: false" (add $tokens 16))) .) -}}
{{-   else if gt $tokens $room -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" "hooks.verify.promptTokens" "value" $tokens "why" (printf "helm test asks for 16 tokens more, and models.%s.engine.maxModelLen is %d" .model.name (int64 .model.spec.engine.maxModelLen))
            "fix" (printf "set it to %d or less, or raise maxModelLen" $room)) -}}
{{-   else if and .model.spec.cache.l2.enabled (le $tokens (int64 .model.spec.cache.chunkSize)) -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" "hooks.verify.promptTokens" "value" $tokens "why" (printf "no full chunk of models.%s (cache.chunkSize %d) would be stored, so that helm test could prove nothing" .model.name (int64 .model.spec.cache.chunkSize))
            "fix" (printf "set it to more than %d" (int64 .model.spec.cache.chunkSize))) -}}
{{-   end -}}
{{- end -}}
{{- end -}}
