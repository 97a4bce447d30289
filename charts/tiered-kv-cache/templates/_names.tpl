{{- /* Names of all objects: the only place that knows how they are built. */ -}}

{{- /* First part of every name. Context: root. */ -}}
{{- define "tkc.prefix" -}}
{{- .tkc.prefix -}}
{{- end -}}

{{- /* The same, found once for each render. As a dependency under an alias the chart may be there several times in one release,
       so that the alias is part of it. Context: root. */ -}}
{{- define "tkc.prefix.find" -}}
{{- $alias := ternary "" (printf "-%s" .Chart.Name | lower | replace "_" "-") (eq .Chart.Name "tiered-kv-cache") -}}
{{- index .tkc.values "nameOverride" | default (printf "%s%s" .Release.Name $alias) -}}
{{- end -}}

{{- /* What selectors know these objects by: the release, and where it may hold this chart several times the names' first part,
       too. No release's name has a "_", so that none can be taken for another. Context: root. */ -}}
{{- define "tkc.instance.find" -}}
{{- $prefix := .tkc.prefix -}}
{{- if or .Chart.IsRoot (eq $prefix .Release.Name) -}}
{{- .Release.Name -}}
{{- else -}}
{{-   $both := printf "%s_%s" .Release.Name $prefix -}}
{{- /* A label has at most 63 characters. */ -}}
{{-   ternary $both (printf "%s_%s" (trunc 46 $both | trimSuffix "-") (sha256sum $both | trunc 16)) (le (len $both) 63) -}}
{{- end -}}
{{- end -}}

{{- /* Name of an object of the whole release. Context: dict root, part. */ -}}
{{- define "tkc.name" -}}
{{- printf "%s-%s" (include "tkc.prefix" .root) .part -}}
{{- end -}}

{{- /* A name that ends in a hash where it would be too long. Context: dict name, most (characters). */ -}}
{{- define "tkc.name.within" -}}
{{- if le (len .name) (int .most) }}{{ .name }}{{ else }}{{ printf "%s-%s" (trunc (int (sub .most 9)) .name | trimSuffix "-") (sha256sum .name | trunc 8) }}{{ end -}}
{{- end -}}

{{- /* Name of a model's client entry (Service). Context: model context. */ -}}
{{- define "tkc.model.name" -}}
{{- printf "%s-%s" (include "tkc.prefix" .root) .name -}}
{{- end -}}

{{- define "tkc.model.engineName" -}}
{{- printf "%s-engine" (include "tkc.model.name" .) -}}
{{- end -}}

{{- define "tkc.model.routerName" -}}
{{- printf "%s-router" (include "tkc.model.name" .) -}}
{{- end -}}

{{- /* Claim of the L2 volume. Context: root. */ -}}
{{- define "tkc.l2.claimName" -}}
{{- $volume := .tkc.values.l2.volume -}}
{{- if eq $volume.type "existingClaim" }}{{ $volume.claimName }}
{{- else if include "curvine.csi" . }}{{ include "tkc.name" (dict "root" . "part" (printf "l2-%s" (include "curvine.csi.hash" .))) }}
{{- else }}{{ include "tkc.name" (dict "root" . "part" "l2") }}
{{- end -}}
{{- end -}}
