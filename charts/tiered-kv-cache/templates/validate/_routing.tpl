{{- /* Rules for the router of a model and its Service. Context everywhere: dict root, faults, model. */ -}}

{{- define "tkc.validate.routing" -}}
{{- $spec := .model.spec -}}
{{- $service := $spec.routing.service -}}
{{- if and (index $service "nodePort") (eq $service.type "ClusterIP") -}}
{{-   include "tkc.modelFault" (merge (dict "path" "routing.service.nodePort" "why" "routing.service.type is ClusterIP, which has no node port" "fix" "set routing.service.type: NodePort, or nodePort: null") .) -}}
{{- end -}}
{{- end -}}

{{- /* A node port belongs to one Service of the cluster. Context: dict root, faults. */ -}}
{{- define "tkc.validate.nodePorts" -}}
{{- $taken := dict -}}
{{- range $model := .root.tkc.models -}}
{{-   $result := dict -}}
{{-   include "tkc.at" (dict "from" $model.spec "path" "routing.service.nodePort" "result" $result) -}}
{{-   with $result.value -}}
{{-     $port := int64 . | toString -}}
{{-     if hasKey $taken $port -}}
{{-       include "tkc.fault" (dict "faults" $.faults "key" (printf "models.%s.routing.service.nodePort" $model.name) "value" (int64 .) "why" (printf "models.%s has the same node port" (get $taken $port))
              "fix" "give each model its own, or leave it out and let the cluster choose") -}}
{{-     else -}}
{{-       $_ := set $taken $port $model.name -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- end -}}
