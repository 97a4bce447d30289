{{- /* Where the operator finds the weights. Context everywhere: model context. */ -}}

{{- /* Where the worker has the volume with the weights. */ -}}
{{- define "model-endpoint.iec.mountPath" -}}/opt/ml/model{{- end -}}

{{- /* Where the weights lie in the worker: a claim is mounted whole. */ -}}
{{- define "model-endpoint.iec.modelPath" -}}
{{- $folder := "" -}}
{{- with .spec.source.claim -}}{{- $folder = index . "subPath" | default "" -}}{{- end -}}
{{- include "model-endpoint.iec.mountPath" . }}{{ with $folder }}/{{ . }}{{ end -}}
{{- end -}}

{{- define "model-endpoint.iec.source" -}}
{{- $prefetch := index .spec.hyperpod "prefetchEnabled" -}}
{{- with .spec.source.huggingFace }}
modelSourceType: huggingface
huggingFaceModel:
  modelId: {{ .id | quote }}
  commitSHA: {{ .revision | quote }}
  {{- with index . "tokenSecret" }}
  tokenSecretRef:
    name: {{ .name | quote }}
    key: {{ index . "key" | default "token" | quote }}
  {{- end }}
{{- end }}
{{- with .spec.source.s3 }}
modelSourceType: s3
{{- with index . "prefix" | default "" | trimAll "/" }}
modelLocation: {{ . | quote }}
{{- end }}
s3Storage:
  bucketName: {{ .bucket | quote }}
  region: {{ .region | quote }}
{{- end }}
{{- with .spec.source.fsx }}
modelSourceType: fsx
{{- with index . "path" | default "" | trimAll "/" }}
modelLocation: {{ . | quote }}
{{- end }}
fsxStorage:
  fileSystemId: {{ .fileSystemId | quote }}
  {{- with index . "dnsName" }}
  dnsName: {{ . | quote }}
  {{- end }}
  {{- with index . "mountName" }}
  mountName: {{ . | quote }}
  {{- end }}
{{- end }}
{{- if .spec.source.claim }}
# The volume of the worker's name below, in "kubernetes".
modelSourceType: kubernetesVolume
{{- end }}
{{- /* As in the walkthrough: what comes from the Hub is fetched before the engine starts. */}}
prefetchEnabled: {{ ternary (not (empty .spec.source.huggingFace)) $prefetch (kindIs "invalid" $prefetch) }}
{{- end -}}
