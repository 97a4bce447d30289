{{- /* What patches the Pods. A Pod with a fault stays as it is, and the validating policy refuses it with a message: an error here would
       show the whole expression to whoever creates the Pod. Context everywhere: root. */ -}}

{{- define "inference-operator.policy.patch" -}}
{{- $annotation := include "inference-operator.patch.annotation" . -}}
!variables.listed || variables.fault != '' ? [] : [
  JSONPatch{op: 'add', path: '/spec/volumes', value: variables.newVolumes},
  JSONPatch{op: 'add', path: '/spec/containers/' + string(variables.targetAt) + '/volumeMounts', value: variables.newMounts},
  JSONPatch{op: 'add', path: '/spec/containers/' + string(variables.targetAt) + '/env', value: variables.newTargetEnv},
  has(object.metadata.annotations)
    ? JSONPatch{op: 'add', path: '/metadata/annotations/{{ $annotation | replace "/" "~1" }}', value: 'v1'}
    : JSONPatch{op: 'add', path: '/metadata/annotations', value: {'{{ $annotation }}': 'v1'}}
] + (!variables.multi ? [] : [
  JSONPatch{op: 'add', path: '/spec/containers/' + string(variables.targetAt) + '/' + variables.argsName, value: variables.newArgs},
] + (size(variables.newWorkerEnv) == 0 ? [] : [
  JSONPatch{op: 'add', path: '/spec/containers/' + string(variables.workerAt) + '/env', value: variables.newWorkerEnv}
]))
{{- end -}}

{{- define "inference-operator.policy.mutating" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata:
  name: {{ include "inference-operator.patch.clusterName" . }}
  labels:
    {{- include "inference-operator.patch.labels" . | nindent 4 }}
spec:
  failurePolicy: Fail
  reinvocationPolicy: IfNeeded
  matchConstraints:
    {{- include "inference-operator.policy.constraints" . | nindent 4 }}
  variables:
    {{- include "inference-operator.policy.variables" . | trim | nindent 4 }}
  mutations:
    - patchType: JSONPatch
      jsonPatch:
        expression: |-
          {{- include "inference-operator.policy.patch" . | nindent 10 }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata:
  name: {{ include "inference-operator.patch.clusterName" . }}
  labels:
    {{- include "inference-operator.patch.labels" . | nindent 4 }}
spec:
  policyName: {{ include "inference-operator.patch.clusterName" . }}
{{- end -}}
