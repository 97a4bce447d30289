{{- /* vllm-router in front of the engine Pods of one model. Context: model context. */ -}}
{{- define "model-endpoint.router.deployment" -}}
{{- $labels := dict "root" .root "component" "router" "model" .name -}}
{{- $image := .root.tkc.values.router.image -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "tkc.model.routerName" . }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    {{- include "tkc.labels" $labels | nindent 4 }}
spec:
  replicas: {{ int64 .spec.routing.replicas }}
  # A router is Ready once an engine is, so it may wait as long as the engines do.
  progressDeadlineSeconds: {{ include "model-endpoint.engine.progressDeadlineSeconds" . }}
  revisionHistoryLimit: 3
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxSurge: 1
      maxUnavailable: 0
  selector:
    matchLabels:
      {{- include "tkc.labels.selector" $labels | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "tkc.labels.pod" $labels | nindent 8 }}
    spec:
      serviceAccountName: {{ include "tkc.name" (dict "root" .root "part" "router") }}
      # It watches the engine Pods through the API server.
      automountServiceAccountToken: true
      terminationGracePeriodSeconds: {{ int64 .spec.terminationGracePeriodSeconds }}
      {{- include "tkc.pod.common" .root | nindent 6 }}
      {{- with include "tkc.nodeSelector" .spec.routing.nodeSelector }}{{ . | nindent 6 }}{{ end }}
      {{- with include "tkc.tolerations" .spec.tolerations }}{{ . | nindent 6 }}{{ end }}
      {{- if gt (int64 .spec.routing.replicas) 1 }}
      {{- include "tkc.pod.spread" $labels | nindent 6 }}
      {{- end }}
      containers:
        - name: router
          image: {{ include "tkc.image" $image | quote }}
          imagePullPolicy: {{ $image.pullPolicy }}
          args:
            {{- include "model-endpoint.router.args" . | nindent 12 }}
          {{- with include "model-endpoint.router.env" . }}
          env:
            {{- . | nindent 12 }}
          {{- end }}
          ports:
            - name: http
              containerPort: 8000
              protocol: TCP
            - name: metrics
              containerPort: 29000
              protocol: TCP
          readinessProbe:
            {{- include "tkc.probe" (dict "path" "/readiness" "port" "http" "period" 5 "timeout" 5 "failures" 3) | nindent 12 }}
          livenessProbe:
            {{- include "tkc.probe" (dict "path" "/liveness" "port" "http" "period" 20 "timeout" 10 "failures" 6) | nindent 12 }}
          lifecycle:
            preStop:
              exec:
                command: [sleep, "5"]
          resources:
            {{- include "tkc.resources" .spec.resources.router | nindent 12 }}
          securityContext:
            {{- include "tkc.container.securityContext" . | nindent 12 }}
          terminationMessagePolicy: FallbackToLogsOnError
          volumeMounts:
            - name: tmp
              mountPath: /tmp
      volumes:
        - name: tmp
          emptyDir: {}
{{- end -}}

{{- /* What the routers' account may do. */ -}}
{{- define "model-endpoint.router.rules" -}}
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch]
{{- end -}}
