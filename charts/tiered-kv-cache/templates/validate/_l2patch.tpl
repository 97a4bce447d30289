{{- /* Rules for the L2 patch. Context everywhere: dict root, faults. */ -}}
{{- define "tkc.validate.l2patch" -}}
{{- $values := .root.tkc.values -}}
{{- $complete := include "tkc.validate.required" (dict "faults" .faults "from" $values "prefix" "" "paths" (list "inferenceOperator.l2Patch.enabled" "inferenceOperator.l2Patch.mechanism"
      "inferenceOperator.l2Patch.webhook.replicas" "inferenceOperator.l2Patch.webhook.port" "inferenceOperator.l2Patch.webhook.certificate.source" "inferenceOperator.l2Patch.webhook.certificate.deadlineSeconds")) -}}
{{- $patch := $values.inferenceOperator.l2Patch -}}
{{- $before := len .faults.list -}}
{{- range $namespace, $given := index $patch "namespaces" -}}
{{-   include "tkc.validate.l2patch.namespace" (dict "root" $.root "faults" $.faults "namespace" $namespace "given" $given "key" (printf "inferenceOperator.l2Patch.namespaces.%s" $namespace)) -}}
{{- end -}}
{{- include "tkc.validate.l2patch.settings" . -}}
{{- if and $complete (eq $before (len .faults.list)) -}}
{{-   include "tkc.validate.l2patch.mechanism" . -}}
{{- end -}}
{{- end -}}

{{- /* Namespaces in which Kubernetes itself lives. JSON list. */ -}}
{{- define "tkc.validate.l2patch.never" -}}
{{- toJson (list "kube-system" "kube-public" "kube-node-lease") -}}
{{- end -}}

{{- /* One namespace of l2Patch.namespaces. Context: also namespace, given, key. */ -}}
{{- define "tkc.validate.l2patch.namespace" -}}
{{- $fault := dict "faults" .faults -}}
{{- if has .namespace (include "tkc.validate.l2patch.never" . | fromJsonArray) -}}
{{-   include "tkc.fault" (merge (dict "key" "inferenceOperator.l2Patch.namespaces" "value" .namespace "why" "what Kubernetes itself needs runs there, and must never wait for a patch" "fix" "run endpoints in a namespace of their own") $fault) -}}
{{- else if or (gt (len .namespace) 63) (not (regexMatch "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" .namespace)) -}}
{{-   include "tkc.fault" (merge (dict "key" "inferenceOperator.l2Patch.namespaces" "value" .namespace "why" "not the name of a namespace" "fix" "write its name: kubectl get namespaces") $fault) -}}
{{- end -}}
{{- if eq .namespace .root.Release.Namespace -}}
{{-   if include "inference-operator.patch.ownWanted" .root -}}
{{-     include "tkc.fault" (merge (dict "key" .key "value" .given "why" "it is this release's own namespace, whose models the chart knows" "fix" "take it out; an endpoint that the release does not render goes into another namespace") $fault) -}}
{{-   end -}}
{{- end -}}
{{- $models := index .given "models" | default list -}}
{{- if not $models -}}
{{-   include "tkc.fault" (merge (dict "key" (printf "%s.models" .key) "value" $models "why" "which endpoints get the shared tier must be said" "fix" "write names of InferenceEndpointConfigs, or [\"*\"] for all of the namespace") $fault) -}}
{{- end -}}
{{- range $models -}}
{{-   if not (or (eq . "*") (include "tkc.validate.l2patch.name" .)) -}}
{{-     include "tkc.fault" (merge (dict "key" (printf "%s.models" $.key) "value" . "why" "not the name of an InferenceEndpointConfig" "fix" "write its name (kubectl get inferenceendpointconfigs), or \"*\" for all") $fault) -}}
{{-   end -}}
{{- end -}}
{{- $claim := index .given "claimName" | default "" -}}
{{- if or (gt (len $claim) 253) (not (regexMatch "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$" $claim)) -}}
{{-   include "tkc.fault" (merge (dict "key" (printf "%s.claimName" .key) "value" $claim "why" "not the name of a claim" "fix" (printf "name a ReadWriteMany claim of that namespace: kubectl get pvc -n %s" .namespace)) $fault) -}}
{{- end -}}
{{- $path := index .given "mountPath" | default "" -}}
{{- if include "tkc.validate.l2patch.badPath" $path -}}
{{-   include "tkc.fault" (merge (dict "key" (printf "%s.mountPath" .key) "value" $path "why" "not an absolute path of its own, without ., .. and empty parts" "fix" "write it like /mnt/kv-l2; /run/tkc and below it is taken") $fault) -}}
{{- end -}}
{{- range $model, $its := index .given "engines" -}}
{{-   include "tkc.validate.l2patch.engine" (merge (dict "model" $model "its" $its "models" $models "path" $path "key" (printf "%s.engines.%s" $.key $model)) $fault) -}}
{{- end -}}
{{- end -}}

{{- /* One InferenceEndpointConfig. Context: dict faults, key, model, its, models, path. */ -}}
{{- define "tkc.validate.l2patch.engine" -}}
{{- $fault := dict "faults" .faults -}}
{{- if not (or (has "*" .models) (has .model .models)) -}}
{{-   include "tkc.fault" (merge (dict "key" .key "value" .its "why" "the endpoint is not in models of that namespace, so that nothing would read this" "fix" "add it there, or take this out") $fault) -}}
{{- else if not (include "tkc.validate.l2patch.name" .model) -}}
{{-   include "tkc.fault" (merge (dict "key" .key "value" .its "why" "not the name of an InferenceEndpointConfig" "fix" "write its name: kubectl get inferenceendpointconfigs") $fault) -}}
{{- end -}}
{{- $root := index .its "root" | default "" -}}
{{- $image := index .its "image" | default "" -}}
{{- if and $root (or (not (include "tkc.validate.cleanPath" $root)) (not (hasPrefix (printf "%s/" (trimSuffix "/" .path)) $root))) -}}
{{-   include "tkc.fault" (merge (dict "key" (printf "%s.root" .key) "value" $root "why" (printf "not a path below mountPath %s" .path) "fix" "write an absolute path below it, without ., .. and empty parts") $fault) -}}
{{- end -}}
{{- if and (or $root $image) (not (and $root $image)) -}}
{{-   include "tkc.fault" (merge (dict "key" (printf "%s.%s" .key (ternary "image" "root" (ne $root ""))) "why" "blocks of one engine do not fit another, so that a root is for one image" "fix" "give both root and image, or neither") $fault) -}}
{{- end -}}
{{- end -}}

{{- /* "true" for the name of an InferenceEndpointConfig, which is the value of a label. Context: text. */ -}}
{{- define "tkc.validate.l2patch.name" -}}
{{- if and (le (len .) 63) (regexMatch "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$" .) }}true{{ end -}}
{{- end -}}

{{- /* "true" for a path where L2 cannot be mounted. Context: path. */ -}}
{{- define "tkc.validate.l2patch.badPath" -}}
{{- $path := trimSuffix "/" . -}}
{{- if not (include "tkc.validate.cleanPath" $path) }}true
{{- else if or (eq $path "/run") (hasPrefix "/run/tkc/" (printf "%s/" $path)) }}true
{{- end -}}
{{- end -}}

{{- /* Once namespaces are right: what patches, and whether it can run. */ -}}
{{- define "tkc.validate.l2patch.mechanism" -}}
{{- $root := .root -}}
{{- if include "inference-operator.patch.wanted" $root -}}
{{-   $webhook := $root.tkc.values.inferenceOperator.l2Patch.webhook -}}
{{-   if has $root.Release.Namespace (include "tkc.validate.l2patch.never" . | fromJsonArray) -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" "the release's namespace" "value" $root.Release.Namespace "why" "what Kubernetes itself needs runs there, and the L2 patch is never for it" "fix" "install the release in a namespace of its own") -}}
{{-   end -}}
{{-   $mechanism := include "inference-operator.patch.mechanism" $root -}}
{{-   if and (eq $mechanism "policy") (not (include "inference-operator.patch.policyServed" $root)) -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" "inferenceOperator.l2Patch.mechanism" "value" "policy"
          "why" (printf "Kubernetes %s does not serve admissionregistration.k8s.io/v1/MutatingAdmissionPolicy (1.36 does), so that Pods would be created unpatched" $root.Capabilities.KubeVersion.Version)
          "fix" "set mechanism: webhook or auto; without a cluster, tell Helm what it is for: --kube-version, or --api-versions admissionregistration.k8s.io/v1/MutatingAdmissionPolicy") -}}
{{-   end -}}
{{-   if eq $mechanism "webhook" -}}
{{-     if eq (int64 $webhook.port) (include "inference-operator.webhook.healthPort" . | int64) -}}
{{-       include "tkc.fault" (dict "faults" .faults "key" "inferenceOperator.l2Patch.webhook.port" "value" $webhook.port "why" "its probes and metrics have this port" "fix" "take another one, for example 9443") -}}
{{-     end -}}
{{-     include "tkc.validate.resources" (dict "faults" .faults "key" "inferenceOperator.l2Patch.webhook.resources" "resources" (index $webhook "resources" | default dict)) -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* The adapter's settings are one key of the parameter object for all models of a namespace. */ -}}
{{- define "tkc.validate.l2patch.settings" -}}
{{- if include "inference-operator.patch.ownWanted" .root -}}
{{-   $first := dict -}}
{{-   range .root.tkc.models -}}
{{-     $settings := dig "cache" "l2" "settings" dict .spec -}}
{{-     if and (dig "cache" "l2" "enabled" false .spec) (eq (dig "cache" "l2" "adapter" "" .spec) "guarded") (ne (dig "engine" "lmcacheMode" "" .spec) "inProcess") -}}
{{-       if not $first -}}
{{-         $first = dict "name" .name "settings" (toJson $settings) -}}
{{-       else if ne $first.settings (toJson $settings) -}}
{{-         include "tkc.fault" (dict "faults" $.faults "key" (printf "models.%s.cache.l2.settings" .name) "value" $settings "why" (printf "on HyperPod all models of a release share them, and models.%s has others" $first.name) "fix" "set them once, in defaults.cache.l2.settings") -}}
{{-       end -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- end -}}
