{{- /* Why a Pod is refused, in CEL: the first fault, in the order and the words of hooks/tiered_kv_cache/patch; empty if there is none.
       What follows a fault is not evaluated: it may rest on what is missing. Context everywhere: names in a patched Pod. */ -}}

{{- define "inference-operator.cel.missingKey" -}}
'the parameter object has no key ' + variables.ns + '.{{ . }}. Fix: upgrade the release that renders it, and give this namespace to it'
{{- end -}}

{{- define "inference-operator.cel.fault" -}}
variables.models == '' ? {{ include "inference-operator.cel.missingKey" "models" }}
  : variables.claim == '' ? {{ include "inference-operator.cel.missingKey" "claim" }}
  : variables.mountPath == '' ? {{ include "inference-operator.cel.missingKey" "mountPath" }}
  : variables.workerAt < 0 ? 'no container is named \'' + variables.app + '\' as label app says; there are: '
      + variables.containers.map(c, c.name).join(', ')
      + '. Fix: this version of the operator is not known to the patch: take one that is, or take the model out of the release'
  : variables.rootFault != '' ? variables.rootFault
  : variables.serverFault != '' ? variables.serverFault
  : variables.volumeFault != '' ? variables.volumeFault
  : variables.mountFault != '' ? variables.mountFault
  : variables.multi ? variables.argsFault
  : variables.envFault
{{- end -}}

{{- define "inference-operator.cel.rootKey" -}}
variables.ns + '.' + variables.app + '.root'
{{- end -}}

{{- define "inference-operator.cel.rootFault" -}}
{{- $image := include "inference-operator.cel.ofModel" "image" -}}
variables.linked ? ''
  : variables.basePath == '' ? 'the Pod has no init container {{ .rootContainer }}, and the parameter object no key ' + variables.rootKey
      + '. Fix: let this chart render the InferenceEndpointConfig, or give the model\'s root and image to the release'
  : !variables.basePath.startsWith(variables.mountPath + '/') || variables.basePath == variables.mountPath + '/' || variables.basePath.contains('..')
    ? variables.rootKey + ' \'' + variables.basePath + '\' is not below the mount path ' + variables.mountPath
      + '. Fix: give a path below it, without \'..\''
  : variables.worker.?image.orValue('') != {{ $image }}
    ? 'container ' + variables.app + ' runs image \'' + variables.worker.?image.orValue('') + '\', and ' + variables.rootKey + ' is for image \''
      + {{ $image }} + '\'. Fix: give the root of this image to the release: another engine\'s blocks would not fit'
  : ''
{{- end -}}

{{- define "inference-operator.cel.listFix" -}}
. Fix: start it by a list in a container of its own: command: [lmcache, server]
{{- end -}}

{{- /* A token in which a shell would start the server: the patch could not tell its arguments. */ -}}
{{- define "inference-operator.cel.shellLines" -}}
{{- $line := "words.exists(word, word.matches(r'(^|[^A-Za-z0-9_.-])lmcache[ \\t\\n\\r]+server($|[^A-Za-z0-9_.-])'))" -}}
variables.tokens.transformList(i, words, {{ $line }}, variables.containers[i].name)
+ variables.initTokens.transformList(i, words, {{ $line }}, variables.inits[i].name)
{{- end -}}

{{- define "inference-operator.cel.initServers" -}}
variables.initTokens.transformList(i, words, {{ include "inference-operator.cel.isServer" "words" }}, variables.inits[i].name)
{{- end -}}

{{- define "inference-operator.cel.serverFault" -}}
variables.shellLines != [] ? 'container ' + variables.shellLines[0] + ' starts lmcache server in a shell line{{ include "inference-operator.cel.listFix" . }}'
  : variables.initServers != [] ? 'init container ' + variables.initServers[0] + ' runs lmcache server{{ include "inference-operator.cel.listFix" . }}'
  : size(variables.servers) > 1 ? 'containers ' + variables.servers.map(i, variables.containers[i].name).join(', ')
      + ' all run lmcache server. Fix: leave one of them'
  : !variables.multi && variables.connects ? 'container ' + variables.app
      + ' has LMCacheMPConnector, and no container runs lmcache server{{ include "inference-operator.cel.listFix" . }}'
  : ''
{{- end -}}

{{- define "inference-operator.cel.volume" -}}
variables.volumes.filter(v, v.name == '{{ .claimVolume }}')[?0].orValue({})
{{- end -}}

{{- define "inference-operator.cel.volumeFault" -}}
{{- $claim := "variables.volume.?persistentVolumeClaim" -}}
variables.needsRun && !variables.volumes.exists(v, v.name == '{{ .runVolume }}')
    ? 'the Pod has init container ' + (variables.linked ? '{{ .rootContainer }}' : '{{ .codeContainer }}') + ' and no volume {{ .runVolume }}'
      + '. Fix: let this chart render the InferenceEndpointConfig, which has both'
  : variables.volume != {} && ({{ $claim }}.claimName.orValue('') != variables.claim || {{ $claim }}.readOnly.orValue(false))
    ? 'volume {{ .claimVolume }} is ' + ({{ $claim }}.hasValue()
        ? 'claim ' + {{ $claim }}.claimName.orValue('') + ({{ $claim }}.readOnly.orValue(false) ? ' (read-only)' : '')
        : variables.volume.filter(key, key != 'name').join(', ')) + ', not claim ' + variables.claim
      + '. Fix: rename that volume, or give this claim to it'
  : ''
{{- end -}}

{{- /* Mounts that stand in the way of one of ours, as texts. Context: dict volume, path, readOnly (whether ours is), all in CEL. */ -}}
{{- define "inference-operator.cel.mountFaults" -}}
variables.targetMounts.map(m,
    m.name != {{ .volume }} && m.mountPath in [{{ .path }}, {{ .path }} + '/']
      ? 'container ' + variables.target.name + ' has volume ' + m.name + ' at ' + m.mountPath + ', where ' + {{ .volume }}
        + ' belongs. Fix: mount that volume somewhere else'
    : m.name == {{ .volume }} && (m.?subPath.orValue('') != '' || m.?subPathExpr.orValue('') != ''{{ if not .readOnly }} || m.?readOnly.orValue(false){{ end }})
      ? 'container ' + variables.target.name + ' mounts ' + m.name + ' at ' + m.mountPath + ' with a subPath or read-only'
        + '. Fix: take that mount out: the patch mounts ' + m.name + ' itself'
    : '').filter(text, text != '')
{{- end -}}

{{- define "inference-operator.cel.mountFault" -}}
({{ include "inference-operator.cel.mountFaults" (dict "volume" (squote .claimVolume) "path" "variables.mountPath" "readOnly" false) }}
+ (!variables.needsRun ? [] : {{ include "inference-operator.cel.mountFaults" (dict "volume" (squote .runVolume) "path" (squote .runPath) "readOnly" true) }})
)[?0].orValue('')
{{- end -}}

{{- define "inference-operator.cel.podNameFault" -}}
variables.targetEnv.exists(e, e.name == 'POD_NAME' && e.?valueFrom.fieldRef.fieldPath.orValue('') != 'metadata.name')
  ? 'container ' + variables.target.name + ' has POD_NAME, and not from the Pod\'s own name (fieldRef metadata.name)'
    + '. Fix: take it out of the worker\'s environment variables, or give it another name'
  : ''
{{- end -}}

{{- /* Context: dict name (of the variable), of (container's name, in CEL). */ -}}
{{- define "inference-operator.cel.fromElsewhere" -}}
'container ' + {{ .of }} + ' takes {{ .name }} from elsewhere (valueFrom). Fix: give {{ .name }} as a plain value'
{{- end -}}

{{- define "inference-operator.cel.envFault" -}}
variables.workerEnv.exists(e, e.name == 'LMCACHE_CONFIG_FILE') && {{ include "inference-operator.cel.ofModel" "configFile" }} == 'wins'
    ? 'container ' + variables.app + ' has LMCACHE_CONFIG_FILE, and this engine\'s LMCache is so old that the file beats the environment'
      + '. Fix: take a newer LMCache, or LMCACHE_CONFIG_FILE out'
  : has(variables.extraEntry.valueFrom) ? {{ include "inference-operator.cel.fromElsewhere" (dict "name" "LMCACHE_EXTRA_CONFIG" "of" "variables.app") }}
  : variables.extraFault != '' ? 'LMCACHE_EXTRA_CONFIG of container ' + variables.app + ' ' + variables.extraFault
      + '. Fix: mend it, or take it out of the worker\'s environment'
  : variables.podNameFault
{{- end -}}

{{- define "inference-operator.cel.argsFault" -}}
variables.argsName == 'args' && variables.target.?command.orValue([]).exists(word, {{ include "inference-operator.cel.isAdapter" . }})
    ? 'container ' + variables.target.name + ' has --l2-adapter in command beside args. Fix: leave --l2-adapter out: the patch sets it'
  : variables.guarded && has(variables.pythonPathEntry.valueFrom)
    ? {{ include "inference-operator.cel.fromElsewhere" (dict "name" "PYTHONPATH" "of" "variables.target.name") }}
  : variables.podNameFault
{{- end -}}
