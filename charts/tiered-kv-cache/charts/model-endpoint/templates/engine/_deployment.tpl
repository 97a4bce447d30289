{{- /* Context: model context. */ -}}
{{- define "model-endpoint.engine.deployment" -}}
{{- $labels := dict "root" .root "component" "engine" "model" .name -}}
{{- $domain := include "tkc.domain" . -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "tkc.model.engineName" . }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "tkc.labels" $labels | nindent 4 }}
spec:
  replicas: {{ int64 .spec.replicas }}
  # Longer than the slowest start, or a rollout that only waits for weights is reported as failed.
  progressDeadlineSeconds: {{ add (int64 .spec.probes.startup.budget) 300 }}
  revisionHistoryLimit: 3
  strategy:
    type: RollingUpdate
    rollingUpdate:
      # No spare accelerator or memory is needed for an upgrade.
      maxSurge: 0
      maxUnavailable: 1
  selector:
    matchLabels:
      {{- include "tkc.labels.selector" $labels | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "tkc.labels.pod" $labels | nindent 8 }}
      annotations:
        kubectl.kubernetes.io/default-container: vllm
        {{ $domain }}/fingerprint: {{ .fingerprint | quote }}
        {{ $domain }}/chunk-size: {{ int64 .spec.cache.chunkSize | quote }}
        {{- if .l2 }}
        {{ $domain }}/l2-root: {{ .l2Root | quote }}
        {{- end }}
        {{- range $key, $value := .spec.podAnnotations }}
        {{ $key }}: {{ include "tkc.scalar" $value | quote }}
        {{- end }}
    spec:
      serviceAccountName: {{ include "tkc.name" (dict "root" .root "part" "engine") }}
      automountServiceAccountToken: false
      terminationGracePeriodSeconds: {{ int64 .spec.terminationGracePeriodSeconds }}
      {{- include "tkc.pod.common" .root | nindent 6 }}
      {{- with .spec.nodeSelector }}
      nodeSelector:
        {{- range $key, $value := . }}
        {{ $key }}: {{ include "tkc.scalar" $value | quote }}
        {{- end }}
      {{- end }}
      {{- with include "tkc.tolerations" .spec.tolerations }}{{ . | nindent 6 }}{{ end }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "tkc.labels.selector" $labels | nindent 14 }}
      {{- with include "model-endpoint.engine.initContainers" . | trim }}
      initContainers:
        {{- . | nindent 8 }}
      {{- end }}
      containers:
        {{- include "model-endpoint.engine.containers" . | nindent 8 }}
      volumes:
        {{- include "model-endpoint.engine.volumes" . | nindent 8 }}
{{- end -}}
