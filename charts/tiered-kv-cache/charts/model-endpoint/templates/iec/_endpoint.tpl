{{- /* A model as AWS's Inference Operator takes it. What it makes of it, docs/hyperpod.md tells. Context everywhere: model context. */ -}}

{{- define "model-endpoint.iec.endpoint" -}}
{{- $own := .spec.hyperpod -}}
apiVersion: {{ include "tkc.operator.api" .root }}
kind: InferenceEndpointConfig
metadata:
  # Also the name of the operator's Deployment, and label "app" of its Pods.
  name: {{ include "tkc.model.name" . }}
  namespace: {{ .root.Release.Namespace | quote }}
  # Those of Pods: whether the operator hands them on is not known, and a new version of the chart must not restart the engines.
  labels:
    {{- include "tkc.labels.pod" (dict "root" .root "component" "endpoint" "model" .name) | nindent 4 }}
    {{- range $key, $value := $own.labels }}
    {{ $key | quote }}: {{ include "tkc.scalar" $value | quote }}
    {{- end }}
spec:
  modelName: {{ .name | quote }}
  {{- with $own.modelVersion }}
  modelVersion: {{ . | quote }}
  {{- end }}
  {{- with $own.endpointName }}
  endpointName: {{ . | quote }}
  {{- end }}
  {{- with include "model-endpoint.iec.replicas" . }}
  replicas: {{ . }}
  {{- end }}
  {{- with include "model-endpoint.iec.nodes" . | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  invocationEndpoint: {{ $own.invocationEndpoint | quote }}
  maxDeployTimeInSeconds: {{ include "model-endpoint.iec.maxDeployTime" . }}
  modelSourceConfig:
    {{- include "model-endpoint.iec.source" . | trim | nindent 4 }}
  kvCacheSpec:
    {{- include "model-endpoint.iec.cache" . | trim | nindent 4 }}
  {{- if $own.intelligentRouting }}
  intelligentRoutingSpec:
    enabled: true
    routingStrategy: {{ .spec.routing.strategy }}
  {{- end }}
  worker:
    {{- include "model-endpoint.iec.worker" . | nindent 4 }}
  {{- with include "model-endpoint.iec.pod" . | trim }}
  kubernetes:
    {{- . | nindent 4 }}
  {{- end }}
  {{- include "model-endpoint.iec.traffic" . | trim | nindent 2 }}
  {{- if .spec.autoscaling.enabled }}
  autoScalingSpec:
    {{- include "model-endpoint.iec.scaling" . | nindent 4 }}
  {{- end }}
  {{- with include "model-endpoint.iec.newer" (dict "model" . "section" "") | trim }}
  {{- . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- /* As for a Deployment; where the operator's resource is not served, there is none to look at. */ -}}
{{- define "model-endpoint.iec.replicas" -}}
{{- if or (not .spec.autoscaling.enabled) (include "tkc.operator.served" .root) -}}
{{- include "model-endpoint.autoscaling.replicas" (dict "model" . "apiVersion" (include "tkc.operator.api" .root) "kind" "InferenceEndpointConfig" "name" (include "tkc.model.name" .)) -}}
{{- end -}}
{{- end -}}

{{- /* Of the three ways to choose nodes one, since they exclude each other. */ -}}
{{- define "model-endpoint.iec.nodes" -}}
{{- $types := include "model-endpoint.engine.instanceTypes" . | fromJsonArray -}}
{{- if gt (len $types) 1 }}
# In order of preference.
instanceTypes:
{{- range $types }}
  - {{ . | quote }}
{{- end }}
{{- else if $types }}
instanceType: {{ first $types | quote }}
{{- else }}
{{- with index .spec.affinity "nodeAffinity" }}
nodeAffinity: {{ include "tkc.withoutNulls" . | fromJson | dig "value" dict | toJson }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* Seconds after which the operator gives a deployment up; the default is AWS's, or longer where a start may take longer. */ -}}
{{- define "model-endpoint.iec.maxDeployTime" -}}
{{- index .spec.hyperpod "maxDeployTimeInSeconds" | default (max 3600 (include "model-endpoint.engine.progressDeadlineSeconds" . | int64)) | int64 -}}
{{- end -}}

{{- /* With L2 on the operator starts LMCache with AWS's own tier, which the L2 patch then replaces. */ -}}
{{- define "model-endpoint.iec.cache" -}}
enableL1Cache: {{ .l1 }}
enableL2Cache: {{ .l2 }}
{{- if .l2 }}
l2CacheSpec:
  l2CacheBackend: tieredstorage
{{- end }}
{{- with include "model-endpoint.iec.newer" (dict "model" . "section" "kvCacheSpec") | trim }}
{{ . }}
{{- end }}
{{- end -}}
