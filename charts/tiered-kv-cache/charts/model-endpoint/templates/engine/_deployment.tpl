{{- /* Context: model context. */ -}}
{{- define "model-endpoint.engine.deployment" -}}
{{- $labels := dict "root" .root "component" "engine" "model" .name -}}
{{- $domain := include "tkc.domain" . -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "tkc.model.engineName" . }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    {{- include "tkc.labels" $labels | nindent 4 }}
spec:
  {{- with include "model-endpoint.engine.replicas" . }}
  replicas: {{ . }}
  {{- end }}
  progressDeadlineSeconds: {{ include "model-endpoint.engine.progressDeadlineSeconds" . }}
  revisionHistoryLimit: 3
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxSurge: {{ int64 .spec.rollout.maxSurge }}
      maxUnavailable: {{ int64 .spec.rollout.maxUnavailable }}
  selector:
    matchLabels:
      {{- include "tkc.labels.selector" $labels | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "tkc.labels.pod" $labels | nindent 8 }}
        {{- range $key, $value := .spec.podLabels }}
        {{ $key | quote }}: {{ include "tkc.scalar" $value | quote }}
        {{- end }}
      annotations:
        {{- if not (hasKey .spec.podAnnotations "kubectl.kubernetes.io/default-container") }}
        kubectl.kubernetes.io/default-container: vllm
        {{- end }}
        {{ $domain }}/config-hash: {{ .configHash | quote }}
        {{ $domain }}/chunk-size: {{ int64 .spec.cache.chunkSize | quote }}
        {{- range $key, $value := .spec.podAnnotations }}
        {{ $key | quote }}: {{ include "tkc.scalar" $value | quote }}
        {{- end }}
    spec:
      serviceAccountName: {{ include "tkc.name" (dict "root" .root "part" "engine") }}
      automountServiceAccountToken: false
      terminationGracePeriodSeconds: {{ int64 .spec.terminationGracePeriodSeconds }}
      {{- include "tkc.pod.onL2" (dict "root" .root) | nindent 6 }}
      {{- with include "model-endpoint.engine.scheduling" . | trim }}
      {{- . | nindent 6 }}
      {{- end }}
      {{- with include "model-endpoint.engine.initContainers" . | trim }}
      initContainers:
        {{- . | nindent 8 }}
      {{- end }}
      containers:
        {{- include "model-endpoint.engine.containers" . | nindent 8 }}
      volumes:
        {{- include "model-endpoint.engine.volumes" . | nindent 8 }}
{{- end -}}
