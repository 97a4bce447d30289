{{- /* Names of all objects: the only place that knows how they are built. */ -}}

{{- /* First part of every name. Context: root. */ -}}
{{- define "tkc.prefix" -}}
{{- .tkc.values.nameOverride | default .Release.Name -}}
{{- end -}}

{{- /* Name of an object of the whole release. Context: dict root, part. */ -}}
{{- define "tkc.name" -}}
{{- printf "%s-%s" (include "tkc.prefix" .root) .part -}}
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
{{- if eq $volume.type "existingClaim" }}{{ $volume.claimName }}{{ else }}{{ include "tkc.name" (dict "root" . "part" "l2") }}{{ end -}}
{{- end -}}
