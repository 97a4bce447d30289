{{- /* Rules for the life of a model's Pods: number, rollout, scaling, probes, placement. Context everywhere: dict root,
       faults, model. */ -}}

{{- define "tkc.validate.lifecycle" -}}
{{- $spec := .model.spec -}}
{{- if lt (int64 $spec.replicas) 1 -}}
{{-   include "tkc.modelFault" (merge (dict "path" "replicas" "why" "a model needs at least one Pod" "fix" (printf "set it to 1 or more; models.%s.enabled: false leaves the model out" .model.name)) .) -}}
{{- end -}}
{{- range $name, $value := (index $spec "podAnnotations") | default dict -}}
{{-   if hasPrefix (printf "%s/" (include "tkc.domain" $)) $name -}}
{{-     include "tkc.fault" (dict "faults" $.faults "key" (printf "models.%s.podAnnotations" $.model.name) "value" $name "why" (printf "annotations under %s/ are the chart's own" (include "tkc.domain" $)) "fix" "use another prefix") -}}
{{-   end -}}
{{- end -}}
{{- $least := add (include "model-endpoint.engine.preStopSeconds" . | int64) 10 -}}
{{- if lt (int64 $spec.terminationGracePeriodSeconds) $least -}}
{{-   include "tkc.modelFault" (merge (dict "path" "terminationGracePeriodSeconds" "why" (printf "%s s pass before the engine is told to stop, and it needs time to finish requests" (include "model-endpoint.engine.preStopSeconds" .))
          "fix" (printf "set it to %d or more, better to the longest answer plus 15" $least)) .) -}}
{{- end -}}
{{- end -}}
