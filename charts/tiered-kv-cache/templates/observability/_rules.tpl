{{- /* How an alert is written down; the only place. Its runbook has its name. Context: dict root, alert, expr, for, severity
       (critical: the tier or a part of it is away until somebody acts; warning: it serves less than it could), summary, description. */ -}}
{{- define "tkc.alert" -}}
- alert: {{ .alert }}
  expr: |-
    {{- .expr | nindent 4 }}
  for: {{ .for }}
  labels:
    severity: {{ .severity }}
    namespace: {{ .root.Release.Namespace | quote }}
  annotations:
    summary: {{ include "tkc.yamlText" .summary }}
    description: {{ include "tkc.yamlText" .description }}
    runbook_url: {{ printf "%s/%s.md" (.root.tkc.values.observability.alerts.runbooks | trimSuffix "/") .alert | quote }}
{{- end -}}

{{- /* A recorded series. Its labels keep those of several releases apart. Context: dict root, record (name behind "tiered_kv_cache:"), expr. */ -}}
{{- define "tkc.record" -}}
- record: tiered_kv_cache:{{ .record }}
  expr: |-
    {{- .expr | nindent 4 }}
  labels:
    tiered_kv_cache_release: {{ .root.tkc.instance | quote }}
{{- end -}}

{{- /* A group of rules. Context: dict name, rules (text: YAML list, or nothing). */ -}}
{{- define "tkc.rules.group" -}}
{{- with .rules | trim }}
- name: tiered-kv-cache.{{ $.name }}
  rules:
    {{- . | nindent 4 }}
{{- end }}
{{- end -}}

{{- /* Rate over a window, added up. Context: dict by, metric, matchers, window. */ -}}
{{- define "tkc.rules.rate" -}}
{{- printf "sum by (%s) (rate(%s{%s}[%s]))" .by .metric .matchers .window -}}
{{- end -}}

{{- /* The part of a whole that went wrong. A counter that has not counted yet is not there: without "or" the whole would be
       missing as long as everything goes wrong. Context: dict bad, good (expressions). */ -}}
{{- define "tkc.rules.fraction" -}}
{{- printf "%s\n/ (%s\n  + (%s\n     or 0 * %s))" .bad .bad .good .bad -}}
{{- end -}}
