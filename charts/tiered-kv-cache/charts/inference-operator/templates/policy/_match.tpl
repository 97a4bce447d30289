{{- /* Which Pods the policies are for. Context everywhere: root. */ -}}

{{- /* Nothing but the creation of Pods with the operator's labels in the namespaces that the release lists. */ -}}
{{- define "inference-operator.policy.constraints" -}}
matchPolicy: Equivalent
namespaceSelector:
  {{- include "inference-operator.patch.namespaceSelector" . | nindent 2 }}
objectSelector:
  {{- include "inference-operator.patch.objectSelector" . | nindent 2 }}
resourceRules:
  {{- include "inference-operator.patch.rules" . | nindent 2 }}
{{- end -}}
