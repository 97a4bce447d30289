{{- /* A vLLM --middleware of the chart in the engines: a module of files/, mounted from a ConfigMap. Context: model context. */ -}}

{{- /* Which one, or nothing; never both, since the router of kvaware forgets engines with salted blocks. */ -}}
{{- define "model-endpoint.engine.middleware" -}}
{{- if include "model-endpoint.engine.kvEvents" . }}kv-discovery
{{- else if and (not .root.tkc.hyperpod) (include "tkc.cacheSalt.secret" .root) }}cache-salt
{{- end -}}
{{- end -}}

{{- /* Name of the Secret with the cache salt, or nothing. Context: root. */ -}}
{{- define "tkc.cacheSalt.secret" -}}
{{- index (index .tkc.values "cacheSalt" | default dict) "secretName" | default "" -}}
{{- end -}}

{{- /* Arguments of vLLM. YAML list, or nothing. */ -}}
{{- define "model-endpoint.engine.cacheSaltArgs" -}}
{{- if eq (include "model-endpoint.engine.middleware" .) "cache-salt" -}}
- --middleware
- tkc_cache_salt.CacheSalt
{{- end -}}
{{- end -}}

{{- /* Where vllm finds it. Three YAML lists, or nothing. */ -}}
{{- define "model-endpoint.engine.middlewareEnv" -}}
{{- with include "model-endpoint.engine.middleware" . -}}
- name: PYTHONPATH
  value: /opt/tiered-kv-cache/python
{{- if eq . "cache-salt" }}
- name: TKC_CACHE_SALT
  {{- include "tkc.secretRef" $.root.tkc.values.cacheSalt | nindent 2 }}
{{- end }}
{{- end -}}
{{- end -}}

{{- define "model-endpoint.engine.middlewareVolumeMounts" -}}
{{- with include "model-endpoint.engine.middleware" . -}}
- name: {{ . }}
  mountPath: /opt/tiered-kv-cache/python
  readOnly: true
{{- end -}}
{{- end -}}

{{- define "model-endpoint.engine.middlewareVolumes" -}}
{{- $root := .root -}}
{{- with include "model-endpoint.engine.middleware" . -}}
- name: {{ . }}
  configMap:
    name: {{ include "model-endpoint.middleware.configName" (dict "root" $root "name" .) }}
{{- end -}}
{{- end -}}

{{- /* The ConfigMap's name ends in the hash of what it holds, so that engines start anew when that changes.
       Context: dict root, name (of the middleware). */ -}}
{{- define "model-endpoint.middleware.configName" -}}
{{- include "tkc.name" (dict "root" .root "part" (printf "%s-%s" .name (include "model-endpoint.middleware.source" . | sha256sum | trunc 8))) -}}
{{- end -}}

{{- define "model-endpoint.middleware.file" -}}
{{- printf "tkc_%s.py" (.name | replace "-" "_") -}}
{{- end -}}

{{- /* Without double blank lines, which a manifest has nowhere else. Context: as above. */ -}}
{{- define "model-endpoint.middleware.source" -}}
{{- .root.Files.Get (printf "files/%s" (include "model-endpoint.middleware.file" .)) | replace "\n\n\n" "\n\n" -}}
{{- end -}}
