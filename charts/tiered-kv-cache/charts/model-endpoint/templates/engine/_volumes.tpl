{{- /* Bytes of /dev/shm beside L1: vLLM's own message queues. */ -}}
{{- define "model-endpoint.engine.shmExtraBytes" -}}268435456{{- end -}}

{{- /* Size of /dev/shm in bytes. Context: model context. */ -}}
{{- define "model-endpoint.engine.shmBytes" -}}
{{- add (include "model-endpoint.engine.shmExtraBytes" . | int64) (ternary .l1Bytes 0 .lmcache | int64) -}}
{{- end -}}

{{- /* Volumes of an engine Pod. Context: model context. */ -}}
{{- define "model-endpoint.engine.volumes" -}}
- name: shm
  emptyDir:
    medium: Memory
    sizeLimit: {{ printf "%dMi" (div (add (include "model-endpoint.engine.shmBytes" . | int64) 1048575) 1048576) }}
- name: tmp
  emptyDir: {}
{{- if .lmcache }}
- name: tmp-lmcache
  emptyDir: {}
{{- end }}
{{- with include "model-endpoint.engine.sourceVolumes" . | trim }}
{{ . }}
{{- end }}
{{- with include "model-endpoint.engine.kvEventsVolumes" . }}
{{ . }}
{{- end }}
{{- end -}}
