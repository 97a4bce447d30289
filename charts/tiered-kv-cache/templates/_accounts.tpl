{{- /* A ServiceAccount with a Role of its own in the release's namespace. Its token is mounted only where a Pod asks for it.
       Context: dict root, name, component, rules (text of the Role's rules, a YAML list),
       annotations (optional text, "annotations:" and what is below it). */ -}}
{{- define "tkc.account" -}}
{{- $labels := dict "root" .root "component" .component -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    {{- include "tkc.labels" $labels | nindent 4 }}
  {{- with .annotations }}{{ . | nindent 2 }}{{ end }}
automountServiceAccountToken: false
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    {{- include "tkc.labels" $labels | nindent 4 }}
  {{- with .annotations }}{{ . | nindent 2 }}{{ end }}
rules:
  {{- .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    {{- include "tkc.labels" $labels | nindent 4 }}
  {{- with .annotations }}{{ . | nindent 2 }}{{ end }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ .name }}
    namespace: {{ .root.Release.Namespace | quote }}
{{- end -}}
