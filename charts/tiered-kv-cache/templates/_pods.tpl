{{- /* What all Pods of the chart have in common (Pod Security "restricted"). All images run as this user. */ -}}

{{- define "tkc.pod.common" -}}
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  # A big L2 volume must not be walked by the kubelet at each start.
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- include "tkc.imagePullSecrets" . }}
{{- end -}}

{{- define "tkc.container.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- /* Tolerations as given, whole numbers kept whole. Context: list. */ -}}
{{- define "tkc.tolerations" -}}
{{- with . -}}
tolerations:
{{- range . }}
  - {{ toJson . }}
{{- end }}
{{- end -}}
{{- end -}}

{{- /* An httpGet probe. Every field is written out: the API's default time-out of 1 s makes a busy engine unready.
       Context: dict path, port, period, timeout, failures. */ -}}
{{- define "tkc.probe" -}}
httpGet:
  path: {{ .path }}
  port: {{ .port }}
periodSeconds: {{ .period }}
timeoutSeconds: {{ .timeout }}
failureThreshold: {{ .failures }}
{{- end -}}
