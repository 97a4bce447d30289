{{- /* Replicas by a Prometheus query, by KEDA 2.17 or newer. Context: model context. */ -}}
{{- define "model-endpoint.autoscaling.scaledObject" -}}
{{- $scaling := .spec.autoscaling -}}
{{- $keda := $scaling.keda -}}
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  name: {{ include "tkc.model.engineName" . }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    {{- include "tkc.labels" (dict "root" .root "component" "engine" "model" .name) | nindent 4 }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {{ include "tkc.model.engineName" . }}
  minReplicaCount: {{ int64 $scaling.minReplicas }}
  maxReplicaCount: {{ int64 $scaling.maxReplicas }}
  pollingInterval: {{ int64 $keda.pollingInterval }}
  # Of scaling to zero only, which this chart does not do; the wait before fewer Pods stands in "behavior".
  cooldownPeriod: {{ int64 $keda.cooldownPeriod }}
  # While Prometheus does not answer, or has no data, the Pods that are there stay, and there are at least so many.
  fallback:
    failureThreshold: 3
    replicas: {{ include "model-endpoint.autoscaling.fallbackReplicas" . }}
    behavior: currentReplicasIfHigher
  advanced:
    horizontalPodAutoscalerConfig:
      behavior:
        {{- include "model-endpoint.autoscaling.behavior" (dict "calm" $keda.cooldownPeriod) | nindent 8 }}
  triggers:
    - type: prometheus
      # KEDA's fallback can count with this type only.
      metricType: AverageValue
      metadata:
        serverAddress: {{ $keda.serverAddress | quote }}
        query: {{ $keda.query | quote }}
        threshold: {{ include "tkc.scalar" $keda.threshold | quote }}
        # An empty answer is a failure; KEDA's default takes it for zero and scales down under load.
        ignoreNullValues: "false"
      {{- with index $keda "authenticationRef" }}
      authenticationRef:
        name: {{ . | quote }}
      {{- end }}
{{- end -}}

{{- /* Pods while the metric is missing. */ -}}
{{- define "model-endpoint.autoscaling.fallbackReplicas" -}}
{{- $scaling := .spec.autoscaling -}}
{{- $given := index $scaling.keda "fallbackReplicas" -}}
{{- int64 (ternary (min (int64 $scaling.maxReplicas) (max (int64 $scaling.minReplicas) (int64 .spec.replicas))) $given (kindIs "invalid" $given)) -}}
{{- end -}}

{{- /* One Pod less at a time, since each takes its L1 with it. Context: dict calm (seconds before scaling down). */ -}}
{{- define "model-endpoint.autoscaling.behavior" -}}
scaleDown:
  stabilizationWindowSeconds: {{ int64 .calm }}
  policies:
    - type: Pods
      value: 1
      periodSeconds: 60
{{- end -}}
