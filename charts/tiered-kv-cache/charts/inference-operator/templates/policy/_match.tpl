{{- /* Which Pods the policies are for. Context everywhere: root. */ -}}

{{- /* Nothing but the creation of Pods with the operator's label in the namespaces that the release lists. */ -}}
{{- define "inference-operator.policy.constraints" -}}
matchPolicy: Equivalent
namespaceSelector:
  {{- include "inference-operator.patch.namespaceSelector" . | nindent 2 }}
objectSelector:
  {{- include "inference-operator.patch.objectSelector" . | nindent 2 }}
resourceRules:
  - apiGroups: [""]
    apiVersions: [v1]
    operations: [CREATE]
    resources: [pods]
    scope: Namespaced
{{- end -}}

{{- define "inference-operator.policy.conditions" -}}
- name: worker-of-a-listed-model
  # A namespace without the key is refused with a message, not passed over.
  expression: |-
    'app' in object.metadata.labels
      && (params.?data[?request.namespace + '.models'].orValue('') in ['', '*']
        || object.metadata.labels['app'] in params.?data[?request.namespace + '.models'].orValue('').split(','))
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
