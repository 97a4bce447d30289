{{- /* Rules for where the weights come from. Context everywhere: dict root, faults, model. */ -}}

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
