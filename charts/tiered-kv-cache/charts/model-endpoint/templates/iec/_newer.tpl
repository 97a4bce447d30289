{{- /* Fields of operators after 3.2, each where the operator has it. */ -}}

{{- /* Those that the model asks for, with what they are set to. JSON object. Context: model context. */ -}}
{{- define "model-endpoint.iec.wanted" -}}
{{- $spec := .spec -}}
{{- $wanted := dict -}}
{{- range $field := list "podAnnotations" "podLabels" "tolerations" "priorityClassName" -}}
{{-   with index $spec $field -}}{{- $_ := set $wanted $field . -}}{{- end -}}
{{- end -}}
{{- with index $spec.hyperpod.loadBalancer "idleTimeoutSeconds" -}}{{- $_ := set $wanted "idleTimeoutSeconds" . -}}{{- end -}}
{{- /* What newer operators do by themselves is not known, so that they are told; older ones know one mode and no such field. */ -}}
{{- $mode := include "model-endpoint.engine.mode" . -}}
{{- if and (include "model-endpoint.iec.cacheOn" .) (or (eq $mode "multiProcess") (include "tkc.operator.version" .root)) -}}
{{-   $_ := set $wanted "lmcacheMode" (title $mode) -}}
{{- end -}}
{{- toJson $wanted -}}
{{- end -}}

{{- /* "true" where LMCache is on; asked before the model's derived values are there. Context: model context. */ -}}
{{- define "model-endpoint.iec.cacheOn" -}}
{{- if or .spec.cache.l1.enabled (and .spec.cache.l2.enabled .root.tkc.values.l2.enabled) }}true{{ end -}}
{{- end -}}

{{- /* The lines of one section of spec ("": of spec itself). YAML, or nothing. Context: dict model, section. */ -}}
{{- define "model-endpoint.iec.newer" -}}
{{- $sections := list "kubernetes" "kvCacheSpec" "loadBalancer" -}}
{{- range $field, $value := include "model-endpoint.iec.wanted" .model | fromJson -}}
{{-   $parts := include "tkc.operator.place" (dict "root" $.model.root "field" $field) | splitList "." | compact -}}
{{-   $section := "" -}}
{{-   if and $parts (has (first $parts) $sections) -}}
{{-     $section = first $parts -}}
{{-     $parts = rest $parts -}}
{{-   end -}}
{{-   if and $parts (eq $section $.section) }}
{{-     range $part := rest $parts | reverse -}}{{- $value = dict $part $value -}}{{- end }}
{{ first $parts }}: {{ include "tkc.withoutNulls" $value | fromJson | dig "value" "" | toJson }}
{{-   end -}}
{{- end -}}
{{- end -}}
