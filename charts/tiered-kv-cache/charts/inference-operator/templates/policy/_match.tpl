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

{{- define "inference-operator.policy.conditions" -}}
- name: worker-of-a-listed-model
  # A namespace without the key is refused with a message, not passed over.
  expression: |-
    params.?data[?request.namespace + '.models'].orValue('') in ['', '*']
      || object.metadata.labels['app'] in params.?data[?request.namespace + '.models'].orValue('').split(',')
{{- end -}}

{{- /* How a binding finds the parameter object. Without it no labelled Pod is created: nobody could say whether it is to be patched. */ -}}
{{- define "inference-operator.policy.paramRef" -}}
name: {{ include "inference-operator.patch.name" . }}
namespace: {{ .Release.Namespace | quote }}
parameterNotFoundAction: Deny
{{- end -}}

{{- define "inference-operator.policy.paramKind" -}}
apiVersion: v1
kind: ConfigMap
{{- end -}}
