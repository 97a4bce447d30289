{{- /* The CEL variables of the policies, in the order in which they may use one another: each is a template inference-operator.cel.<name>.
       One is evaluated when it is first asked for. Context: root. */ -}}

{{- define "inference-operator.policy.variables" -}}
{{- $names := list
      "ns" "app" "data" "models" "claim" "mountPath" "hashSeed"
      "containers" "inits" "volumes" "workerAt" "worker" "workerEnv" "tokens" "initTokens" "servers" "multi" "connects"
      "targetAt" "target" "targetEnv" "targetMounts" "linked" "basePath" "guarded" "needsRun" "argsName" "args"
      "extraEntry" "extra" "extraOurs" "extraFault" "pythonPathEntry" "pythonPath"
      "rootKey" "rootFault" "shellLines" "initServers" "serverFault" "volume" "volumeFault" "mountFault" "podNameFault" "envFault" "argsFault" "fault"
      "newExtra" "newPythonPath" "url" "ours" "newTargetEnv" "newWorkerEnv" "adapterParams" "adapter" "newArgs" "newMounts" "newVolumes" -}}
{{- $context := include "inference-operator.patch.inPod" . | fromJson -}}
{{- range $names }}
- name: {{ . }}
  expression: |-
    {{- include (printf "inference-operator.cel.%s" .) $context | trim | nindent 4 }}
{{- end }}
{{- end -}}
