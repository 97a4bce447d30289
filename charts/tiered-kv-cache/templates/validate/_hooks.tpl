{{- /* Rules for the hooks. Context: dict root, faults. */ -}}
{{- define "tkc.validate.hooks" -}}
{{- $values := .root.tkc.values -}}
{{- $complete := include "tkc.validate.required" (dict "faults" .faults "from" $values "prefix" "" "paths" (list "hooks.image.repository" "hooks.image.pullPolicy" "hooks.resources"
      "hooks.preflight.enabled" "hooks.preflight.deadlineSeconds" "hooks.preflight.clusterRole" "hooks.patchCheck.enabled" "hooks.patchCheck.restart" "hooks.patchCheck.deadlineSeconds"
      "hooks.storageCheck.enabled" "hooks.storageCheck.deadlineSeconds" "hooks.verify.enabled" "hooks.verify.promptTokens" "hooks.verify.deadlineSeconds" "hooks.verify.resetL0" "hooks.verify.minSpeedup")) -}}
{{- $hooks := dict "root" .root "faults" .faults "scope" "hooks" "model" (dict "name" "hooks" "given" $values.hooks "spec" $values.hooks) -}}
{{- include "tkc.validate.podLabels" $hooks -}}
{{- range $path := list "podLabels" "podAnnotations" -}}
{{-   include "tkc.validate.keys" (merge (dict "path" $path) $hooks) -}}
{{- end -}}
{{- if and $complete (or .root.tkc.models (include "inference-operator.patch.wanted" .root)) -}}
{{-   include "tkc.validate.image" (dict "faults" .faults "key" "hooks.image" "image" $values.hooks.image) -}}
{{-   include "tkc.validate.resources" (dict "faults" .faults "key" "hooks.resources" "resources" (index $values.hooks "resources" | default dict)) -}}
{{-   $size := $values.hooks.storageCheck.fileSize -}}
{{-   $bytes := 1 -}}
{{-   if $size -}}{{- $bytes = ternary (include "tkc.quantity.bytes" $size | default "0" | int64) 0 (include "tkc.quantity.size" $size | eq "true") -}}{{- end -}}
{{-   if or (lt (int64 $bytes) 1) (gt (int64 $bytes) 67108864) -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" "hooks.storageCheck.fileSize" "value" $size "why" "not a whole number of bytes from 1 to 64Mi, which is enough to measure with" "fix" "write digits and a unit, for example 9Mi, or leave it empty") -}}
{{-   end -}}
{{- end -}}
{{- end -}}
