{{- /* How many Pods of a component a drain of nodes may take away at once. Context: dict model (context), component
       (engine or router), maxUnavailable. */ -}}
{{- define "model-endpoint.pdb" -}}
{{- $root := .model.root -}}
{{- $labels := dict "root" $root "component" .component "model" .model.name -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ printf "%s-%s" (include "tkc.model.name" .model) .component }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "tkc.labels" $labels | nindent 4 }}
spec:
  maxUnavailable: {{ int64 .maxUnavailable }}
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
