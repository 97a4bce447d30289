{{- /* Where the weights come from, and what is made ready before the engine starts. Context everywhere: model context. */ -}}

{{- /* Where the weights lie inside the container. It is the same in all Pods of a model, since vLLM's model path is
       part of LMCache's key. Context: model context. */ -}}
{{- define "model-endpoint.engine.modelPath" -}}
{{- with .spec.source.imagePath }}{{ .path }}{{ else }}/models/{{ .name }}{{ end -}}
{{- end -}}

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

{{- /* Directory that LMCache reads and writes blocks in. */ -}}
{{- define "model-endpoint.engine.l2BasePath" -}}
{{- .l2Root -}}
{{- end -}}

{{- /* Mounts of the container that LMCache runs in. YAML list, or nothing. */ -}}
{{- define "model-endpoint.engine.l2Mounts" -}}
{{- if .l2 -}}
- name: l2
  mountPath: {{ .root.tkc.values.l2.mountPath | quote }}
{{- end -}}
{{- end -}}

{{- /* Mounts with which vllm finds the weights. YAML list, or nothing. */ -}}
{{- define "model-endpoint.engine.sourceMounts" -}}
{{- with .spec.source.claim -}}
- name: model
  mountPath: {{ $.path | quote }}
  readOnly: true
{{- with .subPath }}
  subPath: {{ . | quote }}
{{- end }}
{{- end -}}
{{- end -}}

{{- /* Volumes of weights and L2. YAML list, or nothing. */ -}}
{{- define "model-endpoint.engine.sourceVolumes" -}}
{{- if .l2 }}
- name: l2
  persistentVolumeClaim:
    claimName: {{ include "tkc.l2.claimName" .root | quote }}
{{- end }}
{{- with .spec.source.claim }}
- name: model
  persistentVolumeClaim:
    claimName: {{ .name | quote }}
    readOnly: true
{{- end }}
{{- end -}}

{{- /* YAML list, or nothing. */ -}}
{{- define "model-endpoint.engine.initContainers" -}}
{{- if .l2 }}
- {{- include "model-endpoint.engine.l2RootContainer" . | nindent 2 }}
{{- end }}
{{- end -}}
