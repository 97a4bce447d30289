{{- /* /dev/shm and the volumes of an engine Pod. Context everywhere: model context. */ -}}

{{- /* Bytes of /dev/shm beside L1: vLLM's message queues, and what the ranks exchange there (oneCCL or NCCL). Not the 64Mi that
       a container gets by default: the first collective of two ranks would fail with a bus error. */ -}}
{{- define "model-endpoint.engine.shmExtraBytes" -}}
{{- if ne (toString .spec.engine.shmSize) "" -}}
{{- include "tkc.quantity.bytes" .spec.engine.shmSize -}}
{{- else -}}
{{- mul (ternary 268435456 1073741824 (eq .spec.engine.device "cpu")) (include "model-endpoint.engine.ranks" . | int64) -}}
{{- end -}}
{{- end -}}

{{- /* Size of /dev/shm in bytes. In-process, L1 is memory of vLLM's own processes. */ -}}
{{- define "model-endpoint.engine.shmBytes" -}}
{{- add (include "model-endpoint.engine.shmExtraBytes" . | int64) (ternary .l1Bytes 0 (and .lmcache (eq .mode "multiProcess")) | int64) -}}
{{- end -}}

{{- define "model-endpoint.engine.volumes" -}}
- name: shm
  emptyDir:
    medium: Memory
    sizeLimit: {{ printf "%dMi" (div (add (include "model-endpoint.engine.shmBytes" . | int64) 1048575) 1048576) }}
- name: tmp
  emptyDir: {}
{{- if and .lmcache (eq .mode "multiProcess") }}
- name: tmp-lmcache
  emptyDir: {}
{{- end }}
{{- with include "model-endpoint.engine.sourceVolumes" . | trim }}
{{ . }}
{{- end }}
{{- with include "model-endpoint.engine.middlewareVolumes" . }}
{{ . }}
{{- end }}
{{- end -}}
