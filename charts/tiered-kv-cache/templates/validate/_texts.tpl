{{- /* Rules for texts that YAML reads as something else: 0123 is 83 to it, 1.10 is 1.1, large numbers are rounded, NO is false. What
       was written cannot be known any more, so that it is not put into a manifest. Context everywhere: dict root, faults, model. */ -}}

{{- /* Adds the fault of a label or annotation that is no string; Kubernetes takes strings only, too.
       Context: as above and path, name, value. */ -}}
{{- define "tkc.validate.quoted" -}}
{{- include "tkc.modelFault" (merge (dict "value" (dict .name .value) "why" (include "tkc.misread" .value) "fix" (include "tkc.quoteIt" .name)) .) -}}
{{- end -}}

{{- /* Why a value is refused. Context: number or boolean. */ -}}
{{- define "tkc.misread" -}}
{{- printf "YAML read a %s, whose text may not be what you wrote: it reads 0123 as 83, 1.10 as 1.1, NO as false, and rounds large numbers" (ternary "boolean" "number" (kindIs "bool" .)) -}}
{{- end -}}

{{- define "tkc.quoteIt" -}}
{{- printf "quote it: %s: \"...\" (with --set use --set-string)" . -}}
{{- end -}}

{{- /* "true" for a number whose digits are surely those that were written: whole, and below 2^53. Context: number. */ -}}
{{- define "tkc.wholeNumber" -}}
{{- if regexMatch "^-?[0-9]{1,16}$" (toJson .) -}}
{{-   if and (lt (int64 .) 9007199254740992) (gt (int64 .) -9007199254740992) }}true{{ end -}}
{{- end -}}
{{- end -}}

{{- /* Environment and arguments, where numbers are usual. */ -}}
{{- define "tkc.validate.texts" -}}
{{- range $name, $value := .model.spec.engine.env -}}
{{-   if has $name (list "true" "false") -}}
{{-     include "tkc.modelFault" (merge (dict "path" "engine.env" "value" (dict $name $value) "why" "a name such as NO or ON is a boolean to YAML" "fix" "quote the name: \"NO\": ...") $) -}}
{{-   else if not (or (kindIs "string" $value) (kindIs "bool" $value)) -}}
{{-     if not (include "tkc.wholeNumber" $value) -}}
{{-       include "tkc.modelFault" (merge (dict "path" "engine.env" "value" (dict $name $value) "why" (include "tkc.misread" $value) "fix" (include "tkc.quoteIt" $name)) $) -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- range .model.spec.engine.args -}}
{{-   if not (kindIs "string" .) -}}
{{-     if or (ge (float64 .) 9007199254740992.0) (le (float64 .) -9007199254740992.0) -}}
{{-       include "tkc.modelFault" (merge (dict "path" "engine.args" "value" . "why" "YAML rounds numbers of 2^53 and more, so that other digits may have been written" "fix" "quote it") $) -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* Annotations of the release. Context: dict root, faults. */ -}}
{{- define "tkc.validate.releaseTexts" -}}
{{- range $name, $value := index (index .root.tkc.values "modelStore" | default dict) "serviceAccountAnnotations" -}}
{{-   if not (kindIs "string" $value) -}}
{{-     include "tkc.fault" (dict "faults" $.faults "key" "modelStore.serviceAccountAnnotations" "value" (dict $name $value) "why" (include "tkc.misread" $value) "fix" (include "tkc.quoteIt" $name)) -}}
{{-   end -}}
{{- end -}}
{{- end -}}
