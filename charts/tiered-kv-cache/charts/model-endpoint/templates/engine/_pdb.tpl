{{- /* How many engine Pods a drain of nodes may take away at once. Context: model context. */ -}}
{{- define "model-endpoint.engine.pdb" -}}
{{- $labels := dict "root" .root "component" "engine" "model" .name -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "tkc.model.engineName" . }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "tkc.labels" $labels | nindent 4 }}
spec:
  maxUnavailable: {{ int64 .spec.disruption.maxUnavailable }}
  # A Pod that does not serve anyway must not hold up a drain.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "tkc.labels.selector" $labels | nindent 6 }}
{{- end -}}

{{- /* Most engine Pods that a model can have. Context: model context. */ -}}
{{- define "model-endpoint.engine.mostReplicas" -}}
{{- if .spec.autoscaling.enabled }}{{ int64 .spec.autoscaling.maxReplicas }}{{ else }}{{ int64 .spec.replicas }}{{ end -}}
{{- end -}}
