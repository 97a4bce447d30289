{{- /* Where the endpoints run, and what is known of AWS's Inference Operator there. Context everywhere, if not said otherwise: root. */ -}}

{{- define "tkc.operator.api" -}}inference.sagemaker.aws.amazon.com/v1{{- end -}}

{{- /* hyperpod or kubernetes. Values may not be complete yet, or say that there is nothing of the chart at all. */ -}}
{{- define "tkc.platform.find" -}}
{{- $platform := index .tkc.values "platform" | default "auto" -}}
{{- if ne $platform "auto" -}}
{{- $platform -}}
{{- else if and (ne (index (index .tkc.values "inferenceOperator" | default dict) "mode" | default "detect") "none") (include "tkc.operator.served" .) -}}
hyperpod
{{- else -}}
kubernetes
{{- end -}}
{{- end -}}

{{- /* "true" where the cluster serves the operator's resource. */ -}}
{{- define "tkc.operator.served" -}}
{{- if .Capabilities.APIVersions.Has (printf "%s/InferenceEndpointConfig" (include "tkc.operator.api" .)) }}true{{ end -}}
{{- end -}}

{{- /* The operator's version as values give it; nothing where they leave it to the served definition. */ -}}
{{- define "tkc.operator.version" -}}
{{- include "tkc.scalar" (.tkc.values.inferenceOperator.version | default "") -}}
{{- end -}}

{{- /* Fields that operators after 3.2 have: since which version, and where in "spec" they may stand. Only loadBalancer's was read;
       the places of the others are inferred (the first one is taken by version), and a served definition tells the true one.
       podLabels is in no version that is known. JSON object. */ -}}
{{- define "tkc.operator.fields" -}}
{{- toJson (dict
      "podAnnotations" (dict "since" "3.6" "places" (list "kubernetes.podTemplateAnnotations"))
      "tolerations" (dict "since" "3.7" "places" (list "kubernetes.tolerations" "tolerations"))
      "priorityClassName" (dict "since" "3.7" "places" (list "kubernetes.priorityClassName" "priorityClassName"))
      "lmcacheMode" (dict "since" "3.7" "places" (list "kvCacheSpec.lmcache.mode" "lmcache.mode"))
      "idleTimeoutSeconds" (dict "since" "3.3" "places" (list "loadBalancer.idleTimeoutSeconds"))
      "podLabels" (dict "since" "" "places" (list "kubernetes.podTemplateLabels" "kubernetes.podLabels"))) -}}
{{- end -}}

{{- /* Where a field of the table stands; nothing if the operator has none. Asked of the cluster only when the field is wanted and no
       version is given: who may only work in one namespace may not read definitions, and Helm ends at a look-up that is refused.
       Context: dict root, field. */ -}}
{{- define "tkc.operator.place" -}}
{{- $field := get (include "tkc.operator.fields" .root | fromJson) .field -}}
{{- $version := include "tkc.operator.version" .root -}}
{{- if $version -}}
{{-   if $field.since -}}{{- if include "tkc.pairs.atLeast" (dict "have" $version "least" $field.since) -}}{{- first $field.places -}}{{- end -}}{{- end -}}
{{- else -}}
{{-   include "tkc.operator.look" .root -}}
{{-   $found := "" -}}
{{-   range $field.places -}}
{{-     $path := splitList "." . | join ".properties." -}}
{{-     $result := dict -}}
{{-     include "tkc.at" (dict "from" $.root.tkc.served "path" $path "result" $result) -}}
{{-     if and (not $found) $result.value -}}{{- $found = . -}}{{- end -}}
{{-   end -}}
{{-   $found -}}
{{- end -}}
{{- end -}}

{{- /* Reads the served definition once a render, into .tkc.served: the properties of spec, empty where no cluster answers. */ -}}
{{- define "tkc.operator.look" -}}
{{- if not (hasKey .tkc "served") -}}
{{-   $served := dict -}}
{{-   if include "tkc.operator.served" . -}}
{{-     range dig "spec" "versions" list (lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" "inferenceendpointconfigs.inference.sagemaker.aws.amazon.com" | default dict) -}}
{{-       if eq .name "v1" -}}{{- $served = dig "schema" "openAPIV3Schema" "properties" "spec" "properties" dict . -}}{{- end -}}
{{-     end -}}
{{-   end -}}
{{-   $_ := set .tkc "served" $served -}}
{{- end -}}
{{- end -}}

{{- /* What is there of a structure that is handed on as given: nulls, which delete in an overlay and are no values to an API
       server, left out at every level. JSON object with member "value". Context: anything. */ -}}
{{- define "tkc.withoutNulls" -}}
{{- if kindIs "map" . -}}
{{-   $kept := dict -}}
{{-   range $key, $value := . -}}
{{-     if not (kindIs "invalid" $value) -}}{{- $_ := set $kept $key (include "tkc.withoutNulls" $value | fromJson | dig "value" "") -}}{{- end -}}
{{-   end -}}
{{-   toJson (dict "value" $kept) -}}
{{- else if kindIs "slice" . -}}
{{-   $kept := list -}}
{{-   range . -}}
{{-     if not (kindIs "invalid" .) -}}{{- $kept = append $kept (include "tkc.withoutNulls" . | fromJson | dig "value" "") -}}{{- end -}}
{{-   end -}}
{{-   toJson (dict "value" $kept) -}}
{{- else -}}
{{-   toJson (dict "value" .) -}}
{{- end -}}
{{- end -}}
