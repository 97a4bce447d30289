{{- /* What helm prints of an endpoint that the Inference Operator runs. The port of its Services is not documented, so that the
       load balancer's URL is told. Context: model context. */ -}}
{{- define "tkc.notes.endpoint" -}}
{{- $name := include "tkc.model.name" . -}}
{{- $namespace := .root.Release.Namespace -}}
{{- $own := .spec.hyperpod -}}
{{- $host := "$HOST" -}}
{{- with index $own.tlsConfig.customCertificateConfig "domainName" -}}{{- $host = . -}}{{- end -}}
Model {{ .servedName }} (HyperPod endpoint {{ $name }}, {{ if .spec.autoscaling.enabled }}{{ int64 .spec.autoscaling.minReplicas }} to {{ int64 .spec.autoscaling.maxReplicas }}{{ else }}{{ int64 .spec.replicas }}{{ end }} Pods, {{ if $own.intelligentRouting }}{{ .spec.routing.strategy }}{{ else }}load balancer only{{ end }})
  tiers:  L0 {{ ternary "on" "off" .l0 }}, L1 {{ ternary "on" "off" .l1 }}, L2 {{ if .l2 }}{{ .l2Parent }}{{ else }}off{{ end }}
  state:
    kubectl get inferenceendpointconfig -n {{ $namespace }} {{ $name }} -o jsonpath='{.status.state}'
  its load balancer (internal; of the operator's Ingress):
{{- if eq $host "$HOST" }}
    HOST=$(kubectl get ingress -A --field-selector metadata.name=alb-{{ $name }}-{{ $namespace }} -o jsonpath='{.items[0].status.loadBalancer.ingress[0].hostname}')
{{- end }}
    curl -s{{ if eq $host "$HOST" }}k{{ end }} https://{{ $host }}/{{ $own.invocationEndpoint }} -H 'Content-Type: application/json' \
      -d '{"model": "{{ .servedName }}", {{ if hasSuffix "chat/completions" $own.invocationEndpoint }}"messages": [{"role": "user", "content": "What is the capital of France?"}]{{ else }}"prompt": "The capital of France is", "max_tokens": 16{{ end }}}'
{{- if $own.intelligentRouting }}
  inside the cluster: Service {{ $name }}-{{ $namespace }}-routing-service in namespace {{ .root.tkc.values.inferenceOperator.namespace }}
{{- else }}
  inside the cluster: Service {{ $name }}-routing-service in namespace {{ $namespace }}
{{- end }}
{{- with $own.endpointName }}
  SageMaker endpoint:
    aws sagemaker-runtime invoke-endpoint --endpoint-name {{ . }} --content-type application/json --body fileb://request.json answer.json
{{- end }}
{{- end -}}
