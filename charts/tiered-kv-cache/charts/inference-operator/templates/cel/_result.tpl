{{- /* What the Pod becomes, in CEL: each list that the patch owns a part of is built anew, with the others' entries as they were.
       Context everywhere: names in a patched Pod. */ -}}

{{- define "inference-operator.cel.podName" -}}
{'name': dyn('POD_NAME'), 'valueFrom': dyn({'fieldRef': {'apiVersion': 'v1', 'fieldPath': 'metadata.name'}})}
{{- end -}}

{{- /* PYTHONHASHSEED where there is none. Context: the environment, in CEL. */ -}}
{{- define "inference-operator.cel.seed" -}}
(variables.hashSeed == '' || {{ . }}.exists(e, e.name == 'PYTHONHASHSEED') ? []
  : [{'name': dyn('PYTHONHASHSEED'), 'value': dyn(variables.hashSeed)}])
{{- end -}}

{{- define "inference-operator.cel.entry" -}}
{'name': dyn('{{ .name }}'), 'value': dyn({{ .value }})}
{{- end -}}

{{- define "inference-operator.cel.pythonPathEntry" -}}
{{ include "inference-operator.cel.lastOf" (dict "env" "variables.targetEnv" "name" "PYTHONPATH") }}.orValue({})
{{- end -}}

{{- define "inference-operator.cel.pythonPath" -}}
variables.pythonPathEntry.?value.orValue('')
{{- end -}}

{{- define "inference-operator.cel.newPythonPath" -}}
variables.pythonPath == '{{ .code }}' || variables.pythonPath.startsWith('{{ .code }}:') ? variables.pythonPath
  : '{{ .code }}' + (variables.pythonPath == '' ? '' : ':') + variables.pythonPath
{{- end -}}

{{- define "inference-operator.cel.url" -}}
'fs://localhost:0' + variables.basePath + '/'
{{- end -}}

{{- /* Variables that the patch owns in the container that LMCache runs in. */ -}}
{{- define "inference-operator.cel.ours" -}}
!variables.multi ? [
    {{ include "inference-operator.cel.entry" (dict "name" "LMCACHE_REMOTE_URL" "value" "variables.url") }},
    {{ include "inference-operator.cel.entry" (dict "name" "LMCACHE_REMOTE_SERDE" "value" "'naive'") }},
    {{ include "inference-operator.cel.entry" (dict "name" "LMCACHE_EXTRA_CONFIG" "value" "variables.newExtra") }}]
  : variables.guarded ? [{{ include "inference-operator.cel.entry" (dict "name" "PYTHONPATH" "value" "variables.newPythonPath") }}]
  : []
{{- end -}}

{{- define "inference-operator.cel.newTargetEnv" -}}
[{{ include "inference-operator.cel.podName" . }}]
+ variables.targetEnv.filter(e, e.name != 'POD_NAME' && !variables.ours.exists(own, own.name == e.name))
+ {{ include "inference-operator.cel.seed" "variables.targetEnv" }}
+ variables.ours
{{- end -}}

{{- /* In multi-process mode the worker gets nothing else. */ -}}
{{- define "inference-operator.cel.newWorkerEnv" -}}
variables.workerEnv + {{ include "inference-operator.cel.seed" "variables.workerEnv" }}
{{- end -}}

{{- /* Members of adapter_params that the release gives, with a comma before them. */ -}}
{{- define "inference-operator.cel.adapterParams" -}}
{{ include "inference-operator.cel.ofNamespace" "adapterParams" }}.find(r'^\s*\{\s*[^\s}]') == '' ? ''
  : ',' + {{ include "inference-operator.cel.ofNamespace" "adapterParams" }}.trim().substring(1, size({{ include "inference-operator.cel.ofNamespace" "adapterParams" }}.trim()) - 1).trim()
{{- end -}}

{{- define "inference-operator.cel.adapter" -}}
variables.guarded
  ? '{"type":"plugin","module_path":"tiered_kv_cache.l2.adapter","class_name":"FilesystemL2Adapter","adapter_params":{"base_path":"'
    + variables.basePath + '","pod":"$(POD_NAME)"' + variables.adapterParams + '}}'
  : '{"type":"fs","base_path":"' + variables.basePath + '","relative_tmp_dir":"{{ .tmpDir }}"}'
{{- end -}}

{{- define "inference-operator.cel.isAdapter" -}}
(word == '--l2-adapter' || word.startsWith('--l2-adapter='))
{{- end -}}

{{- define "inference-operator.cel.newArgs" -}}
variables.args.transformList(i, word,
    !{{ include "inference-operator.cel.isAdapter" . }} && (i == 0 || variables.args[i - 1] != '--l2-adapter'), word)
+ (variables.tokens[variables.targetAt].exists(word, word == '--l2-prefetch-policy' || word.startsWith('--l2-prefetch-policy=')) ? []
  : ['--l2-prefetch-policy', 'retain'])
+ ['--l2-adapter', variables.adapter]
{{- end -}}

{{- /* A mount, if it is not there. Context: dict volume, path, options (entries of a map), all in CEL. */ -}}
{{- define "inference-operator.cel.mount" -}}
(variables.targetMounts.exists(m, m.name == {{ .volume }} && m.mountPath in [{{ .path }}, {{ .path }} + '/']) ? []
  : {{ .mount }})
{{- end -}}

{{- define "inference-operator.cel.newMounts" -}}
{{- $propagation := include "inference-operator.cel.ofNamespace" "propagation" -}}
{{- $claim := printf "{'name': '%s', 'mountPath': variables.mountPath}" .claimVolume -}}
{{- $propagated := printf "{'name': '%s', 'mountPath': variables.mountPath, 'mountPropagation': %s}" .claimVolume $propagation -}}
variables.targetMounts
+ {{ include "inference-operator.cel.mount" (dict "volume" (squote .claimVolume) "path" "variables.mountPath" "mount" (printf "%s == '' ? [%s]\n    : [%s]" $propagation $claim $propagated)) }}
+ (!variables.needsRun ? [] : {{ include "inference-operator.cel.mount" (dict "volume" (squote .runVolume) "path" (squote .runPath)
     "mount" (printf "[{'name': dyn('%s'), 'mountPath': dyn('%s'), 'readOnly': dyn(true)}]" .runVolume .runPath)) }})
{{- end -}}

{{- define "inference-operator.cel.newVolumes" -}}
variables.volumes + (variables.volumes.exists(v, v.name == '{{ .claimVolume }}') ? []
  : [{'name': dyn('{{ .claimVolume }}'), 'persistentVolumeClaim': dyn({'claimName': variables.claim})}])
{{- end -}}
