{{- /* Rules for the hooks. Context: dict root, faults. */ -}}
{{- define "tkc.validate.hooks" -}}
{{- $values := .root.tkc.values -}}
{{- $complete := include "tkc.validate.required" (dict "faults" .faults "from" $values "prefix" "" "paths" (list "hooks.image.repository" "hooks.image.pullPolicy" "hooks.resources"
      "hooks.verify.enabled" "hooks.verify.promptTokens" "hooks.verify.deadlineSeconds" "hooks.verify.resetL0" "hooks.verify.minSpeedup")) -}}
{{- if and $complete .root.tkc.models -}}
{{-   include "tkc.validate.image" (dict "faults" .faults "key" "hooks.image" "image" $values.hooks.image) -}}
{{-   include "tkc.validate.resources" (dict "faults" .faults "key" "hooks.resources" "resources" (index $values.hooks "resources" | default dict)) -}}
{{- end -}}
{{- end -}}
