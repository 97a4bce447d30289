{{- /* What refuses a Pod that could not be patched, and what warns. Both see the Pod as the mutating policy left it: patched, or with its
       fault. Context everywhere: root. */ -}}

{{- /* Whether LMCache will find L2 where it is to, whoever came after the patch. */ -}}
{{- define "inference-operator.policy.patched" -}}
object.metadata.?annotations[?'{{ include "inference-operator.patch.annotation" . }}'].orValue('') == 'v1'
  && size(variables.newVolumes) == size(variables.volumes)
  && size(variables.newMounts) == size(variables.targetMounts)
  && (variables.multi ? variables.adapter in variables.args
    : variables.targetEnv.filter(e, e.name == 'LMCACHE_REMOTE_URL').map(e, e.?value.orValue('')) == [variables.url])
{{- end -}}

{{- /* PYTHONHASHSEED of a container, if it is another one than the release's: a list of one text. Context: container, in CEL. */ -}}
{{- define "inference-operator.policy.otherSeed" -}}
{{ . }}.?env.orValue([]).filter(e, e.name == 'PYTHONHASHSEED').reverse()[?0].optMap(e,
    variables.hashSeed == '' || has(e.valueFrom) || e.?value.orValue('') == variables.hashSeed ? []
      : ['container ' + {{ . }}.name + ' has PYTHONHASHSEED \'' + e.?value.orValue('').replace('\n', ' ') + '\', the release \'' + variables.hashSeed
        + '\': it is kept, and blocks of Pods with the other one are not found']).orValue([])
{{- end -}}

{{- define "inference-operator.policy.otherSeeds" -}}
variables.workerAt < 0 ? [] : {{ include "inference-operator.policy.otherSeed" "variables.worker" }}
+ (variables.multi ? {{ include "inference-operator.policy.otherSeed" "variables.target" }} : [])
{{- end -}}

{{- /* A policy and its binding. Context: dict root, name, action, extra (further variables), validations (YAML lists). */ -}}
{{- define "inference-operator.policy.validatingPair" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {{ .name }}
  labels:
    {{- include "inference-operator.patch.labels" .root | nindent 4 }}
spec:
  failurePolicy: Fail
  matchConstraints:
    {{- include "inference-operator.policy.constraints" .root | nindent 4 }}
  variables:
    {{- include "inference-operator.policy.variables" .root | trim | nindent 4 }}
    {{- with .extra }}{{ . | nindent 4 }}{{ end }}
  validations:
    {{- .validations | nindent 4 }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}
  labels:
    {{- include "inference-operator.patch.labels" .root | nindent 4 }}
spec:
  policyName: {{ .name }}
  validationActions: [{{ .action }}]
{{- end -}}

{{- define "inference-operator.policy.prefix" -}}tiered-kv-cache L2 patch: {{ end -}}

{{- define "inference-operator.policy.refusals" -}}
- expression: "!variables.listed || variables.fault == ''"
  message: '{{ include "inference-operator.policy.prefix" . }}the Pod cannot be patched'
  messageExpression: '''{{ include "inference-operator.policy.prefix" . }}'' + variables.fault'
- expression: |-
    !variables.listed || variables.fault != '' || (
    {{- include "inference-operator.policy.patched" . | nindent 4 }})
  message: >-
    {{ include "inference-operator.policy.prefix" . }}the Pod has no L2. Fix: upgrade the release, so that MutatingAdmissionPolicy
    {{ include "inference-operator.patch.clusterName" . }} and its binding are there, and look what else changes Pods on this cluster
{{- end -}}

{{- define "inference-operator.policy.warnings" -}}
- expression: "!variables.listed || variables.otherSeeds == []"
  message: "{{ include "inference-operator.policy.prefix" . }}PYTHONHASHSEED is another one than the release's"
  messageExpression: '''{{ include "inference-operator.policy.prefix" . }}'' + variables.otherSeeds.join(''; '')'
{{- end -}}

{{- define "inference-operator.policy.validating" -}}
{{- include "inference-operator.policy.validatingPair" (dict "root" . "name" (include "inference-operator.patch.clusterName" .) "action" "Deny"
      "validations" (include "inference-operator.policy.refusals" .)) }}
---
{{ include "inference-operator.policy.validatingPair" (dict "root" . "name" (include "inference-operator.patch.warningName" .) "action" "Warn"
      "extra" (printf "- name: otherSeeds\n  expression: |-\n%s" (include "inference-operator.policy.otherSeeds" . | indent 4))
      "validations" (include "inference-operator.policy.warnings" .)) }}
{{- end -}}
