{{- /* The containers of an engine Pod. Context everywhere: model context. */ -}}

{{- /* Init container: makes the L2 root and the Pod's temporary directory in it, and refuses a root that another
       configuration has written to. */ -}}
{{- define "model-endpoint.engine.l2RootContainer" -}}
{{- $hooks := .root.tkc.values.hooks -}}
name: l2-root
image: {{ include "tkc.image" $hooks.image | quote }}
imagePullPolicy: {{ $hooks.image.pullPolicy }}
args: [l2-root, --root, $(L2_ROOT), --pod, $(POD_NAME)]
env:
  {{- include "model-endpoint.engine.podName" . | nindent 2 }}
  - name: L2_ROOT
    value: {{ .l2Root | quote }}
  - name: TKC_L2_CONFIG
    # The kubelet would replace a $(NAME) of a user's argument, and the text would no longer be what was hashed.
    value: {{ include "tkc.yamlText" (.l2Config | replace "$(" "$$(") }}
resources:
  {{- include "tkc.resources" $hooks.resources | nindent 2 }}
securityContext:
  {{- include "tkc.container.securityContext" . | nindent 2 }}
# Its message is shown by helm test, so it must reach the Pod's status.
terminationMessagePolicy: FallbackToLogsOnError
volumeMounts:
  - name: l2
    mountPath: {{ .root.tkc.values.l2.mountPath | quote }}
  - name: tmp
    mountPath: /tmp
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
ports:
  - name: lmcache-http
    containerPort: 8180
    protocol: TCP
startupProbe:
  {{- include "tkc.probe" (dict "path" "/healthcheck" "port" "lmcache-http" "period" 5 "timeout" 5
        "failures" (include "model-endpoint.engine.startupFailures" .)) | nindent 2 }}
readinessProbe:
  {{- include "tkc.probe" (dict "path" "/healthcheck" "port" "lmcache-http" "period" 10 "timeout" 5 "failures" 3) | nindent 2 }}
livenessProbe:
  {{- include "tkc.probe" (dict "path" "/healthcheck" "port" "lmcache-http" "period" 20 "timeout" 10 "failures" 6) | nindent 2 }}
lifecycle:
  preStop:
    exec:
      # When the Pod ends, outlives the engine: requests in flight still use it. When only this container is restarted
      # (a failed liveness probe), the engine has left no mark and nothing waits.
      command:
        - python3
        - -c
        - |
          import pathlib, socket, time
          time.sleep(2)
          while pathlib.Path("/dev/shm/engine-ends").exists() and socket.socket().connect_ex(("127.0.0.1", 8000)) == 0:
              time.sleep(1)
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
{{- if .l2 }}
  - name: l2
    mountPath: {{ .root.tkc.values.l2.mountPath | quote }}
{{- end }}
{{- end -}}

{{- define "model-endpoint.engine.vllmContainer" -}}
name: vllm
image: {{ include "tkc.image" .spec.engine.image | quote }}
imagePullPolicy: {{ .spec.engine.image.pullPolicy }}
command: [vllm, serve]
args:
  {{- include "model-endpoint.engine.vllmArgs" . | nindent 2 }}
env:
  {{- include "model-endpoint.engine.vllmEnv" . | nindent 2 }}
ports:
  - name: http
    containerPort: 8000
    protocol: TCP
startupProbe:
  {{- include "tkc.probe" (dict "path" "/health" "port" "http" "period" 5 "timeout" 5
        "failures" (include "model-endpoint.engine.startupFailures" .)) | nindent 2 }}
readinessProbe:
  {{- include "tkc.probe" (dict "path" "/health" "port" "http" "period" 5 "timeout" 5 "failures" 3) | nindent 2 }}
# Two minutes without an answer: a long prefill may hold the engine for tens of seconds, a restart costs far more.
livenessProbe:
  {{- include "tkc.probe" (dict "path" "/health" "port" "http" "period" 20 "timeout" 10 "failures" 6) | nindent 2 }}
lifecycle:
  preStop:
    exec:
      command: [sh, -c, {{ printf "touch /dev/shm/engine-ends; sleep %s" (include "model-endpoint.engine.preStopSeconds" .) | quote }}]
resources:
  {{- include "tkc.resources" .spec.resources.engine | nindent 2 }}
securityContext:
  {{- include "tkc.container.securityContext" . | nindent 2 }}
terminationMessagePolicy: FallbackToLogsOnError
volumeMounts:
  - name: shm
    mountPath: /dev/shm
  - name: tmp
    mountPath: /tmp
{{- with .spec.source.claim }}
  - name: model
    mountPath: {{ $.path | quote }}
    readOnly: true
{{- with .subPath }}
    subPath: {{ . | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* Failed tries, 5 s apart, that fill the startup budget. */ -}}
{{- define "model-endpoint.engine.startupFailures" -}}
{{- div (add (int64 .spec.probes.startup.budget) 4) 5 -}}
{{- end -}}
