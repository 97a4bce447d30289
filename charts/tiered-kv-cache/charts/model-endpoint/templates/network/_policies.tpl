{{- /* Who may reach a model's Pods. Probes come from the node and are always let through. Context: model context. */ -}}

{{- define "model-endpoint.network.peer" -}}
- podSelector:
    matchLabels:
      {{- include "tkc.labels.selector" . | nindent 6 }}
{{- end -}}

{{- /* Extra peers for metrics, as given. Context: root. */ -}}
{{- define "model-endpoint.network.metricsFrom" -}}
{{- include "model-endpoint.network.given" .tkc.values.networkPolicy.metricsFrom -}}
{{- end -}}

{{- /* Context: list of peers, or nothing. */ -}}
{{- define "model-endpoint.network.given" -}}
{{- $peers := list -}}
{{- range . -}}{{- $peers = append $peers (printf "- %s" (toJson .)) -}}{{- end -}}
{{- join "\n" $peers -}}
{{- end -}}

{{- /* Who may send requests, where not everybody may: "from:" and its peers. Of the chart's own Pods: the gateway, and helm test.
       Context: dict root, own (components). */ -}}
{{- define "model-endpoint.network.clients" -}}
{{- $root := .root -}}
{{- $gateway := index $root.tkc.values "gateway" | default dict -}}
{{- $exclusive := and (has "gateway" .own) $gateway.enabled $gateway.exclusive -}}
{{- $clients := $root.tkc.values.networkPolicy.clientsFrom -}}
{{- if or $exclusive $clients -}}
from:
  {{- range $component := .own }}
  {{- if or (ne $component "gateway") $gateway.enabled }}
  {{- include "model-endpoint.network.peer" (dict "root" $root "component" $component) | nindent 2 }}
  {{- end }}
  {{- end }}
  {{- if not $exclusive }}
  {{- include "model-endpoint.network.given" $clients | nindent 2 }}
  {{- end }}
{{- end -}}
{{- end -}}

{{- /* Engines: requests from the model's own router; LMCache's admin port (no authentication) from verify only. */ -}}
{{- define "model-endpoint.network.engine" -}}
{{- $labels := dict "root" .root "component" "engine" "model" .name -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "tkc.model.engineName" . }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    {{- include "tkc.labels" $labels | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "tkc.labels.selector" $labels | nindent 6 }}
  policyTypes: [Ingress]
  ingress:
    - from:
        {{- include "model-endpoint.network.peer" (dict "root" .root "component" "router" "model" .name) | nindent 8 }}
        {{- include "model-endpoint.network.peer" (dict "root" .root "component" "verify") | nindent 8 }}
        {{- with include "model-endpoint.network.metricsFrom" .root }}{{ . | nindent 8 }}{{ end }}
      ports:
        - port: 8000
          protocol: TCP
    {{- if include "model-endpoint.engine.kvEvents" . }}
    # Cache events name tokens of prompts, and the ports have no authentication.
    - from:
        {{- include "model-endpoint.network.peer" (dict "root" .root "component" "router" "model" .name) | nindent 8 }}
      ports:
        - port: {{ include "model-endpoint.engine.kvEventsPort" . }}
          protocol: TCP
        - port: {{ include "model-endpoint.engine.kvReplayPort" . }}
          protocol: TCP
    {{- end }}
    {{- if and .lmcache (eq .mode "multiProcess") }}
    - from:
        {{- include "model-endpoint.network.peer" (dict "root" .root "component" "verify") | nindent 8 }}
        {{- with include "model-endpoint.network.metricsFrom" .root }}{{ . | nindent 8 }}{{ end }}
      ports:
        - port: 8180
          protocol: TCP
    {{- end }}
{{- end -}}

{{- /* Router: open to clients on its HTTP port, its metrics to the given peers only. */ -}}
{{- define "model-endpoint.network.router" -}}
{{- $labels := dict "root" .root "component" "router" "model" .name -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "tkc.model.routerName" . }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    {{- include "tkc.labels" $labels | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "tkc.labels.selector" $labels | nindent 6 }}
  policyTypes: [Ingress]
  ingress:
    - ports:
        - port: 8000
          protocol: TCP
      {{- with include "model-endpoint.network.clients" (dict "root" .root "own" (list "gateway" "verify")) }}
      {{- . | nindent 6 }}
      {{- end }}
    {{- with .root.tkc.values.networkPolicy.metricsFrom }}
    - from:
        {{- with include "model-endpoint.network.metricsFrom" $.root }}{{ . | nindent 8 }}{{ end }}
      ports:
        - port: 29000
          protocol: TCP
    {{- end }}
{{- end -}}
