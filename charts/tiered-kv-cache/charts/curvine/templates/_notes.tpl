{{- /* What an installer should know of the pool. Context: root. */ -}}
{{- define "curvine.notes" -}}
{{- $values := .tkc.values.curvine -}}
{{- $masters := int64 $values.masters.replicas -}}
Pool {{ include "curvine.key" . }}: {{ $masters }} {{ ternary "master" "masters" (eq $masters 1) }}, {{ include "tkc.scalar" $values.workers.disk.size }} of {{ $values.workers.disk.path }} on each node, parts for {{ include "curvine.tenants" . | fromJsonArray | join ", " }}.
  Is it mounted everywhere?  kubectl get pods -n {{ .Release.Namespace }} -l app.kubernetes.io/component=curvine-client,app.kubernetes.io/instance={{ .tkc.instance }} -o wide
  Releases in other namespaces join it with:
    l2: {volume: {type: curvine}}
    curvine: {pool: {release: {{ include "tkc.prefix" . }}, namespace: {{ .Release.Namespace }}, masters: {{ $masters }}}}
  helm uninstall keeps the masters' claims and the blocks on the disks: the next install finds them.
{{- end -}}
