{{- /* A budget for what a drain of nodes may take away at once. Only where there are several Pods: for a single one it would
       either do nothing or block every drain. Context: dict root, name, labels, maxUnavailable. */ -}}
{{- define "tkc.pdb" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    {{- include "tkc.labels" .labels | nindent 4 }}
spec:
  maxUnavailable: {{ int64 .maxUnavailable }}
  # A Pod that does not serve anyway must not hold up a drain.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "tkc.labels.selector" .labels | nindent 6 }}
{{- end -}}
