{{- /* Nobody calls a hook's Pods; they call the API server, whose address and port no chart knows, and verify the engines: where a
       namespace lets nothing out, this does. Context: dict root, name, component, annotations (as of tkc.account). */ -}}
{{- define "tkc.network.nobody" -}}
{{- $labels := dict "root" .root "component" .component -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    {{- include "tkc.labels" $labels | nindent 4 }}
  {{- with .annotations }}{{ . | nindent 2 }}{{ end }}
spec:
  podSelector:
    matchLabels:
      {{- include "tkc.labels.selector" $labels | nindent 6 }}
  policyTypes: [Ingress, Egress]
  ingress: []
  egress:
    - ports:
        - protocol: TCP
        - protocol: UDP
          port: 53
{{- end -}}
