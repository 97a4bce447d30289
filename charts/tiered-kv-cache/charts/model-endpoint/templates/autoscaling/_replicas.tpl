{{- /* The number of Pods that the Deployment asks for; nothing where an autoscaler sets it.

       When autoscaling is switched on, Helm would delete the number that it set before, and the API server's default is one
       Pod: all others would end. So the number that is there now stays in the Deployment as long as it is Helm's: with
       server-side apply until the autoscaler has changed it once, with Helm 3's way of patching for good.
       Context: model context. */ -}}
{{- define "model-endpoint.engine.replicas" -}}
{{- include "model-endpoint.autoscaling.replicas" (dict "model" . "apiVersion" "apps/v1" "kind" "Deployment" "name" (include "tkc.model.engineName" .)) -}}
{{- end -}}

{{- /* The same for any object with spec.replicas. Context: dict model, apiVersion, kind, name. */ -}}
{{- define "model-endpoint.autoscaling.replicas" -}}
{{- $spec := .model.spec -}}
{{- if not $spec.autoscaling.enabled -}}
{{- int64 $spec.replicas -}}
{{- else -}}
{{-   with lookup .apiVersion .kind .model.root.Release.Namespace .name -}}
{{-     $applied := false -}}
{{-     $owned := false -}}
{{-     range (index .metadata "managedFields" | default list) -}}
{{-       if and (hasPrefix "helm" (toString .manager)) (eq (toString .operation) "Apply") -}}
{{-         $applied = true -}}
{{-         $owned = or $owned (hasKey (dig "fieldsV1" "f:spec" dict .) "f:replicas") -}}
{{-       end -}}
{{-     end -}}
{{- /* What is there, not what values say. */ -}}
{{-     if or $owned (not $applied) }}{{ int64 .spec.replicas }}{{ end -}}
{{-   end -}}
{{- end -}}
{{- end -}}
