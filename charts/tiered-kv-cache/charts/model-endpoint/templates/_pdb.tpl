{{- /* Budgets of a model. Context: dict model (context), component (engine or router), maxUnavailable. */ -}}

{{- define "model-endpoint.pdb" -}}
{{- $name := printf "%s-%s" (include "tkc.model.name" .model) .component -}}
{{- include "tkc.pdb" (dict "root" .model.root "name" $name "labels" (dict "root" .model.root "component" .component "model" .model.name) "maxUnavailable" .maxUnavailable) -}}
{{- end -}}

{{- /* Most engine Pods that a model can have. Context: model context. */ -}}
{{- define "model-endpoint.engine.mostReplicas" -}}
{{- if .spec.autoscaling.enabled }}{{ int64 .spec.autoscaling.maxReplicas }}{{ else }}{{ int64 .spec.replicas }}{{ end -}}
{{- end -}}
