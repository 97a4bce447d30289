{{- /* Nobody calls a hook's Pods. Context: dict root, name, component. */ -}}
{{- define "tkc.network.nobody" -}}
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
  ingress: []
{{- end -}}
