{{- /* Rules for where engine Pods run and what they are called by. Context everywhere: dict root, faults, model. */ -}}

{{- define "tkc.validate.scheduling" -}}
{{- $spec := .model.spec -}}
{{- include "tkc.validate.placement" . -}}
{{- include "tkc.validate.nodeLabels" (merge (dict "path" "routing.nodeSelector") .) -}}
{{- with $spec.runtimeClassName -}}{{- include "tkc.validate.objectName" (merge (dict "path" "runtimeClassName" "name" . "kind" "RuntimeClass") $) -}}{{- end -}}
{{- with $spec.spread -}}
{{-   include "tkc.validate.modelRequired" (merge (dict "paths" (list "spread.topologyKey" "spread.maxSkew" "spread.whenUnsatisfiable")) $) | replace "complete" "" -}}
{{-   $topology := index . "topologyKey" | default "" -}}
{{-   if and $topology (not (include "tkc.validate.qualifiedName" $topology)) -}}
{{-     include "tkc.modelFault" (merge (dict "path" "spread.topologyKey" "why" "no node can have a label of this name" "fix" "write it like topology.kubernetes.io/zone") $) -}}
{{-   end -}}
{{- end -}}
{{- include "tkc.validate.podLabels" . -}}
{{- range $path := list "podLabels" "podAnnotations" -}}
{{-   include "tkc.validate.keys" (merge (dict "path" $path) $) -}}
{{- end -}}
{{- range $spec.instanceTypes -}}
{{-   include "tkc.validate.labelValue" (merge (dict "path" "instanceTypes" "name" "node.kubernetes.io/instance-type" "value" .) $) -}}
{{- end -}}
{{- $type := index $spec.nodeSelector "node.kubernetes.io/instance-type" -}}
{{- if and $spec.instanceTypes $type (not (has (toString $type) $spec.instanceTypes)) -}}
{{-   include "tkc.modelFault" (merge (dict "path" "instanceTypes" "why" (printf "nodeSelector asks for node.kubernetes.io/instance-type %v, so that no node would do" $type) "fix" "keep one of the two") .) -}}
{{- end -}}
{{- end -}}

{{- /* On which nodes Pods run, and before whom. Also of other Pods than a model's, with scope. */ -}}
{{- define "tkc.validate.placement" -}}
{{- $spec := .model.spec -}}
{{- with index $spec "priorityClassName" -}}{{- include "tkc.validate.objectName" (merge (dict "path" "priorityClassName" "name" . "kind" "PriorityClass") $) -}}{{- end -}}
{{- include "tkc.validate.nodeLabels" (merge (dict "path" "nodeSelector") .) -}}
{{- range index $spec "tolerations" -}}
{{-   include "tkc.validate.toleration" (merge (dict "toleration" .) $) -}}
{{- end -}}
{{- end -}}

{{- /* Labels of nodes. Context: as above and path. */ -}}
{{- define "tkc.validate.nodeLabels" -}}
{{- include "tkc.validate.keys" . -}}
{{- $found := dict -}}
{{- include "tkc.at" (dict "from" .model.spec "path" .path "result" $found) -}}
{{- range $name, $value := index $found "value" -}}
{{-   include "tkc.validate.labelValue" (merge (dict "name" $name "value" $value) $) -}}
{{- end -}}
{{- end -}}

{{- /* The keys of labels or annotations. Context: as above and path. */ -}}
{{- define "tkc.validate.keys" -}}
{{- $found := dict -}}
{{- include "tkc.at" (dict "from" .model.spec "path" .path "result" $found) -}}
{{- range $name, $_ := index $found "value" -}}
{{-   if or (gt (len (regexReplaceAll "^.*/" $name "")) 63) (gt (len $name) 317) (not (regexMatch "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[^/]+$" $name)) -}}
{{-     include "tkc.modelFault" (merge (dict "value" $name "why" "no legal key: a name of at most 63 characters, and before it, if at all, a DNS name and a slash" "fix" "write it like example.com/team") $) -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* Labels and annotations of the chart decide whom a Service, a budget or verify finds. */ -}}
{{- define "tkc.validate.podLabels" -}}
{{- $domain := printf "%s/" (include "tkc.domain" .) -}}
{{- range $name, $value := .model.spec.podLabels -}}
{{-   if or (hasPrefix $domain $name) (hasPrefix "app.kubernetes.io/" $name) (eq $name "pod-template-hash") -}}
{{-     include "tkc.modelFault" (merge (dict "path" "podLabels" "value" $name "why" "this label is the chart's or the cluster's own; Services and budgets find the Pods by it" "fix" "use another name") $) -}}
{{-   else -}}
{{-     include "tkc.validate.labelValue" (merge (dict "path" "podLabels" "name" $name "value" $value) $) -}}
{{-   end -}}
{{- end -}}
{{- range $name, $value := .model.spec.podAnnotations -}}
{{-   if hasPrefix $domain $name -}}
{{-     include "tkc.modelFault" (merge (dict "path" "podAnnotations" "value" $name "why" (printf "annotations under %s are the chart's own" $domain) "fix" "use another prefix") $) -}}
{{-   else if not (kindIs "string" $value) -}}
{{-     include "tkc.validate.quoted" (merge (dict "path" "podAnnotations" "name" $name "value" $value) $) -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* Context: as above and path, name (of the label), value. */ -}}
{{- define "tkc.validate.labelValue" -}}
{{- if not (kindIs "string" .value) -}}
{{-   include "tkc.validate.quoted" . -}}
{{- else if not (regexMatch "^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$" .value) -}}
{{-   include "tkc.modelFault" (merge (dict "value" (dict .name .value) "why" "the value of a label has at most 63 of A-Z, a-z, 0-9, ., _ and -, and begins and ends with a letter or digit"
          "fix" "shorten it, or replace what is not allowed") .) -}}
{{- end -}}
{{- end -}}

{{- /* "true" for the key of a label or annotation. Context: text. */ -}}
{{- define "tkc.validate.qualifiedName" -}}
{{- if and (le (len .) 317) (regexMatch "^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$" .) }}true{{ end -}}
{{- end -}}

{{- /* Context: as above and path, name, kind. */ -}}
{{- define "tkc.validate.objectName" -}}
{{- if or (gt (len .name) 253) (not (regexMatch "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$" .name)) -}}
{{-   include "tkc.modelFault" (merge (dict "value" .name "why" (printf "no object can have this name: only a-z, 0-9, - and ., beginning and ending with a letter or digit")
          "fix" (printf "give the name of an existing %s" .kind)) .) -}}
{{- end -}}
{{- end -}}

{{- /* Context: as above and toleration. */ -}}
{{- define "tkc.validate.toleration" -}}
{{- $operator := index .toleration "operator" | default "Equal" -}}
{{- $why := "" -}}
{{- if and (eq $operator "Exists") (index .toleration "value") -}}
{{-   $why = "operator Exists takes no value" -}}
{{- else if and (not (index .toleration "key")) (ne $operator "Exists") -}}
{{-   $why = "without a key the operator must be Exists" -}}
{{- else if and (hasKey .toleration "tolerationSeconds") (ne (index .toleration "effect" | default "") "NoExecute") -}}
{{-   $why = "tolerationSeconds needs effect NoExecute" -}}
{{- else if and (index .toleration "key") (not (regexMatch "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$" .toleration.key)) -}}
{{-   $why = "no taint can have this key" -}}
{{- else if not (regexMatch "^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$" (index .toleration "value" | default "")) -}}
{{-   $why = "no taint can have this value" -}}
{{- end -}}
{{- with $why -}}
{{-   include "tkc.modelFault" (merge (dict "path" "tolerations" "value" $.toleration "why" . "fix" "write it as kubectl taint shows the taint") $) -}}
{{- end -}}
{{- end -}}
