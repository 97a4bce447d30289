{{- /* What helm prints. */ -}}

{{- /* Where a model's blocks lie, and who guards them. Context: model context. */ -}}
{{- define "tkc.notes.l2" -}}
{{- if not .l2 }}off
{{- else if eq .spec.cache.l2.adapter "custom" }}LMCache's adapter {{ .spec.cache.l2.adapterConfig.type }} (cache.l2.adapterConfig)
  WARNING: the adapter is not this bundle's: no checksums and no deadlines, the keeper does not clean its store, and its keys
  name neither weights nor types. Models that share a store must be the same in all of engine and source
{{- else }}{{ .l2Parent }} ({{ ternary "guarded" "LMCache's fs adapter: no checksums, no deadlines" .guarded }}){{ end -}}
{{- end -}}

{{- /* Bounds of a model on GPUs, and which of them are the chart's for tests. Context: model context. */ -}}
{{- define "tkc.notes.limits" -}}
{{- if eq .spec.engine.device "cuda" }}
  limits: {{ int64 .spec.engine.maxModelLen }} tokens a request (engine.maxModelLen), {{ int64 .spec.engine.maxNumSeqs }} requests at a time (engine.maxNumSeqs)
{{- $small := list }}
{{- if eq (int64 .spec.engine.maxModelLen) 4096 }}{{ $small = append $small "engine.maxModelLen 4096" }}{{ end }}
{{- if and .l1 (eq .l1Bytes (int64 1073741824)) }}{{ $small = append $small "cache.l1.memory 1Gi" }}{{ end }}
{{- with $small }}
  WARNING: {{ join " and " . }}: defaults of the chart for tests on CPUs. On a GPU
  set what your requests need.
{{- end }}
{{- end }}
{{- end -}}

{{- /* What holds the L2 volume within bounds, and what becomes of its blocks. Context: root. */ -}}
{{- define "tkc.notes.volume" -}}
{{- $l2 := .tkc.values.l2 -}}
{{- $lob := .tkc.values.lineOfBusiness -}}
{{- $claim := include "tkc.l2.claimName" . -}}
L2 is claim {{ $claim }}.
{{- if include "tkc.keeper.enabled" . }} The keeper lets {{ $lob }} have {{ include "tkc.keeper.quota" . }} of it ({{ ternary "l2.keeper.quota" "l2.volume.size" (not (empty $l2.keeper.quota)) }}), and evicts above {{ $l2.keeper.highWatermark }} of that:
  kubectl logs -n {{ .Release.Namespace }} deployment/{{ include "tkc.keeper.name" . }}
{{- if $l2.keeper.dryRun }}
  WARNING: l2.keeper.dryRun: it only says what it would remove, and the volume fills.
{{- end }}
{{- else }}
  WARNING: this release has no keeper (l2.keeper.enabled). Another release's must work on the volume, or it fills; unless that
  one names {{ $lob }} (l2.keeper.linesOfBusiness), only age bounds what {{ $lob }} stores.
{{- end }}
{{- if eq $l2.volume.type "hostPath" }}
  It lies in {{ $l2.volume.hostPath.path }} on the nodes. That directory must hold the same content on all of them and be
  writable for user 10001; helm uninstall leaves its content alone.
{{- else if eq $l2.volume.type "existingClaim" }}
  helm uninstall leaves the claim and all blocks on it alone.
{{- else if include "curvine.csi" . }}
  helm uninstall keeps the claim and its blocks, and the next install finds them. To remove both, while the pool runs:
  kubectl delete pvc -n {{ .Release.Namespace }} {{ $claim }}
{{- else }}
  helm uninstall leaves the blocks in pool {{ include "curvine.key" . }}, and the next install finds them.
{{- end }}
{{- if not (include "curvine.csi" .) }}
  To remove the blocks of {{ $lob }}: delete v1/{{ $lob }} on the volume, once no Pod uses it.
{{- end }}
{{- end -}}

{{- /* What is other than on plain Kubernetes for all endpoints. Context: root, with endpoints. */ -}}
{{- define "tkc.notes.operator" -}}
{{- if include "tkc.l2.used" . }}
{{- if not .tkc.values.inferenceOperator.l2Patch.enabled }}
WARNING: inferenceOperator.l2Patch.enabled is false. The endpoints' Pods do not get past init container tkc-l2-root
until the L2 patch of another release names namespace {{ .Release.Namespace }}.
{{- else if include "tkc.patchCheck.enabled" . }}
That the operator's Pods get L2 (mechanism {{ include "inference-operator.patch.mechanism" . }}):
  kubectl logs -n {{ .Release.Namespace }} job/{{ include "tkc.patchCheck.name" . }}
  helm test {{ .Release.Name }} -n {{ .Release.Namespace }} --logs
{{- else }}
WARNING: hooks.patchCheck.enabled is false: nothing has proven that the operator's Pods get L2.
{{- end }}
{{- end }}
The Pods, their router and load balancer are the operator's:
  - a rolling update starts the new Pod first: without a free GPU it waits for ever;
  - no NetworkPolicy, disruption budget or PodMonitor of this chart covers them.
{{- if include "curvine.own" . }}
Before helm uninstall remove the endpoints, since the pool waits for their Pods: helm upgrade with defaults.enabled: false.
{{- end }}
{{- end -}}

{{- /* What helm prints of an endpoint that the Inference Operator runs. The port of its Services is not documented, so that the
       load balancer's URL is told. Context: model context. */ -}}
{{- define "tkc.notes.endpoint" -}}
{{- $name := include "tkc.model.name" . -}}
{{- $namespace := .root.Release.Namespace -}}
{{- $own := .spec.hyperpod -}}
{{- $host := "$HOST" -}}
{{- with index $own.tlsConfig.customCertificateConfig "domainName" -}}{{- $host = . -}}{{- end -}}
Model {{ .servedName }} (HyperPod endpoint {{ $name }}, {{ if .spec.autoscaling.enabled }}{{ int64 .spec.autoscaling.minReplicas }} to {{ int64 .spec.autoscaling.maxReplicas }}{{ else }}{{ int64 .spec.replicas }}{{ end }} Pods, {{ if $own.intelligentRouting }}{{ .spec.routing.strategy }}{{ else }}load balancer only{{ end }})
  tiers:  L0 {{ ternary "on" "off" .l0 }}, L1 {{ ternary "on" "off" .l1 }}, L2 {{ include "tkc.notes.l2" . }}
  state:
    kubectl get inferenceendpointconfig -n {{ $namespace }} {{ $name }} -o jsonpath='{.status.state}'
  its load balancer (internal; of the operator's Ingress):
{{- if eq $host "$HOST" }}
    HOST=$(kubectl get ingress -A --field-selector metadata.name=alb-{{ $name }}-{{ $namespace }} -o jsonpath='{.items[0].status.loadBalancer.ingress[0].hostname}')
    # k: the certificate is the operator's own; hyperpod.tlsConfig.customCertificateConfig names one of yours.
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
{{- include "tkc.notes.limits" . }}
{{- end -}}
