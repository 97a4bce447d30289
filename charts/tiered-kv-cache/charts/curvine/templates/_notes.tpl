{{- /* What an installer should know of the pool. Context: root. */ -}}
{{- define "curvine.notes" -}}
{{- $values := .tkc.values.curvine -}}
{{- $masters := int64 $values.masters.replicas -}}
Pool {{ include "curvine.key" . }}: {{ $masters }} {{ ternary "master" "masters" (eq $masters 1) }}, {{ include "tkc.scalar" $values.workers.disk.size }} of {{ $values.workers.disk.path }} on each node, {{ if include "curvine.csi" . }}by claims of CSIDriver {{ include "curvine.csi.driver" . }}.
  Which Pods use it on which node, and whose mount is dead so that they must restart?
    kubectl get pods -n {{ .Release.Namespace }} -l app.kubernetes.io/component=curvine-csi-node,app.kubernetes.io/instance={{ .tkc.instance }} -o 'custom-columns=NODE:.spec.nodeName,MOUNTS:.metadata.annotations.tiered-kv-cache\.io/pool-mount'
  An upgrade replaces no node plugin: docs/pool.md, "By CSI".
{{- else }}parts for {{ include "curvine.tenants" . | fromJsonArray | join ", " }}.
  Is it mounted everywhere?  kubectl get pods -n {{ .Release.Namespace }} -l app.kubernetes.io/component=curvine-client,app.kubernetes.io/instance={{ .tkc.instance }} -o wide
{{- end }}
  Releases in other namespaces join it with:
    l2: {volume: {type: curvine}}
    curvine: {pool: {release: {{ include "tkc.prefix" . }}, namespace: {{ .Release.Namespace }}, masters: {{ $masters }}}{{ if include "curvine.csi" . }}, client: {mode: csi}{{ end }}}
  helm uninstall keeps the masters' claims{{ if include "curvine.csi" . }}, those of L2{{ end }} and the blocks on the disks: the next install finds them.
{{- end -}}
