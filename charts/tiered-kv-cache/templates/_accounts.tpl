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
{{ include "tkc.account.role" . }}
{{- end -}}

{{- /* The Role and its binding. Context: as above, and optionally namespace, which is another one, and roleName, which is then no other
       release's there. */ -}}
{{- define "tkc.account.role" -}}
{{- $labels := dict "root" .root "component" .component -}}
{{- $namespace := index . "namespace" | default .root.Release.Namespace -}}
{{- $role := index . "roleName" | default .name -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ $role }}
  namespace: {{ $namespace | quote }}
  labels:
    {{- include "tkc.labels" $labels | nindent 4 }}
  {{- with .annotations }}{{ . | nindent 2 }}{{ end }}
rules:
  {{- .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $role }}
  namespace: {{ $namespace | quote }}
  labels:
    {{- include "tkc.labels" $labels | nindent 4 }}
  {{- with .annotations }}{{ . | nindent 2 }}{{ end }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ $role }}
subjects:
  - kind: ServiceAccount
    name: {{ .name }}
    namespace: {{ .root.Release.Namespace | quote }}
{{- end -}}

{{- /* Rules for what belongs to no namespace, or to others. Cluster-scoped names hold the namespace as well.
       Context: dict root, name (of the ServiceAccount), component, rules, annotations (as above). */ -}}
{{- define "tkc.account.clusterWide" -}}
{{- $labels := dict "root" .root "component" .component -}}
{{- $wide := include "tkc.staticVolume.name" (dict "root" .root "claim" .name) -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ $wide }}
  labels:
    {{- include "tkc.labels" $labels | nindent 4 }}
  {{- with .annotations }}{{ . | nindent 2 }}{{ end }}
rules:
  {{- .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ $wide }}
  labels:
    {{- include "tkc.labels" $labels | nindent 4 }}
  {{- with .annotations }}{{ . | nindent 2 }}{{ end }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ $wide }}
subjects:
  - kind: ServiceAccount
    name: {{ .name }}
    namespace: {{ .root.Release.Namespace | quote }}
{{- end -}}
