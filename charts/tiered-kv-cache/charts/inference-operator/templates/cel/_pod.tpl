{{- /* What a Pod is, in CEL: its parameters, containers, and where LMCache runs. Context everywhere: names in a patched Pod
       (inference-operator.patch.inPod), as a dict, unless said otherwise. */ -}}

{{- /* A key of the parameter object; empty if it is not there. Context: key behind the namespace. */ -}}
{{- define "inference-operator.cel.ofNamespace" -}}
variables.data[?variables.ns + '.{{ . }}'].orValue('')
{{- end -}}

{{- define "inference-operator.cel.ofModel" -}}
variables.data[?variables.ns + '.' + variables.app + '.{{ . }}'].orValue('')
{{- end -}}

{{- define "inference-operator.cel.ns" -}}
request.namespace
{{- end -}}

{{- define "inference-operator.cel.app" -}}
object.metadata.labels['app']
{{- end -}}

{{- /* Whether the Pod is a worker of a model that is patched. A namespace without the key is refused with a message, not passed over. */ -}}
{{- define "inference-operator.cel.listed" -}}
variables.models in ['', '*'] || variables.app in variables.models.split(',')
{{- end -}}

{{- define "inference-operator.cel.models" -}}
{{ include "inference-operator.cel.ofNamespace" "models" }}
{{- end -}}

{{- define "inference-operator.cel.claim" -}}
{{ include "inference-operator.cel.ofNamespace" "claim" }}
{{- end -}}

{{- define "inference-operator.cel.mountPath" -}}
{{ include "inference-operator.cel.ofNamespace" "mountPath" }}
{{- end -}}

{{- define "inference-operator.cel.hashSeed" -}}
{{ include "inference-operator.cel.ofModel" "hashSeed" }} != ''
  ? {{ include "inference-operator.cel.ofModel" "hashSeed" }}
  : {{ include "inference-operator.cel.ofNamespace" "hashSeed" }}
{{- end -}}

{{- define "inference-operator.cel.containers" -}}
object.spec.containers
{{- end -}}

{{- define "inference-operator.cel.inits" -}}
object.spec.?initContainers.orValue([])
{{- end -}}

{{- define "inference-operator.cel.volumes" -}}
object.spec.?volumes.orValue([])
{{- end -}}

{{- define "inference-operator.cel.workerAt" -}}
variables.containers.map(c, c.name).indexOf(variables.app)
{{- end -}}

{{- define "inference-operator.cel.worker" -}}
variables.containers[variables.workerAt]
{{- end -}}

{{- define "inference-operator.cel.workerEnv" -}}
variables.worker.?env.orValue([])
{{- end -}}

{{- /* Command followed by args, of each container. */ -}}
{{- define "inference-operator.cel.tokens" -}}
variables.containers.map(c, c.?command.orValue([]) + c.?args.orValue([]))
{{- end -}}

{{- define "inference-operator.cel.initTokens" -}}
variables.inits.map(c, c.?command.orValue([]) + c.?args.orValue([]))
{{- end -}}

{{- /* Whether tokens start LMCache's server. Context: the list of tokens, in CEL. */ -}}
{{- define "inference-operator.cel.isServer" -}}
{{ . }}.exists(k, word, (word == 'lmcache' || word.endsWith('/lmcache')) && k + 1 < size({{ . }}) && {{ . }}[k + 1] == 'server')
{{- end -}}

{{- /* Indices of the containers beside the worker that do. */ -}}
{{- define "inference-operator.cel.servers" -}}
variables.tokens.transformList(i, words, i != variables.workerAt && {{ include "inference-operator.cel.isServer" "words" }}, i)
{{- end -}}

{{- define "inference-operator.cel.multi" -}}
size(variables.servers) > 0
{{- end -}}

{{- /* Whether vLLM was told of a server. */ -}}
{{- define "inference-operator.cel.connects" -}}
(variables.tokens[variables.workerAt] + variables.workerEnv.map(e, e.?value.orValue(''))).exists(text, text.contains('LMCacheMPConnector'))
{{- end -}}

{{- /* The container that LMCache runs in. */ -}}
{{- define "inference-operator.cel.targetAt" -}}
variables.multi ? variables.servers[0] : variables.workerAt
{{- end -}}

{{- define "inference-operator.cel.target" -}}
variables.containers[variables.targetAt]
{{- end -}}

{{- define "inference-operator.cel.targetEnv" -}}
variables.target.?env.orValue([])
{{- end -}}

{{- define "inference-operator.cel.targetMounts" -}}
variables.target.?volumeMounts.orValue([])
{{- end -}}

{{- /* Whether the Pod finds its root by itself, behind a link. */ -}}
{{- define "inference-operator.cel.linked" -}}
variables.inits.exists(c, c.name == '{{ .rootContainer }}')
{{- end -}}

{{- define "inference-operator.cel.basePath" -}}
variables.linked ? '{{ .link }}' : {{ include "inference-operator.cel.ofModel" "root" }}
{{- end -}}

{{- define "inference-operator.cel.guarded" -}}
variables.multi && {{ include "inference-operator.cel.ofNamespace" "adapter" }} == 'guarded'
  && variables.inits.exists(c, c.name == '{{ .codeContainer }}')
{{- end -}}

{{- /* Whether LMCache needs what the init containers made. */ -}}
{{- define "inference-operator.cel.needsRun" -}}
variables.linked || variables.guarded
{{- end -}}

{{- /* The list that the server's arguments stand in, and its field. */ -}}
{{- define "inference-operator.cel.argsName" -}}
variables.target.?args.orValue([]) != [] ? 'args' : 'command'
{{- end -}}

{{- define "inference-operator.cel.args" -}}
variables.argsName == 'args' ? variables.target.args : variables.target.command
{{- end -}}

{{- /* Values of a variable in the environment, in their order; "from elsewhere" for one that has valueFrom. The last entry counts, as for
       the kubelet. Context: dict env (in CEL), name. */ -}}
{{- define "inference-operator.cel.lastOf" -}}
{{ .env }}.filter(e, e.name == '{{ .name }}').reverse()[?0]
{{- end -}}
