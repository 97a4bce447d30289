{{- /* Kubernetes quantities and plain numbers. YAML files give whole numbers as floats, which Go prints as 1e+06:
       every number reaches a manifest through one of these templates or through int64. */ -}}

{{- /* A scalar as text, in plain digits. Context: string, number or boolean. */ -}}
{{- define "tkc.scalar" -}}
{{- if kindIs "string" . }}{{ . }}{{ else }}{{ toJson . }}{{ end -}}
{{- end -}}

{{- /* Text as a single-quoted YAML scalar; JSON stays readable in it. Context: text of one line. */ -}}
{{- define "tkc.yamlText" -}}
'{{ . | replace "'" "''" }}'
{{- end -}}

{{- /* "true" if the context is a quantity that we can count with, else nothing. */ -}}
{{- define "tkc.quantity.valid" -}}
{{- $text := include "tkc.scalar" . -}}
{{- $number := trimAll "mkKMGTPEi" $text -}}
{{- /* Two small questions cost half of what one pattern for both would: patterns are compiled at each use. */ -}}
{{- if has (trimPrefix $number $text) (list "" "m" "k" "M" "G" "T" "P" "E" "Ki" "Mi" "Gi" "Ti" "Pi" "Ei") -}}
{{-   if regexMatch "^[0-9]+(\\.[0-9]+)?$" $number }}true{{ end -}}
{{- end -}}
{{- end -}}

{{- /* A valid quantity as whole thousandths of its unit (bytes or cores). */ -}}
{{- define "tkc.quantity.milli" -}}
{{- $text := include "tkc.scalar" . -}}
{{- $number := trimAll "mkKMGTPEi" $text -}}
{{- $unit := trimPrefix $number $text -}}
{{- $factors := dict "m" 1 "" 1000 "k" 1000000 "M" 1000000000 "G" 1000000000000 "T" 1000000000000000 "P" 1000000000000000000
      "Ki" 1024000 "Mi" 1048576000 "Gi" 1073741824000 "Ti" 1099511627776000 "Pi" 1125899906842624000 -}}
{{- /* Beyond "P" a thousandth no longer fits in 64 bits; such an amount only has to stay "very large". */ -}}
{{- printf "%d" (minf (mulf (float64 $number) (get $factors $unit | default 1125899906842624000)) 9e18 | int64) -}}
{{- end -}}

{{- /* A valid quantity as whole bytes. */ -}}
{{- define "tkc.quantity.bytes" -}}
{{- div (include "tkc.quantity.milli" . | int64) 1000 -}}
{{- end -}}

{{- /* "true" if the context is a whole number of bytes above 0, as a volume needs it. */ -}}
{{- define "tkc.quantity.size" -}}
{{- if include "tkc.quantity.valid" . -}}
{{-   $milli := include "tkc.quantity.milli" . | int64 -}}
{{-   if and (gt $milli 0) (eq (mod $milli 1000) 0) }}true{{ end -}}
{{- end -}}
{{- end -}}

{{- /* Bytes for people: 1.5Gi. */ -}}
{{- define "tkc.quantity.human" -}}
{{- regexReplaceAll "\\.?0+Gi$" (printf "%.2fGi" (divf (int64 .) 1073741824.0)) "Gi" -}}
{{- end -}}

{{- /* Bytes as a number of GiB without needless zeros, for flags that take one. */ -}}
{{- define "tkc.quantity.gib" -}}
{{- regexReplaceAll "\\.?0+$" (printf "%.6f" (divf (int64 .) 1073741824.0)) "" -}}
{{- end -}}

{{- /* requests and limits of a container. Context: map. */ -}}
{{- define "tkc.resources" -}}
{{- $sides := list -}}
{{- range $side := list "limits" "requests" -}}
{{-   $lines := list -}}
{{-   range $resource, $amount := index $ $side -}}{{- $lines = append $lines (printf "  %s: %q" $resource (include "tkc.scalar" $amount)) -}}{{- end -}}
{{-   with $lines -}}{{- $sides = append $sides (printf "%s:\n%s" $side (join "\n" .)) -}}{{- end -}}
{{- end -}}
{{- join "\n" $sides | default "{}" -}}
{{- end -}}
