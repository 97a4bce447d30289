{{- /* Replicas by metrics as given. Context: model context. */ -}}
{{- define "model-endpoint.autoscaling.hpa" -}}
{{- $scaling := .spec.autoscaling -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ include "tkc.model.engineName" . }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    {{- include "tkc.labels" (dict "root" .root "component" "engine" "model" .name) | nindent 4 }}
spec:
  # Without metrics the controller changes nothing but these bounds.
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {{ include "tkc.model.engineName" . }}
  minReplicas: {{ int64 $scaling.minReplicas }}
  maxReplicas: {{ int64 $scaling.maxReplicas }}
  behavior:
    {{- include "model-endpoint.autoscaling.behavior" (dict "calm" 300) | nindent 4 }}
  metrics:
    {{- range $scaling.hpa.metrics }}
    - {{ toJson . }}
    {{- end }}
{{- end -}}
