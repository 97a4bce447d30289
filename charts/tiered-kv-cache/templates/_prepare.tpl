{{- /* Normalises and validates the values once per render and keeps the result in the root context as .tkc:
         values   all values, nulls resolved
         prefix   first part of all names
         instance what selectors know this chart's objects by
         hyperpod whether AWS's Inference Operator runs the endpoints (_platform.tpl)
         deployed the models that the chart renders Pods for: all of them, or none
         endpoints  the models that become InferenceEndpointConfigs: none, or all
         models   list of model contexts, enabled models only, by name:
                  root, name, spec (defaults with the model's own values on top), given (the model's own values),
                  nulls (whether the own values may have deleted a default),
                  servedName, path, l0, l1, l2, lmcache, guarded (booleans), pair, mode, ranks, gpus, gpuResource, l1Bytes, l2Config, configHash, l2Parent
       Every template file begins with this; whichever Helm renders first does the work and reports the faults.
       Context: root. */ -}}
{{- define "tkc.prepare" -}}
{{- if not (hasKey . "tkc") -}}
{{-   $values := dict -}}
{{-   include "tkc.merge" (dict "into" $values "from" (omit .Values "models")) -}}
{{- /* A map that null took away is empty: what it needs is then missing by name. */ -}}
{{-   include "tkc.optional" (dict "into" $values "empty" (include "tkc.release.maps" . | fromJson)) -}}
{{-   $_ := set . "tkc" (dict "values" $values "models" list "undecided" list) -}}
{{-   include "tkc.validate.newer" . -}}
{{-   $_ := set .tkc "prefix" (include "tkc.prefix.find" .) -}}
{{-   $_ := set .tkc "hyperpod" (eq (include "tkc.platform.find" .) "hyperpod") -}}
{{-   $_ := set .tkc "instance" (include "tkc.instance.find" .) -}}
{{-   $given := index .Values "models" | default dict -}}
{{-   if eq (toString (index $values "enabled")) "false" -}}
{{- /* As if the parent chart's condition had left it out, whatever else is given. */ -}}
{{-     $given = dict -}}
{{-     $_ := set .tkc "values" (dict "enabled" false "l2" (dict "enabled" false) "networkPolicy" (dict "enabled" false)) -}}
{{-   end -}}
{{-   $models := list -}}
{{-   $empty := include "tkc.model.optional" . | fromJson -}}
{{- /* The defaults hold no null any more, and a copy takes a fifth of the time of merging them for each model. */ -}}
{{-   $defaults := deepCopy ((index $values "defaults") | default dict) -}}
{{-   include "tkc.optional" (dict "into" $defaults "empty" $empty) -}}
{{-   range $name, $own := $given -}}
{{-     if kindIs "invalid" $own -}}{{- continue -}}{{- end -}}
{{-     $spec := deepCopy $defaults -}}
{{-     include "tkc.merge" (dict "into" $spec "from" $own) -}}
{{-     if kindIs "invalid" (index $spec "enabled") -}}{{- $_ := set $.tkc "undecided" (append $.tkc.undecided (dict "name" $name "own" (hasKey $own "enabled"))) -}}{{- end -}}
{{-     if index $spec "enabled" -}}
{{-       $given := $own -}}
{{-       $nulls := contains "null" (toJson $own) -}}
{{-       if $nulls -}}{{- $given = dict -}}{{- include "tkc.merge" (dict "into" $given "from" $own) -}}{{- end -}}
{{-       if $nulls -}}{{- include "tkc.optional" (dict "into" $spec "empty" $empty) -}}{{- end -}}
{{- /* A number that was deleted for an autoscaler's sake. */ -}}
{{-       if and (not (hasKey $spec "replicas")) (dig "autoscaling" "enabled" false $spec) -}}
{{-         $_ := set $spec "replicas" (index $spec.autoscaling "minReplicas" | default 1) -}}
{{-       end -}}
{{-       $model := dict "root" $ "name" $name "spec" $spec "given" $given "nulls" $nulls -}}
{{-       include "model-endpoint.engine.resolve" $model -}}
{{-       $models = append $models $model -}}
{{-     end -}}
{{-   end -}}
{{-   $_ := set .tkc "models" $models -}}
{{-   $_ := set .tkc "deployed" (ternary list $models .tkc.hyperpod) -}}
{{-   $_ := set .tkc "endpoints" (ternary $models list .tkc.hyperpod) -}}
{{-   if ne (toString (index $values "enabled")) "false" -}}{{- include "tkc.validate" . -}}{{- end -}}
{{-   range $models -}}{{- include "tkc.model.derive" . -}}{{- end -}}
{{- end -}}
{{- end -}}

{{- /* The maps that the templates look into. JSON object. */ -}}
{{- define "tkc.release.maps" -}}
{{- toJson (dict
      "l2" (dict "volume" (dict "hostPath" dict) "owner" dict "keeper" (dict "resources" dict "linesOfBusiness" dict))
      "curvine" (dict
        "pool" (dict "release" "" "namespace" "" "masters" 1) "teardown" dict "linesOfBusiness" list "image" dict "config" dict
        "masters" (dict "storage" (dict "storageClass" "") "resources" dict "nodeSelector" dict "tolerations" list "priorityClassName" "")
        "workers" (dict "disk" dict "hostNetwork" false "resources" dict "nodeSelector" dict "tolerations" list "priorityClassName" "")
        "client" (dict "resources" dict "nodeSelector" dict "tolerations" list "priorityClassName" ""
          "csi" (dict "image" dict "controller" (dict "resources" dict) "provisioner" (dict "image" dict "resources" dict) "registrar" (dict "image" dict "resources" dict))))
      "inferenceOperator" (dict "mode" "detect" "version" "" "namespace" "hyperpod-inference-system"
        "l2Patch" (dict "namespaces" dict "webhook" (dict "certificate" dict "resources" dict "nodeSelector" dict "tolerations" list)))
      "modelStore" (dict "hostPath" dict)
      "gateway" (dict "service" dict)
      "router" (dict "image" dict)
      "hooks" (dict "image" dict "podLabels" dict "podAnnotations" dict "verify" dict "storageCheck" (dict "fileSize" "") "preflight" (dict "tolerate" list) "patchCheck" dict
        "aws" (dict "tieredStorage" dict "addons" list "region" "" "clusterName" "" "eksClusterName" ""))
      "networkPolicy" dict
      "observability" (dict "podMonitors" (dict "labels" dict) "alerts" (dict "labels" dict "thresholds" dict))
      "apiKey" dict "cacheSalt" dict) -}}
{{- end -}}

{{- /* What a model may leave out, or delete with null, with the value that means "nothing of it". JSON object. */ -}}
{{- define "tkc.model.optional" -}}
{{- toJson (dict
      "servedName" "" "source" dict "nodeSelector" dict "tolerations" list "podAnnotations" dict "podLabels" dict "affinity" dict
      "priorityClassName" "" "runtimeClassName" "" "instanceTypes" list "spread" dict
      "hyperpod" (dict
        "endpointName" "" "modelVersion" "" "invocationEndpoint" "invocations" "intelligentRouting" false "modelVolume" "model-weights"
        "serviceAccountName" "" "schedulerName" "" "labels" dict "tags" dict "requestLimits" dict "metrics" (dict "enabled" false)
        "loadBalancer" (dict "healthCheckPath" "/health") "dnsConfig" dict "dataCapture" dict
        "tlsConfig" (dict "tlsCertificateOutputS3Uri" "" "customCertificateConfig" dict)
        "autoscaling" (dict "cloudWatchTriggers" list "prometheusTriggers" list))
      "autoscaling" (dict "enabled" false) "disruption" (dict "enabled" false)
      "cache" (dict "eagerPrefetch" false "l2" (dict "adapterConfig" dict)) "routing" (dict "session" dict "nodeSelector" dict)
      "engine" (dict "args" list "env" dict "shmSize" "" "acknowledge" dict)) -}}
{{- end -}}

{{- /* Puts "empty" where "into" has nothing, level by level, in place. Context: dict into, empty. */ -}}
{{- define "tkc.optional" -}}
{{- $into := .into -}}
{{- range $key, $empty := .empty -}}
{{-   if not (hasKey $into $key) -}}
{{-     $_ := set $into $key $empty -}}
{{-   else if and (kindIs "map" $empty) (kindIs "map" (index $into $key)) -}}
{{-     include "tkc.optional" (dict "into" (index $into $key) "empty" $empty) -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* Adds what follows from the merged values. Context: model context. */ -}}
{{- define "tkc.model.derive" -}}
{{- $cache := .spec.cache -}}
{{- $_ := set . "servedName" (.spec.servedName | default .name) -}}
{{- $_ := set . "path" (include "model-endpoint.engine.modelPath" .) -}}
{{- $_ := set . "l0" $cache.l0.enabled -}}
{{- $_ := set . "l1" $cache.l1.enabled -}}
{{- $_ := set . "l2" (and $cache.l2.enabled .root.tkc.values.l2.enabled) -}}
{{- $_ := set . "lmcache" (or .l1 .l2) -}}
{{- $_ := set . "mode" (include "model-endpoint.engine.mode" .) -}}
{{- $_ := set . "guarded" (include "model-endpoint.engine.guarded" . | eq "true") -}}
{{- $_ := set . "ranks" (include "model-endpoint.engine.ranks" . | int64) -}}
{{- $_ := set . "gpus" (include "model-endpoint.engine.gpus" . | int64) -}}
{{- $_ := set . "gpuResource" (include "model-endpoint.engine.gpuResource" .) -}}
{{- $_ := set . "l1Bytes" (include "tkc.quantity.bytes" $cache.l1.memory | int64) -}}
{{- $_ := set . "l2Config" (include "tkc.l2.config" .) -}}
{{- $_ := set . "configHash" (include "tkc.l2.configHash" .) -}}
{{- $_ := set . "l2Parent" (include "tkc.l2.parent" .) -}}
{{- $_ := set . "fingerprint" .configHash -}}
{{- end -}}
