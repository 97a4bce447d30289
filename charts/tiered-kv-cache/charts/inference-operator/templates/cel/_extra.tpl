{{- /* LMCACHE_EXTRA_CONFIG, in CEL: one member is set, the others stay byte by byte. CEL reads no JSON, so that both mechanisms go by the same
       regular expressions: those of hooks/tiered_kv_cache/patch/extra_config.py (a test compares them). */ -}}

{{- define "inference-operator.json.space" -}}[ \t\n\r]*{{- end -}}

{{- define "inference-operator.json.text" -}}"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"{{- end -}}

{{- define "inference-operator.json.scalar" -}}
(?:{{ include "inference-operator.json.text" . }}|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)
{{- end -}}

{{- /* A name without escapes, and its colon. */ -}}
{{- define "inference-operator.json.name" -}}
{{- $space := include "inference-operator.json.space" . -}}
"[^"\\\x00-\x1f]*"{{ $space }}:{{ $space }}
{{- end -}}

{{- /* Things between two brackets, with commas. Context: dict thing, open, close. */ -}}
{{- define "inference-operator.json.series" -}}
{{- $space := include "inference-operator.json.space" . -}}
{{ .open }}{{ $space }}(?:{{ .thing }}{{ $space }}(?:,{{ $space }}{{ .thing }}{{ $space }})*)?{{ .close }}
{{- end -}}

{{- define "inference-operator.json.member" -}}
{{- $name := include "inference-operator.json.name" . -}}
{{- $scalar := include "inference-operator.json.scalar" . -}}
{{- $list := include "inference-operator.json.series" (dict "thing" $scalar "open" "\\[" "close" "\\]") -}}
{{- $object := include "inference-operator.json.series" (dict "thing" (print $name $scalar) "open" "\\{" "close" "\\}") -}}
{{- printf "%s(?:%s|%s|%s)" $name $scalar $list $object -}}
{{- end -}}

{{- /* An object that the patch can read. */ -}}
{{- define "inference-operator.json.object" -}}
^{{ include "inference-operator.json.series" (dict "thing" (include "inference-operator.json.member" .) "open" "\\{" "close" "\\}") }}$
{{- end -}}

{{- define "inference-operator.json.oursName" -}}fs_connector_relative_tmp_dir{{- end -}}

{{- /* Our member's name wherever it stands: inside a text its quotes would be escaped. */ -}}
{{- define "inference-operator.json.ours" -}}
"{{ include "inference-operator.json.oursName" . }}"{{ include "inference-operator.json.space" . }}:
{{- end -}}

{{- define "inference-operator.json.oursText" -}}
{{ include "inference-operator.json.ours" . }}{{ include "inference-operator.json.space" . }}{{ include "inference-operator.json.text" . }}
{{- end -}}

{{- /* An object that has the member itself, with a text. */ -}}
{{- define "inference-operator.json.oursTop" -}}
{{- $space := include "inference-operator.json.space" . -}}
^\{{ "{" }}{{ $space }}(?:{{ include "inference-operator.json.member" . }}{{ $space }},{{ $space }})*{{ include "inference-operator.json.oursText" . }}{{ $space }}[,}]
{{- end -}}

{{- define "inference-operator.cel.extraEntry" -}}
{{ include "inference-operator.cel.lastOf" (dict "env" "variables.workerEnv" "name" "LMCACHE_EXTRA_CONFIG") }}.orValue({})
{{- end -}}

{{- define "inference-operator.cel.extra" -}}
variables.extraEntry.?value.orValue('').trim()
{{- end -}}

{{- define "inference-operator.cel.extraOurs" -}}
size(variables.extra.findAll(r'{{ include "inference-operator.json.ours" . }}'))
{{- end -}}

{{- define "inference-operator.cel.extraFault" -}}
variables.extra == '' ? ''
  : !variables.extra.matches(r'{{ include "inference-operator.json.object" . }}')
    ? 'is not a JSON object whose members are scalars, or lists or objects of scalars'
  : variables.extraOurs > 1 || (variables.extraOurs == 1 && !variables.extra.matches(r'{{ include "inference-operator.json.oursTop" . }}'))
    ? 'has {{ include "inference-operator.json.oursName" . }} more than once, in an inner object, or with a value that is no text'
  : ''
{{- end -}}

{{- define "inference-operator.cel.newExtra" -}}
{{- $ours := printf "%q: %q" (include "inference-operator.json.oursName" .) .tmpDir -}}
variables.extra == '' ? '{{ printf "{%s}" $ours }}'
  : variables.extraOurs == 1
    ? variables.extra.replace(variables.extra.find(r'{{ include "inference-operator.json.oursText" . }}'), '{{ $ours }}')
  : variables.extra.substring(0, size(variables.extra) - 1)
    + (variables.extra.substring(1, size(variables.extra) - 1).trim() == '' ? '' : ', ') + '{{ $ours }}}'
{{- end -}}
