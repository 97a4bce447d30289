{{- /* The server and how it is reached. It talks to nobody: parameters and certificate are files. Context everywhere: root. */ -}}

{{- define "inference-operator.webhook.parametersDirectory" -}}/etc/tiered-kv-cache/l2-patch{{- end -}}
{{- define "inference-operator.webhook.certificateDirectory" -}}/etc/tiered-kv-cache/tls{{- end -}}

{{- /* Of probes and metrics. */ -}}
{{- define "inference-operator.webhook.healthPort" -}}8080{{- end -}}

{{- /* What it is told. YAML list of texts. */ -}}
{{- define "inference-operator.webhook.args" -}}
- l2-patch
- serve
- --parameters={{ include "inference-operator.webhook.parametersDirectory" . }}
- --certificate={{ include "inference-operator.webhook.certificateDirectory" . }}
- --port={{ int64 .tkc.values.inferenceOperator.l2Patch.webhook.port }}
- --health-port={{ include "inference-operator.webhook.healthPort" . }}
{{- end -}}

{{- /* Where it and its Jobs run. */ -}}
{{- define "inference-operator.webhook.nodes" -}}
{{- $webhook := .tkc.values.inferenceOperator.l2Patch.webhook -}}
{{- with $webhook.nodeSelector }}
nodeSelector:
{{- range $label, $value := . }}
  {{ $label | quote }}: {{ include "tkc.scalar" $value | quote }}
{{- end }}
{{- end }}
{{ include "tkc.tolerations" $webhook.tolerations }}
{{- end -}}

{{- define "inference-operator.webhook.deployment" -}}
{{- $webhook := .tkc.values.inferenceOperator.l2Patch.webhook -}}
{{- $image := .tkc.values.hooks.image -}}
{{- $labels := dict "root" . "component" "l2-patch" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "inference-operator.webhook.name" . }}
  namespace: {{ .Release.Namespace | quote }}
  labels:
    {{- include "inference-operator.patch.labels" . | nindent 4 }}
spec:
  replicas: {{ int64 $webhook.replicas }}
  revisionHistoryLimit: 3
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxSurge: 1
      # While it is away no endpoint's Pod can be created.
      maxUnavailable: 0
  selector:
    matchLabels:
      {{- include "tkc.labels.selector" $labels | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "tkc.labels.pod" $labels | nindent 8 }}
      annotations:
        # New parameters are in force as soon as the upgrade is done, not when the kubelet next looks at the ConfigMap.
        {{ include "tkc.domain" . }}/parameters: {{ include "inference-operator.patch.revision" . | quote }}
    spec:
      serviceAccountName: {{ include "inference-operator.webhook.name" . }}
      automountServiceAccountToken: false
      terminationGracePeriodSeconds: 30
      {{- include "tkc.pod.common" . | nindent 6 }}
      {{- with include "inference-operator.webhook.nodes" . | trim }}{{ . | nindent 6 }}{{ end }}
      {{- include "tkc.pod.spread" $labels | nindent 6 }}
      affinity:
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
            {{- range $index, $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
            - weight: {{ sub 100 (mul 50 $index) }}
              podAffinityTerm:
                topologyKey: {{ $key }}
                labelSelector:
                  matchLabels:
                    {{- include "tkc.labels.selector" $labels | nindent 20 }}
            {{- end }}
      containers:
        - name: l2-patch
          image: {{ include "tkc.image" $image | quote }}
          imagePullPolicy: {{ $image.pullPolicy }}
          args:
            {{- include "inference-operator.webhook.args" . | nindent 12 }}
          ports:
            - name: https
              containerPort: {{ int64 $webhook.port }}
              protocol: TCP
            - name: health
              containerPort: {{ include "inference-operator.webhook.healthPort" . }}
              protocol: TCP
          readinessProbe:
            {{- include "tkc.probe" (dict "path" "/readyz" "port" "health" "period" 5 "timeout" 5 "failures" 2) | nindent 12 }}
          livenessProbe:
            {{- include "tkc.probe" (dict "path" "/healthz" "port" "health" "period" 20 "timeout" 10 "failures" 6) | nindent 12 }}
          resources:
            {{- include "tkc.resources" $webhook.resources | nindent 12 }}
          securityContext:
            {{- include "tkc.container.securityContext" . | nindent 12 }}
          terminationMessagePolicy: FallbackToLogsOnError
          volumeMounts:
            - name: parameters
              mountPath: {{ include "inference-operator.webhook.parametersDirectory" . }}
              readOnly: true
            - name: certificate
              mountPath: {{ include "inference-operator.webhook.certificateDirectory" . }}
              readOnly: true
            - name: tmp
              mountPath: /tmp
      volumes:
        - name: parameters
          configMap:
            name: {{ include "inference-operator.patch.name" . }}
        - name: certificate
          secret:
            secretName: {{ include "inference-operator.webhook.name" . }}
            # Not the authority's key.
            items:
              - key: tls.crt
                path: tls.crt
              - key: tls.key
                path: tls.key
        - name: tmp
          emptyDir: {}
{{- end -}}

{{- define "inference-operator.webhook.service" -}}
{{- $labels := dict "root" . "component" "l2-patch" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "inference-operator.webhook.name" . }}
  namespace: {{ .Release.Namespace | quote }}
  labels:
    {{- include "inference-operator.patch.labels" . | nindent 4 }}
automountServiceAccountToken: false
---
apiVersion: v1
kind: Service
metadata:
  name: {{ include "inference-operator.webhook.name" . }}
  namespace: {{ .Release.Namespace | quote }}
  labels:
    {{- include "inference-operator.patch.labels" . | nindent 4 }}
spec:
  type: ClusterIP
  selector:
    {{- include "tkc.labels.selector" $labels | nindent 4 }}
  ports:
    - name: https
      port: 443
      targetPort: https
      protocol: TCP
{{- end -}}

{{- /* Who may call it: the API server, which has no labels and on managed clusters no address that anybody knows. What it is asked and what
       it answers is no secret, and nothing follows from an answer that the API server did not ask for. It calls nobody. */ -}}
{{- define "inference-operator.webhook.networkPolicy" -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "inference-operator.webhook.name" . }}
  namespace: {{ .Release.Namespace | quote }}
  labels:
    {{- include "inference-operator.patch.labels" . | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "tkc.labels.selector" (dict "root" . "component" "l2-patch") | nindent 6 }}
  policyTypes: [Ingress, Egress]
  ingress:
    - ports:
        - port: https
          protocol: TCP
    {{- with .tkc.values.networkPolicy.metricsFrom }}
    - from:
        {{- include "model-endpoint.network.metricsFrom" $ | nindent 8 }}
      ports:
        - port: health
          protocol: TCP
    {{- end }}
  egress: []
{{- end -}}
