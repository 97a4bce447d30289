{{- /* Lays "from" over "into", leaf by leaf, in place. null deletes what is below it, which is what null means in a
       Helm overlay; sprig's mergeOverwrite would keep either the old value or the null. Context: dict into, from. */ -}}
{{- define "tkc.merge" -}}
{{- $into := .into -}}
{{- range $key, $value := .from -}}
{{-   if kindIs "invalid" $value -}}
{{-     $_ := unset $into $key -}}
{{-   else if kindIs "map" $value -}}
{{-     if not (kindIs "map" (index $into $key)) -}}{{- $_ := set $into $key dict -}}{{- end -}}
{{-     include "tkc.merge" (dict "into" (index $into $key) "from" $value) -}}
{{-   else -}}
{{-     $_ := set $into $key $value -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* Value at a dotted path, as result.value (absent: no such key). Context: dict from, path, result. */ -}}
{{- define "tkc.at" -}}
{{- $current := .from -}}
{{- range splitList "." .path -}}
{{-   if kindIs "map" $current -}}{{- $current = index $current . -}}{{- else -}}{{- $current = $.nothing -}}{{- end -}}
{{- end -}}
{{- if not (kindIs "invalid" $current) -}}{{- $_ := set .result "value" $current -}}{{- end -}}
{{- end -}}
