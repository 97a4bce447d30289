{{- /* The CEL variables of the policies, in the order in which they may use one another: each is a template inference-operator.cel.<name>.
       One is evaluated when it is first asked for. Context: root. */ -}}

{{- define "inference-operator.policy.variables" -}}
{{- $names := list
      "ns" "app" "models" "listed" "claim" "mountPath" "hashSeed"
      "containers" "inits" "volumes" "workerAt" "worker" "workerEnv" "tokens" "initTokens" "servers" "multi" "connects"
      "targetAt" "target" "targetEnv" "targetMounts" "linked" "basePath" "guarded" "needsRun" "argsName" "args"
      "extraEntry" "extra" "extraOurs" "extraFault" "pythonPathEntry" "pythonPath"
      "rootKey" "rootFault" "shellLines" "initServers" "serverFault" "volume" "volumeFault" "mountFault" "podNameFault" "envFault" "argsFault" "fault"
      "newExtra" "newPythonPath" "url" "ours" "newTargetEnv" "newWorkerEnv" "adapterParams" "adapter" "newArgs" "newMounts" "newVolumes" -}}
{{- $context := include "inference-operator.patch.inPod" . | fromJson -}}
{{- /* The parameter object itself, and not a reference to it (paramKind): an API server of 1.36.3 that has seen the last policy with
       ConfigMaps as parameters go never finds a ConfigMap again, and refuses all Pods after the next install. */}}
- name: data
  expression: {{ include "tkc.yamlText" (include "inference-operator.patch.parameters" . | fromJson | toRawJson) }}
{{- range $names }}
- name: {{ . }}
  expression: |-
    {{- include (printf "inference-operator.cel.%s" .) $context | trim | nindent 4 }}
{{- end }}
{{- end -}}
