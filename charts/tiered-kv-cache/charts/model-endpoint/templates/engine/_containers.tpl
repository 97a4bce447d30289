{{- /* The containers of an engine Pod. Context everywhere: model context. */ -}}

{{- /* YAML list. */ -}}
{{- define "model-endpoint.engine.containers" -}}
- {{- include "model-endpoint.engine.vllmContainer" . | nindent 2 }}
{{- if and .lmcache (eq .mode "multiProcess") }}
- {{- include "model-endpoint.engine.lmcacheContainer" . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "model-endpoint.engine.lmcacheContainer" -}}
name: lmcache
image: {{ include "tkc.image" .spec.engine.image | quote }}
imagePullPolicy: {{ .spec.engine.image.pullPolicy }}
command: [lmcache, server]
args:
  {{- include "model-endpoint.engine.lmcacheArgs" . | nindent 2 }}
env:
  {{- include "model-endpoint.engine.commonEnv" . | nindent 2 }}
{{- if eq .spec.engine.device "cuda" }}
  # Images for GPUs ask for all of the node, and a runtime may give them to a container that has none of its own.
  - name: NVIDIA_VISIBLE_DEVICES
    value: void
  - name: CUDA_VISIBLE_DEVICES
    value: ""
{{- end }}
{{- if .guarded }}
  # The L2 adapter, which copy-code has put there.
  - name: PYTHONPATH
    value: /run/tkc/code
{{- end }}
ports:
  - name: lmcache-http
    containerPort: 8180
    protocol: TCP
{{ include "model-endpoint.engine.lmcacheProbes" . }}
{{ include "model-endpoint.engine.lmcacheLifecycle" . }}
resources:
  {{- include "tkc.resources" .spec.resources.lmcache | nindent 2 }}
securityContext:
  {{- include "tkc.container.securityContext" . | nindent 2 }}
terminationMessagePolicy: FallbackToLogsOnError
volumeMounts:
  - name: shm
    mountPath: /dev/shm
  - name: tmp-lmcache
    mountPath: /tmp
{{- with include "model-endpoint.engine.l2Mounts" . }}
  {{- . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "model-endpoint.engine.vllmContainer" -}}
name: vllm
image: {{ include "tkc.image" .spec.engine.image | quote }}
imagePullPolicy: {{ .spec.engine.image.pullPolicy }}
{{- if and .lmcache (eq .mode "inProcess") }}
command:
  - sh
  - -c
  # What an earlier run of this container left there would be counted again.
  - rm -rf "$PROMETHEUS_MULTIPROC_DIR" && mkdir -p "$PROMETHEUS_MULTIPROC_DIR" && exec vllm serve "$@"
  - vllm
{{- else }}
command: [vllm, serve]
{{- end }}
args:
  {{- include "model-endpoint.engine.vllmArgs" . | nindent 2 }}
env:
  {{- include "model-endpoint.engine.vllmEnv" . | nindent 2 }}
ports:
  - name: http
    containerPort: 8000
    protocol: TCP
{{- with include "model-endpoint.engine.kvEventsPorts" . }}
  {{- . | nindent 2 }}
{{- end }}
{{ include "model-endpoint.engine.vllmProbes" . }}
{{ include "model-endpoint.engine.vllmLifecycle" . }}
resources:
  {{- include "model-endpoint.engine.resources" . | nindent 2 }}
securityContext:
  {{- include "tkc.container.securityContext" . | nindent 2 }}
terminationMessagePolicy: FallbackToLogsOnError
volumeMounts:
  - name: shm
    mountPath: /dev/shm
  - name: tmp
    mountPath: /tmp
{{- if eq .mode "inProcess" }}
{{- with include "model-endpoint.engine.l2Mounts" . }}
  {{- . | nindent 2 }}
{{- end }}
{{- end }}
{{- with include "model-endpoint.engine.middlewareVolumeMounts" . }}
  {{- . | nindent 2 }}
{{- end }}
{{- with include "model-endpoint.engine.sourceMounts" . }}
  {{- . | nindent 2 }}
{{- end }}
{{- end -}}
