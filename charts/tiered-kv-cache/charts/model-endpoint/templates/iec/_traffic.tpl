{{- /* How requests come in, and what is measured and recorded of them. Context everywhere: model context. */ -}}

{{- define "model-endpoint.iec.traffic" -}}
{{- $own := .spec.hyperpod -}}
metrics:
  enabled: {{ $own.metrics.enabled }}
  {{- with index $own.metrics "scrapeIntervalSeconds" }}
  metricsScrapeIntervalSeconds: {{ int64 . }}
  {{- end }}
  # vLLM's own, on the port of its requests.
  modelMetrics:
    path: /metrics
    port: 8000
loadBalancer:
  healthCheckPath: {{ $own.loadBalancer.healthCheckPath | quote }}
  {{- with index $own.loadBalancer "routingAlgorithm" }}
  routingAlgorithm: {{ . }}
  {{- end }}
  {{- with include "model-endpoint.iec.newer" (dict "model" . "section" "loadBalancer") | trim }}
  {{- . | nindent 2 }}
  {{- end }}
{{- $certificate := $own.tlsConfig.customCertificateConfig }}
{{- $output := $own.tlsConfig.tlsCertificateOutputS3Uri }}
{{- if or $output (index $certificate "acmArn") }}
tlsConfig:
  {{- with $output }}
  tlsCertificateOutputS3Uri: {{ . | quote }}
  {{- end }}
  {{- if index $certificate "acmArn" }}
  customCertificateConfig:
    acmArn: {{ $certificate.acmArn | quote }}
    domainName: {{ $certificate.domainName | quote }}
  {{- end }}
{{- end }}
{{- with index $own.dnsConfig "hostedZoneId" }}
dnsConfig:
  hostedZoneId: {{ . | quote }}
{{- end }}
{{- with $own.tags }}
tags:
{{- range $name, $value := . }}
  - name: {{ $name | quote }}
    value: {{ include "tkc.scalar" $value | quote }}
{{- end }}
{{- end }}
{{- with include "model-endpoint.iec.dataCapture" . | fromJson }}
dataCapture: {{ toJson . }}
{{- end }}
{{- end -}}

{{- /* JSON object. */ -}}
{{- define "model-endpoint.iec.dataCapture" -}}
{{- $given := include "tkc.withoutNulls" .spec.hyperpod.dataCapture | fromJson | dig "value" dict -}}
{{- $capture := dict -}}
{{- with index $given "s3Uri" -}}{{- $_ := set $capture "s3Uri" . -}}{{- end -}}
{{- with index $given "loadBalancer" -}}{{- $_ := set $capture "loadBalancer" . -}}{{- end -}}
{{- range $tier := list "sagemakerEndpoint" "modelPod" -}}
{{-   with index $given $tier -}}
{{-     $one := omit . "captureModes" "csvContentTypes" "jsonContentTypes" "maxPayloadSizeKB" "batchSize" "flushIntervalSeconds" -}}
{{-     $options := list -}}
{{-     range index . "captureModes" -}}{{- $options = append $options (dict "captureMode" .) -}}{{- end -}}
{{-     with $options -}}{{- $_ := set $one "captureOptions" . -}}{{- end -}}
{{-     with pick . "csvContentTypes" "jsonContentTypes" -}}{{- $_ := set $one "captureContentTypeHeader" . -}}{{- end -}}
{{-     with pick . "maxPayloadSizeKB" -}}{{- $_ := set $one "payloadConfig" . -}}{{- end -}}
{{-     with pick . "batchSize" "flushIntervalSeconds" -}}{{- $_ := set $one "bufferConfig" . -}}{{- end -}}
{{-     $_ := set $capture $tier $one -}}
{{-   end -}}
{{- end -}}
{{- toJson $capture -}}
{{- end -}}
