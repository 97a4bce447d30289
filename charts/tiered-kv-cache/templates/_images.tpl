{{- /* Reference of an image; a digest wins over the tag. Context: dict repository, tag, digest. */ -}}
{{- define "tkc.image" -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag }}{{ end -}}
{{- end -}}

{{- /* The pull secrets of every Pod. Context: root. */ -}}
{{- define "tkc.imagePullSecrets" -}}
{{- with .tkc.values.imagePullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ .name | quote }}
{{- end }}
{{- end }}
{{- end -}}
