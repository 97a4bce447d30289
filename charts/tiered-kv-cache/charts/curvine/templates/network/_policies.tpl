{{- /* Who may reach the pool's servers, which ask nobody who he is. Probes come from the node and are always let through. Context: root. */ -}}

{{- /* Pods of a component, of whichever release and namespace. Context: component. */ -}}
{{- define "curvine.network.anywhere" -}}
- namespaceSelector: {}
  podSelector:
    matchLabels:
      app.kubernetes.io/name: tiered-kv-cache
      app.kubernetes.io/component: {{ . }}
{{- end -}}

{{- /* Context: dict root, component, name, rules (text: YAML list of ingress rules). */ -}}
{{- define "curvine.network.policy" -}}
{{- $labels := dict "root" .root "component" .component -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    {{- include "tkc.labels" $labels | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "tkc.labels.selector" $labels | nindent 6 }}
  policyTypes: [Ingress]
  ingress:
    {{- .rules | nindent 4 }}
{{- end -}}

{{- /* Peers of this release's own pool. Context: dict root, components. YAML list. */ -}}
{{- define "curvine.network.own" -}}
{{- range .components }}
{{ include "model-endpoint.network.peer" (dict "root" $.root "component" .) }}
{{- end }}
{{- end -}}

{{- /* Components and behind them those that mount the pool. Context: dict root, components, masters (whether those that only ask
       the masters are meant as well). JSON list. */ -}}
{{- define "curvine.network.with" -}}
{{- $all := .components -}}
{{- range include "curvine.clients" .root | fromJsonArray -}}
{{-   if or $.masters (ne . "csi-controller") -}}{{- $all = append $all (printf "curvine-%s" .) -}}{{- end -}}
{{- end -}}
{{- toJson $all -}}
{{- end -}}

{{- define "curvine.network.masters" -}}
{{- $ports := include "curvine.ports" . | fromJson -}}
{{- $asking := include "curvine.network.with" (dict "root" . "components" (list "curvine-masters" "curvine-workers") "masters" true) | fromJsonArray -}}
- from:
    {{- include "curvine.network.own" (dict "root" . "components" $asking) | trim | nindent 4 }}
  ports: [{port: {{ $ports.rpc }}, protocol: TCP}]
- from:
    {{- include "curvine.network.own" (dict "root" . "components" (list "curvine-masters")) | trim | nindent 4 }}
  ports: [{port: {{ $ports.raft }}, protocol: TCP}]
# Its page of metrics can take a worker out of service as well: keepers, and who was named.
- from:
    {{- include "curvine.network.anywhere" "keeper" | nindent 4 }}
    {{- with include "model-endpoint.network.metricsFrom" . }}{{ . | nindent 4 }}{{ end }}
  ports: [{port: {{ $ports.masterMetrics }}, protocol: TCP}]
{{- end -}}

{{- define "curvine.network.workers" -}}
{{- $ports := include "curvine.ports" . | fromJson -}}
{{- $asking := include "curvine.network.with" (dict "root" . "components" (list "curvine-workers") "masters" false) | fromJsonArray -}}
- from:
    {{- include "curvine.network.own" (dict "root" . "components" $asking) | trim | nindent 4 }}
  ports: [{port: {{ $ports.worker }}, protocol: TCP}]
{{- with include "model-endpoint.network.metricsFrom" . }}
- from:
    {{- . | nindent 4 }}
  ports: [{port: {{ $ports.workerMetrics }}, protocol: TCP}]
{{- end }}
{{- end -}}

{{- define "curvine.network.client" -}}
{{- $ports := include "curvine.ports" . | fromJson -}}
{{- with include "model-endpoint.network.metricsFrom" . }}
- from:
    {{- . | nindent 4 }}
  ports: [{port: {{ $ports.clientMetrics }}, protocol: TCP}, {port: {{ $ports.watch }}, protocol: TCP}]
{{- end }}
{{- end -}}

{{- define "curvine.network.csi-node" -}}{{ include "curvine.network.client" . }}{{- end -}}

{{- /* Nobody calls it. */ -}}
{{- define "curvine.network.csi-controller" -}}{{- end -}}
