{{- /* Where the weights come from, and what is made ready before the engine starts. Context everywhere: model context.

       In the Pod: the weights at "path", the same in all Pods of a model. A fetched model lies in the model store, in a folder
       whose name only fetch knows (the listing of a bucket), so that "path" is a link which fetch makes. */ -}}

{{- /* Where the weights lie inside the container. vLLM's model path is part of LMCache's key. */ -}}
{{- define "model-endpoint.engine.modelPath" -}}
{{- if .root.tkc.hyperpod }}{{ include "model-endpoint.iec.modelPath" . }}
{{- else }}{{ with .spec.source.imagePath }}{{ .path }}{{ else }}/models/{{ .name }}{{ end }}{{ end -}}
{{- end -}}

{{- /* "true" if an init container of the chart downloads the weights. */ -}}
{{- define "model-endpoint.engine.fetched" -}}
{{- $source := ternary dict .spec.source .root.tkc.hyperpod -}}
{{- if or $source.huggingFace (and $source.s3 (ne (index $source.s3 "mode" | default "download") "mountpoint")) }}true{{ end -}}
{{- end -}}

{{- /* "true" if the weights are a mounted bucket. */ -}}
{{- define "model-endpoint.engine.mountpoint" -}}
{{- if not .root.tkc.hyperpod }}{{ with .spec.source.s3 }}{{ if eq (index . "mode" | default "download") "mountpoint" }}true{{ end }}{{ end }}{{ end -}}
{{- end -}}

{{- /* Seconds that a Pod may spend before its engine starts, beside the pulling of images. */ -}}
{{- define "model-endpoint.engine.sourceSeconds" -}}
{{- $seconds := ternary (include "model-endpoint.engine.weightsSeconds" . | int64) 0 .l2 -}}
{{- if include "model-endpoint.engine.fetched" . -}}{{- $seconds = add $seconds (int64 .root.tkc.values.modelStore.deadlineSeconds) -}}{{- end -}}
{{- $seconds -}}
{{- end -}}

{{- /* Seconds for reading the weights' identity. */ -}}
{{- define "model-endpoint.engine.weightsSeconds" -}}
{{- ternary 3600 900 (eq (include "model-endpoint.engine.identityMode" .) "full") -}}
{{- end -}}

{{- define "model-endpoint.engine.identityMode" -}}
{{- .spec.source.identity | default "sampled" -}}
{{- end -}}

{{- /* Directory that LMCache reads and writes blocks in: a link that l2-root makes once it knows the fingerprint. */ -}}
{{- define "model-endpoint.engine.l2BasePath" -}}/run/tkc/l2{{- end -}}

{{- /* Mounts of the container that LMCache runs in. YAML list, or nothing. */ -}}
{{- define "model-endpoint.engine.l2Mounts" -}}
{{- if .l2 -}}
{{ include "tkc.l2.mount" (dict "root" .root "own" true) }}
- name: run
  mountPath: /run/tkc
  readOnly: true
{{- end -}}
{{- end -}}

{{- /* Mounts with which a container finds the weights. YAML list, or nothing. */ -}}
{{- define "model-endpoint.engine.sourceMounts" -}}
{{- if include "model-endpoint.engine.fetched" . -}}
- name: models
  mountPath: /models
  readOnly: true
- name: model-store
  mountPath: /model-store
  readOnly: true
{{- else if include "model-endpoint.engine.mountpoint" . -}}
- name: model
  mountPath: {{ .path | quote }}
  readOnly: true
{{- else -}}
{{- with .spec.source.claim -}}
- name: model
  mountPath: {{ $.path | quote }}
  readOnly: true
{{- with .subPath }}
  subPath: {{ . | quote }}
{{- end }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Volumes of weights and L2. YAML list, or nothing. */ -}}
{{- define "model-endpoint.engine.sourceVolumes" -}}
{{- if .l2 }}
- name: l2
  persistentVolumeClaim:
    claimName: {{ include "tkc.l2.claimName" .root | quote }}
{{- end }}
{{- if or .l2 (and .lmcache .spec.source.imagePath) }}
- name: run
  emptyDir: {}
{{- end }}
{{- if include "model-endpoint.engine.fetched" . }}
- name: models
  emptyDir: {}
- name: model-store
{{- if eq .root.tkc.values.modelStore.type "emptyDir" }}
  emptyDir:
    sizeLimit: {{ include "tkc.scalar" .root.tkc.values.modelStore.size | quote }}
{{- else }}
  persistentVolumeClaim:
    claimName: {{ include "tkc.modelStore.claimName" .root | quote }}
{{- end }}
{{- else if include "model-endpoint.engine.mountpoint" . }}
- name: model
  persistentVolumeClaim:
    claimName: {{ include "tkc.model.bucketClaim" . | quote }}
    readOnly: true
{{- else }}
{{- with .spec.source.claim }}
- name: model
  persistentVolumeClaim:
    claimName: {{ .name | quote }}
    readOnly: true
{{- end }}
{{- end }}
{{- end -}}

{{- /* YAML list, or nothing. */ -}}
{{- define "model-endpoint.engine.initContainers" -}}
{{- if include "model-endpoint.engine.fetched" . }}
- {{- include "model-endpoint.engine.fetchContainer" . | nindent 2 }}
{{- end }}
{{- if and .lmcache (or .guarded .spec.source.imagePath) }}
- {{- include "model-endpoint.engine.copyCodeContainer" . | nindent 2 }}
{{- end }}
{{- if .lmcache }}
- {{- include "model-endpoint.engine.l2RootContainer" . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* Init container: makes the L2 root and the Pod's temporary directory in it, and refuses a root that another
       configuration has written to, and a model whose layers LMCache cannot tell apart. Without L2 only the latter. */ -}}
{{- define "model-endpoint.engine.l2RootContainer" -}}
{{- $hooks := .root.tkc.values.hooks -}}
name: {{ ternary "l2-root" "check-model" .l2 }}
{{- if .spec.source.imagePath }}
# Weights inside the engine's image can only be read there.
image: {{ include "tkc.image" .spec.engine.image | quote }}
imagePullPolicy: {{ .spec.engine.image.pullPolicy }}
command: [python3, -m, tiered_kv_cache]
{{- else }}
image: {{ include "tkc.image" $hooks.image | quote }}
imagePullPolicy: {{ $hooks.image.pullPolicy }}
{{- end }}
args:
  {{- include "model-endpoint.engine.l2RootArgs" . | trim | nindent 2 }}
env:
  {{- include "model-endpoint.engine.l2RootEnv" . | trim | nindent 2 }}
resources:
  {{- include "tkc.resources" $hooks.resources | nindent 2 }}
securityContext:
  {{- include "tkc.container.securityContext" . | nindent 2 }}
# Its message is shown by helm test, so it must reach the Pod's status.
terminationMessagePolicy: FallbackToLogsOnError
volumeMounts:
{{- if .l2 }}
  {{- include "tkc.l2.mount" (dict "root" .root) | nindent 2 }}
{{- end }}
{{- if or .l2 .spec.source.imagePath }}
  - name: run
    mountPath: /run/tkc
{{- end }}
  - name: tmp
    mountPath: /tmp
{{- with include "model-endpoint.engine.sourceMounts" . }}
  {{- . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* What it is told. YAML list of texts. */ -}}
{{- define "model-endpoint.engine.l2RootArgs" -}}
{{- if .l2 }}
- l2-root
- --parent
- {{ .l2Parent | quote }}
- --pod
- $(POD_NAME)
- --link
- {{ include "model-endpoint.engine.l2BasePath" . }}
- --identity
- {{ include "model-endpoint.engine.identityMode" . }}
- --weights-deadline
- {{ include "model-endpoint.engine.weightsSeconds" . | quote }}
- --max-model-len
- {{ int64 .spec.engine.maxModelLen | quote }}
{{- if and .guarded (include "curvine.onNodes" .root) }}
# A pool that is away must not keep an engine from starting: the adapter waits for it as well.
- --pool-wait
- "60"
{{- end }}
{{- else }}
- check-model
{{- end }}
- --model
- {{ .name | quote }}
- --weights
- {{ .path | quote }}
{{- if .spec.engine.acknowledge.hybridKvCache }}
- --allow-hybrid
{{- end }}
{{- end -}}

{{- /* YAML list. */ -}}
{{- define "model-endpoint.engine.l2RootEnv" -}}
{{ include "model-endpoint.engine.podName" . }}
{{- if .spec.source.imagePath }}
- name: PYTHONPATH
  value: /run/tkc/code
- name: PYTHONDONTWRITEBYTECODE
  value: "1"
{{- end }}
{{- if .l2 }}
- name: TKC_L2_CONFIG
  # The kubelet would replace a $(NAME) of a user's argument, and the text would no longer be what was hashed.
  value: {{ include "tkc.yamlText" (.l2Config | replace "$(" "$$(") }}
{{- end }}
{{- end -}}

{{- /* Init container: puts the hooks' code where the engine's image can run it. */ -}}
{{- define "model-endpoint.engine.copyCodeContainer" -}}
{{- $hooks := .root.tkc.values.hooks -}}
name: copy-code
image: {{ include "tkc.image" $hooks.image | quote }}
imagePullPolicy: {{ $hooks.image.pullPolicy }}
args: [copy-code, --to, /run/tkc/code]
resources:
  {{- include "tkc.resources" $hooks.resources | nindent 2 }}
securityContext:
  {{- include "tkc.container.securityContext" . | nindent 2 }}
terminationMessagePolicy: FallbackToLogsOnError
volumeMounts:
  - name: run
    mountPath: /run/tkc
  - name: tmp
    mountPath: /tmp
{{- end -}}
