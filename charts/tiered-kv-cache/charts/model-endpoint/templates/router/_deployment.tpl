{{- /* vllm-router in front of the engine Pods of one model. Context: model context. */ -}}
{{- define "model-endpoint.router.deployment" -}}
{{- $labels := dict "root" .root "component" "router" "model" .name -}}
{{- $image := .root.tkc.values.router.image -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "tkc.model.routerName" . }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "tkc.labels" $labels | nindent 4 }}
spec:
  replicas: {{ int64 .spec.routing.replicas }}
  # A router is Ready once an engine is, so it may wait as long as the engines do.
  progressDeadlineSeconds: {{ add (int64 .spec.probes.startup.budget) 300 }}
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
      {{- with include "tkc.tolerations" .spec.tolerations }}{{ . | nindent 6 }}{{ end }}
      containers:
        - name: router
          image: {{ include "tkc.image" $image | quote }}
          imagePullPolicy: {{ $image.pullPolicy }}
          args:
            {{- include "model-endpoint.router.args" . | nindent 12 }}
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

{{- /* Command line of vllm-router. Engines are found by the labels of this release and model. Context: model context. */ -}}
{{- define "model-endpoint.router.args" -}}
{{- $policies := dict "roundrobin" "round_robin" -}}
- --host
- 0.0.0.0
- --port
- "8000"
- --policy
- {{ get $policies .spec.routing.strategy }}
- --service-discovery
# Without a namespace it would watch the whole cluster.
- --service-discovery-namespace
- {{ .root.Release.Namespace | quote }}
- --service-discovery-port
- "8000"
- --prometheus-host
- 0.0.0.0
- --prometheus-port
- "29000"
- --worker-startup-timeout-secs
- {{ int64 .spec.probes.startup.budget | quote }}
- --health-check-interval-secs
- "5"
- --health-failure-threshold
- "3"
- --health-success-threshold
- "1"
- --request-timeout-secs
- "1800"
- --log-level
- info
# Takes all that follows, so it stays last.
- --selector
{{- range $key, $value := include "tkc.labels.selector" (dict "root" .root "component" "engine" "model" .name) | fromYaml }}
- {{ printf "%s=%s" $key $value | quote }}
{{- end }}
{{- end -}}
