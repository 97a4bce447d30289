{{- /* What Pods of hooks are called by beside the chart's own names: a mesh or a policy engine decides by these what it does with them. */ -}}

{{- /* Context: root. */ -}}
{{- define "tkc.hookPod.labels" -}}
{{- include "tkc.texts" .tkc.values.hooks.podLabels -}}
{{- end -}}

{{- /* Context: root. */ -}}
{{- define "tkc.hookPod.annotations" -}}
{{- include "tkc.texts" .tkc.values.hooks.podAnnotations -}}
{{- end -}}

{{- /* Labels and annotations of the Pods of a Job. Context: as of tkc.labels.pod. */ -}}
{{- define "tkc.hookPod.metadata" -}}
labels:
  {{- include "tkc.labels.pod" . | nindent 2 }}
  {{- with include "tkc.hookPod.labels" .root | trim }}{{ . | nindent 2 }}{{ end }}
{{- with include "tkc.hookPod.annotations" .root | trim }}
annotations:
  {{- . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* Lines "key": "value" of a map; one that is null is left out. Context: the map. */ -}}
{{- define "tkc.texts" -}}
{{- range $key, $value := . }}
{{- if not (kindIs "invalid" $value) }}
{{ $key | quote }}: {{ include "tkc.scalar" $value | quote }}
{{- end }}
{{- end }}
{{- end -}}
