{{- /* Label and annotation domain, and every set of labels. Selectors hold nothing that an upgrade may change
       (no version, no served name, no line of business): they are immutable in a Deployment. */ -}}

{{- define "tkc.domain" -}}tiered-kv-cache.io{{- end -}}

{{- /* Context: dict root, component, model (optional name). */ -}}
{{- define "tkc.labels.selector" -}}
app.kubernetes.io/name: tiered-kv-cache
app.kubernetes.io/instance: {{ .root.tkc.instance | quote }}
app.kubernetes.io/component: {{ .component }}
{{- with .model }}
{{ include "tkc.domain" $ }}/model: {{ . | quote }}
{{- end }}
{{- end -}}

{{- /* Labels of Pods: no chart version here, or each release of the chart would restart every engine. */ -}}
{{- define "tkc.labels.pod" -}}
{{ include "tkc.labels.selector" . }}
app.kubernetes.io/managed-by: {{ .root.Release.Service | quote }}
app.kubernetes.io/part-of: tiered-kv-cache
{{- with .root.tkc.values.lineOfBusiness }}
{{ include "tkc.domain" $ }}/line-of-business: {{ . | quote }}
{{- end }}
{{- end -}}

{{- /* Labels of the objects themselves. */ -}}
{{- define "tkc.labels" -}}
{{ include "tkc.labels.pod" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" | quote }}
{{- end -}}
